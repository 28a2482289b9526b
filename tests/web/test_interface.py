"""Texts of the interface."""

from __future__ import annotations

import re

import pytest

from interloq.web.interface import FOLDER, texts
from interloq.web.questions import LANGUAGES


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_all_texts_with_the_same_placeholders(language: str) -> None:
    def placeholders(found: str) -> set[str]:
        return set(re.findall(r"{\w+}", found))

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
