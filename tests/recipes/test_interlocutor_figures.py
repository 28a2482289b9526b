"""Means over seeds, parts between and within users, and verdicts."""

from __future__ import annotations

import interlocutor_figures
import numpy as np
import pytest


def test_a_model_of_user_means_correlates_between_users_only() -> None:
    rng = np.random.default_rng(0)
    user = np.repeat(np.arange(12), 8)
    means = rng.normal(size=12)[user]
    people = means + rng.normal(size=len(user))
    parts = interlocutor_figures.user_parts([means], people, user, 100)
    assert parts["between users"].value > 0.8
    assert np.isnan(parts["within users"].value)
    assert str(parts["within users"]) == "n/a"
    assert parts["overall"].value == pytest.approx(np.corrcoef(means, people)[0, 1])
    both = interlocutor_figures.pearson([means, people], people, user, 100)
    assert both.value == pytest.approx((parts["overall"].value + 1) / 2)
    assert both.ci[0] < both.value < both.ci[1]


def test_differences_share_their_resamples() -> None:
    cluster, right = interlocutor_figures.numbered("aabbccdd"), np.array([1, 1, 0, 1, 1, 0, 1, 1.0])
    figure = interlocutor_figures.share(right, cluster, 50)
    assert figure.value == 0.75
    assert (figure - figure).ci == (0, 0)


@pytest.mark.parametrize(
    ("interval", "published", "verdict"),
    [
        ((0.1, 0.2), 0.3, "holds"),
        ((-0.1, 0.1), 0.3, "does not hold"),
        ((-0.1, 0.2), 0.3, "undecided"),
        ((-0.2, -0.1), None, "does not hold"),
        ((-0.1, 0.1), None, "undecided"),
    ],
)
def test_verdicts(interval: tuple[float, float], published: float | None, verdict: str) -> None:
    figure = interlocutor_figures.Figure(sum(interval) / 2, np.linspace(*interval, 1000))
    assert interlocutor_figures.Claim("a above b", figure, published).verdict == verdict
    assert interlocutor_figures.Claim("a above b", None, reason="no data").verdict == "undecided: no data"
