"""Numbers of metrics, colours and shapes of systems."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from interloq.report.marks import mark_systems, name_metric, name_metrics


@given(st.text())
def test_a_spec_is_only_cut_never_changed(spec: str) -> None:
    assert name_metric(spec, 1).spec == spec


def test_a_spec_may_wrap_at_brackets_and_commas() -> None:
    name = name_metric("ruber(referenced=bleu(order=2),k=1)", 3)
    assert (name.number, name.head, name.short) == (3, "ruber", "3 ruber")
    assert name.rest == ("(", "referenced=bleu(", "order=2),", "k=1)")
    assert name_metric("mine=bleu(order=2)", 1).head == "mine"
    assert [name.short for name in name_metrics(["length", "bleu"]).values()] == ["1 length", "2 bleu"]


def test_64_systems_look_different() -> None:
    marks = mark_systems({f"s{i:02}" for i in range(63)})
    assert marks[""] is marks["(none)"]
    assert len({(mark.colour, mark.shape) for mark in marks.values()}) == 64
