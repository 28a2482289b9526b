"""Words of many texts at once, against splitting them one by one."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from interloq.data.text import word_places
from interloq.data.text.word_places import LONGEST, WordPlaces

WORDS = (
    "a",
    "b",
    "a\0",
    "a\0\0",
    "seven77",
    "eight888",
    "nine99999",
    "x" * LONGEST,
    "x" * (LONGEST + 1),
    "é",
    "日本語",
)
SPACES = (" ", "  ", "\t", "\r", "\x0b", "\x1c", "\x1f", "\x85", "\xa0", "\u2028", "\u3000")
TEXT = st.lists(st.sampled_from(WORDS + SPACES) | st.text(max_size=4)).map(
    lambda parts: "".join(parts).replace("\n", "")
)


@pytest.mark.parametrize("bits", [1, 17], ids=["words share slots", "usual"])
@given(batches=st.lists(st.lists(TEXT, max_size=4), max_size=4))
@example(batches=[["a b", "b a\0"], ["", " "], ["a\0 a a\0\0"]])
@example(batches=[["\ud800 a"]])
def test_words_are_those_of_split(bits: int, batches: list[list[str]]) -> None:
    vocabulary: dict[str, int] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(word_places, "SLOTS", bits)
        words = WordPlaces(lambda word: vocabulary.setdefault(word, len(vocabulary)))
        for texts in batches:
            places, ends = words.find(texts)
            names = {number: word for word, number in vocabulary.items()}
            starts = [0, *ends.tolist()]
            read = [[names[p] for p in places[i:j].tolist()] for i, j in zip(starts, ends.tolist(), strict=False)]
            assert read == [text.split() for text in texts]


def test_a_word_is_asked_for_once_unless_it_is_long() -> None:
    asked: list[str] = []
    words = WordPlaces(lambda word: asked.append(word) or len(asked))  # type: ignore[func-returns-value]
    long = "x" * (LONGEST + 1)
    words.find([f"a b {long}"])
    words.find([f"b {long} a"])
    assert asked == ["a", "b", long, long]
