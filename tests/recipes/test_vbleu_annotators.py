from __future__ import annotations

import numpy as np
import pytest
import vbleu_annotators as recipe
from rated_sets import Floats, RatedSet
from scipy.stats import spearmanr
from vbleu_published import DELTA_BLEU, GOLD_BLEU, PEOPLE, V_BLEU

from interloq import Rating, Sample


def make_set(seed: int, names: tuple[str, ...] = ("x", "y")) -> RatedSet:
    """Thirty contexts with two replies each; each annotator rates all but the first reply."""
    rng = np.random.default_rng(seed)
    samples = []
    for i in range(60):
        given = [Rating(float(rng.integers(1, 6)), name, aspect="overall") for name in names if i]
        samples.append(Sample(str(i), [f"context {i // 2}"], "reply", ["gold"], ratings=given or [Rating(3.0)]))
    human = np.array([np.mean([rating.value for rating in sample.ratings]) for sample in samples])
    return RatedSet(samples, np.arange(60), human)


@pytest.fixture(scope="module")
def sets() -> dict[str, RatedSet]:
    return {"named": make_set(0), "other": make_set(1, ("",))}


@pytest.fixture(scope="module")
def scores(sets: dict[str, RatedSet]) -> dict[str, dict[str, Floats]]:
    rng = np.random.default_rng(2)
    found = {}
    for name, own in sets.items():
        noise = rng.normal(size=(2, 60))
        found[name] = {GOLD_BLEU: own.human + 2 * noise[0], V_BLEU: own.human + noise[1] / 5}
    return found


def test_the_lowest_annotator_is_that_of_sets_with_names(
    sets: dict[str, RatedSet], scores: dict[str, dict[str, Floats]]
) -> None:
    finding = recipe.lowest_annotator(sets, scores, (V_BLEU, GOLD_BLEU), 100, "made")
    ratings = recipe.ratings_by_annotator(sets["named"])
    assert set(ratings) == {"x", "y"}
    lowest = {}
    for row in (V_BLEU, GOLD_BLEU):
        column = scores["named"][row][1:]
        lowest[row] = min(spearmanr(column, given[1:]).statistic for given in ratings.values())
    assert finding.value == pytest.approx(lowest[V_BLEU] - lowest[GOLD_BLEU])
    assert finding.units == 30
    assert finding.ci is not None
    assert finding.value is not None
    assert finding.ci[0] < finding.value < finding.ci[1]
    assert "named" in finding.data
    assert "other" not in finding.data


def test_table_4_has_the_mean_of_all_sets_and_the_annotators_of_those_with_names(
    sets: dict[str, RatedSet], scores: dict[str, dict[str, Floats]]
) -> None:
    table = recipe.table_4(sets, scores, 50, "made")
    assert list(table.rows) == list(recipe.TABLE_4)
    mean, highest, lowest, *_ = table.rows[V_BLEU]
    expected = [spearmanr(scores[name][V_BLEU], own.human).statistic for name, own in sets.items()]
    assert mean.ours == pytest.approx(np.mean(expected))
    assert mean.ci is not None
    assert mean.ours is not None
    assert mean.ci[0] < mean.ours < mean.ci[1]
    ratings = recipe.ratings_by_annotator(sets["named"])
    single = [spearmanr(scores["named"][V_BLEU][1:], given[1:]).statistic for given in ratings.values()]
    assert (highest.ours, lowest.ours) == pytest.approx((max(single), min(single)))
    assert [cell.ours for cell in table.rows[DELTA_BLEU]] == [None] * 6
    people = spearmanr(ratings["x"][1:], ratings["y"][1:]).statistic
    assert [cell.ours for cell in table.rows[PEOPLE][:3]] == [None, pytest.approx(people), pytest.approx(people)]
