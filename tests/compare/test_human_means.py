"""Mean human ratings of versions."""

from __future__ import annotations

import numpy as np
import pytest

from interloq.compare.human_means import human_means
from interloq.compare.versions import match_units
from tests.made_versions import METRIC, drawn, version


def test_labels_alone_and_with_scores() -> None:
    rng = np.random.default_rng(0)
    quality = drawn(n=200)
    ratings = [3 + q + 0.3 * rng.normal() for q in quality[:30]]
    old, new = version("old", quality, ratings=ratings), version("new", quality, ratings=[r + 1 for r in ratings])
    found = {(h.which, h.metric): h for h in human_means(old, new, match_units(old, new), [METRIC])}
    assert len(found) == 6
    alone, powered = found["old", ""], found["old", METRIC]
    assert alone.value == pytest.approx(np.mean(ratings))
    assert (alone.labels, alone.scored, powered.labels, powered.scored) == (30, 0, 30, 200)
    assert alone.ci
    assert powered.ci
    assert powered.ci[1] - powered.ci[0] < 0.6 * (alone.ci[1] - alone.ci[0])
    assert found["difference", METRIC].value == pytest.approx(1.0)
    assert found["difference", METRIC].ci == pytest.approx((1.0, 1.0))  # equal scores: the pairs cancel all noise


def test_ratings_of_one_version_or_of_none() -> None:
    old, new = version("old", drawn(), ratings=[1, 2, 3]), version("new", drawn())
    assert [h.which for h in human_means(old, new, match_units(old, new), [METRIC])] == ["old"]
    few, whole = version("old", drawn(), ratings=drawn()[:9]), version("new", drawn(), ratings=drawn())
    found = [(h.which, h.metric) for h in human_means(few, whole, match_units(few, whole), [METRIC])]
    assert found[3:] == [("old", METRIC), ("difference", METRIC)]  # all units of the new version are rated
    assert list(human_means(new, new, match_units(new, new), [METRIC])) == []
