"""Likelihoods of follow-ups that are kept between runs, and the variants of FED made of them."""

from __future__ import annotations

from pathlib import Path

import fed_follow_ups
import pytest
from fed_follow_ups import BOTH, NEGATIVE, POSITIVE, has_both_sides, likelihoods

from interloq import Sample, evaluate
from interloq.metrics.likelihood.fed import Fed
from tests.made_lm import tiny_lm

DIALOGUES = [("how was it ?", f"it was a day {'x' * i}") for i in range(5)]


@pytest.fixture(scope="module")
def lm(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_lm(tmp_path_factory.mktemp("lm"), positions=256))


@pytest.mark.parametrize("dimension", fed_follow_ups.DIMENSIONS)
@pytest.mark.parametrize("sets", [BOTH, NEGATIVE, POSITIVE])
def test_variants_are_those_of_the_metric(lm: str, tmp_path: Path, dimension: str, sets: str) -> None:
    if sets == POSITIVE and not has_both_sides(dimension):
        return
    samples = [Sample(str(i), [turns[0]], turns[1]) for i, turns in enumerate(DIALOGUES)]
    expected = evaluate(Fed(lm, dimension, sets=sets), samples, n_bootstrap=0).by_sample  # type: ignore[arg-type]
    found = likelihoods(lm, DIALOGUES, tmp_path).fed(dimension, sets)
    assert found.tolist() == pytest.approx([expected[sample.key] for sample in samples], abs=1e-4)


def test_only_new_dialogues_are_computed(
    lm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fed_follow_ups, "PART", 2)
    first = likelihoods(lm, DIALOGUES[:3], tmp_path)
    assert "after 3 of 3 dialogues" in capsys.readouterr().err
    (path,) = tmp_path.glob("follow-ups-*.jsonl")
    assert len(path.read_text().split()) > 2
    assert path.read_text().count("{") == 2
    with path.open("a") as file:
        file.write('\n{"cut": [0.')  # by an interruption
    every = likelihoods(lm, [*DIALOGUES, DIALOGUES[0]], tmp_path)
    assert "after 2 of 2 dialogues" in capsys.readouterr().err
    assert every.values[:3].tolist() == first.values.tolist()
    assert every.values[5].tolist() == every.values[0].tolist()
    likelihoods(lm, DIALOGUES, tmp_path)
    assert capsys.readouterr().err == ""
