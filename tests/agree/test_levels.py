from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from interloq import InputError, Sample
from interloq.agree.judgments import collect
from interloq.agree.levels import Samples, level
from tests.made_grid import grid


def test_nothing_scored_is_nan_at_every_level() -> None:
    judgments, _ = grid()
    for by in ("none", "system", "sample"):
        found = level(by, judgments).estimates(np.full(60, np.nan), judgments.mean())
        assert all(math.isnan(e.value) and e.note for e in found.values())


def test_unknown_level() -> None:
    with pytest.raises(InputError, match="cannot correlate by 'item'"):
        level("item", grid()[0])  # type: ignore[arg-type]
    assert level("none", grid()[0]) == Samples()


def test_samples_of_named_dialogues_are_resampled_together() -> None:
    rng = np.random.default_rng(0)
    people, scores = rng.normal(size=(2, 30))
    scores += people
    names = [f"{i:02}.{k}" for i in range(30) for k in range(4)]
    samples = [Sample(id, ["hi"], "x", ratings=[people[int(id[:2])]], dialogue=id[:2]) for id in names]
    judgments, column = collect(samples), np.repeat(scores, 4)
    level_of = {"dialogues": level("none", judgments), "samples": Samples()}
    assert level_of["samples"].notes() == []
    assert "30 dialogues" in level_of["dialogues"].notes()[0]
    assert level_of["dialogues"].estimates(column, judgments.mean())["pearson"].p is None
    spread = {}
    for name, one in level_of.items():
        spread[name] = float(np.std(one.resampled(column, judgments.mean(), 400, 0)["pearson"]))
    assert spread["dialogues"] == pytest.approx(2 * spread["samples"], rel=0.2)
    swapped = level_of["dialogues"].exchanged(column, -column, judgments.mean(), 200, 0)["pearson"]
    alone = level_of["samples"].exchanged(column, -column, judgments.mean(), 200, 0)["pearson"]
    assert swapped[0] == alone[0]
    assert np.std(swapped[1:]) > 1.5 * np.std(alone[1:])  # fewer units are exchanged
    each = collect([replace(sample, dialogue=sample.id) for sample in samples])
    assert level("none", each) == Samples()
