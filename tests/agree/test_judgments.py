from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

from interloq import InputError, Rating, Sample
from interloq.agree.judgments import aspects, collect
from interloq.records import ILLUSTRATIVE


def rated(id: str, *ratings: Rating, context: str = "hello ?", system: str = "") -> Sample:
    return Sample(id, [context] if context else [], "reply", system=system, ratings=ratings)


def test_everything_is_sorted_counted_and_averaged() -> None:
    samples = [
        rated("b", Rating(4.0, "ann"), Rating(2.0, "bob"), system="two"),
        rated("a", Rating(5.0, "ann"), Rating(None, "bob"), system="one"),
        rated("c", Rating(1.0, "bob"), Rating(3.0, "bob", "humour")),
        rated("d"),
    ]
    found = collect(samples)
    assert found.keys == (("a", "one"), ("b", "two"), ("c", ""), ("d", ""))
    assert found.annotators == ("ann", "bob")
    np.testing.assert_array_equal(found.mean(), [5.0, 3.0, 1.0, np.nan])
    np.testing.assert_array_equal(found.of(0), [5.0, 4.0, np.nan, np.nan])
    np.testing.assert_array_equal(found.of(1), [np.nan, 2.0, 1.0, np.nan])
    np.testing.assert_array_equal(found.without(0), [np.nan, 2.0, 1.0, np.nan])
    counted = found.counted
    assert (counted.samples, counted.rated, counted.unrated) == (4, 3, 1)
    assert (counted.judgments, counted.not_applicable) == (4, 1)
    assert (counted.annotators, counted.partial_annotators) == (2, 2)
    assert found.notes == ()


def test_who_rated_everything_is_not_partial() -> None:
    samples = [rated(str(i), Rating(1.0, "all"), *([Rating(2.0, "some")] if i < 2 else [])) for i in range(4)]
    assert (collect(samples).counted.annotators, collect(samples).counted.partial_annotators) == (2, 1)
    assert collect([rated("1", Rating(1.0, "twice"), Rating(2.0, "twice"))]).counted.judgments == 2


def test_order_of_samples_and_ratings_changes_nothing() -> None:
    rng = random.Random(0)
    base = [[Rating(rng.choice([0.1, 0.2, 0.7]), rater) for rater in ("x", "y", "z", "", "")] for _ in range(20)]
    first = collect([rated(str(i), *ratings, context=str(i % 4)) for i, ratings in enumerate(base)])
    shuffled = [rated(str(i), *rng.sample(r, len(r)), context=str(i % 4)) for i, r in enumerate(base)]
    rng.shuffle(shuffled)
    second = collect(shuffled)
    np.testing.assert_array_equal(first.mean(), second.mean())
    np.testing.assert_array_equal(first.contexts, second.contexts)
    np.testing.assert_array_equal(first.of(1), second.of(1))
    assert (first.fingerprint, first.counted, first.notes) == (second.fingerprint, second.counted, second.notes)


def test_equal_means_tie_whatever_was_summed() -> None:
    thrice = rated("1", Rating(3.3), Rating(3.3), Rating(3.3))
    mixed = rated("2", Rating(3.1), Rating(3.3), Rating(3.5))
    assert np.mean([3.1, 3.3, 3.5]) != 3.3  # what plain summing makes of it
    assert collect([thrice, mixed, rated("3", Rating(3.3))]).mean().tolist() == [3.3, 3.3, 3.3]


ANN, BOB = Rating(1.0, "ann"), Rating(4.5, "bob")


