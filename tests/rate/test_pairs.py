"""Training data of the NN-rater, against a literal reading of small logs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import tracemalloc
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interloq.data.folders import PART
from interloq.data.token_texts import Texts
from interloq.errors import InputError, SpecError
from interloq.rate import stream
from interloq.rate.examples import Examples
from interloq.rate.pairs import PARTS, Part, RaterPairs, write_examples
from interloq.records import Pair
from interloq.retrieve.leaks import normalised

WHOLE = Examples(most_replies=1000, most_positives=500_000, dev_share=0.3)
MODES: tuple[Literal["any", "matched"], ...] = ("any", "matched")
Example = tuple[str, str, str, str]


class Bytes:
    """A text's tokens are its UTF-8 bytes, so texts can be read back; a larger `size` than is needed does no harm."""

    def __init__(self, size: int = 256) -> None:
        self.size = size

    def texts(self, texts: Sequence[str], /) -> Texts:
        coded = [text.encode() for text in texts]
        ends = np.concatenate([[0], np.cumsum([len(code) for code in coded], dtype=np.int64)])
        return Texts(np.frombuffer(b"".join(coded), dtype=np.uint8).astype(np.int32), ends)

    def signature(self) -> str:
        return f"bytes-{self.size}"


def log(seed: int, *, utterances: int = 40, replies: int = 30, pairs: int = 200) -> list[Pair]:
    """Random pairs: few utterances, few replies, so that both repeat; some only in spelling."""
    rng = np.random.default_rng(seed)
    ways = (str, str.upper, str.title, lambda text: f" {text}  !", lambda text: text.replace(" ", " , "))
    made = []
    for i in range(pairs):
        first, second = ways[rng.integers(len(ways))], ways[rng.integers(len(ways))]
        utterance = f"was läuft {rng.integers(utterances)}"
        made.append(Pair(str(i), first(utterance), second(f"ça va {rng.integers(replies)}"), thread=f"t{i % 7}"))
    return made


def grouped(pairs: Iterable[Pair]) -> dict[str, set[str]]:
    groups: dict[str, set[str]] = defaultdict(set)
    for pair in pairs:
        groups[normalised(pair.utterance)].add(normalised(pair.response))
    return groups


def make(pairs: Iterable[Pair], folder: Path, chosen: Examples = WHOLE, **options: Any) -> RaterPairs:
    return write_examples([pairs], folder, Bytes(), chosen, source="log", **options)


def read(data: RaterPairs, part: Part, label: int) -> list[Example]:
    rows, labels = data.examples(part)
    texts = {number: normalised(bytes(data.texts[number].astype(np.uint8)).decode()) for number in np.unique(rows)}
    return [(texts[u1], texts[r1], texts[u2], texts[r2]) for u1, r1, u2, r2 in rows[labels == label].tolist()]


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


# ---- which examples --------------------------------------------------------------------------------------------------


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), mode=st.sampled_from(MODES))
def test_examples_are_those_of_a_literal_reading(
    tmp_path_factory: pytest.TempPathFactory, seed: int, mode: Literal["any", "matched"]
) -> None:
    pairs = log(seed)
    chosen = Examples(most_replies=1000, most_positives=500_000, dev_share=0.3, negatives=mode, seed=seed)
    data = make(pairs, tmp_path_factory.mktemp("made") / "examples", chosen)
    groups = grouped(pairs)
    expected = {(u, frozenset(two)) for u, replies in groups.items() for two in combinations(replies, 2)}
    found = []
    for part in PARTS:
        positives, negatives = read(data, part, 1), read(data, part, 0)
        assert len(positives) == len(negatives) > 0
        assert all(u1 == u2 and r1 != r2 for u1, r1, u2, r2 in positives)
        assert all(u1 != u2 and r1 != r2 for u1, r1, u2, r2 in negatives)
        assert all(r1 in groups[u1] and r2 in groups[u2] for u1, r1, u2, r2 in positives + negatives)
        assert all(r2 not in groups[u1] and r1 not in groups[u2] for u1, r1, u2, r2 in negatives)
        assert len({frozenset([(u1, r1), (u2, r2)]) for u1, r1, u2, r2 in negatives}) == len(negatives)
        found += [(u, frozenset([r1, r2])) for u, r1, _, r2 in positives]
    unmatched = sum(data.facts[part]["positives_without_negative"] for part in PARTS)
    assert len(found) == len(set(found)) == len(expected) - unmatched
    assert set(found) <= expected


