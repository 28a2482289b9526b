# SPDX-License-Identifier: Apache-2.0
"""Clean many texts at once, with the same results as `clean.py`.

Most filters do not change most texts. So the characters of a whole batch are looked up in one table, which says for
every text which filters could apply; only those run, on those texts alone. A flag may be set needlessly, but a text
without the flag is certain to pass the filter unchanged; the tests check this. Texts in ASCII, the bulk of many logs,
are processed separately, because one byte per character is four times as fast as four.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from interloq.data.corpus import characters, clean
from interloq.data.corpus.clean import Cleaning

Codes = NDArray[np.uint8] | NDArray[np.uint32]
Flags = NDArray[np.uint16]
Rows = NDArray[np.int64]
END = "\x1f"  # after every text: a control character that no clean text contains
AMPERSAND, INVISIBLE, SLASH, AT, HASH, EMOJI, SPACE, MARKDOWN = (1 << i for i in range(8))
RARE_URL, CHANGED = 256, 512
ALL = 1023
MARKDOWN_CHARACTERS = ">[*~`/"


class Scan:
    """The concatenated characters of a batch of texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        joined = END.join(texts) + END
        self.codes: Codes
        if joined.isascii():
            self.codes = np.frombuffer(joined.encode("ascii"), dtype=np.uint8)
        else:
            self.codes = np.frombuffer(joined.encode("utf-32-le"), dtype=np.uint32)
        self.ends = np.fromiter(accumulate(map(len, texts)), dtype=np.int64, count=len(texts))
        self.ends += np.arange(len(texts))  # position of each text's END
        self.starts = np.concatenate(([0], self.ends[:-1] + 1))

    def rows(self, places: Rows) -> Rows:
        """Return the texts that contain these positions."""
        if not len(places):
            return places
        return np.unique(np.searchsorted(self.ends, places))


def clean_texts(texts: Sequence[str], cleaning: Cleaning) -> tuple[list[str], list[str]]:
    """Return `clean_text` of every text, and `reason_of_text` of the results."""
    is_ascii = list(map(str.isascii, texts))
    if all(is_ascii) or not any(is_ascii):
        return _clean_batch(texts, cleaning)
    cleaned, reasons = [""] * len(texts), [""] * len(texts)
    for kind in (True, False):
        rows = [row for row, plain in enumerate(is_ascii) if plain is kind]
        texts_of_kind, reasons_of_kind = _clean_batch([texts[row] for row in rows], cleaning)
        for row, text, reason in zip(rows, texts_of_kind, reasons_of_kind, strict=True):
            cleaned[row], reasons[row] = text, reason
    return cleaned, reasons


def letters_and_digits(texts: Sequence[str]) -> list[str]:
    """Return `clean.letters_and_digits` of every clean text."""
    if not texts:
        return []
    joined = "\n".join(texts)  # clean texts have no line ends
    if joined.isascii():
        return joined.lower().encode().translate(None, _ascii_of_no_word()).decode().split("\n")
    rows = [row for row, text in enumerate(texts) if not text.isascii()]
    ascii_texts = list(texts)
    for row in rows:
        ascii_texts[row] = ""
    normal = letters_and_digits(ascii_texts)
    # folding works character by character, and may result in ASCII
    folded = "\n".join([texts[row] for row in rows]).casefold()
    codes = np.frombuffer(folded.encode("utf-32-le"), dtype=np.uint32)
    kept: str = codes[_of_words()[codes]].tobytes().decode("utf-32-le")
    for row, text in zip(rows, kept.split("\n"), strict=True):
        normal[row] = text
    return normal


def _clean_batch(texts: Sequence[str], cleaning: Cleaning) -> tuple[list[str], list[str]]:
    if not texts:
        return [], []
    cleaned = list(texts)
    _remove(cleaned, cleaning)
    scan = Scan(cleaned)
    shortened = _shorten(cleaned, scan, cleaning)
    reasons = [""] * len(cleaned)
    for row, text in enumerate(cleaned):
        if not text:
            reasons[row] = "empty"
        elif len(text) < cleaning.min_characters:
            reasons[row] = "short"
    scripts = cleaning.target_scripts()
    if scripts:
        inside = np.add.reduceat(_of_scripts(scripts)[scan.codes], scan.starts, dtype=np.int64)
        spaces = np.add.reduceat(scan.codes == 32, scan.starts, dtype=np.int64)
        shares: NDArray[np.float64] = inside / np.maximum(1, scan.ends - scan.starts - spaces)
        for row in shortened:
            shares[row] = clean.script_share(cleaned[row], scripts)
        for row in np.flatnonzero(shares < cleaning.script_share).tolist():
            reasons[row] = reasons[row] or "script"
    return cleaned, reasons


