# SPDX-License-Identifier: Apache-2.0
"""Cleaning posts: every filter is a small pure function on one text or one post.

Texts are cleaned in a fixed order (`clean_text`): HTML entities, optionally Markdown, invisible characters, URLs, user
names, hashtags, emoji, white space, repeated letters, repeated words. Then a post is kept, or dropped for one reason:
the first that applies in the order of `REASONS`. Defaults come from Tsuta et al. (2020, 2023) if they give one: posts
with fewer than 5 characters, or less than 60 % in the script of the language, are dropped.

This module is the reference. `scan.py` gives the same results for whole batches, several times faster.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import compress
from typing import Annotated, Literal, NamedTuple

from interloq.data.corpus import characters
from interloq.errors import InputError

REASONS = {
    "notice": "a system message, not a post",
    "retweet": "a retweet or share of another post",
    "quote": "quotes another post instead of answering it",
    "no_user": "it has no user",
    "no_time": "it has no time, and the corpus is split by time",
    "empty": "no text, or none left after cleaning",
    "short": "fewer characters than required",
    "script": "too few of its characters are in the scripts of the language",
    "language": "a detector finds another language",
}
DETECTORS = ("label", "fasttext", "lingua")
NO_TIME = -(2**63)  # marks a missing time
PostShape = Literal["", "notice", "retweet", "quote"]


class RawPost(NamedTuple):
    """A post as in its log; `time` is in microseconds since 1970, or NO_TIME."""

    id: str
    user: str
    text: str
    time: int
    reply_to: str = ""
    lang: str = ""
    shape: PostShape = ""
    quoted: str = ""  # the id of the quoted post


class Columns(NamedTuple):
    """Many raw posts as one list per field, to process thousands at a time."""

    id: list[str]
    user: list[str]
    text: list[str]
    time: list[int]
    reply_to: list[str]
    lang: list[str]
    shape: list[str]
    quoted: list[str]

    def where(self, kept: Sequence[object]) -> Columns:
        """Return the posts with a true value in `kept`."""
        return Columns(*([*compress(column, kept)] for column in self))  # type: ignore[arg-type]


def columns_of(posts: Sequence[RawPost]) -> Columns:
    """Return posts as columns."""
    if not posts:
        return Columns([], [], [], [], [], [], [], [])
    return Columns(*map(list, zip(*posts, strict=True)))


@dataclass(frozen=True, slots=True)
class Cleaning:
    """Options: what is removed from texts, and which posts are dropped."""

    lang: Annotated[str, "keep posts in this language, such as ja or en; empty keeps all"] = ""
    detectors: Annotated[tuple[str, ...], "label, fasttext, lingua; all that are given must agree"] = DETECTORS[:2]
    scripts: Annotated[tuple[str, ...], "keep texts in these scripts; empty: the scripts of the language"] = ()
    script_share: Annotated[float, "smallest share of a text in these scripts"] = 0.6
    min_characters: Annotated[int, "drop shorter posts"] = 5
    urls: Annotated[bool, "remove URLs"] = True
    users: Annotated[bool, "remove @names"] = True
    emoji: Annotated[bool, "remove emoji"] = True
    hashtags: Annotated[Literal["keep", "word", "remove"], "word: remove only the sign"] = "keep"
    markdown: Annotated[bool, "texts are Markdown: remove quoted lines and link targets"] = False
    repeated_letters: Annotated[int, "shorten soooooo to this many letters; 0: off"] = 3
    repeated_words: Annotated[int, "shorten no no no no to this many words; 0: off"] = 3
    quotes: Annotated[Literal["drop", "keep", "reply"], "posts that quote another; reply: treat as replies"] = "drop"
    need_time: bool = True  # set by the split

    def __post_init__(self) -> None:
        for name in self.detectors:
            if name not in DETECTORS:
                raise InputError(f"unknown detector {name!r}", hint=f"choose among {', '.join(DETECTORS)}")
        if not 0 <= self.script_share <= 1:
            raise InputError(f"script share must be from 0 to 1, got {self.script_share}")
        for name in ("min_characters", "repeated_letters", "repeated_words"):
            if getattr(self, name) < 0:
                raise InputError(f"{name} must be at least 0, got {getattr(self, name)}")
        characters.script_ranges(self.target_scripts())

    def target_scripts(self) -> tuple[str, ...]:
        """Return the scripts that texts must be in; empty for any."""
        if self.scripts or not self.lang:
            return self.scripts
        return characters.scripts_of(self.lang)


_INVISIBLE = re.compile(f"[{characters.in_pattern(characters.INVISIBLE)}]+")
_EMOJI_CLASS = characters.in_pattern(characters.EMOJI)
_EMOJI = re.compile(f"[{_EMOJI_CLASS}](?:\u200d?[{_EMOJI_CLASS}])*\u200d?")
_KEYCAP = re.compile("[0-9#*]?\ufe0f?\u20e3")
# Patterns start with fixed characters, followed by look-behinds, so that a search can jump to candidates.
_URL_REST = r"[!-~]*[\w/=&#%+~-]"
_URL = re.compile(rf"https?://{_URL_REST}", re.ASCII)
_RARE_URL = re.compile(
    rf"(?:HTTPS?://|Https?://|ftp://|[wW](?<![\w.-].)(?:ww|WW)\.|pic\.twitter\.com/|t(?<![\w.-].)\.co/){_URL_REST}",
    re.ASCII,
)
RARE_URLS = ("HTTP", "Http", "ftp:", "ww.", "WW.", "r.com/", "t.co/")  # in every rare URL, with a / or a w.
_USER_REST = r"(?<![\w.+/-].)\w{1,30}(?:@[\w.-]*\w)?"
_USER = re.compile("@" + _USER_REST, re.ASCII)
_WIDE_USER = re.compile("[@＠]" + _USER_REST, re.ASCII)
_HASHTAG = re.compile(r"[#＃](?<![\w&].)(\w+)")
_QUOTED_LINE = re.compile(r"^ {0,3}>.*\n?", re.MULTILINE)
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_REDDIT_NAME = re.compile(r"(?<![\w/])/?u/[A-Za-z0-9_-]{3,20}")
_STRESS = re.compile(r"(\*{1,3}|~~|`+)(?=\S)(.+?)(?<=\S)\1")


def unescape(text: str) -> str:
    """Return the text with `&` for `&amp;`: the APIs of X and Reddit escape texts."""
    return html.unescape(text)


def without_markdown(text: str) -> str:
    """Return the text without quoted lines, emphasis marks, link targets and names such as /u/name."""
    text = _QUOTED_LINE.sub("", text)
    text = _LINK.sub(r"\1", text)
    text = _STRESS.sub(r"\2", text)
    return _REDDIT_NAME.sub(" ", text)


def without_invisible(text: str) -> str:
    """Return the text without zero-width marks, direction marks and control characters."""
    return _INVISIBLE.sub("", text)


def without_urls(text: str) -> str:
    """Return the text without https://… and rarer forms such as www.… and t.co/…"""
    return without_rare_urls(without_common_urls(text))


