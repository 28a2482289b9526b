"""What a report warns about."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from interloq import Rating, Sample
from tests.report.made_report import notices_of, replace_id
from tests.report.parsed_html import parse, report


@pytest.mark.parametrize("share", [1, 2])
def test_illustrative_ratings_are_labelled(folder: Path, samples: list[Sample], share: int) -> None:
    shown = [
        Sample(s.id, s.context, s.response, s.references, s.system,
               [replace(r, role="illustrative") for r in s.ratings] if i % share == 0 else s.ratings)
        for i, s in enumerate(samples)
    ]  # fmt: skip
    page = parse(report(folder, shown))
    notice = page.one("div", cls="illustrative")
    assert notice.one("strong").text == "illustrative: no person gave these"
    assert ("9 of 18 ratings" in notice.text) == (share == 2)
    who = "illustrative ratings" if share == 1 else "partly illustrative ratings"
    assert page.one(id="agreement-title").text == f"Agreement with {who} aspect overall"
    assert f"mean rating ({who}, overall)" in page.one(id="plot1").text
    assert "people" not in page.one("table", cls="heat").text
    assert "illustrative" not in parse(report(folder, samples)).one("body").text


def test_few_samples_are_named(folder: Path, samples: list[Sample]) -> None:
    assert any(text.startswith("Only 6 samples") for text in notices_of(parse(report(folder, samples))))
    many = [replace_id(samples[i % 3], f"{i:03}") for i in range(60)] + [replace_id(samples[5], "few")]
    assert "1 system with fewer than 30 samples: differences may be due to chance. bad: 1 sample" in notices_of(
        parse(report(folder, many))
    )
    (left,) = notices_of(parse(report(folder, [s for s in many if s.system == "good"])))
    assert left.startswith("20 of 60 replies (good 20) are among their own references")


def test_unscored_samples_are_counted_with_their_reasons(folder: Path, samples: list[Sample]) -> None:
    bare = Sample("7", ["how was it ?"], "fine", (), "bad", [Rating(3, "rater-0")])
    page = parse(report(folder, [*samples, bare]))
    assert "1 score missing; no value was substituted. bleu(order=2): 1 sample, no references" in notices_of(page)
    rows = page.one("table", cls="scores").all("tbody", cls="rows")[0].all("tr")
    assert [row.all("td")[-1].text for row in rows] == ["1", "0"]
    texts = json.loads(page.one(id="rows").raw)
    drawn = [texts[int(mark.attributes["data-text"])][0] for mark in page.one(id="plot1").one("svg").all("use")]
    assert "7" not in drawn
    assert len(drawn) == 6


def test_nothing_could_be_scored(folder: Path, samples: list[Sample]) -> None:
    bare = [Sample(s.id, s.context, s.response, (), s.system, s.ratings) for s in samples]
    page = parse(report(folder, bare, metrics=["bleu"]))
    rows = page.one("table", cls="scores").rows()
    assert [row[1] for row in rows] == ["n/a"] * 2
    assert "no references" in " ".join(notices_of(page))
    assert not page.all("article")
    targets = [link.attributes["href"] for link in page.one("nav").all("a")]
    assert targets == ["#overview", "#scores", "#agreement", "#samples", "#matrix", "#source"]  # no empty plots


def test_without_ratings_the_report_says_how_to_add_them(folder: Path, samples: list[Sample]) -> None:
    bare = [Sample(s.id, s.context, s.response, s.references, s.system) for s in samples]
    page = parse(report(folder, bare))
    section = page.one(id="overview")
    assert "No ratings of the aspect “overall”." in section.text
    assert '"ratings": [4, 5, 3]' in section.text
    assert not page.all("svg", cls="scatter")
    assert [cell.text for cell in page.one("table", cls="heat").one("thead").all("th")] == ["1", "2"]
    targets = [link.attributes["href"] for link in page.one("nav").all("a")]
    assert targets == ["#overview", "#scores", "#samples", "#matrix", "#source"]
    assert [section.attributes["id"] for section in page.all("section")] == ["overview", "scores", "samples", "matrix"]


def test_another_aspect_is_offered(folder: Path, samples: list[Sample]) -> None:
    page = parse(report(folder, samples, "--aspect", "engaging"))
    assert "The samples have ratings of: overall. Choose one with --aspect" in page.one(id="overview").text


@pytest.mark.parametrize("system", ["only", ""])
def test_one_system_or_none(folder: Path, samples: list[Sample], system: str) -> None:
    alone = [Sample(s.id, s.context, s.response, s.references, system, s.ratings) for s in samples]
    page = parse(report(folder, alone))
    assert [row[0] for row in page.one("table", cls="scores").rows()] == [system or "all samples"] * 2
    assert [item.text for item in page.one("ul", cls="legend").all("li")] == [system or "(none)"]


def test_samples_without_a_system_beside_others_are_counted(folder: Path, samples: list[Sample]) -> None:
    samples[0] = Sample("1", samples[0].context, "fine", samples[0].references, "", samples[0].ratings)
    page = parse(report(folder, samples))
    assert "1 sample without a system, shown as (none)." in notices_of(page)
    assert [row[3] for row in page.one("table", cls="scores").rows()] == ["1", "3", "2"] * 2
    assert [item.text for item in page.one("ul", cls="legend").all("li")] == ["(none)", "bad", "good"]


def test_scores_that_fit_no_sample_and_samples_without_scores_are_counted(folder: Path, samples: list[Sample]) -> None:
    def edit(path: Path) -> None:
        text = path.read_text().replace('{"id":"1","metric":"length"', '{"id":"stranger","metric":"length"')
        path.write_text(text)

    page = parse(report(folder, samples, edit=edit))
    assert "1 scored sample not among the samples; they count only in the score table." in notices_of(page)
    assert "Some samples are not in the score files. length: 1 sample" in notices_of(page)
