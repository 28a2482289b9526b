# SPDX-License-Identifier: Apache-2.0
"""PredictiveEngagement (Ghazarian et al., 2020): 600 query and reply pairs of DailyDialog, three scores each.

The table has one row per worker, without the worker's name. `samples` merges the rows of a pair; `scores` gives the
published automatic scores, as `stored:<column>`. There are no references and no system names.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from interloq.data.files.archives import read_files
from interloq.data.sets.items import DatasetItem, rows
from interloq.records import Rating, Sample, Score

FILES = ("predictive_engagement.csv",)
STORED = ("Ruber_Unref_Score", "CTX_Unref_Score", "Eng_Score_MeanPooling", "Eng_Score_MaxPooling")


def samples(path: str | Path) -> Iterator[Sample]:
    """Yield the pairs in the order of their first rows, each with all its scores."""
    for pair, judged in _pairs(path):
        ratings = [Rating(row.cell("human_score")) for row in judged]
        yield Sample(pair, judged[0].text("query"), judged[0].text("response"), ratings=ratings)


def scores(path: str | Path) -> Iterator[Score]:
    """Yield the stored scores of each pair; the rows of a pair must agree on them."""
    for pair, judged in _pairs(path):
        for column in STORED:
            first = judged[0].cell(column)
            for row in judged[1:]:
                if row.cell(column) != first:
                    raise row.error(f"{column!r} is {row.cell(column)}, but {first} in the pair's first row")
            yield Score(pair, f"stored:{column}", first)


def _pairs(path: str | Path) -> Iterator[tuple[str, list[DatasetItem]]]:
    (file,) = read_files(path, FILES)
    by_pair: dict[tuple[str, str], list[DatasetItem]] = {}
    for row in rows(file, ("query", "response", "human_score", *STORED)):
        by_pair.setdefault((row.text("query"), row.text("response")), []).append(row)
    for index, judged in enumerate(by_pair.values()):
        yield f"predictive_engagement/{index}", judged
