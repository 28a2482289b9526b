"""Logs to train on."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import Dialogue, InputError, Sample, Turn, write
from interloq.data.records.jsonl import Rejected
from interloq.records import Pair
from interloq.retrieve.training_log import TrainingLog


@pytest.fixture
def logs(folder: Path) -> Path:
    write("pairs.jsonl", [Pair("1", "how are you", "fine"), Pair("2", "any news", "none")], kind="pairs")
    turns = [Turn("hello", "a"), Turn("hi", "b"), Turn("bye", "a")]
    write("talks.jsonl", [Dialogue("d", turns)], kind="dialogues")
    write("test.jsonl", [Sample("x", ["How are you?"], "good", ["well"])], kind="samples")
    return folder


def texts(log: TrainingLog) -> set[tuple[str, str]]:
    return {(pair.utterance, pair.response) for pair in log.pairs()}


def test_dialogues_become_pairs_and_files_have_no_order(logs: Path) -> None:
    one, other = (TrainingLog(names) for names in (["pairs.jsonl", "talks.jsonl"], ["talks.jsonl", "pairs.jsonl"]))
    assert texts(one) == {("how are you", "fine"), ("any news", "none"), ("hello", "hi"), ("hi", "bye")}
    assert [list(log) for log in one.logs()] == [list(log) for log in other.logs()]
    assert one.fingerprint == other.fingerprint != TrainingLog(["pairs.jsonl"]).fingerprint


def test_what_test_samples_share_is_excluded_and_counted_in_every_pass(logs: Path) -> None:
    log = TrainingLog(["pairs.jsonl"], ["test.jsonl"])
    for _ in range(2):
        assert texts(log) == {("any news", "none")}
        assert log.excluded == 1
    assert log.fingerprint != TrainingLog(["pairs.jsonl"]).fingerprint


def test_a_bad_line_is_reported_once(logs: Path) -> None:
    with (logs / "pairs.jsonl").open("a") as file:
        file.write("{broken\n")
    seen: list[Rejected] = []
    log = TrainingLog(["pairs.jsonl"], on_reject=seen.append)
    assert texts(log) == texts(log)
    assert len(seen) == 1


@pytest.mark.parametrize("name", ["-", "absent.jsonl"])
def test_only_files_can_be_read_again(folder: Path, name: str) -> None:
    with pytest.raises(InputError):
        TrainingLog([name])


def test_other_records_are_refused(logs: Path) -> None:
    with pytest.raises(InputError, match="samples"):
        list(TrainingLog(["test.jsonl"]).pairs())


def test_rated_replies_to_the_context_of_a_test_sample_are_excluded(folder: Path) -> None:
    write("rated.jsonl", [Sample(str(i), [f"tea {i}?"], "yes", ratings=[i]) for i in range(3)], kind="samples")
    write("test.jsonl", [Sample("x", ["Tea 1"], "another reply")], kind="samples")
    log = TrainingLog(["rated.jsonl"], ["test.jsonl"])
    for _ in range(2):
        assert [sample.id for sample in log.rated("rated.jsonl")] == ["0", "2"]
        assert log.excluded == 1


def test_a_folder_stands_for_its_training_part(logs: Path) -> None:
    (logs / "parts").mkdir()
    with pytest.raises(InputError, match=r"the folder 'parts' has no train\.jsonl; name a file"):
        TrainingLog(["parts"])
    write("parts/train.jsonl.zst", [Pair("1", "how are you", "fine")], kind="pairs")
    assert TrainingLog(["parts"]).files == ["parts/train.jsonl.zst"]
    write("parts/train.jsonl", [Pair("1", "how are you", "fine")], kind="pairs")
    with pytest.raises(InputError, match=r"has 2 files train\.jsonl\*"):
        TrainingLog(["parts"])
