"""Clusters of replies whose dialogues are unknown."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from interloq.compare.compare import compare
from interloq.compare.gate.gate import gate
from interloq.compare.neighbours import cluster_neighbours
from interloq.compare.versions import Version, match_units
from tests.made_versions import METRIC, version


def talks(n: int, size: int, seed: int) -> list[float]:
    """Scores of replies in dialogues of one size, which share half of their variance."""
    rng = np.random.default_rng(seed)
    own, whole = rng.normal(size=(n // size, size)), rng.normal(size=(n // size, 1))
    return [float(x) for x in ((own + whole) / np.sqrt(2)).ravel()]


def versions(
    n: int, size: int, seed: int, *, dialogue: int = 0, prefix: str = "", shared: float = 0.5
) -> list[Version]:
    return [
        version("old", talks(n, size, 2 * seed), dialogue=dialogue),
        version("new", talks(n, size, 2 * seed + 1), dialogue=dialogue, prefix=prefix),
    ]


@pytest.mark.parametrize("prefix", ["", "n"])  # paired by id, and not paired
def test_neighbours_that_score_alike_are_one_cluster(prefix: str) -> None:
    old, new = versions(400, 5, 3, prefix=prefix)
    units = match_units(old, new)
    found = cluster_neighbours(units, old, new, METRIC)
    assert found.pairs == units.pairs
    assert len({*found.old_clusters, *found.new_clusters}) < len({*units.old_clusters, *units.new_clusters}) / 2
    assert not prefix or not {*found.old_clusters} & {*found.new_clusters}
    assert cluster_neighbours(units, old, new) is units  # nothing is rated


def test_known_dialogues_are_the_clusters() -> None:
    old, new = versions(400, 5, 3, dialogue=1)
    units = match_units(old, new)
    assert cluster_neighbours(units, old, new, METRIC) is units


def test_scores_that_do_not_vary_tell_nothing() -> None:
    old, new = version("old", [1.0] * 40, dialogue=0), version("new", [2.0] * 40, dialogue=0)
    units = match_units(old, new)
    assert cluster_neighbours(units, old, new, METRIC) is units


def test_the_order_of_the_file_or_of_the_ids_may_tell_it() -> None:
    old, new = versions(200, 5, 3)
    order = np.random.default_rng(0).permutation(200)
    names = [f"{name:x}" for name in np.random.default_rng(1).permutation(10**6)[:200]]
    for shuffled, renamed in ((True, False), (False, True)):
        changed = []
        for one in (old, new):
            units = list(one.units)
            if renamed:
                units = [replace(u, id=name, keys={"id": name}) for u, name in zip(units, names, strict=True)]
            changed.append(replace(one, units=tuple(units[i] for i in order) if shuffled else tuple(units)))
        pairs = match_units(changed[0], changed[1])
        assert cluster_neighbours(pairs, changed[0], changed[1], METRIC) is not pairs


def test_false_verdicts_are_rare_although_dialogues_are_unknown() -> None:
    """Without dialogues, replies that share half of their variance would give 22 % instead of 5 %."""
    verdicts = {0: 0, 4: 0}
    for seed in range(100):
        for dialogue in verdicts:
            old, new = versions(200, 4, seed, dialogue=dialogue)
            verdicts[dialogue] += compare(old, new, slice_by=[], n_permutations=200).changes[0].verdict != "not shown"
    assert verdicts[0] <= 13
    assert verdicts[4] <= 13


def test_independent_replies_keep_their_power() -> None:
    found = {0: 0, 1: 0}
    for seed in range(100):
        for dialogue in found:
            old, new = versions(100, 1, seed, dialogue=dialogue)
            new = replace(new, units=tuple(replace(u, values={METRIC: u.values[METRIC] + 0.35}) for u in new.units))
            found[dialogue] += compare(old, new, slice_by=[], n_permutations=200).changes[0].verdict == "better"
    assert found[1] > 50
    assert found[0] >= 0.85 * found[1]


def test_the_note_says_what_is_unknown_and_what_helps() -> None:
    old, new = versions(200, 5, 3)
    (note,) = (note for note in compare(old, new, slice_by=[]).notes if "dialogue" in note)
    assert "nothing tells" in note
    assert METRIC in note
    assert "--map dialogue=" in note
    known = compare(*versions(200, 5, 3, dialogue=5), slice_by=[])
    assert not any("nothing tells" in note for note in known.notes)


def test_a_gate_is_undecided_if_dialogues_would_change_its_verdict() -> None:
    outcomes = {}
    for dialogue in (0, 1):
        old, new = versions(120, 4, 5, dialogue=dialogue)
        comparison = compare(old, new, slice_by=[])
        (change,) = comparison.changes
        outcomes[dialogue] = change.ci
        assert change.assumed == (dialogue == 0)
    unknown, independent = outcomes[0], outcomes[1]
    assert unknown is not None
    assert independent is not None
    between = -(unknown[0] + independent[0]) / 2
    for dialogue, outcome in ((0, "undecided"), (1, "pass")):
        old, new = versions(120, 4, 5, dialogue=dialogue)
        assert gate(compare(old, new, slice_by=[]), between).outcome == outcome
        assert gate(compare(old, new, slice_by=[]), 5.0).outcome == "pass"  # assuming dialogues changes nothing
