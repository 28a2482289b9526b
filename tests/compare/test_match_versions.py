"""How the units of two versions are paired, and what is one cluster."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from interloq import Sample
from interloq.compare.compare import compare
from interloq.compare.comparison import Pairing
from interloq.compare.gate.gate import gate
from interloq.compare.match_versions import (
    Unit,
    Version,
    cluster_neighbours,
    explain_unpaired,
    list_unscored,
    match_units,
)
from interloq.compare.version_units import sample_unit
from tests.made_versions import METRIC, version


def units(prefix: str, *keys: dict[Pairing, str]) -> Version:
    return Version(prefix, "sample", tuple(Unit(f"{prefix}{i}", {METRIC: 1.0}, key) for i, key in enumerate(keys)))


def test_the_best_key_that_both_have_pairs() -> None:
    old, new = units("a", {"id": "1", "context": "x"}, {"id": "2"}), units("b", {"context": "x"}, {"context": "y"})
    assert match_units(old, new).pairing == "context"
    found = match_units(old, units("b", {"id": "2"}, {"id": "1", "context": "x"}))
    assert found.pairing == "id"
    assert [(a.id, b.id) for a, b in found.pairs] == [("a0", "b1"), ("a1", "b0")]
    assert found.alone == (0, 0)


def test_equal_ids_of_different_contexts_do_not_pair() -> None:
    old, new = units("a", {"id": "1", "context": "x"}), units("b", {"id": "1", "context": "y"})
    assert match_units(old, new).pairing == "none"


def test_few_common_ids_do_not_pair() -> None:
    old, new = version("old", [1] * 9), version("new", [1] * 9, prefix="n")
    assert match_units(old, new).pairing == "none"
    assert match_units(old, new).alone == (9, 9)
    assert not set(match_units(old, new).old_clusters) & set(match_units(old, new).new_clusters)
    assert match_units(old, version("new", [1] * 5)).alone == (4, 0)


def test_replies_in_a_dialogue_and_repeats_of_a_prompt_are_one_cluster() -> None:
    talks = match_units(version("old", [1] * 6, dialogue=3), version("new", [2] * 6, dialogue=3))
    assert len(set(talks.pair_clusters)) == 2
    assert talks.old_clusters == talks.new_clusters == talks.pair_clusters
    twice = match_units(units("a", {"context": "x"}, {"context": "x"}), units("b", {"context": "x"}, {"context": "x"}))
    assert len(twice.pairs) == 2
    assert len(set(twice.pair_clusters)) == 1
    keys: list[dict[Pairing, str]] = [{"id": "1", "context": "x"}, {"id": "2", "context": "x"}, {"id": "3"}]
    assert len(set(match_units(units("a", *keys), units("b", *keys)).pair_clusters)) == 2
    other: list[dict[Pairing, str]] = [{"id": "8", "context": "y"}, {"id": "9", "context": "y"}]
    assert len(set(match_units(units("a", *keys), units("b", *other)).new_clusters)) == 1


def test_units_without_a_score_are_found() -> None:
    assert [unit.id for unit in list_unscored(version("old", [1, math.nan]), METRIC)] == ["1"]
    assert len(list(list_unscored(version("old", [1, math.nan]), "bleu"))) == 2


def reply(id: str, turns: Sequence[str], dialogue: str = "") -> Unit:
    return replace(sample_unit(id, Sample(id, turns, "x", dialogue=dialogue)), values={METRIC: 1.0})


def of(*units: Unit) -> Version:
    return Version("v", "sample", units)


def test_replies_in_a_dialogue_pair_by_id_although_later_contexts_differ() -> None:
    old = of(reply("a", ["hi"], "d"), reply("b", ["hi", "yes", "why ?"], "d"), reply("c", ["x", "y", "z"], "e"))
    new = of(reply("a", ["hi"], "d"), reply("b", ["hi", "no", "oh"], "d"), reply("c", ["x", "q", "r"], "e"))
    found = match_units(old, new)
    assert (found.pairing, len(found.pairs), len(set(found.pair_clusters))) == ("id", 3, 2)
    other = of(*(reply(id, [f"else {id}"], dialogue) for id, dialogue in (("a", "d"), ("b", "d"), ("c", "e"))))
    assert match_units(old, other).pairing == "none"


def test_contexts_that_differ_in_replies_between_the_same_turns_pair_by_id() -> None:
    old = of(reply("a", ["hi", "yes", "why ?"]), reply("b", ["tea", "no", "oh"]))
    assert match_units(old, of(reply("a", ["hi", "no", "why ?"]), reply("b", ["tea", "ok", "oh"]))).pairing == "id"
    assert match_units(old, of(reply("a", ["hi", "no", "what ?"]), reply("b", ["tea", "ok", "ah"]))).pairing == "none"


def test_a_number_in_an_id_makes_no_dialogue() -> None:
    tickets = [of(*(reply(f"ticket#{i}", [f"question {i}"]) for i in range(6))) for _ in range(2)]
    assert len(set(match_units(*tickets).pair_clusters)) == 6
    old, new = (of(*(reply(f"d0#{i}", [f"{name} {i}"]) for i in range(4))) for name in ("old", "new"))
    assert match_units(old, new).pairing == "none"


def test_dialogues_of_either_version_are_clusters_however_units_are_paired() -> None:
    old = of(*(reply(f"a{i}", [f"q{i}"], f"d{i // 2}") for i in range(6)))
    new = of(*(reply(f"b{i}", [f"q{i}"], f"e{i // 3}") for i in range(6)))
    by_context = match_units(old, new)
    assert by_context.pairing == "context"
    assert len(set(by_context.pair_clusters)) == 1  # d0, d1 and d2 are joined by e0 and e1
    bare = of(*(reply(f"b{i}", [f"q{i}"]) for i in range(6)))
    assert len(set(match_units(old, bare).pair_clusters)) == 3


def test_what_is_not_paired_says_what_helps() -> None:
    talks = [Version("v", "dialogue", (Unit(f"{i}", {METRIC: 1.0}, {}),)) for i in range(2)]
    assert "occasion" in _explained(*talks)[1]
    old, new = (of(*(reply(f"{i}", [f"{name} {i}"]) for i in range(4))) for name in ("old", "new"))
    what, hint = _explained(old, new)
    assert "4 ids in both versions" in what
    assert "--map dialogue=" in hint
    assert "--map id=" in _explained(old, of(reply("x", ["y"])))[1]
    half = of(*(reply(f"{i}", [f"{'old' if i else 'new'} {i}"]) for i in range(4)))
    assert "1 id in both versions" in _explained(old, half)[0]
    assert _explained(old, of(*old.units[:3])) == ("", "")


def _explained(old: Version, new: Version) -> tuple[str, str]:
    return explain_unpaired(old, new, match_units(old, new))


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
