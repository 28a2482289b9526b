"""What stands in the report, read back from its HTML."""

from __future__ import annotations

import json
import re
from pathlib import Path

import orjson
import pytest

from interloq import Rating, Sample, Score, write
from interloq.agree.disagreements import Disagreement, Disagreements
from interloq.records import Preference
from interloq.report.build import Evidence
from interloq.report.report_file import report_file
from interloq.report.report_options import ReportOptions
from interloq.report.text import interval, number
from interloq.signature import Signature
from tests.report.made_report import notices_of, read_scores, values_of
from tests.report.parsed_html import parse, rendered, report


def test_all_sections_are_there_and_linked(folder: Path, samples: list[Sample]) -> None:
    page = parse(report(folder, samples, "--title", "June release"))
    assert page.one("head").one("title").text == page.one("h1").text == "June release"
    targets = [link.attributes["href"] for link in page.one("nav").all("a")]
    names = ["overview", "scores", "agreement", "scatter", "samples", "matrix", "reading", "source"]
    assert targets == [f"#{name}" for name in names]
    assert all(page.one(id=target[1:]).all("h2") for target in targets)
    facts = {fact.one("dt").text: fact.one("dd").text for fact in page.one("dl", cls="facts").all("div")}
    assert facts == {"samples": "6", "systems": "2", "metrics": "2", "judgments by people, aspect overall": "18"}


def test_ids_are_unique_and_references_to_them_resolve(folder: Path, samples: list[Sample]) -> None:
    page = parse(report(folder, samples))
    ids = [element.attributes["id"] for element in page.all() if "id" in element.attributes]
    assert len(ids) == len(set(ids))
    for element in page.all():
        for attribute in ("href", "aria-labelledby", "for"):
            if attribute in element.attributes:
                assert element.attributes[attribute].removeprefix("#") in ids


def test_the_score_table_shows_the_results_of_the_header(folder: Path, samples: list[Sample]) -> None:
    page = parse(report(folder, samples))
    header = orjson.loads((folder / "scores.jsonl").read_bytes().splitlines()[0])
    table = page.one("table", cls="scores")
    heads = [body.one("code").text for body in table.all("tbody", cls="head")]
    assert [re.sub(r"^\d", "", head) for head in heads] == ["bleu(order=2)", "length"]
    for metric, body in zip(("bleu(order=2)", "length"), table.all("tbody", cls="rows"), strict=True):
        shown = {row.one("th").text: [cell.text for cell in row.all("td")] for row in body.all("tr")}
        assert list(shown) == ["bad", "good"]
        for result in (r for r in header["results"] if r["metric"] == metric and r["system"]):
            cells = shown[result["system"]]
            digits = 4 if abs(result["value"]) < 10 else 2
            assert cells == [
                number(result["value"], digits),
                interval(tuple(result["ci"]), digits),
                str(result["n"]),
                str(result["unscored"]),
            ]
    signatures = [foot.one("code").text for foot in table.all("tbody", cls="foot")]
    written = [Signature.from_json(header["results"][i]["signature"]) for i in (0, -1)]
    assert signatures == [str(signature) for signature in written]


def test_bars_of_one_metric_share_a_scale(folder: Path, samples: list[Sample]) -> None:
    page = parse(report(folder, samples))
    header = orjson.loads((folder / "scores.jsonl").read_bytes().splitlines()[0])
    results = {r["system"]: r for r in header["results"] if r["metric"] == "length"}
    places, values = [], []
    for row in page.one("table", cls="scores").all("tbody", cls="rows")[1].all("tr"):
        result = results[row.one("th").text]
        span = row.one("line", cls="span").attributes
        mark = row.one("svg", cls="bar").one("use").attributes
        places += [float(at.rstrip("%")) for at in (mark["x"], span["x1"], span["x2"])]
        values += [result["value"], *result["ci"]]
    assert 0 <= min(places) <= max(places) <= 100
    slope = (max(places) - min(places)) / (max(values) - min(values))
    for place, value in zip(places, values, strict=True):  # a straight line through all of them
        assert place - min(places) == pytest.approx((value - min(values)) * slope, abs=0.2)


