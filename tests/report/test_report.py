"""The modules of `interloq.report`: build, marks, render, report file, text."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq import InputError, Rating, Reference, Sample, Score, Turn, write
from interloq.errors import count
from interloq.reliability.weak_references import metric_name
from interloq.report import text
from interloq.report.build import columns
from interloq.report.marks import mark_systems, name_metric, name_metrics
from interloq.report.report_file import report_file
from interloq.report.report_options import ReportOptions
from interloq.score.score_file import score_file
from interloq.score.score_options import ScoreOptions
from interloq.statistics.estimate import Estimate
from tests.report.parsed_html import parse, report


def test_columns_leave_out_unscored_samples_and_refuse_contradictions() -> None:
    scores = [Score("1", "m", 0.5), Score("2", "m", None), Score("1", "k", 1.0), Score("1", "m", 0.5)]
    assert columns(scores) == {"m": {("1", ""): 0.5}, "k": {("1", ""): 1.0}}
    with pytest.raises(InputError, match=r"m gives '2' two different scores: None and 0\.1"):
        columns([*scores, Score("2", "m", 0.1)])


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


QUICK = ReportOptions(samples="samples.jsonl", n_bootstrap=0)


@pytest.fixture
def scored(folder: Path, samples: list[Sample]) -> Path:
    write("samples.jsonl", samples, kind="samples")
    score_file("samples.jsonl", ["length"], "scores.jsonl", ScoreOptions(n_bootstrap=0))
    return folder


@pytest.mark.parametrize(("epoch", "date"), [("", ""), ("86400", "1970-01-02"), ("soon", "")])
def test_a_date_is_shown_only_when_asked_for(
    scored: Path, monkeypatch: pytest.MonkeyPatch, epoch: str, date: str
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    made = report_file(["scores.jsonl"], "report.html", replace(QUICK, title="Mine"))
    assert (made.page.date, made.page.title) == (date, "Mine")
    assert "<title>Mine" in (scored / "report.html").read_text()


def test_what_was_used_comes_back_with_the_page(scored: Path, samples: list[Sample]) -> None:
    made = report_file(["scores.jsonl"], "report.html", replace(QUICK, worst=1))
    assert len(made.evidence.samples) == len(made.evidence.scores) == len(samples)
    assert [source.name for source in made.page.sources] == ["scores.jsonl", "samples.jsonl"]


def test_samples_with_weak_references_are_flagged(scored: Path, samples: list[Sample]) -> None:
    name = metric_name("bleu_star")
    weak = [Score(s.id, name, 0.05, "", s.system, {"minimum": 0.1, "needed": None}) for s in samples[:2]]
    write("predicted.jsonl", weak, kind="scores", metric=name)
    made = report_file(["scores.jsonl", "predicted.jsonl"], "report.html", QUICK)
    (notice,) = [notice.text for notice in made.page.notices if "too weak" in notice.text]
    assert notice.startswith("References too weak to trust bleu_star: 2 of 2 samples")
    assert name not in str(made.page.scores)
    assert made.page.weak == {s.key: 0.05 for s in samples[:2]}
    assert "too weak to trust: predicted reliability 0.050" in (scored / "report.html").read_text()


def test_only_ratings_by_people_in_one_role(folder: Path) -> None:
    roles = [Rating(1.0, "ann", role="interlocutor"), Rating(5.0, "bob", role="outsider")]
    write("samples.jsonl", [Sample(f"s{i}", "c", "r", ratings=roles) for i in range(4)], kind="samples")
    write("scores.jsonl", [Score(f"s{i}", "length", float(i)) for i in range(4)], kind="scores")
    report = report_file(["scores.jsonl"], "report.html", replace(QUICK, role="outsider"))
    assert set(report.evidence.judgments.values()) == {5.0}
    assert {r.role for sample in report.evidence.samples for r in sample.ratings} == {"outsider"}
    assert "--role outsider" in report.page.command


EVIL = "</script><script>alert(1)</script>\"'&lt;<b onload=x>"


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
    assert {entry[0] for entry in json.loads(page.one(id="rows").raw)} == {s.id + EVIL for s in samples}


def test_an_aspect_is_text_too(folder: Path, samples: list[Sample]) -> None:
    page = parse(report(folder, samples, "--aspect", EVIL))
    assert len(page.all("script")) == 2
    assert EVIL in page.one(id="overview").text


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


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [(0.12345, 3, "0.123"), (-0.5, 2, "−0.50"), (-0.0001, 3, "0.000"), (float("nan"), 3, "n/a"), (None, 3, "n/a")],
)
def test_numbers(value: float | None, digits: int, shown: str) -> None:
    assert text.number(value, digits) == shown


def test_signs_intervals_and_p_values() -> None:
    assert [text.format_signed(v, 2) for v in (0.5, -0.5, 0.0, float("nan"))] == ["+0.50", "−0.50", "0.00", "n/a"]
    assert text.interval((-0.1, 0.25)) == "[−0.100, 0.250]"
    assert text.interval(None) == ""
    assert [text.p_value(p) for p in (0.0004, 0.05, 1.0, None)] == ["< .001", ".050", "1.000", "n/a"]
    assert [text.score(v) for v in (0.12344, 12.344, None)] == ["0.1234", "12.34", "n/a"]
    assert text.estimate(Estimate(-0.5, 3, (-1.0, 0.0)), 1) == "−0.5 [−1.0, 0.0]"
    assert [text.estimate(e) for e in (Estimate(math.nan, 0), Estimate(0.5, 1), None)] == ["n/a", "0.500", "n/a"]
    assert [text.duration(s) for s in (59.6, 61, 7260)] == ["1 min 0 s", "1 min 1 s", "2 h 1 min"]
    assert [count(n, "sample") for n in (0, 1, 2000)] == ["0 samples", "1 sample", "2,000 samples"]


@given(st.text(max_size=1500))
def test_folding_loses_nothing(said: str) -> None:
    start, rest = text.fold(said)
    assert start + rest == said
    assert bool(rest) == (len(said) > text.FOLD * 5 // 4)


def test_a_fold_tears_no_emoji_apart() -> None:
    family = "👩\u200d👩\u200d👧\u200d👦"
    for shift in range(8):
        start, rest = text.fold("x" * shift + family * 200)
        assert rest
        assert not start.endswith("\u200d")
        assert not rest.startswith("\u200d")


@given(st.text(), st.integers(2, 80))
def test_a_cut_text_is_a_beginning(said: str, length: int) -> None:
    shown, whole = text.cut(said, length), " ".join(said.split())
    assert len(shown) <= max(length + 1, 1)
    assert shown == whole or (shown.endswith("…") and whole.startswith(shown[:-1].rstrip()))


@given(st.text(st.characters()))
def test_visible_text_can_be_written(said: str) -> None:
    shown = text.visible(said)
    assert shown.encode("utf-8").decode("utf-8") == shown
    assert not any(sign in shown for sign in "\x00\x07\x1b\r\x7f")


def test_broken_surrogates_and_controls_show_as_signs() -> None:
    assert text.visible("a\x00b\ud800c\r\nd") == "a␀b�c\nd"


def test_large_numbers_are_written_with_their_power_of_ten() -> None:
    assert text.score(1e308) == "1e+308"
    assert text.score(-123456789012.0) == f"{text.MINUS}1.235e+11"
    assert text.format_signed(2e12) == "+2e+12"


@pytest.mark.parametrize(
    ("speakers", "sides"),
    [
        (("", "", ""), ["left", "right", "left"]),
        (("a", "a", "b"), ["right", "right", "left"]),
        (("", ""), ["right", "left"]),
    ],
)
def test_whoever_spoke_last_stands_on_the_left(speakers: tuple[str, ...], sides: list[str]) -> None:
    _, recent = text.bubbles([Turn("x", speaker) for speaker in speakers])
    assert [side for side, _ in recent] == sides


@pytest.mark.parametrize(("turns", "folded"), [(3, 0), (4, 0), (5, 2)])
def test_earlier_turns_are_folded_if_there_are_several(turns: int, folded: int) -> None:
    earlier, recent = text.bubbles([Turn("x")] * turns)
    assert (len(earlier), len(recent)) == (folded, turns - folded)
