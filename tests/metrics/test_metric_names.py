"""What a metric says of its direction, in its class and on its card."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from interloq import InputError, Sample, evaluate, metric
from interloq.metrics import metric_names
from interloq.metrics.metric import Array, Direction
from interloq.metrics.metric_names import direction, find, labels
from interloq.registry import Component, names

TABLE = Path(__file__).parents[2] / "docs" / "metrics" / "README.md"


def test_the_table_of_metrics_and_the_classes_agree() -> None:
    rows = [[cell.strip() for cell in line.split("|")] for line in TABLE.read_text("utf-8").splitlines()]
    told = {row[1].strip("`"): row[5] for row in rows if len(row) > 6 and row[6].endswith(".md)")}
    assert told == {name: metric_names.direction(name) for name in names("metric")}


def test_a_metric_that_knows_its_direction_keeps_it_and_others_follow_what_is_said() -> None:
    directions = {
        name: [metric_names.direction(name, lower) for lower in (None, True, False)]
        for name in ("perplexity", "bleu", "length", "toxicity", "error_rate", "rating(aspect='overall')", "")
    }
    assert directions == {
        "perplexity": ["lower"] * 3,
        "bleu": ["higher"] * 3,
        "length": ["neither", "lower", "higher"],
        "toxicity": ["neither", "lower", "higher"],
        "error_rate": ["neither", "lower", "higher"],
        "rating(aspect='overall')": ["higher", "lower", "higher"],
        "": ["higher", "lower", "higher"],
    }
    assert metric_names.unknown_directions(directions) == ["toxicity", "error_rate"]
    assert [metric_names.downwards("length", lower) for lower in (True, False)] == [True, False]
    with pytest.raises(InputError, match=r"neither a high nor a low score is better; .* --higher-is-better or --lower"):
        metric_names.downwards("length(tokenizer='char')")


def test_what_a_labelled_name_says() -> None:
    metrics = ["ppl=perplexity(model='a')", "x=bleu", "x=chrf", "length"]
    assert labels(metrics) == {metrics[0]: "ppl", "x=bleu": "x=bleu", "x=chrf": "x=chrf", "length": "length"}
    assert [find(asked, metrics) for asked in ("ppl", "perplexity(model='a')", "bleu", "x", "none")] == [
        metrics[0], metrics[0], "x=bleu", "x", "none",
    ]  # fmt: skip
    assert direction(metrics[0]) == "lower", "a label hides no direction"


def test_a_function_is_known_in_the_process_that_made_it() -> None:
    assert direction("fewer_words_of_this_test") == "neither"
    metric(lambda sample: len(sample.response), name="fewer_words_of_this_test", direction="lower")
    assert direction("fewer_words_of_this_test") == "lower"
    assert direction("mine=fewer_words_of_this_test") == "lower"


@dataclass(frozen=True)
class OwnOfThisTest(Component):
    direction: ClassVar[Direction] = "lower"

    def unscorable(self, sample: Sample) -> None:  # noqa: ARG002
        return None

    def stats(self, samples: Sequence[Sample]) -> Array:
        return np.zeros((len(samples), 2))

    def value(self, total: Array) -> Array:
        return total[..., 0]


def test_a_class_is_known_once_it_has_scored() -> None:
    result = evaluate(OwnOfThisTest(), [Sample("1", (), "a")], n_bootstrap=0)
    assert direction(result.metric) == "lower"