@pytest.mark.parametrize(
    ("samples", "annotators", "means", "sizes", "note"),
    [
        ([(Rating(1.0), Rating(4.0), Rating(4.0, "ann"))] * 3, "ann", [3, 3, 3], [3, 3, 3], "without a rater id"),
        ([(ANN, Rating(3.0, "once")), (Rating(2.0, "ann"),)], "ann", [2, 2], [2, 1], "raters of only one sample"),
        ([(ANN, Rating(2.0, "ann"), BOB), (ANN, BOB)], "ann bob", [3, 2.75], [2, 2], "averaged into one vote: 1"),
        ([(1.0, 2.0), (2.0, 2.0)], "1 2", [1.5, 2], [2, 2], "named by position"),
        ([(Rating(1.0, "ann", role=ILLUSTRATIVE),)] * 2, "ann", [1, 1], [1, 1], "illustrative: no person gave them"),
    ],
)
def test_how_ratings_count(
    samples: list[tuple[Any, ...]], annotators: str, means: list[float], sizes: list[int], note: str
) -> None:
    found = collect([Sample(str(i), "c", "r", ratings=ratings) for i, ratings in enumerate(samples)])
    assert found.annotators == tuple(annotators.split())
    assert (found.mean().tolist(), found.sizes().tolist()) == (means, sizes)
    assert any(note in line for line in found.notes)


def test_roles_are_pooled_with_a_note_or_chosen() -> None:
    samples = [rated(str(i), Rating(7.0, "me", role="interlocutor"), Rating(1.0, "you", role="outsider")) for i in "12"]
    assert collect(samples).mean().tolist() == [4.0, 4.0]
    assert collect(samples).notes == ("judgments by people in several roles are pooled: interlocutor, outsider",)
    own = collect(samples, role="interlocutor")
    assert (own.mean().tolist(), own.notes) == ([7.0, 7.0], ())


def test_contexts_are_the_same_texts_and_an_empty_one_is_nobodys() -> None:
    one = Rating(1.0)
    texts = {"a": "hi", "b": "", "c": "hi", "d": "", "e": "ho"}
    numbers = collect([rated(id, one, context=text) for id, text in texts.items()]).contexts.tolist()
    assert numbers[0] == numbers[2]
    assert len(set(numbers)) == 4


def test_turns_do_not_run_together() -> None:
    samples = [Sample("1", ["a", "b"], "r", ratings=[1]), Sample("2", ["ab"], "r", ratings=[1])]
    assert len(set(collect(samples).contexts.tolist())) == 2


@pytest.mark.parametrize(
    ("samples", "aspect", "role", "said"),
    [
        ([rated("1"), rated("2")], "overall", "", "no ratings in 2 samples"),
        ([rated("1", Rating(1.0, aspect="fluency"))], "overall", "", "rated aspects: fluency"),
        ([rated("1", Rating(None, "a"))], "overall", "", "no usable ratings of 'overall': 1 are 'not applicable'"),
        ([rated("1", Rating(1.0, "a"))], "overall", "judge", "by people in role 'judge'"),
        ([rated("1", Rating(1.0)), rated("1", Rating(2.0))], "overall", "", "duplicate sample '1'"),
        ([], "overall", "", "no ratings in 0 samples"),
    ],
)
def test_what_cannot_be_used_is_said(samples: list[Sample], aspect: str, role: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        collect(samples, aspect=aspect, role=role)


def test_aspects_are_counted() -> None:
    samples = [rated("1", Rating(1.0, "a"), Rating(None, "b"), Rating(2.0, "a", "humour")), rated("2", Rating(3.0))]
    assert aspects(samples) == {"humour": (1, 1, 0), "overall": (2, 2, 1)}
    assert math.isnan(collect(samples, aspect="humour").mean()[1])


def test_ratings_on_a_common_scale() -> None:
    values = [1.0, 2, 2, 4, 5, 3]
    samples = [rated(str(i), Rating(v, "ann"), Rating(20 * v, "dan")) for i, v in enumerate(values)]
    plain, scaled = collect(samples), collect(samples, normalise="z")
    assert "different scales" in " ".join(plain.notes)
    assert "different scales" not in " ".join(scaled.notes)
    assert "z-scores" in " ".join(scaled.notes)
    np.testing.assert_allclose(scaled.mean(), (np.array(values) - np.mean(values)) / np.std(values))
    assert plain.fingerprint != scaled.fingerprint
