"""Many texts at once, against one text at a time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from interloq.data.text.joined_texts import JoinedTexts

TEXTS = st.lists(st.text(st.sampled_from("aB3 .\t\x1c\x00\xa0é\u3000日\ud800")) | st.text(max_size=5), max_size=6)


def head(text: str, size: int) -> str:
    letters = ""
    for character in text[:size]:
        if not (character.isascii() and character.isalnum()):
            break
        letters += character.lower()
    return letters


@given(TEXTS, st.integers(1, 4))
def test_heads_are_the_first_letters_and_digits(texts: list[str], size: int) -> None:
    heads = JoinedTexts.of(texts).heads(size)
    assert heads.shape == (size, len(texts))
    assert ["".join(map(chr, column[column > 0])) for column in heads.T] == [head(text, size) for text in texts]


@given(TEXTS)
def test_plain_spaces_are_those_that_splitting_keeps(texts: list[str]) -> None:
    for text, plain in zip(texts, JoinedTexts.of(texts).have_plain_spaces().tolist(), strict=True):
        if plain:
            assert text.isascii()
            assert " ".join(text.split()) == text
        else:  # characters below the space are told apart no further
            assert not text.isascii() or " ".join(text.split()) != text or min(text) < " "
