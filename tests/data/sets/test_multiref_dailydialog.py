"""Multi-reference DailyDialog."""

from __future__ import annotations

from pathlib import Path

from interloq import Rating, Reference, Turn
from interloq.data.sets import multiref_dailydialog
from tests.published_layouts import (
    write_gupta,
)


def test_gupta_tells_the_original_reply_from_other_references(tmp_path: Path) -> None:
    samples = list(multiref_dailydialog.samples(write_gupta(tmp_path)))
    assert [sample.id for sample in samples] == ["multiref_dailydialog/73_4/hredf", "multiref_dailydialog/73_4/human"]
    sample = samples[0]
    assert sample.references == (
        Reference("tell me more .", source="gold"),
        Reference("okay .", source="human"),
        Reference("did you bring it ?", source="human"),
    )
    assert sample.context == (Turn("may i come in ?"), Turn("yes , please ."))
    assert sample.ratings == (Rating(2.4),)
