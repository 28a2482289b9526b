"""Noise of the bot and of the judge."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from interloq import InputError
from interloq.compare.match_versions import Version
from interloq.compare.repeats import Noise, average_repeats, noise
from tests.made_versions import METRIC, version

RNG = np.random.default_rng(0)


def test_variances_of_prompts_bot_and_judge_are_told_apart() -> None:
    """Three runs of the bot, each judged twice; in half of the cases all runs give the same reply."""
    prompts, judge = RNG.normal(0, 2, (600, 1)), RNG.normal(0, 0.5, (600, 6))
    bot = RNG.normal(0, 1, (600, 3))
    same = RNG.random(600) < 0.5
    bot[same] = bot[same, :1]
    scores = prompts + np.repeat(bot, 2, axis=1) + judge
    found = noise(METRIC, scores, [[f"{x:.9f}" for x in row] for row in np.repeat(bot, 2, axis=1)])
    assert found.prompts == pytest.approx(4.6, rel=0.2)  # a reply that never changes belongs to its prompt
    assert found.bot == pytest.approx(0.5, rel=0.2)
    assert found.judge == pytest.approx(0.25, rel=0.2)
    assert found.left == pytest.approx((0.5 / 3, 0.25 / 6), rel=0.2)


def test_what_was_not_repeated_is_unknown() -> None:
    alone = noise(METRIC, np.array([[1.0], [2.0]]), [["a"], ["b"]])
    assert (alone.bot, alone.judge, alone.prompts) == (None, None, 0.5)
    judged = noise(METRIC, np.array([[1.0, 3.0], [1.0, 3.0]]), [["a", "a"], ["b", "b"]])
    assert (judged.bot, judged.judge, judged.prompts) == (None, 2.0, 0.0)


def test_advice_depends_on_the_error_of_the_difference() -> None:
    found = Noise(METRIC, 9.0, 1.0, 0.1, (1.0, 0.1))
    assert found.advice == found.in_difference(100, 1.0).advice == "more prompts"
    assert found.in_difference(100, 0.12).advice == "more replies per prompt"
    assert replace(found, left=(0.1, 1.0)).in_difference(100, 0.12).advice == "more judgments per reply"
    assert found.in_difference(100, 0.0).shares == (0.0, 0.0)
    unknown = replace(found, bot=None).in_difference(100, 1.0)
    assert math.isnan((unknown.shares or (0.0,))[0])
    assert unknown.advice == "more prompts"


def said(found: Version, text: str) -> Version:
    return replace(found, units=tuple(replace(unit, text=f"{text} {unit.id}") for unit in found.units))


def test_scores_are_averaged_over_replies_of_repeats() -> None:
    first, again, other = (said(version("new", v), t) for v, t in (([0, 4], "a"), ([2, 4], "a"), ([4, 1], "b")))
    averaged, (found,) = average_repeats(first, [again, other], [METRIC])
    assert [unit.values[METRIC] for unit in averaged.units] == [2.5, 2.5]
    assert found.judge == 1.0  # of replies judged twice: 0 and 2, and 4 and 4
    assert found.bot
    blank = [said(v, "") for v in (first, again, other)]
    _, (named,) = average_repeats(blank[0], blank[1:], [METRIC], replies=["x", "x", "y"])
    assert named == found


def test_other_prompts_are_no_repeat() -> None:
    with pytest.raises(InputError, match="longer is not a repeat of new"):
        average_repeats(version("new", [1, 2]), [version("longer", [1, 2, 3])], [METRIC])
