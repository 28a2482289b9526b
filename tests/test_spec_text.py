"""Specs as text: lists, labels and brackets."""

from __future__ import annotations

import contextlib
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq import create
from interloq.errors import InterloqError, SpecError
from interloq.spec_text import read_spec, split_label, split_specs


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("bleu", ["bleu"]),
        ("bleu, chrf", ["bleu", "chrf"]),
        ("bleu(order=2,k=3),u=vbleu(index='a,b',k=3)", ["bleu(order=2,k=3)", "u=vbleu(index='a,b',k=3)"]),
        ("meteor(stages=('exact','stem')),length", ["meteor(stages=('exact','stem'))", "length"]),
        ("f(a='x)',b=2),g", ["f(a='x)',b=2)", "g"]),
        ("f(a='it\\'s, so'),g", ["f(a='it\\'s, so')", "g"]),
    ],
)
def test_lists_are_split_outside_brackets(text: str, parts: list[str]) -> None:
    assert split_specs(text) == parts


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("bleu(order=2)", ("", "bleu(order=2)")),
        ("uBLEU = vbleu(k=3)", ("uBLEU", "vbleu(k=3)")),
        ("BLEU 2=bleu(order=2)", ("BLEU 2", "bleu(order=2)")),
        ("=bleu", ("", "=bleu")),
    ],
)
def test_labels_stand_before_the_spec(text: str, label: tuple[str, str]) -> None:
    assert split_label(text) == label


@given(st.text("abc()=,'\"[]{}-1._ \n\\“’\0é", max_size=60), st.sampled_from(["", "bleu(", "ruber(referenced="]))
def test_any_text_is_a_spec_or_an_error(text: str, before: str) -> None:
    split_specs(before + text)
    split_label(before + text)
    with contextlib.suppress(InterloqError), warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        create(before + text)


def test_a_file_in_place_of_a_spec_is_named(tmp_path: Path) -> None:
    path = tmp_path / "chosen.json"
    path.write_text("{}")
    with pytest.raises(SpecError, match=r"is a file, not a spec .*@FILE"):
        read_spec(str(path))
    with pytest.raises(SpecError, match="cannot read spec"):
        read_spec(str(tmp_path / "missing.json"))
