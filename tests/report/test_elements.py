"""Elements of the page."""

from __future__ import annotations

from interloq.report.elements import Name


def test_a_name_is_its_whole_spec_wherever_it_wraps() -> None:
    assert Name(1, "bleu(", ("order=2,", "level='sentence')")).spec == "bleu(order=2,level='sentence')"
    assert Name(2, "length", ()).spec == "length"
    assert Name(2, "length", ()).short == "2 length"
