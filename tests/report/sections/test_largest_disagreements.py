"""Samples to read."""

from __future__ import annotations

from interloq import Rating, Sample
from interloq.agree.disagreements import Disagreement, Disagreements
from interloq.report.elements import Mark, Name
from interloq.report.page import Card
from interloq.report.sections.largest_disagreements import reading


def card(sample: Sample) -> Card:
    found = Disagreement(sample.key, 0.5, 2.0, 9.0, 1.0, 10)
    name, mark = Name(0, "m", ("m",)), Mark("", 0, 0)
    made = reading(name, Disagreements((found,), (), 9), {sample.key: sample}, {"": mark}, "overall")
    assert made.under == ()
    return made.over[0]


def test_only_ratings_of_the_aspect_are_shown() -> None:
    found = card(Sample("1", (), "y", (), "", [Rating(4), Rating(None, "b"), Rating(1, "c", "fluency")]))
    assert [line.value for line in found.ratings] == ["4", "not applicable"]
