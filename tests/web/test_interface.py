"""Texts of the interface."""

from __future__ import annotations

import re

import pytest

from interloq.web.interface import FOLDER, LANGUAGES, admin_texts, filled, preferred, texts, translated


def placeholders(found: str) -> set[str]:
    return set(re.findall(r"{\w+}", found))


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_all_texts_with_the_same_placeholders(language: str) -> None:
    english, found = texts("en"), texts(language)
    assert list(found) == list(english)
    assert {key: placeholders(found[key]) for key in found} == {key: placeholders(english[key]) for key in english}
    assert all(found.values())
    assert not [key for key in found if hasattr(dict, key)]  # templates would show the method


def test_texts_that_pages_and_scripts_name_exist() -> None:
    named: set[str] = set()
    for path in FOLDER.glob("templates/*.html"):
        named |= set(re.findall(r"\bt\.([a-z_]+)", path.read_text(encoding="utf-8")))
    for path in FOLDER.glob("static/*.js"):
        named |= set(re.findall(r"\btext\('([a-z_]+)'", path.read_text(encoding="utf-8")))
    assert named - set(texts("en")) == set()
    assert len(named) > 40


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_every_text_of_administrators_pages_is_translated(language: str) -> None:
    found, named = admin_texts(language), set[str]()
    for path in (*FOLDER.glob("templates/admin_*.html"), *FOLDER.glob("static/admin*.js")):
        for call in re.findall(r"\b_\(((?:'[^']*'|\"[^\"]*\"|[^()'\"])*)\)", path.read_text(encoding="utf-8")):
            named |= {one.strip("'\"") for one in re.findall(r"'[^']*'|\"[^\"]*\"", call)}
    assert named - set(found) == set()
    assert len(named) > 60
    assert list(found) == list(admin_texts("ja"))
    assert [key for key in found if placeholders(key) != placeholders(found[key])] == []


def test_placeholders_are_filled_in_before_or_after_translation() -> None:
    assert filled("en", "invitation {id}", id=3) == "invitation 3"
    assert filled("ja", "invitation {id}", id="{id}") == "招待 {id}"
    assert (
        translated("ja", "1 of 1 item complete") == translated("ja", "1 of 1 items complete") == "1 項目中 1 項目が完了"
    )
    assert translated("zh", "Systems: a: b") == "系统：a: b"
    assert translated("ja", "no two of these") == "no two of these"


@pytest.mark.parametrize(("header", "language"), [("", "en"), ("fr, zh-TW;q=0.8, ja", "zh"), ("ja-JP", "ja")])
def test_the_language_that_a_browser_asks_for(header: str, language: str) -> None:
    assert preferred(header) == language
