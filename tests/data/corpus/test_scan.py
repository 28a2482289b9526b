"""Batches are cleaned exactly as single texts are, however nasty."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interloq.data.corpus import clean, scan
from interloq.data.corpus.clean import Cleaning

# pieces that filters look for, whole and broken, and what may stand around them
PIECES = [
    "http://x.org/a", "https://t.co/Ab1", "HTTP://X", "Https://y", "ftp://z/", "www.a.b", "WWW.A", "ww.",
    "t.co/x", "http://", "pic.twitter.com/x", "best.co/", "://", "@ann", "＠bob", "a@b.org", "@", "#tag", "＃雨",
    "#", "&amp;", "&lt;", "&#x200b;", "&", "&#64;ann", "&#10;", "😀", "👍🏽", "❤️", "👨‍👩‍👧", "🇯🇵", "1️⃣", "\u20e3",
    "\u200d", "☆", "\ue000", "\u200b", "\ufeff", "\u202e", "\x00", "\xad", "\x85", "\u3000", "\xa0", "\u2028",
    "\n", "\r\n", "\t", " ", "  ", "aaaa", "oooooo", "hahahaha", "wawawawawa", "no no no no", "no", "はははは",
    "ワクワクワクワク", "!!!!!", "....", "11111", "１２３", "> q\n", "[a](b)", "**b**", "/u/name", "`c`", "~~d~~",
    "\U0010ffff", "\x1f", "\x1f\x1f", "ß", "İ", "ﬁ", "कि", "نمی\u200cخواهم", "שלום", "\u0301", "x", "Word", "_",
    "日本語",
]  # fmt: skip
NASTY = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=8)), max_size=12).map("".join)
OPTIONS = [
    Cleaning(),
    Cleaning(lang="ja", detectors=(), markdown=True, hashtags="remove"),
    Cleaning(scripts=("Latin",), hashtags="word", repeated_letters=1, repeated_words=1, min_characters=0),
    Cleaning(urls=False, users=False, emoji=False, repeated_letters=0, repeated_words=0, min_characters=1),
    Cleaning(repeated_letters=2, repeated_words=2, markdown=True, min_characters=30),
]


@pytest.mark.parametrize("cleaning", OPTIONS)
@settings(max_examples=80, deadline=None)
@given(texts=st.lists(NASTY, max_size=12))
def test_batches_equal_single_texts(cleaning: Cleaning, texts: list[str]) -> None:
    cleaned, reasons = scan.clean_texts(texts, cleaning)
    assert cleaned == [clean.clean_text(text, cleaning) for text in texts]
    assert reasons == [clean.reason_of_text(text, cleaning) for text in cleaned]
    assert scan.letters_and_digits(cleaned) == [clean.letters_and_digits(text) for text in cleaned]


@settings(max_examples=80, deadline=None)
@given(text=st.text(alphabet="ab cd", max_size=60))
def test_repeats_in_little_alphabets(text: str) -> None:
    cleaning = Cleaning(repeated_letters=2, repeated_words=2)
    texts = [text, text[::-1]]
    assert scan.clean_texts(texts, cleaning)[0] == [clean.clean_text(each, cleaning) for each in texts]


def test_every_single_character_is_cleaned_alike() -> None:
    planes = [*range(0xD800), *range(0xE000, 0x10000), *range(0x1F000, 0x20400), *range(0xE0000, 0xE0200), 0x10FFFF]
    texts = [f"a{chr(code)}b" for code in planes]
    cleaning = Cleaning(scripts=("Latin",))
    cleaned, reasons = scan.clean_texts(texts, cleaning)
    assert cleaned == [clean.clean_text(text, cleaning) for text in texts]
    assert reasons == [clean.reason_of_text(text, cleaning) for text in cleaned]
    assert scan.letters_and_digits(cleaned) == [clean.letters_and_digits(text) for text in cleaned]


def test_nothing_in_nothing_out() -> None:
    assert scan.clean_texts([], Cleaning()) == ([], [])
    assert scan.letters_and_digits([]) == []
    assert scan.clean_texts([""], Cleaning(lang="en")) == ([""], ["empty"])