def _remove(texts: list[str], cleaning: Cleaning) -> None:
    """Apply all filters before the repeats, in their order; texts are changed in place.

    White space is first replaced by spaces: the filters do not distinguish the two, and leave only spaces.
    """
    flags = _flags(Scan(texts))
    _apply(texts, flags, AMPERSAND, clean.unescape, then=ALL)
    if cleaning.markdown:
        _apply(texts, flags, MARKDOWN, clean.without_markdown, then=ALL)
    _apply(texts, flags, INVISIBLE, clean.without_invisible, then=ALL)
    _apply(texts, flags, SPACE, clean.single_spaces)
    if cleaning.urls:
        _apply_joined(texts, flags, SLASH, clean.without_common_urls)
        _apply(texts, flags, RARE_URL, _without_rare_urls)
    if cleaning.users:
        _apply_joined(texts, flags, AT, clean.without_users)
    if cleaning.hashtags == "remove":
        _apply_joined(texts, flags, HASH, clean.without_hashtags)
    elif cleaning.hashtags != "keep":
        _apply_joined(texts, flags, HASH, clean.with_plain_hashtags)
    if cleaning.emoji:
        _apply_joined(texts, flags, EMOJI, clean.without_emoji)
    for row in np.flatnonzero(flags & CHANGED).tolist():  # all their white space is spaces now
        text = texts[row].strip()
        if "  " in text:
            text = " ".join(text.split())
        texts[row] = text


def _flags(scan: Scan) -> Flags:
    """Return the filters that could apply to each text, as flags."""
    flags = np.bitwise_or.reduceat(_table()[scan.codes], scan.starts).astype(np.uint16)
    spaces = (scan.codes == 32) | (scan.codes == ord(END))
    flags[scan.rows(np.flatnonzero(spaces[:-1] & spaces[1:]))] |= SPACE
    flags[spaces[scan.starts]] |= SPACE
    dots = np.flatnonzero(scan.codes == ord("."))
    flags[scan.rows(dots[(scan.codes[dots - 1] | 32) == ord("w")])] |= RARE_URL
    flags[(flags & SLASH) > 0] |= RARE_URL
    if np.count_nonzero(scan.codes == ord(END)) > len(scan.ends):  # some text contains END
        flags |= SPACE
    return flags


def _apply(texts: list[str], flags: Flags, bit: int, work: Callable[[str], str], *, then: int = CHANGED) -> None:
    """Run a filter on texts with its flag; texts that it changes also need the filters of `then`."""
    changed = []
    for row in np.flatnonzero(flags & bit).tolist():
        before = texts[row]
        after = work(before)
        if after != before:
            texts[row] = after
            changed.append(row)
    flags[changed] |= then


def _apply_joined(texts: list[str], flags: Flags, bit: int, work: Callable[[str], str]) -> None:
    """Run a filter that treats END, which no text contains here, as an end, with one call for all texts."""
    rows = np.flatnonzero(flags & bit).tolist()
    if rows:
        done = work(END.join([texts[row] for row in rows])).split(END)
        for row, text in zip(rows, done, strict=True):
            texts[row] = text
        flags[rows] |= CHANGED


def _without_rare_urls(text: str) -> str:
    """Remove rare URLs if any are left: most texts lost their `t.co/` together with its `https://`."""
    for part in clean.RARE_URLS:
        if part in text:
            return clean.without_rare_urls(text)
    return text


