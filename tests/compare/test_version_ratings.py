"""Ratings of two versions on one scale."""

from __future__ import annotations

import pytest

from interloq import InputError, Rating, Sample
from interloq.compare.version_ratings import common_scale
from interloq.compare.version_units import Ratings, mean_ratings


def version(**values: list[float]) -> list[Sample]:
    n = max(map(len, values.values()))
    return [
        Sample(str(i), [], "reply", ratings=[Rating(own[i], rater) for rater, own in values.items() if i < len(own)])
        for i in range(n)
    ]


def means(records: dict[str, list[Sample]], **options: str) -> list[float]:
    found, _ = common_scale(records, Ratings(**options))  # type: ignore[arg-type]
    rated = [mean_ratings(own) for own in found.values()]
    return [sum(own.values()) / len(own) if own else 0.0 for own in rated]


def test_raters_are_normalised_over_both_versions() -> None:
    """Normalised within each version, every difference would vanish."""
    records = {"old": version(ann=[1, 2, 3], dan=[20, 40, 60]), "new": version(ann=[3, 4, 5], dan=[60, 80, 100])}
    old, new = means(records, normalise="z")
    assert new - old == pytest.approx(2 / 1.2909944)  # in standard deviations of 1, 2, 3, 3, 4, 5
    assert old == pytest.approx(-new)
    old, new = means(records)
    assert new - old == pytest.approx(21.0)


def test_raters_of_one_version_say_nothing_about_the_difference() -> None:
    records = {"old": version(ann=[1, 2, 3, 1], eve=[5, 4, 5, 4, 4]), "new": version(ann=[3, 4, 5, 5])}
    found, notes = common_scale(records, Ratings(normalise="rank"))
    raters = {rating.rater for own in found.values() for sample in own for rating in sample.ratings}
    assert raters == {"ann"}
    assert "5 of 13 ratings left out, by raters of one version only" in " ".join(notes)
    with pytest.raises(InputError, match="no rater of 'overall' rated both versions"):
        common_scale({"old": records["old"], "new": version(fay=[1, 2, 3, 4, 5])}, Ratings(normalise="z"))


def test_different_scales_are_noted() -> None:
    records = {"old": version(ann=[1, 2, 3, 4, 5]), "new": version(dan=[20, 40, 60, 80, 100])}
    found, notes = common_scale(records, Ratings())
    assert found == records
    assert "different scales" in " ".join(notes)
