"""The data set of predictive engagement."""

from __future__ import annotations

from pathlib import Path

from interloq import Rating, Score, Turn
from interloq.data.sets import predictive_engagement
from tests.published_layouts import (
    write_engagement,
)


def test_predictive_engagement_joins_the_rows_of_a_pair(tmp_path: Path) -> None:
    first, second = predictive_engagement.samples(write_engagement(tmp_path))
    assert (first.id, first.context, first.response) == (
        "predictive_engagement/0",
        (Turn("how long ?"),),
        "Not really .",
    )
    assert first.ratings == (Rating(2.0), Rating(1.0))
    assert second.ratings == (Rating(5.0), Rating(4.0))


def test_predictive_engagement_gives_its_stored_scores(tmp_path: Path) -> None:
    scores = list(predictive_engagement.scores(write_engagement(tmp_path)))
    assert len(scores) == 2 * 4
    assert Score("predictive_engagement/1", "stored:Ruber_Unref_Score", 8e-06) in scores
