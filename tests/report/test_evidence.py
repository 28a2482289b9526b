"""Samples on which a metric and people disagree."""

from __future__ import annotations

from pathlib import Path

from scipy.stats import rankdata

from interloq import Rating, Reference, Sample, Turn
from tests.report.made_report import mean_rating, read_scores, values_of
from tests.report.parsed_html import parse, report


def test_the_worst_disagreement_can_be_read_in_full(folder: Path, samples: list[Sample]) -> None:
    talk = [Turn("hello", "Anna"), Turn("hi", "bot"), Turn("how was it ?", "Anna")]
    long = "no " * 300
    references = [Reference("the food was delicious ."), Reference("it was awful", -0.5, "retrieved:x7")]
    samples[4] = Sample("5", talk, long, references, "bad", [Rating(1, "ann"), Rating(2, "bob", role="outsider")])
    page = parse(
        report(
            folder,
            samples,
            metrics=["length"],
        )
    )
    lengths = values_of(read_scores(folder), "length")
    judged = {sample.id: mean_rating(sample) for sample in samples}
    ids = sorted(judged)
    ranks = rankdata([lengths[id] for id in ids]) - rankdata([judged[id] for id in ids])
    worst = ids[int(ranks.argmax())]
    assert worst == "5"
    card = page.one(id="reading").all("article")[0]
    assert card.one("span", cls="id").text == "5"
    assert card.one("span", cls="difference").text == f"+{ranks.max() / 6 * 100:.0f}"
    assert [bubble.classes & {"left", "right"} for bubble in card.all(cls="bubble")] == [
        {"left"}, {"right"}, {"left"}, {"right"},
    ]  # fmt: skip
    assert [speaker.text for speaker in card.all("span", cls="speaker")] == ["Anna", "bot", "Anna", "reply judged"]
    fold = card.one("details", cls="more")
    assert fold.parent is not None
    assert fold.parent.text.replace("more", "").split() == long.split()
    assert [
        (li.one(cls="weight").text, li.one(cls="said").text, li.one(cls="quiet").text)
        for li in card.one(cls="references").all("li")
    ] == [
        ("1.00", "the food was delicious .", "gold"),
        ("−0.50", "it was awful", "retrieved:x7"),
    ]
    assert [li.text for li in card.one("ul", cls="ratings").all("li")][1:] == ["1 ann", "2 bob outsider"]
    verdicts = card.one("dl", cls="verdicts").text
    assert "1.50 percentile" in verdicts


def test_half_of_the_disagreements_are_over_and_half_underrated(folder: Path, samples: list[Sample]) -> None:
    page = parse(report(folder, samples, "--worst", "2"))
    for reading in page.all("details", cls="reading"):
        over, under = reading.all("div", cls="side")
        assert [len(side.all("article")) for side in (over, under)] == [1, 1]
        assert over.one(cls="difference").text.startswith("+")
        assert under.one(cls="difference").text.startswith("−")
    assert not parse(report(folder, samples, "--worst", "0")).all("article")


def test_early_turns_and_nameless_speakers(folder: Path, samples: list[Sample]) -> None:
    turns = [f"turn {i}" for i in range(7)]
    longer = [Sample(s.id, turns, s.response, s.references, s.system, s.ratings) for s in samples]
    card = parse(report(folder, longer)).one(id="reading").all("article")[0]
    assert card.one("details", cls="earlier").one("summary").text == "4 earlier turns"
    assert [said.text for said in card.all("div", cls="said")][:7] == turns
    sides = [(bubble.classes & {"left", "right"}).pop() for bubble in card.all(cls="bubble")]
    assert sides == ["left", "right"] * 4
    assert [speaker.text for speaker in card.all("span", cls="speaker")] == ["reply judged"]
