"""Scripts of characters."""

from __future__ import annotations

import pytest

from interloq.data.corpus import clean
from interloq.data.corpus.characters import SCRIPTS, scripts_of


@pytest.mark.parametrize(
    ("texts", "normal"),
    [
        (["Hello, World!", "hello world", "HELLO_WORLD …"], "helloworld"),
        (["Straße 5", "STRASSE5"], "strasse5"),
        (["कि क्या?", "कि  क्या"], "किक्या"),  # vowel signs are kept
        (["...", "!?"], ""),
    ],
)
def test_normalised_texts_forget_case_marks_and_spaces(texts: list[str], normal: str) -> None:
    assert {clean.letters_and_digits(text) for text in texts} == {normal}
    assert clean.without_digits("room12a3") == "rooma"


@pytest.mark.parametrize(
    ("text", "lang", "share"),
    [
        ("これは日本語です", "ja", 1.0),
        ("これは ok", "ja", 3 / 5),
        ("abc 123", "en", 3 / 6),
        ("Привет", "ru", 1.0),
        ("123", "en", 0.0),
        ("안녕 hello", "ko", 2 / 7),
    ],
)
def test_script_share(text: str, lang: str, share: float) -> None:
    assert clean.script_share(text, scripts_of(lang)) == share


def test_scripts_do_not_overlap() -> None:
    seen: dict[int, str] = {}
    for name, ranges in SCRIPTS.items():
        for first, last in ranges:
            for code in range(first, last + 1):
                assert code not in seen, f"{code:x} is in {seen.get(code)} and {name}"
                seen[code] = name
