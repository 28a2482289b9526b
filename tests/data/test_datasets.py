"""Splits of Hugging Face datasets are read like lists of dicts."""

from __future__ import annotations

from typing import Any

import datasets
import pytest

from interloq import InputError, Rating, Reference, Sample, evaluate, from_columns

ROWS: list[dict[str, Any]] = [
    {
        "id": "7",
        "answer_text": "fine",
        "references": [{"text": "good", "weight": 0.5}, {"text": "well"}],
        "ratings": [{"value": 4, "rater": "ann"}, {"value": None, "rater": "bob"}],
        "label": 1,
    },
    {"id": "8", "answer_text": "ok", "references": [], "ratings": [], "label": 0},
]
SPLIT = datasets.Dataset.from_list(ROWS)
NAMES = {"response": "answer_text"}
SAMPLES = [
    Sample(
        "7",
        (),
        "fine",
        [Reference("good", 0.5), Reference("well")],
        ratings=[Rating(4.0, "ann"), Rating(None, "bob")],
        fields={"label": 1},
    ),
    Sample("8", (), "ok", fields={"label": 0}),
]


@pytest.mark.parametrize(
    "split",
    [SPLIT, SPLIT.to_iterable_dataset(), SPLIT.with_format("numpy"), SPLIT.select([1, 0]).select([1, 0])],
    ids=["in memory", "streamed", "as numpy arrays", "selected rows"],
)
def test_a_split_is_a_table(split: Any) -> None:
    """Arrow fills fields that some rows lack with None: the weight of "well" is the default, not missing."""
    assert from_columns(split, columns=NAMES) == SAMPLES


def test_a_split_is_evaluated_and_its_columns_are_columns() -> None:
    renamed = SPLIT.rename_column("answer_text", "response")
    assert evaluate("length", renamed).value == evaluate("length", SAMPLES).value
    assert from_columns(SPLIT["answer_text"], ids=SPLIT["id"]) == [Sample("7", (), "fine"), Sample("8", (), "ok")]


@pytest.mark.parametrize("names", [["train", "test"], ["test"]])
def test_a_dataset_with_splits_is_refused(names: list[str]) -> None:
    splits: Any = datasets.DatasetDict(dict.fromkeys(names, SPLIT))
    for function in (from_columns, lambda rows: evaluate("length", rows)):
        with pytest.raises(InputError, match=rf"has splits: .*; choose one: dataset\['{names[0]}'\]"):
            function(splits)
