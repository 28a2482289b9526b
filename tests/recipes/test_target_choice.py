"""Turned orders, by literal counts on made scores, and the whole recipe on few made dialogues."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations
from pathlib import Path

import imitated_bots
import numpy as np
import pytest
import target_choice
from fed_follow_ups import Floats
from results import interval_by_unit, load_measured
from target_choice import Cast, Scores

from interloq.registry import create
from tests.recipes.test_bipartite import _dialogues
from tests.recipes.test_schemes_people import _length, data

__all__ = ["data"]  # a fixture
BOTS, FIXED, OPENINGS = 6, 4, 8


@pytest.fixture
def scores() -> Scores:
    """Random scores of six bots, the last of which looks like the third."""
    rng = np.random.default_rng(0)
    targets = {f"bot {i}": create("echo", kind="bot") for i in range(BOTS)}
    cast = Cast("retrieval", targets, tuple(range(BOTS - 1)), 2, (1, BOTS - 1), [(0, 1), (2, 3)])
    chosen = rng.normal(size=(BOTS, BOTS, OPENINGS))
    chosen[np.arange(BOTS), np.arange(BOTS)] = np.nan
    fixed = rng.normal(size=(BOTS - 1, FIXED, OPENINGS))
    halves = np.arange(OPENINGS)[None] < OPENINGS // 2
    fair = cast.fair
    random_targets = target_choice.with_random_partners(chosen, fair, fair, 3)
    random_partners = target_choice.with_random_partners(fixed, fair, range(FIXED), 3)
    return Scores(cast, chosen, fixed, random_targets, random_partners, halves)


def _mean(scores: Floats, bot: int, partners: Sequence[int], openings: Sequence[int]) -> float:
    return float(np.mean([scores[bot, p, o] for p in partners if p != bot for o in openings]))


def test_turned_pairs_are_a_literal_count(scores: Scores) -> None:
    first, second = range(4), range(4, 8)
    turned = []
    for a, b in combinations(range(BOTS - 1), 2):
        fair = [_mean(scores.all_play_all, bot, range(BOTS - 1), first) for bot in (a, b)]
        for others in combinations([i for i in range(BOTS) if i not in (a, b)], 2):
            four = [_mean(scores.all_play_all, bot, [a, b, *others], second) for bot in (a, b)]
            turned.append((fair[0] > fair[1]) != (four[0] > four[1]))
    assert scores.turned_by_choice(np.arange(OPENINGS)) == pytest.approx(np.mean(turned))


def test_a_fixed_set_that_separates_all_bots_turns_nothing(scores: Scores) -> None:
    scores.random_partners[:] = np.arange(BOTS - 1)[None, :, None]
    scores.bipartite[:] = np.arange(BOTS - 1)[:, None, None]
    openings = np.arange(OPENINGS)
    assert scores.turned_in_bipartite(openings) == 0
    assert scores.prevented(openings) == scores.turned_by_choice(openings)


def test_table_6_counts_favoured_bots(scores: Scores) -> None:
    openings, each = np.arange(OPENINGS), range(OPENINGS)
    counts = np.zeros((2, 2))
    for favoured in (0, 3, 4):
        fair = [_mean(scores.all_play_all, bot, (0, 2, 3, 4), each) for bot in (favoured, 2)]
        unfair = [_mean(scores.all_play_all, bot, (favoured, 2, 1, 5), each) for bot in (favoured, 2)]
        counts[int(fair[0] <= fair[1]), int(unfair[0] <= unfair[1])] += 1
    assert scores.table(openings).tolist() == counts.tolist()
    assert scores.net_overturned(openings) == pytest.approx((counts[1, 0] - counts[0, 1]) / 3)


def test_both_series_are_played_and_reported(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target_choice, "relevance", _length)
    monkeypatch.setattr(target_choice, "interval_by_unit", partial(interval_by_unit, resamples=10))
    monkeypatch.setattr(imitated_bots, "POOLS", (10, 20, 40, 80))
    monkeypatch.setattr(target_choice, "POOLS", (10, 20, 40, 80))
    for seed, (part, number) in enumerate({"train": 40, "validation": 4}.items()):
        path = data / "dailydialog" / part / f"dialogues_{part}.txt"
        path.parent.mkdir(parents=True)
        path.write_text(_dialogues(number, seed), "utf-8")
    result = tmp_path / "target_choice.json"
    options = ["--data", str(data), "--work", str(tmp_path / "work"), "--openings", "4"]
    assert target_choice.main([*options, "--measured", str(result)]) == 0
    measured = load_measured(result)
    assert [finding.item for finding in measured.findings if finding.decides] == ["002/42", "002/43"]
    assert len(measured.findings) == 4 * 3
    retrieval, imitated, shares = measured.tables
    assert retrieval.rows["fair: favoured wins"][0].published == 6
    assert sum(cell.ours or 0 for row in retrieval.rows.values() for cell in row) == 5
    assert sum(cell.ours or 0 for row in imitated.rows.values() for cell in row) == 2
    assert imitated.data == "imitations: unfavoured C, like it C half 1 and C half 2"
    assert list(shares.columns) == ["retrieval", "imitations"]
