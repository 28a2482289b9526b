"""What a metric says of its direction, in its class and on its card."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError
from interloq.metrics import metric_names
from interloq.metrics.metric_names import direction, find, labels
from interloq.registry import names

TABLE = Path(__file__).parents[2] / "docs" / "metrics" / "README.md"


def test_the_table_of_metrics_and_the_classes_agree() -> None:
    rows = [[cell.strip() for cell in line.split("|")] for line in TABLE.read_text("utf-8").splitlines()]
    told = {row[1].strip("`"): row[5] for row in rows if len(row) > 6 and row[6].endswith(".md)")}
    assert told == {name: metric_names.direction(name) for name in names("metric")}


def test_what_is_said_wins() -> None:
    said = [metric_names.direction("perplexity", lower) for lower in (None, True, False)]
    assert said == ["lower", "lower", "higher"]
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
