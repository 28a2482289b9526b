"""Raters on different scales, with constant ratings and under two names; ratings on a common scale."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from interloq import InputError, Rating, Sample
from interloq.data.records.raters import Normalise, RaterRanges, normalise, rater_notes


def samples_by(**values: Sequence[float]) -> list[Sample]:
    """Samples with one rating by each rater."""
    n = max(map(len, values.values()))
    return [
        Sample(str(i), [], "reply", ratings=[Rating(own[i], rater) for rater, own in values.items() if i < len(own)])
        for i in range(n)
    ]


def notes(**values: Sequence[float]) -> str:
    return "; ".join(rater_notes(samples_by(**values), aspect="overall"))


@pytest.mark.parametrize(
    ("other", "span"),
    [
        ([20, 40, 60, 80, 100], "20 to 100 (dan)"),
        ([3, 40, 60, 80, 100], "3 to 100 (dan)"),  # the ranges overlap
        ([0, 1, 0, 1, 1], "0 to 1 (dan)"),
    ],
)
def test_raters_on_different_scales_are_named(other: Sequence[float], span: str) -> None:
    found = notes(ann=[1, 2, 3, 4, 5], bob=[5, 1, 3, 2, 4], cat=[1, 1, 5, 4, 4], dan=other)
    assert "different scales" in found
    assert span in found
    assert "1 to 5 (ann, bob, cat)" in found
    assert "--normalise" in found


@pytest.mark.parametrize(
    "other",
    [
        [1, 2, 1, 2, 2],  # strict
        [4, 5, 5, 4, 4],  # lenient
        [1, 7, 3, 4, 5],  # 1 to 7 cannot be told from a wider use of one scale
        [20, 40, 60],  # too few to know
    ],
)
def test_strict_and_lenient_raters_are_not_on_another_scale(other: Sequence[float]) -> None:
    assert notes(ann=[1, 2, 3, 4, 5], bob=[5, 1, 3, 2, 4], dan=other) == ""


def test_a_constant_rater_is_named_if_others_differ() -> None:
    assert "dan (5 times 4)" in notes(ann=[1, 2, 3, 4, 5], dan=[4, 4, 4, 4, 4])
    assert notes(ann=[4, 4, 4, 4, 4], dan=[4, 4, 4, 4, 4]) == ""
    assert notes(ann=[1, 2, 3, 4, 5], dan=[4, 4]) == ""


def test_names_that_differ_in_case_or_spaces_are_listed() -> None:
    found = notes(**{"Ann": [1], "ann ": [2], "bob": [1], "bob  lee": [1], "Bob Lee": [2]})
    assert "'Ann' and 'ann '" in found
    assert "'Bob Lee' and 'bob  lee'" in found
    assert "'bob'" not in found


def test_aspects_are_separate() -> None:
    ranges = RaterRanges()
    ranges.add([Rating(value, "ann", "fluent") for value in (1, 2, 3, 4, 5)])
    ranges.add([Rating(value, "bob", "score") for value in (20, 40, 60, 80, 100)])
    ranges.add([Rating(None, "cat", "fluent")] * 5)
    assert ranges.notes() == []


# ---- a common scale --------------------------------------------------------------------------------------------------


def ratings_of(samples: list[Sample], rater: str) -> list[float]:
    return [r.value for sample in samples for r in sample.ratings if r.rater == rater and r.value is not None]


@pytest.mark.parametrize("how", ["z", "rank"])
def test_a_scale_of_another_size_and_origin_does_not_matter(how: Normalise) -> None:
    values = [1.0, 2, 2, 4, 5, 3]
    samples = samples_by(ann=values, dan=[20 * value + 3 for value in values])
    scaled, _ = normalise(samples, how, aspect="overall")
    assert ratings_of(scaled, "ann") == pytest.approx(ratings_of(scaled, "dan"))
    expected = stats.zscore(values) if how == "z" else (stats.rankdata(values) - 0.5) / 6
    np.testing.assert_allclose(ratings_of(scaled, "ann"), expected)


def test_ratings_that_cannot_be_normalised_are_left_out_and_counted() -> None:
    samples = samples_by(**{"ann": [1, 2, 3, 4, 5], "": [5, 5, 1, 1, 1], "bob": [1, 2], "cat": [3, 3, 3, 3, 3]})
    other = Rating(2.0, "bob", "fluent")
    samples[0] = Sample("0", [], "reply", ratings=[*samples[0].ratings, other, Rating(None, "bob")])
    scaled, left_out = normalise(samples, "z", aspect="overall")
    assert {rating.rater for sample in scaled[1:] for rating in sample.ratings} == {"ann"}
    assert other in scaled[0].ratings, "other aspects stay as they are"
    assert "12 of 17 ratings left out" in " ".join(left_out)


def test_nobody_can_be_normalised() -> None:
    with pytest.raises(InputError, match="cannot be normalised"):
        normalise(samples_by(**{"": [1, 2, 3, 4, 5, 1]}), "z", aspect="overall")
