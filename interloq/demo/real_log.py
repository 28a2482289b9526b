# SPDX-License-Identifier: Apache-2.0
"""Pairs of real conversations (BYU chit-chat, package `chitchat_dataset`), filtered for a first screen.

An utterance is the last sentence of a turn, and its reply is the next turn. A pair is dropped for one reason, the first
that applies to either text:

- `length`: fewer than 3 or more than 20 words.
- `characters`: signs other than letters, digits and common punctuation, or a full stop within a word: e-mail and web
  addresses, @names, emoji, words censored with asterisks; also more than four digits, such as telephone numbers.
- `rare word`: a word that fewer than 20 speakers used. Surnames, handles, telephone numbers and most insults are rare,
  so they need no list.
- `unwanted word`: a word of a short list: names and ways to contact somebody, crude words, love and sex, illness and
  death, religion and politics.

The filter is strict because the log is large: it keeps about a sixth of the pairs. It does not anonymise the log.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from interloq.data.corpus.dialogues import pairs_of_dialogue
from interloq.data.sets.byu_chitchat import dialogues, installed
from interloq.records import Dialogue, Pair

SPEAKERS = 20  # speakers who must have used a word
SHORTEST, LONGEST = 3, 20  # words of a text
DIGITS = 4  # most digits in a text
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_PLAIN = re.compile(r"[A-Za-z0-9\s.,!?;:'’\"“”()…-]*")
_ADDRESS = re.compile(r"\.[A-Za-z]")
_SENTENCE_END = re.compile(r"(?<=[.?!])\s+")
_UNWANTED = """
    adam ben brandon chris elon george jack jackson jaezo james jim john jones michael musk peter sam smith tom tony
    trump name named names nickname username
    address contact email emails facebook insta instagram number numbers phone snap twitter
    crap crappy dang darn dumb fat heck nasty poop stupid suck sucked sucks ugly
    ass bastard bitch cock damn dick fuck fucking hell piss porn sex sexual sexy shit slut whore
    boyfriend dated dating girlfriend kiss marriage married marry naked nude pregnant relationship relationships
    anxiety cancer dead death depressing depression die died dies drugs dying gun kill killed killer killing kills
    murder suicide
    bishop christ church god gospel jesus lds lord mission missionaries missionary missions mormon mormons politics pray
    religion religious scriptures seminary temple
"""
UNWANTED = frozenset(_UNWANTED.split())


@dataclass(frozen=True)
class RealLog:
    """The pairs that the filter kept, and the numbers of those it dropped, by reason."""

    pairs: Sequence[Pair]
    dropped: Counter[str]


def read_real_log() -> RealLog:
    """The filtered pairs of the installed package; without it, there are none."""
    path = installed()
    return filtered([dialogue for _, dialogue in dialogues(path)] if path else [])


def filtered(conversations: Sequence[Dialogue]) -> RealLog:
    """The pairs of conversations that can be shown to anybody."""
    common, kept, dropped = _common(conversations), list[Pair](), Counter[str]()
    for dialogue in conversations:
        thread = dialogue.id.rpartition("/")[2][:8]  # of a random id: short, and still distinct
        for i, pair in enumerate(pairs_of_dialogue(dialogue)):
            utterance, response = _SENTENCE_END.split(pair.utterance.strip())[-1], pair.response.strip()
            reason = _reason(utterance, common) or _reason(response, common)
            if reason:
                dropped[reason] += 1
            else:
                kept.append(Pair(f"{thread}-{i + 1}", utterance, response, thread=thread))
    return RealLog(kept, dropped)


def _common(conversations: Iterable[Dialogue]) -> frozenset[str]:
    """The words that enough speakers used."""
    speakers: dict[str, set[str]] = defaultdict(set)
    for dialogue in conversations:
        for turn in dialogue.turns:
            for word in _words(turn.text):
                speakers[word].add(turn.speaker)
    return frozenset(word for word, used_by in speakers.items() if len(used_by) >= SPEAKERS)


def _reason(text: str, common: frozenset[str]) -> str:
    """Why the text is not shown; empty if it is."""
    words = _words(text)
    if not SHORTEST <= len(words) <= LONGEST:
        return "length"
    if not _PLAIN.fullmatch(text) or _ADDRESS.search(text) or sum(map(str.isdigit, text)) > DIGITS:
        return "characters"
    if not common.issuperset(words):
        return "rare word"
    return "" if UNWANTED.isdisjoint(words) else "unwanted word"


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
