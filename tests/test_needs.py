"""What metrics need."""

from __future__ import annotations

from interloq.needs import Needs


def test_the_line_is_short() -> None:
    assert Needs().line() == "nothing"
    needs = Needs(references=True, context=True, fields={"model": "an encoder: a folder", "x": "y; z"}, extra="encoder")
    assert needs.line() == "references; a context; model: an encoder; x: y; interloq[encoder]"
