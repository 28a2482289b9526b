"""Replies of held-out dialogues, each with wrong ones to the same context, to test scorers that have no rated set.

| kind | the wrong reply |
|---|---|
| random | a reply from another held-out dialogue of the same log |
| retrieved | one that BM25 finds there for the last turn and the true reply together, below its first ranks |
| other place | a turn of the same speaker from elsewhere in the dialogue, not in the context |
| contradiction | a reply that people labelled as a contradiction, after its own context (CDConv) |
| generic | a reply that fits almost everywhere |
| parrot | the last turn, repeated |
| shuffled turns | the true reply after the turns of the context in another order, with another last turn |

No wrong reply equals the true one, up to case and punctuation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import orjson
from ja_zh_logs import Talk

from interloq.data.files.opening import lines
from interloq.models.pretrained import Subwords
from interloq.retrieve.leaks import normalise_text

TRUE, SHUFFLED, CONTRADICTION = "true", "shuffled turns", "contradiction"
KINDS = ("random", "retrieved", "other place", CONTRADICTION, "generic", "parrot", SHUFFLED)
GENERIC: Mapping[str, tuple[str, ...]] = {
    "ja": ("はい。", "そうですね。", "なるほど。", "わかりません。"),
    "zh": ("是的。", "好的。", "嗯嗯。", "我不知道。"),
}
PER_DIALOGUE, PER_LOG = 5, 1500  # most items
NEAR = 16  # ranks considered


@dataclass(frozen=True, slots=True)
class Item:
    """A context with its true reply and wrong ones, by kind; for shuffled turns the context in another order."""

    log: str
    dialogue: str
    context: tuple[str, ...]
    replies: Mapping[str, str]
    shuffled: tuple[str, ...] = ()

    def cases(self) -> Iterator[tuple[str, tuple[str, ...], str]]:
        """Kind, context and reply of each case to score."""
        for kind, reply in self.replies.items():
            yield kind, self.context, reply
        if self.shuffled:
            yield SHUFFLED, self.shuffled, self.replies[TRUE]


@dataclass(frozen=True, slots=True)
class _Place:
    """A turn of a dialogue that is a reply."""

    talk: Talk
    turn: int

    @property
    def reply(self) -> str:
        return self.talk.dialogue.turns[self.turn].text

    def context(self, turns: int) -> tuple[str, ...]:
        before = [turn.text for turn in self.talk.dialogue.turns[: self.turn] if turn.text.strip()]
        return tuple(before[-turns:])

    def elsewhere(self, turns: int) -> list[str]:
        """Turns of the same speaker that are not in the context."""
        every = self.talk.dialogue.turns
        others = [*every[: max(0, self.turn - turns)], *every[self.turn + 1 :]]
        texts = [turn.text for turn in others if turn.speaker == every[self.turn].speaker]
        return [text for text in texts if text not in self.context(turns)]


def held_out_items(log: str, talks: Sequence[Talk], language: str, subwords: Subwords, *, turns: int) -> list[Item]:
    """Items of one log. Of dialogues with a labelled last reply, only this reply is used."""
    rng = np.random.default_rng(0)
    every = [place for talk in talks for place in _places(talk)]
    good = [place for place in every if not place.talk.wrong]
    drawn = [good[i] for i in rng.permutation(len(good))]
    chosen = _spread(drawn)[:PER_LOG]
    similar = _similar(chosen, good, subwords)
    items = [_item(log, chosen[i], good, similar[i], language, rng, turns=turns) for i in range(len(chosen))]
    wrong = [place for place in every if place.talk.wrong]
    return items + [Item(log, p.talk.key, p.context(turns), {CONTRADICTION: p.reply}) for p in wrong]


def _places(talk: Talk) -> Iterator[_Place]:
    found = talk.dialogue.turns
    for i in range(len(found) - 1 if talk.labelled else 1, len(found)):
        if found[i].text.strip() and found[i - 1].text.strip() and found[i].speaker != found[i - 1].speaker:
            yield _Place(talk, i)


def _spread(places: Sequence[_Place]) -> list[_Place]:
    """At most PER_DIALOGUE of each dialogue."""
    seen: dict[str, int] = {}
    kept = []
    for place in places:
        id = place.talk.dialogue.id
        seen[id] = seen.get(id, 0) + 1
        if seen[id] <= PER_DIALOGUE:
            kept.append(place)
    return kept


def _similar(chosen: Sequence[_Place], pool: Sequence[_Place], subwords: Subwords) -> list[list[_Place]]:
    from interloq.retrieve.similar import near  # needs numba, which scoring does not

    queries = [place.talk.dialogue.turns[place.turn - 1].text + " " + place.reply for place in chosen]
    found = near(subwords.texts([place.reply for place in pool]), subwords.texts(queries), NEAR)
    return [[pool[n] for n in row if n >= 0] for row in found.tolist()]


def _item(
    log: str,
    place: _Place,
    pool: Sequence[_Place],
    similar: Sequence[_Place],
    language: str,
    rng: np.random.Generator,
    *,
    turns: int,
) -> Item:
    context = place.context(turns)
    random = [pool[i] for i in rng.integers(len(pool), size=NEAR)]
    asked = {
        "random": [other.reply for other in random if other.talk.key != place.talk.key],
        "retrieved": [other.reply for other in similar if other.talk.key != place.talk.key],
        "other place": _mixed(place.elsewhere(turns), rng),
        "generic": _mixed(GENERIC[language], rng),
        "parrot": [context[-1]],
    }
    own = {normalise_text(place.reply)}
    unlike = {kind: [t for t in texts if t.strip() and normalise_text(t) not in own] for kind, texts in asked.items()}
    wrong = {kind: texts[0] for kind, texts in unlike.items() if texts}
    return Item(log, place.talk.key, context, {TRUE: place.reply} | wrong, _reordered(context, rng))


def _mixed(texts: Sequence[str], rng: np.random.Generator) -> list[str]:
    return [texts[i] for i in rng.permutation(len(texts))]


def _reordered(context: tuple[str, ...], rng: np.random.Generator) -> tuple[str, ...]:
    """The turns in another order, with another last turn; empty if there is none."""
    last = [i for i, turn in enumerate(context) if turn != context[-1]]
    if not last:
        return ()
    chosen = last[int(rng.integers(len(last)))]
    others = [turn for i, turn in enumerate(context) if i != chosen]
    return (*_mixed(others, rng), context[chosen])


# ---- the file --------------------------------------------------------------------------------------------------------


def as_objects(items: Sequence[Item]) -> Iterator[dict[str, object]]:
    """Items as JSON objects."""
    return (asdict(item) for item in items)


def read_items(path: Path) -> list[Item]:
    """Items of a file."""
    found = [orjson.loads(line) for _, line in lines(path)]
    return [
        Item(o["log"], o["dialogue"], tuple(o["context"]), o["replies"], shuffled=tuple(o["shuffled"])) for o in found
    ]
