"""What a metric says of its direction, in its class and on its card."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq.errors import InputError
from interloq.metrics import named
from interloq.registry import names

TABLE = Path(__file__).parents[2] / "docs" / "metrics" / "README.md"


def test_the_table_of_metrics_and_the_classes_agree() -> None:
    rows = [[cell.strip() for cell in line.split("|")] for line in TABLE.read_text("utf-8").splitlines()]
    told = {row[1].strip("`"): row[5] for row in rows if len(row) > 6 and row[6].endswith(".md)")}
    assert told == {name: named.direction(name) for name in names("metric")}


def test_what_is_said_wins() -> None:
    assert [named.direction("perplexity", lower) for lower in (None, True, False)] == ["lower", "lower", "higher"]
    assert [named.downwards("length", lower) for lower in (True, False)] == [True, False]
    with pytest.raises(InputError, match=r"neither a high nor a low score is better; .* --higher-is-better"):
        named.downwards("length(tokenizer='char')")
