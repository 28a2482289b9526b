"""What metrics need."""

from __future__ import annotations

from interloq.needs import METRICS, Needs
from interloq.registry import names


def test_every_metric_says_what_it_needs() -> None:
    assert METRICS.keys() == set(names("metric"))


def test_the_line_is_short() -> None:
    assert Needs().line() == "nothing"
    needs = Needs(references=True, context=True, fields={"model": "an encoder: a folder", "x": "y; z"}, extra="encoder")
    assert needs.line() == "references; a context; model: an encoder; x: y; interloq[encoder]"
