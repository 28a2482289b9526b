"""How the units of two versions are paired, and what is one cluster."""

from __future__ import annotations

import math

from interloq.meta.comparison import Pairing
from interloq.meta.versions import Unit, Version, matched, unscored
from tests.meta.made_versions import METRIC, version


def units(prefix: str, *keys: dict[Pairing, str]) -> Version:
    return Version(prefix, "sample", tuple(Unit(f"{prefix}{i}", {METRIC: 1.0}, key) for i, key in enumerate(keys)))


def test_the_best_key_that_both_have_pairs() -> None:
    old, new = units("a", {"id": "1", "context": "x"}, {"id": "2"}), units("b", {"context": "x"}, {"context": "y"})
    assert matched(old, new).pairing == "context"
    found = matched(old, units("b", {"id": "2"}, {"id": "1", "context": "x"}))
    assert found.pairing == "id"
    assert [(a.id, b.id) for a, b in found.pairs] == [("a0", "b1"), ("a1", "b0")]
    assert found.alone == (0, 0)


def test_equal_ids_of_different_contexts_do_not_pair() -> None:
    old, new = units("a", {"id": "1", "context": "x"}), units("b", {"id": "1", "context": "y"})
    assert matched(old, new).pairing == "none"


def test_few_common_ids_do_not_pair() -> None:
    old, new = version("old", [1] * 9), version("new", [1] * 9, prefix="n")
    assert matched(old, new).pairing == "none"
    assert matched(old, new).alone == (9, 9)
    assert not set(matched(old, new).old_clusters) & set(matched(old, new).new_clusters)
    assert matched(old, version("new", [1] * 5)).alone == (4, 0)


def test_replies_in_a_dialogue_and_repeats_of_a_prompt_are_one_cluster() -> None:
    talks = matched(version("old", [1] * 6, dialogue=3), version("new", [2] * 6, dialogue=3))
    assert len(set(talks.pair_clusters)) == 2
    assert talks.old_clusters == talks.new_clusters == talks.pair_clusters
    twice = matched(units("a", {"context": "x"}, {"context": "x"}), units("b", {"context": "x"}, {"context": "x"}))
    assert len(twice.pairs) == 2
    assert len(set(twice.pair_clusters)) == 1
    keys: list[dict[Pairing, str]] = [{"id": "1", "context": "x"}, {"id": "2", "context": "x"}, {"id": "3"}]
    assert len(set(matched(units("a", *keys), units("b", *keys)).pair_clusters)) == 2
    other: list[dict[Pairing, str]] = [{"id": "8", "context": "y"}, {"id": "9", "context": "y"}]
    assert len(set(matched(units("a", *keys), units("b", *other)).new_clusters)) == 1


def test_units_without_a_score_are_found() -> None:
    assert [unit.id for unit in unscored(version("old", [1, math.nan]), METRIC)] == ["1"]
    assert len(list(unscored(version("old", [1, math.nan]), "bleu"))) == 2
