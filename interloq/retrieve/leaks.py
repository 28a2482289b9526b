"""Keeping test items out of their own references.

Logs hold copies: a test dialogue that was crawled twice, its thread, a reply that was quoted. A copy that comes back as
a reference hands the answer to the metric. A pair is a copy of (a piece of) a test item if

- its id, its post or its thread is one of the sample's ids: the sample's id, what stands before each `/` in it, and ids
  that were excluded by name;
- its utterance reads like a turn of the context, or like a gold reply (then it goes on after the test item);
- its response reads like a gold reply, or on request is nearly one (Jaccard similarity of their words).

Texts read alike when they are the same without case, punctuation, white space and the Unicode forms of one character.
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

from interloq.records import Pair, Reference, Sample

FIRST = 12  # characters that tell most texts apart
ADDED = ("parrot", "retrieved:")  # sources of references that were not there at first
_CONTROL = ("Cc", "Cf")  # line ends and tabs; marks that join emoji or turn the direction of writing
_ASCII = str.maketrans("", "", string.punctuation + "".join(map(chr, [*range(33), 127])))
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # kana and Han: written without spaces
_WORD = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+")


@dataclass(frozen=True, slots=True)
class Guard:
    """What must not come back."""

    ids: frozenset[str] = frozenset()
    utterances: frozenset[str] = frozenset()  # normalised
    responses: frozenset[str] = frozenset()  # normalised
    own: str = ""  # the reply that is judged, normalised
    golds: tuple[frozenset[str], ...] = ()  # words of each gold reply
    near: float = 0.0  # similarity from which a reply is nearly a gold reply; 0 switches it off

    def reason(self, pair: Pair) -> str:
        """Why a pair may not come back; empty where it may."""
        if not self.ids.isdisjoint((pair.id, pair.to, pair.thread)):
            return "id"
        if normalised(pair.utterance) in self.utterances:
            return "utterance"
        response = normalised(pair.response)
        if response in self.responses:
            return "gold"
        if self.near and any(jaccard(words(pair.response), gold) >= self.near for gold in self.golds):
            return "near gold"
        return "own" if self.own and response == self.own else ""


def guard(sample: Sample, *, excluded: Set[str] = frozenset(), near: float = 0.0, own: bool = False) -> Guard:
    """What must not come back for one sample; with `own`, not even the reply that is judged."""
    golds = [reference.text for reference in originals(sample)]
    responses = _forms(golds)
    return Guard(
        ids=frozenset((*excluded, *ids(sample))) - {""},
        utterances=_forms(turn.text for turn in sample.context) | responses,
        responses=responses,
        own=normalised(sample.response) if own else "",
        golds=tuple(words(gold) for gold in golds) if near else (),
        near=near,
    )


def guarded(
    pairs: Iterable[Pair],
    samples: Iterable[Sample],
    *,
    excluded: Set[str] = frozenset(),
    dropped: Counter[str] | None = None,
) -> Iterator[Pair]:
    """A pool without the pairs that share an utterance or a gold reply with any sample; `dropped` counts, by reason."""
    every = [guard(sample) for sample in samples]
    whole = Guard(
        ids=frozenset(excluded).union(*(each.ids for each in every)) - {""},
        utterances=frozenset().union(*(each.utterances for each in every)),
        responses=frozenset().union(*(each.responses for each in every)),
    )
    for pair in pairs:
        if reason := whole.reason(pair):
            if dropped is not None:
                dropped[reason] += 1
        else:
            yield pair


def copied_threads(pairs: Iterable[Pair], samples: Iterable[Sample]) -> frozenset[str]:
    """Threads that hold two turns of a sample in a row: copies of its dialogue. Exclude them to lose the rest of it."""
    rows = {
        (normalised(first), normalised(second))
        for sample in samples
        for reply in originals(sample) or (Reference(""),)
        for first, second in pairwise([*(turn.text for turn in sample.context), reply.text])
        if normalised(first) and normalised(second)
    }
    found = (pair.thread for pair in pairs if (normalised(pair.utterance), normalised(pair.response)) in rows)
    return frozenset(thread for thread in found if thread)


def originals(sample: Sample) -> tuple[Reference, ...]:
    """The references that came with a sample: gold replies and those written by people."""
    return tuple(reference for reference in sample.references if is_original(reference))


def is_original(reference: Reference) -> bool:
    """Whether a reference came with the sample."""
    return not reference.source.startswith(ADDED)


def reads_like(first: str, second: str) -> bool:
    """Whether two texts read alike; the empty text is like nothing. Most are told apart by their first letters."""
    one, other = first[:1], second[:1]
    if one != other and one.isalnum() and other.isalnum() and one.lower() != other.lower():
        if first.isascii() and second.isascii():
            return False
    elif first.isascii() and second.isascii():
        one, other = (text[:FIRST].lower().translate(_ASCII) for text in (first, second))
        if one[: len(other)] != other[: len(one)]:
            return False
    return normalised(first) == normalised(second) != ""


def is_own(sample: Sample, reference: Reference) -> bool:
    """Whether a reference is a copy of the very reply that is judged."""
    return reads_like(sample.response, reference.text)


def without_own(sample: Sample) -> Sample:
    """The sample without copies of the reply that is judged among its references."""
    kept = tuple(reference for reference in sample.references if not is_own(sample, reference))
    return sample if len(kept) == len(sample.references) else replace(sample, references=kept)


def ids(sample: Sample) -> Iterator[str]:
    """`t3_9/17/bot`, `t3_9/17` and `t3_9`: ids often begin with the thread or post they come from."""
    parts = sample.id.split("/")
    for end in range(len(parts), 0, -1):
        if head := "/".join(parts[:end]):
            yield head


@lru_cache(maxsize=2**16)
def normalised(text: str) -> str:
    """The text as it is compared: NFKC, case-folded, without punctuation and white space.

    A text of nothing else (`?!`, `...`) keeps its marks: two such texts are not alike.
    """
    if text.isascii():  # most text, and several times faster
        lower = text.lower()
        return lower.translate(_ASCII) or "".join(lower.split())
    while (again := _stripped(_folded(text))) != text:  # what was apart may fold anew once it stands together
        text = again
    return text


def words(text: str) -> frozenset[str]:
    """The distinct words of a text, case-folded; a kana or Han character is a word."""
    return frozenset(_WORD.findall(_folded(text)))


def jaccard(first: Set[str], second: Set[str]) -> float:
    """Shared words among all words; 0 where there are none."""
    return len(first & second) / len(first | second) if first and second else 0.0


def _forms(texts: Iterable[str]) -> frozenset[str]:
    """Without the empty text, which is like nothing."""
    return frozenset(normalised(text) for text in texts) - {""}


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def _stripped(text: str) -> str:
    return "".join(char for char in text if not _left_out(char)) or "".join(text.split())


def _left_out(char: str) -> bool:
    return char in string.punctuation or unicodedata.category(char)[0] in "PZ" or unicodedata.category(char) in _CONTROL
