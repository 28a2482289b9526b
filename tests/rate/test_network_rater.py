"""Weights from the chances of a trained rater."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interloq import Reference, Sample
from interloq.rate.gru import Gru
from interloq.rate.model import RaterModel
from interloq.rate.network_rater import weights
from tests.rate.made_gru_rater import FIRST, PARROT, SAMPLE, SECOND, literal


def chances_of(folder: Path, sample: Sample, *, calibrated: bool = False) -> dict[str, float]:
    """P of every reference, literally: the mean over gold replies."""
    model = RaterModel.load(folder)
    temperature = model.facts["temperature"] if calibrated else 1.0
    golds = [r.text for r in sample.references if r.source not in ("parrot",) and "retrieved" not in r.source]
    utterance = sample.context[-1].text.strip()
    return {
        r.text: sum(literal(model, utterance, gold, r.text, temperature) for gold in golds) / len(golds)
        for r in sample.references
    }


def weights_of(folder: Path, sample: Sample, **fields: Any) -> list[float]:
    (rated,) = Gru(str(folder), **fields).rate([sample])
    assert dataclasses.replace(rated, references=sample.references) == sample
    assert [(r.text, r.source) for r in rated.references] == [(r.text, r.source) for r in sample.references]
    return [r.weight for r in rated.references]


@pytest.mark.parametrize("calibrated", [False, True])
def test_linear_is_twice_p_minus_one(learned: Path, calibrated: bool) -> None:
    p = chances_of(learned, SAMPLE, calibrated=calibrated)
    expected = [1.0, *(2 * p[r.text] - 1 for r in (PARROT, FIRST, SECOND))]
    assert weights_of(learned, SAMPLE, calibrated=calibrated) == pytest.approx(expected, abs=1e-6)
    assert expected[2] > 0 > expected[3]


def test_signed_max_is_the_surer_label_with_its_sign(learned: Path) -> None:
    p = chances_of(learned, SAMPLE)
    expected = [1.0, *(max(p[r.text], 1 - p[r.text]) * (1 if p[r.text] > 0.5 else -1) for r in (PARROT, FIRST, SECOND))]
    found = weights_of(learned, SAMPLE, mode="signed_max")
    assert found == pytest.approx(expected, abs=1e-6)
    assert all(abs(weight) >= 0.5 for weight in found)


def test_weights_at_the_border() -> None:
    chances = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    assert weights(chances, "linear").tolist() == [-1, -0.5, 0, 0.5, 1]
    assert weights(chances, "signed_max").tolist() == [-1, -0.75, -0.5, 0.75, 1]


def test_a_rated_gold_reply_is_rated_like_the_rest(learned: Path) -> None:
    p = chances_of(learned, SAMPLE)
    expected = [2 * p[r.text] - 1 for r in SAMPLE.references]
    assert weights_of(learned, SAMPLE, gold="rated") == pytest.approx(expected, abs=1e-6)


def test_several_gold_replies_count_alike(learned: Path) -> None:
    golds = [Reference("i like tea"), Reference("the rain", source="human"), Reference("football today")]
    sample = dataclasses.replace(SAMPLE, references=(FIRST, *golds, PARROT))
    p = chances_of(learned, sample)
    expected = [2 * p[FIRST.text] - 1, 1, 1, 1, 2 * p[PARROT.text] - 1]
    assert weights_of(learned, sample) == pytest.approx(expected, abs=1e-6)
    rated = [2 * p[r.text] - 1 for r in sample.references]
    assert weights_of(learned, sample, gold="rated") == pytest.approx(rated, abs=1e-6)


@pytest.mark.parametrize("gold", ["one", "rated"])
def test_without_gold_reply_or_context_nothing_weighs(small: Path, gold: Any) -> None:
    no_gold = dataclasses.replace(SAMPLE, references=(PARROT, FIRST))
    no_context = dataclasses.replace(SAMPLE, context=())
    blank = dataclasses.replace(SAMPLE, context=(dataclasses.replace(SAMPLE.context[0], text="  "),))
    bare = dataclasses.replace(SAMPLE, references=())
    rater = Gru(str(small), gold=gold)
    rated = rater.rate([no_gold, SAMPLE, no_context, bare, blank])
    assert [[r.weight for r in s.references] for s in (rated[0], *rated[2:])] == [[0, 0], [0] * 4, [], [0] * 4]
    assert rated[1] == rater.rate([SAMPLE])[0]  # those around it change nothing
    assert rater.rate([]) == []


def test_gold_replies_alone(small: Path) -> None:
    sample = dataclasses.replace(SAMPLE, references=(Reference("i like tea", 0.2),))
    assert weights_of(small, sample) == [1.0]
