"""Facts of a build, added up over shards."""

from __future__ import annotations

from collections import Counter
from typing import Any

from interloq.data.corpus.facts import part_facts, sum_counts


def test_counts_are_added_up_over_shards() -> None:
    cleaned: list[dict[str, Any]] = [{"read": {"a": 3, "b": 1}}, {"read": {"a": 2}}, {"read": {}}]
    assert sum_counts(cleaned, "read") == {"a": 5, "b": 1}
    assert sum_counts([], "read")["a"] == 0


def test_means_of_nothing_are_missing() -> None:
    facts = part_facts(Counter(), 0)
    assert (facts["dialogues"], facts["users"]) == (0, 0)
    assert facts["turns_per_dialogue"] is facts["characters_per_turn"] is None


def test_means_are_per_dialogue_and_per_turn() -> None:
    facts = part_facts(Counter(dialogues=3, turns=10, turn_characters=25), 4)
    assert (facts["turns_per_dialogue"], facts["characters_per_turn"], facts["users"]) == (3.333, 2.5, 4)
