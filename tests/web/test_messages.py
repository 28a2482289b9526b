"""Texts of the interface."""

from __future__ import annotations

import re

import pytest

from interloq.web.messages import ADMIN, FOLDER, LANGUAGES, message, preferred_language, render, say, texts


def placeholders(text: str) -> set[str]:
    return set(re.findall(r"{(\w+)", text))


@pytest.mark.parametrize("audience", ["", ADMIN])
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_all_texts_with_the_same_placeholders(language: str, audience: str) -> None:
    english, translated = texts("en", audience), texts(language, audience)
    assert list(translated) == list(english)
    assert [key for key in english if placeholders(translated[key]) != placeholders(english[key])] == []
    assert all(translated.values())
    assert not [key for key in translated if hasattr(dict, key) and not audience]  # templates would show the method


def read(*patterns: str) -> str:
    paths = [path for pattern in patterns for path in FOLDER.glob(pattern)]
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(paths))


def test_texts_that_annotators_pages_and_scripts_name_exist() -> None:
    scripts = {path.name for path in FOLDER.glob("static/*.js") if not path.name.startswith(("admin", "plot"))}
    named = set(re.findall(r"\bt\.([a-z_]+)", read("templates/*.html")))
    named |= set(re.findall(r"\btext\('([a-z_]+)'", read(*(f"static/{name}" for name in scripts))))
    assert named - set(texts("en")) == set()
    assert len(named) > 40


def test_texts_that_administrators_pages_and_figures_name_exist() -> None:
    pages, code = read("templates/admin_*.html", "static/admin*.js", "static/plot.js"), read("**/*.py")
    calls = re.findall(r"\b(?:_|text)\(((?:'[^']*'|\"[^\"]*\"|[^()'\"])*)\)", pages)
    named = {key for call in calls for key in re.findall(r"['\"]([a-z_0-9]+)['\"]", call)}
    assert len(named) > 100
    named |= set(re.findall(r"\bmessage\(\s*\"([a-z_0-9]+)\"", code))
    known = set(texts("en", ADMIN))
    assert {key for key in named - known if not key.endswith("_")} == set()  # of the others, the rest is a value
    unused = [key for key in known - named if not re.search(rf"\W{key}\W", code)]
    assert [key for key in unused if not key.startswith(("kind_", "answer_", "enough_"))] == []


def test_numbers_get_the_right_noun_and_values_may_be_messages() -> None:
    complete = [message("items_complete", done=1, items=n) for n in (1, 2_000)]
    assert render(complete, "en") == ["1 of 1 item complete", "1 of 2,000 items complete"]
    assert render(complete[1], "ja") == "2,000 項目中 1 項目が完了"
    nested = message("alpha_interval", interval=message("range", low="0.1", high="{low}"))
    assert render({"a": (nested, 3, "no two of these")}, "zh") == {"a": ["95 %：0.1 至 {low}", 3, "no two of these"]}
    assert say("ja", "preview_bots", name="t", kind="k", items=1, per_item=1, bots=["a = b", "c"]).startswith(
        "t（k）：a = b、c による 1 ページ"
    )


@pytest.mark.parametrize(("header", "language"), [("", "en"), ("fr, zh-TW;q=0.8, ja", "zh"), ("ja-JP", "ja")])
def test_the_language_that_a_browser_asks_for(header: str, language: str) -> None:
    assert preferred_language(header) == language
