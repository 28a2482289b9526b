"""Pages are safe: what users wrote is text, and nothing is loaded."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path

from interloq import Rating, Reference, Sample, Turn
from tests.report.parsed_html import parse, report

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
