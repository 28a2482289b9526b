"""Samples on which a metric and people disagree."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from scipy.stats import rankdata

from interloq import InputError, Rating, Reference, Sample, Turn
from interloq.data.records.read_options import ReadOptions
from interloq.report.evidence import Inputs
from interloq.report.report_options import ReportOptions
from tests.report.made_report import mean_rating, read_scores, values_of
from tests.report.parsed_html import parse, report


def test_the_worst_disagreement_can_be_read_in_full(folder: Path, samples: list[Sample]) -> None:
    talk = [Turn("hello", "Anna"), Turn("hi", "bot"), Turn("how was it ?", "Anna")]
    long = "no " * 300
    references = [Reference("the food was delicious ."), Reference("it was awful", -0.5, "retrieved:x7")]
    samples[4] = Sample("5", talk, long, references, "bad", [Rating(1, "ann"), Rating(2, "bob", role="outsider")])
    page = parse(report(folder, samples, metrics=["length"]))
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


def test_only_what_files_do_not_share_is_shown(tmp_path: Path) -> None:
    private = tmp_path / "private"
    options = ReportOptions(samples=private / "b.jsonl", models=[private / "m"])
    names = Inputs([private / "a/s.jsonl"], options).names()
    assert list(names.values()) == ["a/s.jsonl", "b.jsonl", "m"]


def test_the_command_can_be_pasted(tmp_path: Path) -> None:
    options = ReportOptions(
        samples=tmp_path / "b.jsonl",
        dialogues=[tmp_path / "d.jsonl"],
        models=[tmp_path / "m"],
        title="it's",
        lower_is_better=True,
        read=3,
    )
    inputs = Inputs([tmp_path / "s 1.jsonl"], options)
    words = shlex.split(inputs.command(ReadOptions(columns={"response": "reply", "id": "key"})))
    assert words[:7] == ["interloq", "report", "s 1.jsonl", "-o", "report.html", "--samples", "b.jsonl"]
    assert words[-3:] == ["--lower-is-better", "--map", "response=reply,id=key"]
    for option, value in {"--title": "it's", "--dialogues": "d.jsonl", "--read": "3", "--model": "m"}.items():
        assert words[words.index(option) + 1] == value


def test_sources_are_known_by_their_content(folder: Path) -> None:
    for name in ("a", "b", "c"):
        (folder / name).write_text("same" if name != "c" else "other")
    first, second, third = Inputs(["a", "b"], ReportOptions(samples="c")).sources()
    assert (first.name, first.fingerprint) == ("a", second.fingerprint)
    assert third.fingerprint != first.fingerprint


def test_pipes_and_negative_counts_are_refused() -> None:
    with pytest.raises(InputError, match="pipe"):
        Inputs(["-"], ReportOptions(samples="b"))
    with pytest.raises(InputError, match="worst must not be negative, got -1"):
        ReportOptions(samples="b", worst=-1)
    assert ReportOptions(samples="b", n_bootstrap=0).n_permutations == 0
    assert ReportOptions(samples="b").n_permutations is None
