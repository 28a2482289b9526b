from __future__ import annotations

import math
from random import Random

import pytest

from interloq.reliability.growth import FEWEST, Rise, needed, rises
from interloq.reliability.labels import distinct_texts
from tests.reliability.made_predictor import MadePredictor
from tests.reliability.made_queries import sentence

WORDS = ["tea", "milk", "cup", "leaf", "pot", "sip"]


def test_every_new_topic_word_raises_the_prediction_by_a_tenth() -> None:
    queries = [[f"query {i}"] for i in range(FEWEST)]
    found = rises(MadePredictor(), queries, [WORDS] * FEWEST)
    assert [(rise.size, rise.queries) for rise in found] == [(size, FEWEST) for size in range(1, 6)]
    assert [rise.mean for rise in found] == pytest.approx([0.1] * 5)


def test_only_queries_with_more_references_count_and_order_does_not_matter() -> None:
    random, model = Random(1), MadePredictor()
    queries = [[f"query {i}"] for i in range(30)]
    sets = [[sentence(random, i, 0.5) for _ in range(i % 9)] for i in range(30)]
    found = rises(model, queries, sets)
    distinct = [len(distinct_texts(some)) for some in sets]
    assert [rise.queries for rise in found] == [sum(n > rise.size for n in distinct) for rise in found]
    assert found[-1].queries >= FEWEST
    assert rises(model, queries[::-1], sets[::-1]) == found
    assert rises(model, queries * 2, sets * 2) == found
    assert rises(model, queries, sets, seed=1) != found


def test_a_set_of_two_hundred_references() -> None:
    found = rises(MadePredictor(), [[f"q {i}"] for i in range(6)], [[f"tea {j}" for j in range(200)]] * 6)
    assert len(found) == 19
    assert [rise.mean for rise in found] == pytest.approx([0.0] * 19)


@pytest.mark.parametrize("sets", [[["tea"]] * 9, [WORDS] * (FEWEST - 1), [[]] * 9, [["tea"] * 5] * 9])
def test_too_little_to_say(sets: list[list[str]]) -> None:
    assert rises(MadePredictor(), [[f"q {i}"] for i in range(len(sets))], sets) == []
    assert rises(MadePredictor(), [[" "]] * len(sets), sets) == []


RISES = [Rise(1, 0.1, 9), Rise(2, 0.05, 9), Rise(3, -0.05, 9)]


@pytest.mark.parametrize(
    ("value", "size", "wanted", "expected"),
    [
        (0.3, 1, 0.2, 0),
        (0.15, 1, 0.2, 1),
        (0.1, 1, 0.24, 2),
        (0.1, 1, 0.5, None),  # not reached with four references
        (0.1, 4, 0.2, None),  # no query has five
        (math.nan, 1, 0.2, None),
        (0.1, 0, 0.2, None),
    ],
)
def test_needed(value: float, size: int, wanted: float, expected: int | None) -> None:
    assert needed(value, size, wanted, RISES) == expected
