# SPDX-License-Identifier: Apache-2.0
"""Multi-reference DailyDialog (Gupta et al., 2019): replies of four systems and people to 100 contexts, with scores.

The published references are the original reply and three further ones written by people. Only the mean of the judgments
is published, so each reply has one rating and no rater.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from interloq.data.files.archives import read_files
from interloq.data.sets.items import rows, slug
from interloq.records import Rating, Reference, Sample

FILES = ("mturk_rating_processed_output.csv",)
COLUMNS = ("model", "context_id", "human_average_rating", "response", "prevgt", "all_references", "context")


def samples(path: str | Path) -> Iterator[Sample]:
    """Yield the rated replies, each with its four references."""
    (file,) = read_files(path, FILES)
    for item in rows(file, COLUMNS):
        original = item.text("prevgt")
        others = [text.strip() for text in item.text("all_references").split("\t")]
        if original not in others:
            raise item.error("'prevgt' is not among 'all_references'")
        others.remove(original)
        system = item.text("model")
        yield Sample(
            id=f"multiref_dailydialog/{item.text('context_id')}/{slug(system)}",
            context=[turn.strip() for turn in item.text("context").split("||||")],
            response=item.text("response"),
            references=[Reference(original), *(Reference(other, source="human") for other in others)],
            system=system,
            ratings=[Rating(item.cell("human_average_rating"))],
        )
