# SPDX-License-Identifier: Apache-2.0
"""Keeping test items out of their own references.

Logs contain copies: a test dialogue that was crawled twice, its thread, a quoted reply. A copy among the references
gives the answer away to the metric. docs/extend.md lists the rules by which a pair is a copy of a test item.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from interloq.data.text.joined_texts import JoinedTexts
from interloq.records import Pair, Reference, Sample

HEAD = 8  # letters that are compared of many texts at once
FIRST = 12  # characters, in which most different texts differ
ADDED = ("parrot", "retrieved:")  # sources of references that did not come with the sample
_CONTROL = ("Cc", "Cf")  # line ends and tabs; marks that join emoji or change the direction of writing
_ASCII = str.maketrans("", "", string.punctuation + "".join(map(chr, [*range(33), 127])))
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # kana and Han: written without spaces
_WORD = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+")


@dataclass(frozen=True, slots=True)
class Guard:
    """Ids and texts of pairs that are excluded."""

    ids: frozenset[str] = frozenset()
    utterances: frozenset[str] = frozenset()  # normalised
    responses: frozenset[str] = frozenset()  # normalised
    own: str = ""  # the reply that is judged, normalised
    golds: tuple[frozenset[str], ...] = ()  # words of each gold reply
    near: float = 0.0  # similarity to a gold reply from which a reply is excluded; 0: off

    def reason(self, pair: Pair) -> str:
        """Return why the pair is excluded; empty if it is not."""
        if not self.ids.isdisjoint((pair.id, pair.to, pair.thread)):
            return "id"
        if normalise_text(pair.utterance) in self.utterances:
            return "utterance"
        response = normalise_text(pair.response)
        if response in self.responses:
            return "gold"
        if self.near and any(jaccard(words(pair.response), gold) >= self.near for gold in self.golds):
            return "near gold"
        if self.own and response == self.own:
            return "own"
        return ""


def guard(sample: Sample, *, excluded: Set[str] = frozenset(), near: float = 0.0, own: bool = False) -> Guard:
    """Return what is excluded for one sample; with `own`, also the judged reply."""
    golds = [reference.text for reference in originals(sample)]
    responses = _forms(golds)
    return Guard(
        ids=frozenset((*excluded, *ids(sample))) - {""},
        utterances=_forms(turn.text for turn in sample.context) | responses,
        responses=responses,
        own=normalise_text(sample.response) if own else "",
        golds=tuple(map(words, golds)) if near else (),
        near=near,
    )


def exclude_overlap(
    pairs: Iterable[Pair],
    samples: Iterable[Sample],
    *,
    excluded: Set[str] = frozenset(),
    dropped: Counter[str] | None = None,
) -> Iterator[Pair]:
    """Yield pairs that share no id, utterance or gold reply with any sample; `dropped` counts the others by reason."""
    every_id, utterances, responses = set(excluded), set[str](), set[str]()
    for sample in samples:
        sample_guard = guard(sample)
        every_id |= sample_guard.ids
        utterances |= sample_guard.utterances
        responses |= sample_guard.responses
    whole = Guard(frozenset(every_id - {""}), frozenset(utterances), frozenset(responses))
    for pair in pairs:
        if reason := whole.reason(pair):
            if dropped is not None:
                dropped[reason] += 1
        else:
            yield pair


def find_copied_threads(pairs: Iterable[Pair], samples: Iterable[Sample]) -> frozenset[str]:
    """Return threads with two consecutive turns of a sample: copies of its dialogue, to be excluded as a whole."""
    exchanges: set[tuple[str, str]] = set()
    for sample in samples:
        turns = [normalise_text(turn.text) for turn in sample.context]
        for reply in originals(sample) or (Reference(""),):
            exchanges.update(pairwise([*turns, normalise_text(reply.text)]))
    threads = set()
    for pair in pairs:
        exchange = normalise_text(pair.utterance), normalise_text(pair.response)
        if all(exchange) and exchange in exchanges:
            threads.add(pair.thread)
    return frozenset(threads - {""})


def originals(sample: Sample) -> tuple[Reference, ...]:
    """Return references that came with a sample: gold replies and replies written by people."""
    return tuple(reference for reference in sample.references if is_original(reference))


def is_original(reference: Reference) -> bool:
    """Return whether a reference came with the sample."""
    return not reference.source.startswith(ADDED)


def context_of(sample: Sample) -> tuple[str, ...]:
    """Return the context for comparison: its turns that have text, each as `normalise_text` returns it."""
    return tuple(normalise_text(turn.text) for turn in sample.context if turn.text.strip())


def reads_like(first: str, second: str) -> bool:
    """Return whether two normalised texts are equal; empty texts never are. Most differ in their first letters."""
    one, other = first[:1], second[:1]
    if one != other and one.isalnum() and other.isalnum() and one.lower() != other.lower():
        if first.isascii() and second.isascii():
            return False
    elif first.isascii() and second.isascii():
        one, other = (text[:FIRST].lower().translate(_ASCII) for text in (first, second))
        if one[: len(other)] != other[: len(one)]:
            return False
    return normalise_text(first) == normalise_text(second) != ""


def is_own(sample: Sample, reference: Reference) -> bool:
    """Return whether a reference is a copy of the judged reply."""
    return reads_like(sample.response, reference.text)


def find_copies(replies: JoinedTexts, others: JoinedTexts, owner: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which of the other texts read like the reply whose index is in `owner`."""
    first, second = replies.heads(HEAD)[:, owner], others.heads(HEAD)
    # letters that are not ASCII, or follow other characters, are compared by `reads_like`
    differ = ((first != second) & (first > 0) & (second > 0)).any(axis=0)
    copies = np.zeros(len(owner), dtype=bool)
    for i in np.flatnonzero(~differ).tolist():
        copies[i] = reads_like(replies.texts[owner[i]], others.texts[i])
    return copies


