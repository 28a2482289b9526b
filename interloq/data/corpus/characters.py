# SPDX-License-Identifier: Apache-2.0
"""Classes of characters as ranges of code points, used for patterns and for the tables of whole batches."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from interloq.errors import InputError, nearest

Range = tuple[int, int]
TOP = 0x110000
ASSIGNED = 0x40000  # there are no letters above, and looking there is slow

# Invisible characters: controls that are not white space, direction marks, zero-width space, byte order mark.
# Zero-width joiners (200C, 200D) are kept: Persian and the scripts of India need them for spelling.
INVISIBLE: tuple[Range, ...] = (
    (0x00, 0x08), (0x0E, 0x1B), (0x7F, 0x84), (0x86, 0x9F), (0xAD, 0xAD), (0x061C, 0x061C), (0x200B, 0x200B),
    (0x200E, 0x200F), (0x202A, 0x202E), (0x2060, 0x2064), (0x2066, 0x206F), (0xFEFF, 0xFEFF), (0xFFF9, 0xFFFB),
)  # fmt: skip
# Pictographs, and symbols used like them (stars, hearts, notes); private use: emoji of old phone carriers.
EMOJI: tuple[Range, ...] = (
    (0x203C, 0x203C), (0x2049, 0x2049), (0x2139, 0x2139), (0x2194, 0x21AA), (0x231A, 0x231B), (0x2328, 0x2328),
    (0x23CF, 0x23CF), (0x23E9, 0x23FA), (0x24C2, 0x24C2), (0x25AA, 0x25AB), (0x25B6, 0x25B6), (0x25C0, 0x25C0),
    (0x25FB, 0x25FE), (0x2600, 0x27BF), (0x2934, 0x2935), (0x2B00, 0x2BFF), (0x3030, 0x3030), (0x303D, 0x303D),
    (0x3297, 0x3297), (0x3299, 0x3299), (0xE000, 0xF8FF), (0xFE0E, 0xFE0F), (0x1F000, 0x1FAFF), (0xE0020, 0xE007F),
)  # fmt: skip
KEYCAP = 0x20E3

SCRIPTS: dict[str, tuple[Range, ...]] = {
    "Arabic": ((0x600, 0x6FF), (0x750, 0x77F), (0x8A0, 0x8FF), (0xFB50, 0xFDFF), (0xFE70, 0xFEFC)),
    "Armenian": ((0x530, 0x58F), (0xFB13, 0xFB17)),
    "Bengali": ((0x980, 0x9FF),),
    "Cyrillic": ((0x400, 0x52F), (0x1C80, 0x1C8F), (0x2DE0, 0x2DFF), (0xA640, 0xA69F)),
    "Devanagari": ((0x900, 0x97F), (0xA8E0, 0xA8FF)),
    "Ethiopic": ((0x1200, 0x139F), (0x2D80, 0x2DDF)),
    "Georgian": ((0x10A0, 0x10FF), (0x1C90, 0x1CBF), (0x2D00, 0x2D2F)),
    "Greek": ((0x370, 0x3FF), (0x1F00, 0x1FFF)),
    "Gujarati": ((0xA80, 0xAFF),),
    "Gurmukhi": ((0xA00, 0xA7F),),
    "Han": (
        *((0x2E80, 0x2FDF), (0x3005, 0x3007), (0x3021, 0x3029), (0x3038, 0x303B)),
        *((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFD)),
    ),
    "Hangul": ((0x1100, 0x11FF), (0x3130, 0x318F), (0xA960, 0xA97F), (0xAC00, 0xD7FF)),
    "Hebrew": ((0x590, 0x5FF), (0xFB1D, 0xFB4F)),
    "Kana": ((0x3041, 0x3096), (0x3099, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9F), (0x1AFF0, 0x1B16F)),
    "Kannada": ((0xC80, 0xCFF),),
    "Khmer": ((0x1780, 0x17FF), (0x19E0, 0x19FF)),
    "Lao": ((0xE80, 0xEFF),),
    "Latin": (
        *((0x41, 0x5A), (0x61, 0x7A), (0xAA, 0xAA), (0xBA, 0xBA), (0xC0, 0xD6), (0xD8, 0xF6), (0xF8, 0x2AF)),
        *((0x300, 0x36F), (0x1E00, 0x1EFF), (0x2C60, 0x2C7F), (0xA720, 0xA7FF), (0xFF21, 0xFF3A), (0xFF41, 0xFF5A)),
    ),
    "Malayalam": ((0xD00, 0xD7F),),
    "Myanmar": ((0x1000, 0x109F), (0xA9E0, 0xA9FF), (0xAA60, 0xAA7F)),
    "Sinhala": ((0xD80, 0xDFF),),
    "Tamil": ((0xB80, 0xBFF),),
    "Telugu": ((0xC00, 0xC7F),),
    "Thai": ((0xE00, 0xE7F),),
    "Tibetan": ((0xF00, 0xFFF),),
    "CjkMarks": (
        *((0x3001, 0x3003), (0x3008, 0x3011), (0x3014, 0x301B), (0xFF01, 0xFF01), (0xFF0C, 0xFF0C)),
        *((0xFF1F, 0xFF1F), (0xFF5E, 0xFF5E)),
    ),
}
_WRITTEN_IN = {
    "Latin": "af az ca cs cy da de en es et eu fi fr ga gl hr hu id is it lt lv ms nl no pl pt ro sk sl so sq sv sw tl "
    "tr vi",
    "Cyrillic": "be bg kk ky mk mn ru tg uk",
    "Arabic": "ar fa ps ug ur",
    "Devanagari": "hi mr ne sa",
    "Hebrew": "he yi", "Ethiopic": "am", "Bengali": "bn", "Tibetan": "bo", "Greek": "el", "Gujarati": "gu",
    "Armenian": "hy", "Georgian": "ka", "Khmer": "km", "Kannada": "kn", "Hangul": "ko", "Lao": "lo", "Malayalam": "ml",
    "Myanmar": "my", "Gurmukhi": "pa", "Sinhala": "si", "Tamil": "ta", "Telugu": "te", "Thai": "th",
}  # fmt: skip
LANGUAGE_SCRIPTS: dict[str, tuple[str, ...]] = {
    **{lang: (script,) for script, langs in _WRITTEN_IN.items() for lang in langs.split()},
    "ja": ("Kana", "Han", "CjkMarks"),
    "sr": ("Cyrillic", "Latin"),
    "zh": ("Han", "CjkMarks"),
}


def scripts_of(lang: str) -> tuple[str, ...]:
    """Return the scripts in which a language is written."""
    if lang not in LANGUAGE_SCRIPTS:
        hint = "name its scripts, for example --script Latin"
        raise InputError(f"no script known for language {lang!r}", hint=hint)
    return LANGUAGE_SCRIPTS[lang]


def script_ranges(scripts: Iterable[str]) -> tuple[Range, ...]:
    """Return the ranges of characters of these scripts."""
    ranges: list[Range] = []
    for name in scripts:
        if name not in SCRIPTS:
            raise InputError(f"unknown script {name!r}{nearest(name, SCRIPTS)}")
        ranges += SCRIPTS[name]
    return tuple(ranges)


def in_pattern(ranges: Iterable[Range]) -> str:
    """Return the ranges as the content of a character class of a pattern."""
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)


def mark(table: NDArray[np.uint8], ranges: Iterable[Range], bit: int) -> None:
    """Set a bit for every code point of the ranges."""
    for first, last in ranges:
        table[first : last + 1] |= np.uint8(bit)


@cache
def combining_marks() -> tuple[Range, ...]:
    """Return the combining marks: vowel signs and accents are part of a word although they are not letters."""
    return _ranges([code for code in range(0x10000) if unicodedata.category(chr(code))[0] == "M"])


@cache
def alphanumeric_characters() -> tuple[Range, ...]:
    r"""Return what `\w` matches, except the underscore."""
    return _ranges([code for code in range(ASSIGNED) if chr(code).isalnum()])


def _ranges(codes: Sequence[int]) -> tuple[Range, ...]:
    array = np.array(codes)
    breaks = np.flatnonzero(np.diff(array) != 1)
    firsts = array[np.concatenate(([0], breaks + 1))]
    lasts = array[np.concatenate((breaks, [len(array) - 1]))]
    return tuple(zip(firsts.tolist(), lasts.tolist(), strict=True))
