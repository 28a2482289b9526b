"""A sample of a file, explained."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError, Sample, write
from interloq.score.explain_file import explain_file


@pytest.fixture
def files(folder: Path) -> Path:
    made = [Sample(f"s{i}", ["how was it"], f"{w} was good", [f"{w} was bad"]) for i, w in enumerate("abcd")]
    write("samples.jsonl", [*made, Sample("s1", ["how was it"], "fine", (), "other")], kind="samples")
    return folder


def test_one_sample_is_explained(files: Path) -> None:
    explained = explain_file("s2", "samples.jsonl", metric="bleu(level='sentence')")
    assert explained.explanation is not None
    assert explained.score == pytest.approx(explained.explanation.score)
    assert explained.facts()["response"] == "c was good"
    assert not explain_file("s2", "samples.jsonl", metric="length").taken_apart


def test_the_sample_that_is_meant_must_be_clear(files: Path) -> None:
    for id, system, says in (("s1", None, "other"), ("s9", None, "did you mean"), ("s2", "x", "its systems")):
        with pytest.raises(InputError, match=says):
            explain_file(id, "samples.jsonl", metric="bleu", system=system)
    found = explain_file("s1", "samples.jsonl", metric="bleu", system="other")
    assert (found.score, found.reason) == (None, "no references")
    assert found.explanation is None


def test_id_and_file_in_the_wrong_order_are_named(folder: Path) -> None:
    write("samples.jsonl", [Sample("1", ["hi"], "yes", ["no"])], kind="samples")
    with pytest.raises(InputError, match="give the sample's id first"):
        explain_file("samples.jsonl", "1")
