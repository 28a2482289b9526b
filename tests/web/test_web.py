"""The modules of `interloq.web`: messages, pages."""

from __future__ import annotations

import re

import pytest

from interloq.web.messages import ADMIN, FOLDER, LANGUAGES, message, render, say, texts
from interloq.web.pages import PAGE_VERSION, Pages, is_link


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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://app.example.org/done?cc=C1", True),
        (" http://localhost:1/ ", True),
        ("javascript:alert(1)", False),
        ("data:text/html,x", False),
        ("https:", False),
        ("http://[", False),
        ("CODE-7", False),
        ("", False),
    ],
)
def test_only_web_addresses_become_links(text: str, expected: bool) -> None:
    assert is_link(text) is expected


@pytest.mark.parametrize(
    ("asked", "expected"), [("fr, zh-CN,zh;q=0.9,en;q=0.8", "zh"), ("ja-JP;q=0.5", "ja"), ("fr", "en"), ("", "en")]
)
def test_failures_are_shown_in_a_language_that_is_asked_for(asked: str, expected: str) -> None:
    page = Pages().failure("no_session", "<why>", asked)
    assert f'<html lang="{expected}"' in page
    assert texts(expected)["message_no_session"] in page
    assert "&lt;why&gt;" in page
    assert texts(expected)["message_other"] in Pages().failure("Not Found", "", asked)


def test_the_version_of_the_pages_is_a_short_hash() -> None:
    assert re.fullmatch(r"[0-9a-f]{16}", PAGE_VERSION)


def test_every_address_in_a_template_is_below_the_root() -> None:
    sources = [path.read_text(encoding="utf-8") for path in FOLDER.glob("templates/*.html")]
    assert len(sources) > 10
    assert not [found for source in sources for found in re.findall(r'\s(?:href|src|action)="/[^"]*"', source)]
