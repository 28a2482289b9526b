# SPDX-License-Identifier: Apache-2.0
"""Pairs of real conversations (BYU chit-chat, package `chitchat_dataset`), filtered for a first screen.

An utterance is the last sentence of a turn, and its reply is the next turn. A pair is dropped for one reason, the first
that applies to either text:

- `length`: fewer than 3 or more than 20 words.
- `characters`: signs other than letters, digits and common punctuation, or a full stop within a word: e-mail and web
  addresses, @names, emoji, words censored with asterisks; also more than four digits, such as telephone numbers.
- `rare word`: a word that fewer than 20 speakers used. Surnames, handles, telephone numbers and most insults are rare,
  so they need no list.
- `unwanted word`: a word on a short list: names and ways to contact somebody, crude words, love and sex, illness and
  death, religion and politics.

The filter is strict because the log is large: it keeps about a sixth of the pairs. It does not anonymise the log.

Replies to judge are made from questions that several people answered. The reference is one person's answer. The system
`person` gives another person's answer to the same question in another conversation; `random` gives a reply to something
else, and `parrot` repeats the question. No person judged the replies. The rating is a fact of the log: 1 if a person
gave this reply to this question, 0 if not. Greetings are excluded, because repeating one can be a proper reply.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from interloq.data.corpus.dialogues import pairs_of_dialogue
from interloq.data.sets.byu_chitchat import dialogues, find_installed
from interloq.records import ILLUSTRATIVE, Dialogue, Pair, Rating, Reference, Sample, Turn
from interloq.retrieve.leaks import normalise_text

ASPECT = "person"
SEED = 0
WORDS = 4  # of a question: shorter ones depend on what was said before
SPEAKERS = 20  # speakers who must have used a word
SHORTEST, LONGEST = 3, 20  # words of a text
DIGITS = 4  # most digits in a text
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_PLAIN = re.compile(r"[A-Za-z0-9\s.,!?;:'’\"“”()…-]*")
_ADDRESS = re.compile(r"\.[A-Za-z]")
_SENTENCE_END = re.compile(r"(?<=[.?!])\s+")
_GREETING = re.compile(
    r"\bhow(?:['’]?s| is| are| was| has| have| goes)\b|\b(?:how|what) about you\b|\byou\?$", re.IGNORECASE
)
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
    """Return the filtered pairs of the installed package; without it, there are none."""
    path = find_installed()
    if not path:
        return RealLog([], Counter())
    return filter_conversations([dialogue for _, dialogue in dialogues(path)])


def filter_conversations(conversations: Sequence[Dialogue]) -> RealLog:
    """Keep the pairs of conversations that can be shown to anybody."""
    common = _common_words(conversations)
    kept: list[Pair] = []
    dropped: Counter[str] = Counter()
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


def _common_words(conversations: Iterable[Dialogue]) -> frozenset[str]:
    """Return the words that enough speakers used."""
    speakers: dict[str, set[str]] = defaultdict(set)
    for dialogue in conversations:
        for turn in dialogue.turns:
            for word in _words(turn.text):
                speakers[word].add(turn.speaker)
    return frozenset(word for word, used_by in speakers.items() if len(used_by) >= SPEAKERS)


def _reason(text: str, common: frozenset[str]) -> str:
    """Return why the text is not shown; empty if it is."""
    words = _words(text)
    if not SHORTEST <= len(words) <= LONGEST:
        return "length"
    if not _PLAIN.fullmatch(text) or _ADDRESS.search(text) or sum(map(str.isdigit, text)) > DIGITS:
        return "characters"
    if not common.issuperset(words):
        return "rare word"
    if not UNWANTED.isdisjoint(words):
        return "unwanted word"
    return ""


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


# ---- replies to judge ------------------------------------------------------------------------------------------------


def real_replies(pairs: Sequence[Pair]) -> list[Sample]:
    """Return one sample per question and system, in the order of the questions."""
    rng = np.random.default_rng(SEED)
    samples: list[Sample] = []
    for gold, other in _find_questions_answered_twice(pairs):
        replies = {"person": other.response, "random": _draw_reply(pairs, gold, rng), "parrot": gold.utterance}
        number = f"{len(samples) // len(replies) + 1:03d}"
        samples += [_sample(number, system, reply, gold) for system, reply in replies.items()]
    return samples


def _find_questions_answered_twice(pairs: Sequence[Pair]) -> Iterator[tuple[Pair, Pair]]:
    """Yield two different replies to each question that got them in two conversations."""
    questions: dict[str, dict[str, Pair]] = {}
    for pair in pairs:
        text = pair.utterance
        if text.endswith("?") and len(text.split()) >= WORDS and not _GREETING.search(text):
            questions.setdefault(normalise_text(text), {}).setdefault(normalise_text(pair.response), pair)
    for _, replies in sorted(questions.items()):
        first, *others = replies.values()
        if elsewhere := [pair for pair in others if pair.thread != first.thread]:
            yield first, elsewhere[0]


def _draw_reply(pairs: Sequence[Pair], gold: Pair, rng: np.random.Generator) -> str:
    """Return a random reply to another utterance."""
    while True:
        pair = pairs[int(rng.integers(len(pairs)))]
        if normalise_text(pair.utterance) != normalise_text(gold.utterance):
            return pair.response


def _sample(number: str, system: str, reply: str, gold: Pair) -> Sample:
    rating = Rating(float(system == "person"), rater="log", aspect=ASPECT, role=ILLUSTRATIVE)
    return Sample(
        f"real/{number}/{system}",
        [Turn(gold.utterance)],
        reply,
        [Reference(gold.response)],
        system=system,
        ratings=[rating],
        dialogue=gold.thread,
    )