@cache
def _table() -> NDArray[np.uint8]:
    """Return the flags that a character sets."""
    table = np.zeros(characters.TOP, dtype=np.uint8)
    for text, bit in (("&", AMPERSAND), ("/", SLASH), ("@＠", AT), ("#＃", HASH), (MARKDOWN_CHARACTERS, MARKDOWN)):
        characters.mark(table, [(ord(character), ord(character)) for character in text], bit)
    characters.mark(table, characters.INVISIBLE, INVISIBLE)
    characters.mark(table, [*characters.EMOJI, (characters.KEYCAP, characters.KEYCAP)], EMOJI)
    table[[code for code in range(0x3001) if chr(code).isspace() and code not in (32, ord(END))]] |= SPACE
    return table


def _shorten(texts: list[str], scan: Scan, cleaning: Cleaning) -> set[int]:
    """Shorten repeats in place; return the rows that were checked."""
    letters: list[int] = []
    words: set[int] = set()
    if cleaning.repeated_letters:
        letters = _shorten_letters(texts, scan, cleaning.repeated_letters)
    if cleaning.repeated_words:
        words |= set(scan.rows(_same_words(scan.codes, cleaning.repeated_words)).tolist())
        if letters:  # `nooooo nooo noooo nooo` is now a repeated word
            again = Scan([texts[row] for row in letters])
            words |= {letters[i] for i in again.rows(_same_words(again.codes, cleaning.repeated_words)).tolist()}
        for row in words:
            texts[row] = clean.shorter_words(texts[row], cleaning.repeated_words)
    return words.union(letters)


def _shorten_letters(texts: list[str], scan: Scan, most: int) -> list[int]:
    """Shorten repeated letters: a match starts at a position of `_periodic` and ends soon after the last."""
    places = _periodic(scan.codes, most)
    if not len(places):
        return []
    rows, firsts = np.unique(np.searchsorted(scan.ends, places), return_index=True)
    lasts = np.append(firsts[1:], len(places)) - 1
    begin = places[firsts] - scan.starts[rows]
    end = places[lasts] - scan.starts[rows] + 4 * (most + 1)
    for row, i, j in zip(rows.tolist(), begin.tolist(), end.tolist(), strict=True):
        text = texts[row]
        texts[row] = text[:i] + clean.shorter_letters(text[i:j], most) + text[j:]
    shortened: list[int] = rows.tolist()
    return shortened


def _periodic(codes: Codes, most: int) -> Rows:
    """Return positions at which a unit of one to four characters is followed by `most` repeats."""
    repeated = np.zeros(len(codes), dtype=bool)
    for unit in range(1, 5):
        same = codes[:-unit] == codes[unit:]
        runs = _runs(same, most * unit)
        repeated[: len(runs)] |= runs
    return np.flatnonzero(repeated)


def _runs(truth: NDArray[np.bool_], length: int) -> NDArray[np.bool_]:
    """Return the starts of `length` consecutive true values; windows are doubled, so few passes are needed."""
    have = 1
    while have < length and len(truth):
        step = min(have, length - have)
        truth = truth[:-step] & truth[step:]
        have += step
    return truth


def _same_words(codes: Codes, most: int) -> Rows:
    """Return positions of words followed by `most` similar ones: of equal length, first and last letter."""
    gaps = np.flatnonzero((codes == 32) | (codes == ord(END)))
    starts = np.concatenate(([0], gaps[:-1] + 1))
    lengths = gaps - starts
    firsts, lasts = codes[starts], codes[gaps - 1]
    alike = (lengths[:-1] == lengths[1:]) & (firsts[:-1] == firsts[1:]) & (lasts[:-1] == lasts[1:])
    return starts[np.flatnonzero(_runs(alike, most))]


@cache
def _of_scripts(scripts: tuple[str, ...]) -> NDArray[np.uint8]:
    table = np.zeros(characters.TOP, dtype=np.uint8)
    characters.mark(table, characters.script_ranges(scripts), 1)
    return table


@cache
def _of_words() -> NDArray[np.bool_]:
    table = np.zeros(characters.TOP, dtype=np.uint8)
    characters.mark(table, [*characters.alphanumeric_characters(), *characters.combining_marks(), (10, 10)], 1)
    return table.astype(bool)


@cache
def _ascii_of_no_word() -> bytes:
    of_words = _of_words()
    return bytes(code for code in range(128) if not of_words[code])