def without_common_urls(text: str) -> str:
    """Return the text with `http://` and `https://` addresses replaced by spaces."""
    return _URL.sub(" ", text)


def without_rare_urls(text: str) -> str:
    """Return the text with rarer addresses (`www.`, `ftp://`, `t.co/`, …) replaced by spaces."""
    return _RARE_URL.sub(" ", text)


def without_users(text: str) -> str:
    """Return the text without @names; addresses such as ann@example.org are kept."""
    if "＠" in text:
        return _WIDE_USER.sub(" ", text)
    return _USER.sub(" ", text)


def without_hashtags(text: str) -> str:
    """Return the text with hashtags replaced by spaces."""
    return _HASHTAG.sub(" ", text)


def with_plain_hashtags(text: str) -> str:
    """Return the text with `rain` for `#rain`."""
    return _HASHTAG.sub(r"\1", text)


def without_emoji(text: str) -> str:
    """Return the text without pictographs and their joiners, flags, and keycaps with their digits."""
    if "\u20e3" in text:
        text = _KEYCAP.sub(" ", text)
    return _EMOJI.sub(" ", text)


def single_spaces(text: str) -> str:
    """Return the text with single spaces for any white space, and none at the ends."""
    return " ".join(text.split())


def shorter_letters(text: str, most: int = 3) -> str:
    """Shorten repeats of one to four characters to `most`: `soooooo` → `sooo`. Numbers are kept."""
    if not most:
        return text
    return re.sub(rf"([^\d\s]{{1,4}}?)\1{{{most},}}", r"\1" * most, text)