@pytest.mark.parametrize("mode", MODES)
def test_negatives_do_not_mix_logs(tmp_path: Path, mode: Literal["any", "matched"]) -> None:
    """Styles of two logs must not give the label away: each has as many negatives as positives, of its own pairs."""
    logs = [
        [Pair("", f"{name} question {i}", f"{name} answer {i} {j}") for i in range(n) for j in range(1 + i % 4)]
        for name, n in (("formal", 200), ("casual", 60))
    ]
    chosen = Examples(dev_share=0.3, negatives=mode)
    data = write_examples(logs, tmp_path / "examples", Bytes(), chosen, source="logs")
    for part in PARTS:
        styles = [Counter(" ".join(sorted({text[:6] for text in row})) for row in read(data, part, i)) for i in (0, 1)]
        assert styles[0] == styles[1]
        assert set(styles[0]) == {"formal", "casual"}


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


def test_negatives_match_positives_or_come_from_anywhere(tmp_path: Path) -> None:
    """Utterances with one reply are in negatives with "any" only; with "matched" both labels look alike."""
    answered = [Pair("", f"question {i}", f"answer {i} {j}") for i in range(300) for j in range(2 + 4 * (i % 2))]
    alone = [Pair("", f"remark {i}", f"nothing {i}") for i in range(1200)]
    for mode in MODES:
        data = make([*answered, *alone], tmp_path / mode, Examples(most_positives=15, negatives=mode))
        ends = [(row[0], row[2]) for row in read(data, "train", 0)]
        remarks = sum(text.startswith("remark") for two in ends for text in two) / (2 * len(ends))
        assert remarks == (pytest.approx(0.5, abs=0.05) if mode == "any" else 0)
    often = [np.mean([int(row[0][len("question") :]) % 2 for row in read(data, "train", label)]) for label in (0, 1)]
    assert often[1] == pytest.approx(15 / 16, abs=0.02)
    assert often[0] == pytest.approx(often[1], abs=0.03)


