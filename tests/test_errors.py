"""Messages of errors."""

from __future__ import annotations

import pytest

from interloq.errors import InputError, MissingDependencyError, count, nearest, short_repr


def test_a_message_says_where_what_and_what_to_do() -> None:
    error = InputError("no id", hint="add one", where="a.jsonl:3")
    assert str(error) == "a.jsonl:3: no id; add one"
    assert (error.what, error.hint, error.where) == ("no id", "add one", "a.jsonl:3")
    assert str(InputError("no id")) == "no id"
    assert "pip install 'interloq[meteor]'" in str(MissingDependencyError("meteor", "nltk", "meteor"))


def test_values_are_short_whatever_their_size_and_depth() -> None:
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]
    for value in ("x" * 1000, 10**999, nested, {i: i for i in range(999)}):
        assert len(short_repr(value)) <= 60
    assert short_repr("a") == "'a'"


@pytest.mark.parametrize(
    ("n", "words", "text"),
    [(1, ("pair",), "1 pair"), (0, ("pair",), "0 pairs"), (2000, ("pair",), "2,000 pairs"), (2, ("a", "bs"), "2 bs")],
)
def test_counts_agree_with_their_noun(n: int, words: tuple[str, ...], text: str) -> None:
    assert count(n, *words) == text


def test_the_nearest_word_or_all() -> None:
    assert nearest("blue", ["bleu", "chrf"]) == "; did you mean 'bleu'?"
    assert nearest("xyz", ["chrf", "bleu"]) == "; known: bleu, chrf"
    assert nearest("xyz", []) == ""