def without_own(sample: Sample) -> Sample:
    """Return the sample without references that are copies of the judged reply."""
    kept = tuple(reference for reference in sample.references if not is_own(sample, reference))
    if len(kept) == len(sample.references):
        return sample
    return replace(sample, references=kept)


def ids(sample: Sample) -> Iterator[str]:
    """Yield `t3_9/17/bot`, `t3_9/17` and `t3_9`: ids often start with their thread or post."""
    parts = sample.id.split("/")
    for end in range(len(parts), 0, -1):
        if head := "/".join(parts[:end]):
            yield head


@lru_cache(maxsize=2**16)
def normalise_text(text: str) -> str:
    """Return the text for comparison: NFKC, case-folded, without punctuation and white space.

    A text with nothing but punctuation (`?!`, `...`) keeps it, so that such texts differ.
    """
    if text.isascii():  # most text, and several times faster
        lower = text.lower()
        return lower.translate(_ASCII) or "".join(lower.split())
    # removing characters may create sequences that fold again
    while (again := _strip_ignored(_fold_text(text))) != text:
        text = again
    return text


def words(text: str) -> frozenset[str]:
    """Return the distinct words of a text, case-folded; each kana or Han character is a word."""
    return frozenset(_WORD.findall(_fold_text(text)))


def jaccard(first: Set[str], second: Set[str]) -> float:
    """Return the share of common words among all words; 0 if there are none."""
    if not first or not second:
        return 0.0
    return len(first & second) / len(first | second)


def _forms(texts: Iterable[str]) -> frozenset[str]:
    """Return the normalised texts, without the empty text."""
    return frozenset(map(normalise_text, texts)) - {""}


def _fold_text(text: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def _strip_ignored(text: str) -> str:
    kept = []
    for char in text:
        category = unicodedata.category(char)
        if char not in string.punctuation and category[0] not in "PZ" and category not in _CONTROL:
            kept.append(char)
    return "".join(kept) or "".join(text.split())
