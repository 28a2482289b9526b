"""Weights from people's ratings."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interloq.data.records.jsonl import write
from interloq.errors import InputError, SpecError
from interloq.rate.human import Human
from interloq.records import Rating, Reference, Sample

SAMPLE = Sample(
    "a/1",
    ["how was it?"],
    "good",
    [Reference("fine", 0.3), Reference("how was it?", 1, "parrot"), Reference("no", 1, "retrieved:7")],
)


def rater(folder: Path, *ratings: Rating, **options: object) -> Human:
    write(folder / "ratings.jsonl", ratings, kind="ratings")
    return Human(str(folder / "ratings.jsonl"), **options)  # type: ignore[arg-type]


def weights(human: Human, sample: Sample = SAMPLE) -> list[float]:
    (rated,) = human.rate([sample])
    assert [(r.text, r.source) for r in rated.references] == [(r.text, r.source) for r in sample.references]
    return [r.weight for r in rated.references]


def test_the_mean_of_people_on_a_scale_from_minus_one_to_one(tmp_path: Path) -> None:
    given = [("0", 5), ("0", 5), ("1", 1), ("2", 3), ("2", 4)]
    human = rater(tmp_path, *(Rating(value, f"r{i}", item=f"a/1/{place}") for i, (place, value) in enumerate(given)))
    assert weights(human) == [1, -1, 0.25]  # 3.5 on 1 to 5
    other = rater(tmp_path, Rating(5, item="a/1/0"), Rating(0, item="a/1/1"), Rating(7, item="a/1/2"), low=0, high=10)
    assert weights(other) == pytest.approx([0, -1, 0.4])


def test_not_applicable_and_other_aspects_do_not_count_as_votes(tmp_path: Path) -> None:
    ratings = [
        Rating(4, "x", item="a/1/0"),
        Rating(None, "y", item="a/1/0"),
        Rating(1, "y", "fluent", item="a/1/0"),
        Rating(None, "x", item="a/1/1"),
        Rating(2, "x", "fluent", item="a/1/2"),
    ]
    assert weights(rater(tmp_path, *ratings)) == [0.5, 0, 0]
    assert weights(rater(tmp_path, *ratings, aspect="fluent")) == [-1, 0, -0.5]


def test_who_rated_twice_has_one_vote_and_the_nameless_have_one_each(tmp_path: Path) -> None:
    ratings = [Rating(5, "x", item="a/1/0"), Rating(5, "x", item="a/1/0"), Rating(1, "y", item="a/1/0")]
    nameless = [Rating(5, item="a/1/1"), Rating(5, item="a/1/1"), Rating(2, item="a/1/1")]
    assert weights(rater(tmp_path, *ratings, *nameless)) == [0, 0.5, 0]


def test_references_without_a_vote(tmp_path: Path) -> None:
    rating = Rating(2, item="a/1/2")
    assert weights(rater(tmp_path, rating)) == [1, 0, -0.5]  # a gold reply stays gold
    assert weights(rater(tmp_path, rating, gold=False)) == [0, 0, -0.5]
    human = rater(tmp_path, rating, Rating(2, item="elsewhere/0"))
    assert human.counts([SAMPLE]) == {"rated": 1, "unrated_gold": 1, "unrated": 1}
    assert human.items() == 2
    assert rater(tmp_path, rating, gold=False).counts([SAMPLE]) == {"rated": 1, "unrated_gold": 0, "unrated": 2}
    assert weights(human, Sample("b", ["x"], "y", [Reference("z", 0.2, "human")])) == [1]  # came with the sample, too
    assert human.rate([Sample("none")]) == [Sample("none")]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])  # the file is written each time
@given(st.lists(st.integers(1, 5), min_size=1, max_size=6), st.randoms())
def test_weights_stay_in_range_whatever_the_order(tmp_path: Path, values: list[int], random: Random) -> None:
    ratings = [Rating(value, f"r{i % 4}", item="a/1/0") for i, value in enumerate(values)]
    first = weights(rater(tmp_path, *ratings))[0]
    random.shuffle(ratings)
    assert weights(rater(tmp_path, *ratings))[0] == first
    assert -1 <= first <= 1


def test_the_signature_follows_the_file_and_so_do_the_weights(tmp_path: Path) -> None:
    first = rater(tmp_path, Rating(5, item="a/1/0"))
    before, weight = first.signature(), weights(first)[0]
    second = rater(tmp_path, Rating(1, item="a/1/0"))
    assert first == second
    assert second.signature() != before
    assert (weight, weights(second)[0]) == (1, -1)
    for part in ("low=1", "high=5", "aspect='overall'", "gold=True", "|ratings:"):
        assert part in str(before)


@pytest.mark.parametrize(
    ("ratings", "said"),
    [
        ([Rating(6, item="a/1/0")], "ratings.jsonl: the rating 6 of 'a/1/0' is outside 1 to 5"),
        ([Rating(0.5, item="x/0")], "the rating 0.5 of 'x/0' is outside"),
        ([Rating(3)], "a rating has no item"),
        ([Rating(3, aspect="fluent", item="a/1/0")], "no usable rating of aspect 'overall'; rated aspects: fluent"),
    ],
)
def test_mistakes_name_the_file_and_the_item(tmp_path: Path, ratings: list[Rating], said: str) -> None:
    with pytest.raises(InputError) as error:
        rater(tmp_path, *ratings).rate([SAMPLE])
    assert said in str(error.value)


def test_files_and_scales_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read none\.jsonl"):
        Human("none.jsonl").rate([SAMPLE])
    with pytest.raises(SpecError, match="low must be below high"):
        Human("none.jsonl", low=5, high=5)
    (tmp_path / "bad.jsonl").write_text(json.dumps({"item": "a/1/0", "value": "four"}) + "\n")
    with pytest.raises(InputError, match=r"bad\.jsonl:1: rating\.value must be a number"):
        Human(str(tmp_path / "bad.jsonl")).rate([SAMPLE])
