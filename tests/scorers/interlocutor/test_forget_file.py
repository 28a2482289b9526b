"""One user's data is removed in place; the rest stays as it was."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from interloq import InputError
from interloq.data.corpus.dialogues import pairs_of_dialogue
from interloq.data.files.durable import atomic_file
from interloq.data.files.opening import replacing, write_json
from interloq.data.pseudonyms import Pseudonyms
from interloq.data.records.jsonl import Rejected, header, load, write
from interloq.data.records.profiles import read_profiles, write_profiles
from interloq.records import Rating, Sample
from interloq.scorers.interlocutor.continuity_labels import SampleSelection
from interloq.scorers.interlocutor.forget_file import find, forget_in_models
from interloq.scorers.interlocutor.samples_file import SampleSource, continuity_file
from tests.scorers.interlocutor.made_logs import log

NAMES = Pseudonyms("a key for the tests")
BOB = {"bob", NAMES("bob")}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """An imported corpus: ann talks with bob on even days, with cat on odd ones."""
    folder, dialogues = tmp_path / "corpus", log(20)
    write(folder / "train" / "dialogues.jsonl.zst", dialogues, kind="dialogues", users="kept", note="stays")
    pairs = [pair for dialogue in dialogues for pair in pairs_of_dialogue(dialogue)]
    write(folder / "train" / "pairs.jsonl.gz", pairs, kind="pairs")
    write_profiles(folder / "profiles.json", {"ann": "I cook.", "bob": "I ski."}, users="kept")
    return folder


def test_dialogues_pairs_and_profile_are_removed(corpus: Path) -> None:
    found = find(BOB, corpus)
    assert found.found == 10 + sum(len(each.turns) - 1 for each in log(20)[::2]) + 1
    assert len(load(corpus / "train" / "dialogues.jsonl.zst", kind="dialogues")) == 20, "nothing is changed yet"
    found.remove()
    left = load(corpus / "train" / "dialogues.jsonl.zst", kind="dialogues")
    assert left == log(20)[1::2]
    assert header(corpus / "train" / "dialogues.jsonl.zst")["note"] == "stays"
    pairs = load(corpus / "train" / "pairs.jsonl.gz", kind="pairs")
    assert pairs == [pair for dialogue in left for pair in pairs_of_dialogue(dialogue)]
    assert read_profiles(corpus / "profiles.json") == {"ann": "I cook."}
    assert find(BOB, corpus).found == 0


def test_samples_and_their_facts(tmp_path: Path) -> None:
    write(tmp_path / "log.jsonl", log(20), kind="dialogues")
    out = tmp_path / "out"
    before = continuity_file(
        SampleSource(tmp_path / "log.jsonl", names=NAMES), out, SampleSelection(min_conversations=5)
    )
    find(BOB, out).remove()
    facts, train = json.loads((out / "samples.json").read_text()), load(out / "train.jsonl.zst")
    assert train
    assert all(NAMES("bob") not in {turn.speaker for turn in sample.context} for sample in train)
    labels = [sample.ratings[0].value for sample in train]
    counts = facts["parts"]["train"]
    assert (counts["samples"], counts["replied"], counts["not_replied"]) == (
        len(train),
        labels.count(1),
        labels.count(0),
    )
    assert counts["users"] == 2 < before["parts"]["train"]["users"]
    assert counts["turns_per_dialogue"] is None
    assert facts["forgotten"] is True
    assert facts["selection"] == before["selection"]


def test_a_user_who_rates_or_is_named_in_an_id(tmp_path: Path) -> None:
    samples = [
        Sample("1#1", ["Hi."], "bob", ratings=[Rating(3, "bob")]),
        Sample("bob#2", ["Hi."], "Yes."),
        Sample("3#1", ["bob"], "bob", ["bob"], ratings=[Rating(3, "cat")]),
    ]
    path = tmp_path / "samples.jsonl"
    write(path, samples, kind="samples")
    find({"bob"}, path).remove()
    assert load(path) == samples[2:], "texts are not searched for names"


def test_unknown_fields_stay(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    kept = '{"id": "1", "turns": [{"speaker": "ann", "text": "Hi."}], "mood":  "good"}\n\n'
    path.write_text(kept + '{"id": "2", "turns": [{"speaker": "bob", "text": "Hi."}]}\n')
    find({"bob"}, path).remove()
    assert path.read_text() == kept


def test_built_corpus(tmp_path: Path) -> None:
    write(tmp_path / "dialogues.jsonl", log(4), kind="dialogues")
    examples = [{"id": "1", "user": "bob", "text": "Hi."}, {"id": "2", "user": "cat", "text": "Hi."}]
    posts = {"read": 9, "dropped": {"short": {"count": 2, "what": "few words", "examples": examples}}}
    write_json(
        tmp_path / "corpus.json", {"kind": "corpus", "posts": posts, "parts": {"all": {"dialogues": 4, "posts": 9}}}
    )
    found = find({"bob"}, tmp_path)
    found.remove()
    facts = json.loads((tmp_path / "corpus.json").read_text())
    assert facts["parts"]["all"] == {"dialogues": 2, "posts": None}
    assert facts["posts"]["dropped"]["short"]["examples"] == examples[1:]
    assert any("name no users" in note for note in found.notes)


def test_a_failure_leaves_everything_and_a_kill_between_renames_can_be_finished(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path: path.read_bytes() for path in corpus.rglob("*") if path.is_file()}
    written: list[str] = []

    def failing(path: Path) -> object:
        written.append(Path(path).name)
        if len(written) == 3:
            raise OSError("disk full")
        return replacing(path)

    monkeypatch.setattr("interloq.scorers.interlocutor.forget_file.replacing", failing)
    with pytest.raises(InputError, match="disk full"):
        find(BOB, corpus).remove()
    assert written == ["dialogues.jsonl.zst", "pairs.jsonl.gz", "profiles.json"], "renamed in reverse order"
    assert {path: path.read_bytes() for path in corpus.rglob("*") if path.is_file()} == before
    monkeypatch.undo()
    find(BOB, corpus).remove()
    done = {path: path.read_bytes() for path in before}
    dialogues = corpus / "train" / "dialogues.jsonl.zst"
    with atomic_file(dialogues) as file:  # as if the process had been killed before the last rename
        file.write(before[dialogues])
    find(BOB, corpus).remove()
    assert {path: path.read_bytes() for path in before} == done


@pytest.mark.parametrize("line", ["{", "[1]"])
def test_a_line_that_cannot_be_read_is_an_error(tmp_path: Path, line: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(f'{{"id": "1", "turns": []}}\n{line}\n')
    with pytest.raises(InputError, match=r"log\.jsonl:2"):
        find({"bob"}, path)


def test_what_is_not_a_corpus(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,context,response\n")
    with pytest.raises(InputError, match="is not JSONL"):
        find({"bob"}, tmp_path / "a.csv")
    with pytest.raises(InputError, match="no files of records"):
        find({"bob"}, tmp_path)


def test_notes_on_what_cannot_be_removed(corpus: Path) -> None:
    write(corpus / "more.jsonl", map(NAMES.dialogue, log(2)), kind="dialogues", users="hashed")
    bad_line = {"where": "log:1", "what": "", "hint": "", "line": '{"user": "ann"}'}
    (corpus / "more.rejected.jsonl").write_text(json.dumps(bad_line) + "\n")
    notes = " ".join(find({"zoe"}, corpus).notes)
    for words in ("more.rejected.jsonl", "ids in these files are hashed", "train again without them", "backups"):
        assert words in notes


def test_models(dcp_model: Path, tmp_path: Path) -> None:
    model = shutil.copytree(dcp_model, tmp_path / "model")
    assert forget_in_models(BOB, [model]) == [True]
    assert json.loads((model / "model.json").read_text())["users"] == ["ann"]
    assert forget_in_models(BOB, [model]) == [False]


def write_bad_lines(path: Path, *lines: bytes) -> None:
    path.write_bytes(b"".join(Rejected("log", f"log:{i}", "bad", "", line).as_json() for i, line in enumerate(lines)))


def bad_lines_left(path: Path) -> list[str]:
    return [json.loads(line)["where"] for line in path.read_text().splitlines()]


def test_bad_lines_are_removed_wherever_they_were_set_aside(corpus: Path, tmp_path: Path) -> None:
    inside, deep = corpus / "posts.rejected.jsonl", corpus / "train" / "x" / "a.rejected.jsonl"
    deep.parent.mkdir()
    beside = tmp_path / "corpus.rejected.jsonl"
    for path in (inside, deep, beside):
        write_bad_lines(
            path, b'{"user": "bob", "text": 5}', b'{"user": "cat", "text": 5}', b"bob\xff", b"cut {", b"bobby"
        )
    found = find(BOB, corpus)
    found.remove()
    for path in (inside, deep, beside):
        assert found.records[path] == (4, 5), "also lines of which nobody can tell whose they are"
        assert bad_lines_left(path) == ["log:1"]


def test_bad_lines_of_somebody_unknown_stay(corpus: Path) -> None:
    path = corpus / "posts.rejected.jsonl"
    write_bad_lines(path, b"cut {", b"zoe,5")
    find({"zoe"}, corpus).remove()
    assert bad_lines_left(path) == ["log:0"]
    assert "an unfinished build" not in " ".join(find({"zoe"}, corpus).notes)
    (corpus / ".work").mkdir()
    assert "an unfinished build" in " ".join(find({"zoe"}, corpus).notes)


def test_records_may_be_nested_deeply(tmp_path: Path) -> None:
    deep = "[" * 900 + '"bob"' + "]" * 900
    (tmp_path / "log.jsonl").write_text(f'{{"id": "1", "more": {deep}}}\n{{"id": "2"}}\n')
    assert find(BOB, tmp_path / "log.jsonl").found == 1


@pytest.mark.parametrize("facts", ["{}", '{"posts": {"dropped": 1}}', '{"posts": {"dropped": {}}, "parts": [1]}'])
def test_damaged_facts_of_a_corpus_are_named(corpus: Path, facts: str) -> None:
    (corpus / "corpus.json").write_text(facts)
    with pytest.raises(InputError, match=r"corpus\.json: the saved files are damaged"):
        find(BOB, corpus)
