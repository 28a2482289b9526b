"""Training data of the NN-rater, against a literal reading of small logs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from interloq.data.files.folders import PART
from interloq.errors import InputError
from interloq.rate import pairs as rater_pairs
from interloq.rate.examples import Examples
from interloq.rate.pairs import PARTS, RaterPairs, write_examples
from interloq.records import Pair
from interloq.retrieve.leaks import normalise_text
from tests.rate.made_log import MODES, WHOLE, Bytes, content, grouped, log, make, read


def test_no_utterance_is_on_both_sides(tmp_path: Path) -> None:
    data = make(log(3, utterances=200, replies=100, pairs=1500), tmp_path / "examples")
    sides = [{text for row in (*read(data, p, 0), *read(data, p, 1)) for text in (row[0], row[2])} for p in PARTS]
    assert sides[0]
    assert sides[1]
    assert sides[0].isdisjoint(sides[1])


def test_an_utterance_keeps_its_side_when_the_log_grows(tmp_path: Path) -> None:
    pairs = log(4, utterances=300, replies=200, pairs=3000)
    small, large = make(pairs[:900], tmp_path / "small"), make(pairs, tmp_path / "large")
    for own, other in (PARTS, PARTS[::-1]):
        assert {row[0] for row in read(small, own, 1)}.isdisjoint(row[0] for row in read(large, other, 1))
    share = large.facts["dev"]["utterances_of_positives"] / large.facts["utterances_with_two_replies"]
    assert abs(share - 0.3) < 4 * np.sqrt(0.3 * 0.7 / 300)


@pytest.mark.parametrize(("size", "dtype"), [(2**16, np.uint16), (2**16 + 1, np.int32)])
def test_tokens_are_those_of_the_pieces(tmp_path: Path, size: int, dtype: type) -> None:
    pairs, pieces = log(8), Bytes(size)
    data = write_examples([pairs], tmp_path / "examples", pieces, WHOLE, source="log")
    assert data.texts.tokens.dtype == dtype
    texts = {text for pair in pairs for text in (pair.utterance, pair.response)}
    known = {tuple(pieces.texts([text]).tokens.tolist()) for text in texts}
    assert all(tuple(data.texts[i].tolist()) in known for i in range(data.facts["texts"]))
    assert len(data.texts.ends) == data.facts["texts"] + 1
    assert data.texts.ends[-1] == len(data.texts.tokens) == data.facts["tokens"]
    used = np.unique(np.concatenate([data.examples(part)[0].ravel() for part in PARTS]))
    assert used.tolist() == list(range(data.facts["texts"]))


def test_a_log_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> Iterator[Pair]:
        yield from log(9)
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        make(broken(), tmp_path / "examples")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_a_killed_run_leaves_nothing_that_looks_finished(tmp_path: Path) -> None:
    program = """
        import os, signal, sys
        sys.path.insert(0, sys.argv[1])
        from pathlib import Path
        from tests.rate.made_log import log, make
        from interloq.rate import pairs
        if sys.argv[3] == "reading":
            pairs.Stream.log = lambda self: os.kill(os.getpid(), signal.SIGKILL)
        else:
            pairs._close = lambda folder, facts: os.kill(os.getpid(), signal.SIGKILL)
        make(log(9), Path(sys.argv[2]))
    """
    target = tmp_path / "examples"
    for moment in ("reading", "closing"):
        command = [sys.executable, "-c", textwrap.dedent(program), str(Path(__file__).parents[2]), str(target), moment]
        assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
        (left,) = tmp_path.iterdir()
        assert PART.fullmatch(left.name)
        with pytest.raises(InputError, match="no training pairs"):
            RaterPairs.load(target)
    made = make(log(9), target)
    assert content(made.folder) == content(make(log(9), tmp_path / "other").folder)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["examples", "other"]


def test_what_was_made_is_taken_again(tmp_path: Path) -> None:
    def unread() -> Iterator[Pair]:
        yield Pair(str(1 // 0), "the log", "was read again")

    (tmp_path / "examples").mkdir()  # empty: fine
    first = make(log(10), tmp_path / "examples")
    again = make(unread(), tmp_path / "examples")
    assert again.fingerprint == first.fingerprint
    loaded = RaterPairs.load(tmp_path / "examples")
    for part in PARTS:
        for own, other in zip(loaded.examples(part), first.examples(part), strict=True):
            np.testing.assert_array_equal(own, other)


def test_another_job_in_the_folder_is_refused(tmp_path: Path) -> None:
    folder = make(log(10), tmp_path / "examples").folder
    before = content(folder)
    with pytest.raises(InputError, match=r"other settings.*choose another folder"):
        make(log(10), folder, Examples())
    with pytest.raises(InputError, match="other settings"):
        write_examples([log(10)], folder, Bytes(300), WHOLE, source="log")
    with pytest.raises(InputError, match="other settings"):
        write_examples([log(10)], folder, Bytes(), WHOLE, source="another log")
    assert content(folder) == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    for name in ("mine", "mine/notes.txt"):
        with pytest.raises(InputError, match="contains other files"):
            make(log(10), tmp_path / name)
    assert (tmp_path / "mine" / "notes.txt").read_text() == "keep"


def test_damaged_folders_are_named(tmp_path: Path) -> None:
    folder = make(log(11), tmp_path / "examples").folder
    tokens = (folder / "tokens.npy").read_bytes()
    (folder / "tokens.npy").write_bytes(tokens[: len(tokens) // 2])
    with pytest.raises(InputError, match=r"tokens\.npy is missing or damaged"):
        RaterPairs.load(folder)
    (folder / "tokens.npy").write_bytes(tokens)
    (folder / "dev.npy").unlink()
    with pytest.raises(InputError, match=r"dev\.npy is missing or damaged"):
        RaterPairs.load(folder)
    (folder / "pairs.json").write_text('{"kind": "corpus"}')
    with pytest.raises(InputError, match="not a rater_pairs"):
        RaterPairs.load(folder)
    (folder / "pairs.json").write_text('{"kind": ')
    with pytest.raises(InputError, match="not valid JSON"):
        RaterPairs.load(folder)


def test_texts_that_read_alike_are_one(tmp_path: Path) -> None:
    spellings = [("Wie geht's?", "Gut!"), ("wie gehts", "GUT"), ("WIE  GEHTS", "ｇｕｔ"), ("Wie geht’s", "schlecht")]
    pairs = [*(Pair("", *spelling) for spelling in spellings), *log(1)]
    data = make(pairs, tmp_path / "examples")
    found = [row for part in PARTS for row in read(data, part, 1) if row[0] == "wiegehts"]
    assert [frozenset(row[1::2]) for row in found] == [{"gut", "schlecht"}]
    distinct = sum(len(replies) for replies in grouped(pairs).values())
    assert data.facts["left_out"]["repeated"] == len(pairs) - distinct
    kept = [bytes(data.texts[i].astype(np.uint8)).decode() for i in range(data.facts["texts"])]
    assert len({normalise_text(text) for text in kept}) == len(kept)
    assert set(kept) <= {text for pair in pairs for text in (pair.utterance, pair.response)}


@pytest.mark.parametrize("mode", MODES)
def test_the_order_of_the_log_does_not_matter(
    tmp_path: Path, mode: Literal["any", "matched"], monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs, chosen = log(7, pairs=600), Examples(most_replies=5, most_positives=4, negatives=mode)
    made = content(make(pairs, tmp_path / "first", chosen).folder)
    for seed in range(3):
        monkeypatch.setattr(rater_pairs, "BATCH", 7 + 50 * seed)
        order = np.random.default_rng(seed).permutation(len(pairs))
        again = make([pairs[i] for i in order], tmp_path / str(seed), chosen)
        assert content(again.folder) == made


def test_memory_does_not_grow_with_the_length_of_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rater_pairs, "BATCH", 20)

    def peak(length: int) -> float:
        tracemalloc.start()
        pairs = (Pair("", f"{i // 2} {'u' * length}", f"{i} {'r' * length}") for i in range(1000))
        make(pairs, tmp_path / str(length))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most / 2**20

    peak(10)  # what is loaded and remembered once
    assert peak(10_000) < peak(100) + 6  # MB; the long texts have 19 MB