def test_extreme_scores_are_drawn(folder: Path, samples: list[Sample]) -> None:
    values = iter([1e50, 1e50, 5e-324, -1e50, 1e50, 1e49] * 9)  # as far as scores are read

    def edit(path: Path) -> None:
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        scores = [line | {"value": next(values)} for line in lines[1:]]
        path.write_text("".join(json.dumps(line) + "\n" for line in ({"kind": "scores", "schema": 1}, *scores)))

    page = parse(report(folder, samples, edit=edit))
    points = page.one(id="plot2").one("svg", cls="scatter").all("use")
    assert len(points) == 6
    assert all(0 <= float(point.attributes["y"]) <= 400 for point in points)
    assert "e+49" in page.one("table", cls="scores").text


def test_scores_without_a_header_are_means_and_say_so(folder: Path, samples: list[Sample]) -> None:
    def behead(path: Path) -> None:
        path.write_bytes(b"\n".join(path.read_bytes().splitlines()[1:]))

    page = parse(report(folder, samples, metrics=["length"], edit=behead))
    lengths = values_of(read_scores(folder), "length")
    rows = {row[0]: row for row in page.one("table", cls="scores").rows()}
    good = [lengths[s.id] for s in samples if s.system == "good"]
    assert rows["good"][1] == number(sum(good) / len(good), 4)
    assert all(row[2] == "mean of sample scores, no interval" for row in rows.values())
    assert "carry no signature" in page.one(id="scores").text
    assert any("mean of its sample scores is shown instead. length" in text for text in notices_of(page))


def test_a_report_is_the_same_byte_for_byte_in_any_order(folder: Path, samples: list[Sample]) -> None:
    def shuffle(path: Path) -> None:
        head, *lines = path.read_bytes().splitlines()
        path.write_bytes(b"\n".join([head, *lines[::-1]]))

    def fingerprints_aside(html: str) -> str:
        return re.sub(r"<table class=\"plain sources\">.*?</table>", "", html, flags=re.DOTALL)

    first = report(folder, samples)
    assert report(folder, samples) == first
    turned = report(folder, samples[::-1], edit=shuffle)
    assert fingerprints_aside(turned) == fingerprints_aside(first)
    assert report(folder, samples, "--seed", "1") != first


PEOPLE = [
    Preference(f"c{i}", ("owl", "parrot"), "owl" if i % 4 else "parrot" if i else "", f"r{i % 3}") for i in range(12)
]


def made(folder: Path, scored: str) -> str:
    samples = [Sample(f"c{i}", "Hi", f"{s} {i}", system=s) for i in range(12) for s in ("owl", "parrot")]
    write("samples.jsonl", samples, kind="samples")
    scores = [Score(f"{scored}{s.id}", "made", float(s.system == "owl"), "", s.system) for s in samples]
    write("scores.jsonl", scores, kind="scores")
    write("preferences.jsonl", PEOPLE, kind="preferences")
    options = ReportOptions(samples="samples.jsonl", preferences=["preferences.jsonl"], n_bootstrap=20)
    made = report_file(["scores.jsonl"], "report.html", options)
    assert "--preferences preferences.jsonl" in made.page.command
    return (folder / "report.html").read_text()


def test_the_report_shows_preferences_and_metrics(folder: Path) -> None:
    page = made(folder, "")
    assert '<a href="#preferences">Preferences</a>' in page
    assert '<td class="num" data-sort="0.8181818181818182">0.82</td>' in page  # 9 of 11 with a winner
    section = parse(page).one("section", id="preferences")
    assert "12 preferences of 3 raters on 12 items" in section.text
    assert [(row[0], *row[4:]) for row in section.one("table", cls="ranking").rows()] == [
        ("owl", "9", "1", "2"), ("parrot", "2", "1", "9"),
    ]  # fmt: skip
    assert len(section.all("svg", cls="bar")) == 2


def test_preferences_without_scores_are_shown_alone(folder: Path) -> None:
    assert "No preference has scores of both replies" in made(folder, "another ")


def test_only_ratings_of_the_aspect_are_shown_with_a_disagreement() -> None:
    sample = Sample("1", (), "y", (), "", [Rating(4), Rating(None, "b"), Rating(1, "c", "fluency")])
    largest = Disagreements((Disagreement(sample.key, 0.5, 2.0, 9.0, 1.0, 10),), (), 9)
    page = rendered(Evidence([sample], [Score("1", "m", 0.5)], disagreements={"m": largest}))
    (card,) = page.one("section", id="reading").all("article")
    assert [rating.text for rating in card.one("ul", cls="ratings").all("b")] == ["4", "not applicable"]