def shorter_words(text: str, most: int = 3) -> str:
    """Shorten repeats of a word to `most`: `no no no no no` → `no no no`."""
    if not most:
        return text
    return re.sub(rf"(?<!\S)(\S++)(?: \1(?!\S)){{{most},}}", " ".join([r"\1"] * most), text)


def clean_text(text: str, cleaning: Cleaning) -> str:
    """Return the text after all filters, in their order."""
    text = unescape(text)
    if cleaning.markdown:
        text = without_markdown(text)
    text = without_invisible(text)
    if cleaning.urls:
        text = without_urls(text)
    if cleaning.users:
        text = without_users(text)
    if cleaning.hashtags == "remove":
        text = without_hashtags(text)
    elif cleaning.hashtags != "keep":
        text = with_plain_hashtags(text)
    if cleaning.emoji:
        text = without_emoji(text)
    text = single_spaces(text)
    text = shorter_letters(text, cleaning.repeated_letters)
    return shorter_words(text, cleaning.repeated_words)


def letters_and_digits(text: str) -> str:
    """Return the letters and digits, case-folded: equal for texts that differ only in punctuation and spaces."""
    return _not_of_words().sub("", text.casefold())


def without_digits(text: str) -> str:
    """Return the text without digits: equal for posts that differ only in numbers."""
    return _DIGITS.sub("", text)


_DIGITS = re.compile(r"\d+")


@cache
def _not_of_words() -> re.Pattern[str]:
    marks = characters.in_pattern(characters.combining_marks())
    return re.compile(rf"[^\w{marks}]+|_+")


def script_share(text: str, scripts: tuple[str, ...]) -> float:
    """Return the share of the characters, except white space, in these scripts."""
    inside = len(_not_of_scripts(scripts).sub("", text))
    return inside / max(1, len(text) - text.count(" "))


@cache
def _not_of_scripts(scripts: tuple[str, ...]) -> re.Pattern[str]:
    ranges = characters.script_ranges(scripts)
    return re.compile(f"[^{characters.in_pattern(ranges)}]+")


def reason_of_post(post: RawPost, cleaning: Cleaning) -> str:
    """Return why a post is dropped regardless of its text; empty if it is not."""
    if post.shape in ("notice", "retweet"):
        return post.shape
    if post.shape == "quote" and cleaning.quotes == "drop" and not post.reply_to:
        return "quote"
    if not post.user:
        return "no_user"
    if cleaning.need_time and post.time == NO_TIME:
        return "no_time"
    return ""


def reason_of_text(text: str, cleaning: Cleaning) -> str:
    """Return why a post with this clean text is dropped; languages are checked in `language_filter.py`."""
    if not text:
        return "empty"
    if len(text) < cleaning.min_characters:
        return "short"
    scripts = cleaning.target_scripts()
    if scripts and script_share(text, scripts) < cleaning.script_share:
        return "script"
    return ""


def clean_post(post: RawPost, cleaning: Cleaning) -> tuple[str, str]:
    """Return the clean text, or the reason to drop the post (except its language); one of the two is empty."""
    reason = reason_of_post(post, cleaning)
    if reason:
        return "", reason
    text = clean_text(post.text, cleaning)
    reason = reason_of_text(text, cleaning)
    if reason:
        return "", reason
    return text, ""


def find_answered_id(post: RawPost, cleaning: Cleaning) -> str:
    """Return the id of the post that a post answers; with `quotes="reply"`, a quote answers the quoted post."""
    if not post.reply_to and post.shape == "quote" and cleaning.quotes == "reply":
        return post.quoted
    return post.reply_to
