"""What stands in the report, read back from its HTML."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from scipy.stats import rankdata, spearmanr

from interloq import Rating, Reference, Sample, Turn
from interloq.meta.evaluate import meta_evaluate
from interloq.records import Score
from interloq.report.text import interval, number
from interloq.signature import Signature
from tests.report.parsed_html import Element, parse, report

EVIL = "</script><script>alert(1)</script>\"'&lt;<b onload=x>"


def _values(scores: list[Score], metric: str) -> dict[str, float]:
    return {score.id: score.value for score in scores if score.metric == metric and score.value is not None}


def _scores(folder: Path) -> list[Score]:
    lines = (folder / "scores.jsonl").read_bytes().splitlines()
    return [Score(r["id"], r["metric"], r.get("value")) for r in map(orjson.loads, lines) if "kind" not in r]


def _mean(sample: Sample) -> float:
    values = [rating.value for rating in sample.ratings if rating.value is not None]
    return sum(values) / len(values)


def test_all_sections_are_there_and_linked(folder: Path, samples: list[Sample]) -> None:
    page = parse(report(folder, samples, "--title", "June release"))
    assert page.one("head").one("title").text == page.one("h1").text == "June release"
    targets = [link.attributes["href"] for link in page.one("nav").all("a")]
    assert targets == ["#scores", "#agreement", "#scatter", "#matrix", "#reading", "#source"]
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


def test_the_agreement_table_shows_what_meta_evaluation_says(folder: Path, samples: list[Sample]) -> None:
    page = parse(report(folder, samples))
    table = meta_evaluate(_scores(folder), samples, n_bootstrap=50)
    rows = {row.metric: row for row in table.rows}
    shown = page.one("table", cls="agreement")
    for body_row in shown.one("tbody", cls="rows").all("tr"):
        row = rows[re.sub(r"^\d", "", body_row.one("code").text)]
        cells = body_row.all("span", cls="coefficient")
        for cell, coefficient in zip(cells, ("pearson", "spearman", "kendall"), strict=True):
            estimate = row.with_mean[coefficient]
            assert cell.one("b").text == number(estimate.value)
            assert cell.one("span", cls="ci").text == interval(estimate.ci)
    assert table.human is not None
    people = shown.one("tbody", cls="people").all("tr")
    assert people[1].all("b")[1].text == number(table.human.pairwise["spearman"].mean)
    assert number(table.human.alpha.value) in page.one(id="agreement").text
    comparisons = page.one("details", cls="comparisons").rows()
    assert len(comparisons) == len(table.comparisons) == 3
    assert page.one(id="agreement").all("code")[-1].text == str(table.signature)


def test_the_heat_map_is_scipys_spearman(folder: Path, samples: list[Sample]) -> None:
    page = parse(report(folder, samples))
    heat = page.one("table", cls="heat")
    assert [cell.text for cell in heat.one("thead").all("th")] == ["1", "2", "people"]
    lengths = _values(_scores(folder), "length")
    rho = spearmanr([lengths[s.id] for s in samples], [_mean(s) for s in samples]).statistic
    cells = [[cell.text for cell in row.all("td")] for row in heat.one("tbody").all("tr")]
    assert cells[1][2] == cells[2][1] == number(float(rho), 2)
    assert [cells[i][i] for i in range(3)] == ["1.00"] * 3
    shade = heat.one("tbody").all("tr")[1].all("td")[2].attributes["class"]
    assert shade == f"{'above' if rho >= 0 else 'below'}{abs(round(rho * 10))}"


def test_scatter_points_stand_where_their_values_are(folder: Path, samples: list[Sample]) -> None:
    page = parse(report(folder, samples))
    texts = json.loads(page.one(id="texts").raw)
    lengths = _values(_scores(folder), "length")
    judged = {sample.id: _mean(sample) for sample in samples}
    marks = page.one(id="plot2").one("svg", cls="scatter").all("use")
    assert len(marks) == 6
    points = {texts[int(mark.attributes["data-text"])][0]: mark for mark in marks}
    across = sorted(judged, key=lambda sample: float(points[sample].attributes["x"]))
    assert [judged[id] for id in across] == sorted(judged.values())
    upwards = sorted(lengths, key=lambda sample: -float(points[sample].attributes["y"]))
    assert [lengths[id] for id in upwards] == sorted(lengths.values())
    for id, mark in points.items():
        assert mark.one("title").text.startswith(f"{id} · ")
        assert f"length {number(lengths[id], 4)}" in mark.one("title").text
    ticks = [tick.text for tick in page.one(id="plot2").one("g", cls="axis").all("text")]
    assert ticks[-2:] == ["mean judgment (overall)", "length"]
    groups = page.one(id="plot2").all("g", cls="points")
    shapes = {group.all("use")[0].attributes["href"] for group in groups}
    assert len(groups) == len(shapes) == 2
    caption = page.one(id="plot2").one("figcaption").text
    rho = spearmanr([lengths[s.id] for s in samples], [judged[s.id] for s in samples]).statistic
    assert f"Spearman ρ {number(float(rho))} [" in caption
    assert "n = 6" in caption


def test_crowded_points_move_apart_and_say_so(folder: Path, samples: list[Sample]) -> None:
    same = [replace_id(samples[i % 6], f"{i:03}") for i in range(60)]
    page = parse(report(folder, same))
    caption = page.one(id="plot2").one("figcaption").text
    moved = re.search(r"Points are moved sideways by at most ([0-9.]+) so that", caption)
    assert moved
    marks = page.one(id="plot2").one("svg", cls="scatter").all("use")
    assert len({(mark.attributes["x"], mark.attributes["y"]) for mark in marks}) > 40
    assert "moved" not in parse(report(folder, samples)).one(id="plot2").one("figcaption").text


def replace_id(sample: Sample, id: str) -> Sample:
    return Sample(id, sample.context, sample.response, sample.references, sample.system, sample.ratings)


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
    lengths = _values(_scores(folder), "length")
    judged = {sample.id: _mean(sample) for sample in samples}
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


# ---- honest warnings -------------------------------------------------------------------------------------------------


def _notices(page: Element) -> list[str]:
    return [notice.text for notice in page.all("div", cls="notice")]


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
    assert f"mean judgment ({who}, overall)" in page.one(id="plot1").text
    assert "people" not in page.one("table", cls="heat").text
    assert "illustrative" not in parse(report(folder, samples)).one("body").text


def test_few_samples_are_named(folder: Path, samples: list[Sample]) -> None:
    assert any(text.startswith("Only 6 samples") for text in _notices(parse(report(folder, samples))))
    many = [replace_id(samples[i % 3], f"{i:03}") for i in range(60)] + [replace_id(samples[5], "few")]
    assert "1 system with fewer than 30 samples: their scores may be chance. bad: 1 sample" in _notices(
        parse(report(folder, many))
    )
    (left,) = _notices(parse(report(folder, [s for s in many if s.system == "good"])))
    assert left.startswith("20 of 60 replies (good 20) stand among their own references")


def test_unscored_samples_are_counted_with_their_reasons(folder: Path, samples: list[Sample]) -> None:
    bare = Sample("7", ["how was it ?"], "fine", (), "bad", [Rating(3, "rater-0")])
    page = parse(report(folder, [*samples, bare]))
    assert "1 score missing; no value was put in their place. bleu(order=2): 1 sample, no references" in _notices(page)
    rows = page.one("table", cls="scores").all("tbody", cls="rows")[0].all("tr")
    assert [row.all("td")[-1].text for row in rows] == ["1", "0"]
    texts = json.loads(page.one(id="texts").raw)
    drawn = [texts[int(mark.attributes["data-text"])][0] for mark in page.one(id="plot1").one("svg").all("use")]
    assert "7" not in drawn
    assert len(drawn) == 6


def test_nothing_could_be_scored(folder: Path, samples: list[Sample]) -> None:
    bare = [Sample(s.id, s.context, s.response, (), s.system, s.ratings) for s in samples]
    page = parse(report(folder, bare, metrics=["bleu"]))
    rows = page.one("table", cls="scores").rows()
    assert [row[1] for row in rows] == ["n/a"] * 2
    assert "no references" in " ".join(_notices(page))
    assert page.one(id="plot1").one("figcaption").text == "1bleu No sample has both a score and a judgment."
    assert not page.all("article")


def test_without_ratings_the_report_says_how_to_add_them(folder: Path, samples: list[Sample]) -> None:
    bare = [Sample(s.id, s.context, s.response, s.references, s.system) for s in samples]
    page = parse(report(folder, bare))
    section = page.one(id="agreement")
    assert "No ratings of the aspect “overall”." in section.text
    assert '"ratings": [4, 5, 3]' in section.text
    assert not section.all("table")
    assert not page.all("svg", cls="scatter")
    assert [cell.text for cell in page.one("table", cls="heat").one("thead").all("th")] == ["1", "2"]
    assert "it needs ratings" in page.one(id="reading").text


def test_another_aspect_is_offered(folder: Path, samples: list[Sample]) -> None:
    page = parse(report(folder, samples, "--aspect", "engaging"))
    assert "The samples have ratings of: overall. Choose one with --aspect" in page.one(id="agreement").text


@pytest.mark.parametrize("system", ["only", ""])
def test_one_system_or_none(folder: Path, samples: list[Sample], system: str) -> None:
    alone = [Sample(s.id, s.context, s.response, s.references, system, s.ratings) for s in samples]
    page = parse(report(folder, alone))
    assert [row[0] for row in page.one("table", cls="scores").rows()] == [system or "all samples"] * 2
    assert [item.text for item in page.one("ul", cls="legend").all("li")] == [system or "(none)"]


def test_extreme_scores_are_drawn(folder: Path, samples: list[Sample]) -> None:
    values = iter([1e308, 1e308, 5e-324, -1.7e308, 1.7e308, 1e307] * 9)

    def edit(path: Path) -> None:
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        scores = [line | {"value": next(values)} for line in lines[1:]]
        path.write_text("".join(json.dumps(line) + "\n" for line in ({"kind": "scores", "schema": 1}, *scores)))

    page = parse(report(folder, samples, edit=edit))
    points = page.one(id="plot2").one("svg", cls="scatter").all("use")
    assert len(points) == 6
    assert all(0 <= float(point.attributes["y"]) <= 400 for point in points)
    assert "e+307" in page.one("table", cls="scores").text


def test_samples_without_a_system_beside_others_are_counted(folder: Path, samples: list[Sample]) -> None:
    samples[0] = Sample("1", samples[0].context, "fine", samples[0].references, "", samples[0].ratings)
    page = parse(report(folder, samples))
    assert "1 sample with no system, shown as (none)." in _notices(page)
    assert [row[3] for row in page.one("table", cls="scores").rows()] == ["1", "3", "2"] * 2
    assert [item.text for item in page.one("ul", cls="legend").all("li")] == ["(none)", "bad", "good"]


def test_scores_without_a_header_are_means_and_say_so(folder: Path, samples: list[Sample]) -> None:
    def behead(path: Path) -> None:
        path.write_bytes(b"\n".join(path.read_bytes().splitlines()[1:]))

    page = parse(report(folder, samples, metrics=["length"], edit=behead))
    lengths = _values(_scores(folder), "length")
    rows = {row[0]: row for row in page.one("table", cls="scores").rows()}
    good = [lengths[s.id] for s in samples if s.system == "good"]
    assert rows["good"][1] == number(sum(good) / len(good), 4)
    assert all(row[2] == "mean of sample scores, no interval" for row in rows.values())
    assert "carry no signature" in page.one(id="scores").text
    assert any("mean of its sample scores stands instead. length" in text for text in _notices(page))


def test_scores_that_fit_no_sample_and_samples_without_scores_are_counted(folder: Path, samples: list[Sample]) -> None:
    def edit(path: Path) -> None:
        text = path.read_text().replace('{"id":"1","metric":"length"', '{"id":"stranger","metric":"length"')
        path.write_text(text)

    page = parse(report(folder, samples, edit=edit))
    assert "1 scored sample not among the samples; they count in the score table only." in _notices(page)
    assert "Some samples have no line in the score files. length: 1 sample" in _notices(page)


# ---- safe, self-contained, reproducible ------------------------------------------------------------------------------


def _evil(samples: list[Sample]) -> list[Sample]:
    return [
        Sample(
            s.id + EVIL,
            [Turn(EVIL, EVIL), Turn("\u202emirrored", "x\x00y")],
            s.response + EVIL,
            [Reference(r.text + EVIL, r.weight, EVIL) for r in s.references],
            s.system + EVIL,
            [Rating(r.value, r.rater + EVIL, role=EVIL) for r in s.ratings],
        )
        for s in samples
    ]


def test_what_users_wrote_is_never_markup(folder: Path, samples: list[Sample]) -> None:
    def rename(path: Path) -> None:
        path.write_text(path.read_text().replace('"metric":"length"', f'"metric":{json.dumps("length" + EVIL)}'))

    html = report(folder, _evil(samples), "--title", EVIL, edit=rename)
    page = parse(html)
    plain = parse(report(folder, samples))
    assert page.one("head").one("title").raw == EVIL
    assert page.one("h1").raw == EVIL
    assert [s.attributes for s in page.all("script")] == [s.attributes for s in plain.all("script")]
    assert page.all("script")[1].raw == plain.all("script")[1].raw
    assert not [e for e in page.all() for name in e.attributes if name.startswith("on") or name == "style"]
    allowed = {e.attributes["class"] for e in plain.all("b") if "class" in e.attributes}
    assert all(e.attributes.get("class", "") in allowed | {""} for e in page.all("b"))
    assert EVIL in [e.raw for e in page.all("span", cls="speaker")]
    assert any(e.attributes.get("aria-label", "").startswith(f"length{EVIL} against") for e in page.all("svg"))
    assert {entry[0] for entry in json.loads(page.one(id="texts").raw)} == {s.id + EVIL for s in samples}


def test_an_aspect_is_text_too(folder: Path, samples: list[Sample]) -> None:
    page = parse(report(folder, samples, "--aspect", EVIL))
    assert len(page.all("script")) == 2
    assert EVIL in page.one(id="agreement").text


def test_the_policy_allows_exactly_our_style_and_script(folder: Path, samples: list[Sample]) -> None:
    page = parse(report(folder, _evil(samples)))
    (meta,) = [m for m in page.all("meta") if m.attributes.get("http-equiv") == "Content-Security-Policy"]
    digests = {
        tag: base64.b64encode(hashlib.sha256(page.all(tag)[-1].raw.encode()).digest()).decode()
        for tag in ("style", "script")
    }
    assert meta.attributes["content"] == (
        f"default-src 'none'; style-src 'sha256-{digests['style']}'; script-src 'sha256-{digests['script']}'; "
        "base-uri 'none'; form-action 'none'"
    )


def test_nothing_is_loaded_from_anywhere(folder: Path, samples: list[Sample]) -> None:
    html = report(folder, samples)
    assert "://" not in html
    assert "url(" not in html
    assert "@import" not in html
    page = parse(html)
    assert not [e.tag for e in page.all() if e.tag in ("link", "img", "iframe", "object", "embed", "base", "form")]
    for element in page.all():
        assert not element.attributes.keys() & {"src", "srcset", "data", "action", "xlink:href", "poster"}
        assert element.attributes.get("href", "#").startswith("#")


def test_nothing_is_remembered_outside_the_page(folder: Path, samples: list[Sample]) -> None:
    script = parse(report(folder, samples)).all("script")[1].raw
    assert not re.search(r"localStorage|sessionStorage|cookie|indexedDB|fetch|XMLHttp|import\(", script)


def test_any_language_survives(folder: Path, samples: list[Sample]) -> None:
    said = {"ja": "今日は天気がいいですね。", "zh": "我们去公园吧", "ar": "مرحبا، كيف حالك؟", "emoji": "👩‍👩‍👧‍👦🎉"}
    talk = [Sample(f"{key}{i}", [text], text, [text], key, [i % 5 + 1]) for i in range(3) for key, text in said.items()]
    html = report(folder, talk, metrics=["bleu(tokenizer='char')", "length"])
    page = parse(html)
    assert html.encode("utf-8").decode("utf-8") == html
    replies = {said.text for bubble in page.all(cls="bubble") for said in bubble.all(cls="said")}
    assert replies <= set(said.values())
    assert len(replies) > 1
    assert all(e.attributes.get("dir") == "auto" for e in page.all(cls="said"))


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


def test_many_samples_are_thinned_for_drawing_only(folder: Path, samples: list[Sample]) -> None:
    many = [
        Sample(f"{i:05}", s.context, s.response + " x" * (i % 7), s.references, s.system, s.ratings)
        for i in range(2100)
        for s in [samples[i % 6]]
    ]
    page = parse(report(folder, many, "--bootstrap", "0", metrics=["length"]))
    assert len(page.one(id="plot1").one("svg", cls="scatter").all("use")) == 2000
    caption = page.one(id="plot1").one("figcaption").text
    assert "2,000 of 2,100 samples are drawn" in caption
    assert "n = 2,100" in caption
    assert len(json.loads(page.one(id="texts").raw)) == 2000