def test_the_two_pairs_of_an_example_stand_in_either_order(tmp_path: Path) -> None:
    rows, labels = make(log(5, utterances=200, replies=400, pairs=2000), tmp_path / "examples").examples("train")
    for label, first, second in ((0, 0, 2), (1, 1, 3)):
        ahead = np.mean(rows[labels == label, first] < rows[labels == label, second])
        assert 0.4 < ahead < 0.6
    assert 0.4 < np.mean(labels[: len(labels) // 2]) < 0.6  # and labels are mixed


# ---- what is one text, what is left out ------------------------------------------------------------------------------


def test_texts_that_read_alike_are_one(tmp_path: Path) -> None:
    spellings = [("Wie geht's?", "Gut!"), ("wie gehts", "GUT"), ("WIE  GEHTS", "ｇｕｔ"), ("Wie geht’s", "schlecht")]
    pairs = [*(Pair("", *spelling) for spelling in spellings), *log(1)]
    data = make(pairs, tmp_path / "examples")
    found = [row for part in PARTS for row in read(data, part, 1) if row[0] == "wiegehts"]
    assert [frozenset(row[1::2]) for row in found] == [{"gut", "schlecht"}]
    distinct = sum(len(replies) for replies in grouped(pairs).values())
    assert data.facts["left_out"]["repeated"] == len(pairs) - distinct
    kept = [bytes(data.texts[i].astype(np.uint8)).decode() for i in range(data.facts["texts"])]
    assert len({normalised(text) for text in kept}) == len(kept)
    assert set(kept) <= {text for pair in pairs for text in (pair.utterance, pair.response)}


def test_everything_left_out_is_counted(tmp_path: Path) -> None:
    empty = [Pair("", "", "a"), Pair("", "a", " \n"), Pair("", "\u3000", "")]
    pairs = [*log(2), *empty, *(Pair("", "was läuft 1", f"test item {i}") for i in range(5))]
    data = make(
        pairs, tmp_path / "made", Examples(most_replies=3), excluded=lambda pair: pair.response.startswith("test")
    )
    sizes = [len(replies) for replies in grouped(log(2)).values()]
    assert data.facts["read"] == len(pairs)
    assert data.facts["left_out"] == {
        "excluded": 5,
        "empty": 3,
        "repeated": len(log(2)) - sum(sizes),
        "replies_over_cap": sum(max(0, size - 3) for size in sizes),
    }
    assert data.facts["pairs"] + sum(data.facts["left_out"].values()) == data.facts["read"]
    assert data.facts["utterances_with_two_replies"] == sum(size >= 2 for size in sizes)


@pytest.mark.parametrize(("most_replies", "most_positives", "expected"), [(10, 45, 45), (4, 45, 6), (10, 7, 7)])
def test_a_greeting_does_not_drown_the_rest(
    tmp_path: Path, most_replies: int, most_positives: int, expected: int
) -> None:
    pairs = [*(Pair("", "Hello", f"reply {i}") for i in range(3000)), *log(6, replies=500)]
    chosen = Examples(most_replies=most_replies, most_positives=most_positives, dev_share=0.4)
    data = make(pairs, tmp_path / "examples", chosen)
    counts = Counter(row[0] for part in PARTS for row in read(data, part, 1))
    sizes = {u: min(len(replies), most_replies) for u, replies in grouped(pairs).items()}
    every = {u: size * (size - 1) // 2 for u, size in sizes.items() if size >= 2}
    assert counts == {u: min(count, most_positives) for u, count in every.items()}
    assert counts["hello"] == expected
    over = sum(data.facts[part]["positives_over_cap"] for part in PARTS)
    assert over == sum(max(0, count - most_positives) for count in every.values())


def test_other_seeds_choose_other_replies(tmp_path: Path) -> None:
    pairs = [*(Pair("", "Hello", f"reply {i}") for i in range(300)), *log(6)]
    chosen = []
    for seed in range(2):
        data = make(pairs, tmp_path / str(seed), Examples(seed=seed))
        chosen.append({row[1] for part in PARTS for row in read(data, part, 1) if row[0] == "hello"})
    assert chosen[0] != chosen[1]


# ---- the order of the log, the form on disk --------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_the_order_of_the_log_does_not_matter(
    tmp_path: Path, mode: Literal["any", "matched"], monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs, chosen = log(7, pairs=600), Examples(most_replies=5, most_positives=4, negatives=mode)
    made = content(make(pairs, tmp_path / "first", chosen).folder)
    for seed in range(3):
        monkeypatch.setattr(stream, "BATCH", 7 + 50 * seed)
        order = np.random.default_rng(seed).permutation(len(pairs))
        again = make([pairs[i] for i in order], tmp_path / str(seed), chosen)
        assert content(again.folder) == made


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


def test_memory_does_not_grow_with_the_length_of_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "BATCH", 20)

    def peak(length: int) -> float:
        tracemalloc.start()
        pairs = (Pair("", f"{i // 2} {'u' * length}", f"{i} {'r' * length}") for i in range(1000))
        make(pairs, tmp_path / str(length))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most / 2**20

    peak(10)  # what is loaded and remembered once
    assert peak(10_000) < peak(100) + 6  # MB; the long texts have 19 MB


# ---- whole or not at all ---------------------------------------------------------------------------------------------


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
        from tests.rate.test_pairs import log, make
        from interloq.rate import pairs, stream
        if sys.argv[3] == "reading":
            stream.Stream.log = lambda self: os.kill(os.getpid(), signal.SIGKILL)
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
        with pytest.raises(InputError, match="holds something else"):
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


# ---- logs that will not do -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pairs",
    [
        [],
        [Pair("", f"question {i}", f"answer {i}") for i in range(50)],
        [Pair("", f"question {i}", text) for i in range(50) for text in ("Yes.", "yes", " YES")],
        [Pair("", f"question {i}", text) for i in range(3) for text in ("yes", "no")],
    ],
)
def test_logs_without_second_replies_are_refused(tmp_path: Path, pairs: list[Pair]) -> None:
    with pytest.raises(InputError, match=r"two different replies.*interloq corpus build"):
        make(pairs, tmp_path / "examples")
    assert list(tmp_path.iterdir()) == []


def test_positives_go_where_negatives_are_lacking(tmp_path: Path) -> None:
    """Everybody says the same: no two pairs are strangers, but for a few."""
    same = [Pair("", f"question {i}", text) for i in range(40) for text in ("yes", "no", "perhaps")]
    with pytest.raises(InputError, match="no negatives can be drawn"):
        make(same, tmp_path / "none")
    few = [Pair("", f"other {i}", f"{text} {i}") for i in range(40) for text in ("so", "what")]
    data = make([*same, *few], tmp_path / "some")
    for part in PARTS:
        counts = data.facts[part]
        assert counts["examples"] == 2 * counts["positives"] == len(data.examples(part)[1])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("most_replies", value) for value in (-1, 1, 1001)),
        *(("dev_share", value) for value in (0.0, 0.6, float("nan"))),
        ("most_positives", 0),
        ("seed", -1),
    ],
)
def test_settings_are_checked(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"{name} must"):
        Examples(**{name: value})


def test_settings_of_the_wrong_kind_are_refused() -> None:
    with pytest.raises(SpecError, match="negatives must be one of 'any', 'matched'"):
        Examples(negatives="none")  # type: ignore[arg-type]
