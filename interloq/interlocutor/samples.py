# SPDX-License-Identifier: Apache-2.0
"""Continuity samples (Tsuta et al., 2024): replies of logged dialogues, labelled by whether they were answered.

A dialogue of two people is u_0 … u_(M-1). Each reply u_k (k ≥ 1) is one sample: its context is u_0 … u_(k-1), its judge
the person who would speak next, and its label 1 if u_(k+1) exists, so all replies but the last are positive. The label
is stored as the judge's rating with aspect `continued` and role `interlocutor`: other stages read these samples as any
others. First turns answer nobody and are not samples; the paper's Table 3 agrees with that (turns per dialogue minus 2
is the ratio of its two classes). `openings` adds them. A dialogue with such a rating of its own, as chats have, has the
label of its last turn there: without a value, a limit of turns ended it, and that turn is not a sample.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

from interloq.errors import InputError
from interloq.interlocutor.cut_ends import CutEnds, cut_ends
from interloq.interlocutor.two_person import alternating, fades, unusable
from interloq.learn.settings import option
from interloq.records import INTERLOCUTOR, Dialogue, Rating, Sample

CONTINUED = "continued"  # the aspect of continuity labels
LEAST = {"min_conversations": 0, "max_conversations": 0, "min_turns": 1, "context": 0, "seed": 0}


@dataclass(frozen=True, slots=True)
class Judged:
    """A turn of a dialogue and the ratings of the person who was addressed; `user` is empty if they are unknown."""

    dialogue: Dialogue
    turn: int
    user: str
    ratings: tuple[Rating, ...]

    @property
    def replied(self) -> bool | None:
        """The continuity label; None if there is none."""
        return next((rating.value == 1 for rating in self.ratings if rating.aspect == CONTINUED), None)

    def sample(self, context: int = 0) -> Sample:
        """The turn as a reply to the turns before it, or to the last `context`; `<dialogue>#<turn>` is its id."""
        before = [turn for turn in self.dialogue.turns[: self.turn] if turn.text.strip()][-context:]
        spoken = self.dialogue.turns[self.turn]
        system = self.dialogue.systems.get(spoken.speaker, "")
        name = self.dialogue.id
        return Sample(f"{name}#{self.turn}", before, spoken.text, (), system, self.ratings, name)


@dataclass(frozen=True)
class Selection:
    """Which dialogues and users become samples, and how they are split into train, dev and test."""

    min_conversations: int = option(30, "drop users with fewer conversations")
    max_conversations: int = option(400, "conversations per user, drawn at random; 0: all")
    min_turns: int = option(2, "drop shorter dialogues")
    context: int = option(0, "last turns to keep of each context; 0: all")
    fading: bool = option(False, "keep only dialogues in which the pauses between turns tend to grow")
    openings: bool = option(False, "also label first turns, answered or not")
    cut_ends: bool = option(False, "accept dialogues that were ended after a fixed number of turns")
    by: Literal["time", "own-time", "user"] = option(
        "time", "what is held out: the latest dialogues, the latest of each user, or users"
    )
    dev: float = option(0.1, "share of the dev part", metavar="SHARE")
    test: float = option(0.1, "share of the test part", metavar="SHARE")
    seed: int = option(0, "seed of random choices")

    def __post_init__(self) -> None:
        for name, least in LEAST.items():
            if getattr(self, name) < least:
                raise InputError(f"{name} must be at least {least}, got {getattr(self, name)}")
        if 0 < self.max_conversations < self.min_conversations:
            what = f"at least {self.min_conversations} conversations, but at most {self.max_conversations}"
            raise InputError(f"no user has {what}", hint="raise max_conversations or lower min_conversations")
        if not (self.dev >= 0 and self.test >= 0 and self.dev + self.test < 1):
            what = f"dev and test must be shares below 1 in total, got {self.dev} and {self.test}"
            raise InputError(what, hint="try 0.1 and 0.1")


@dataclass(frozen=True, slots=True)
class Labelled:
    """Labelled turns by dialogue, and the number of dialogues and turns dropped, by reason."""

    judged: Sequence[Judged]
    dropped: Counter[str]
    cut: CutEnds | None = None


def continuity(
    dialogues: Iterable[Dialogue], selection: Selection, *, rename: Callable[[Dialogue], Dialogue] | None = None
) -> Labelled:
    """Label the turns of all usable dialogues. Dialogues with ends made by the collector are refused by default.

    `rename` gives usable dialogues pseudonyms: not earlier, since a speaker who changed names is recognised by them.
    """
    dropped, kept, lengths = Counter[str](), list[Dialogue](), list[int]()
    for dialogue in dialogues:
        reason = unusable(dialogue)
        opening = selection.openings and reason == "one_speaker"
        if reason and not opening:
            dropped[reason] += 1
            continue
        turns = alternating(rename(dialogue) if rename else dialogue)
        dropped["merged_turns"] += len(dialogue.turns) - len(turns.turns)
        if not (opening or end_labels(dialogue)):
            lengths.append(len(dialogue.turns))
        kept.append(turns)
    cut = cut_ends(lengths)
    if cut and not selection.cut_ends:
        _refuse(cut)
    kept = [dialogue for dialogue in kept if _kept(dialogue, selection, dropped)]
    return Labelled(list(_distinct(kept, selection, dropped)), +dropped, cut)


def _refuse(cut: CutEnds) -> None:
    what = f"{cut}, so the collector ended them and not a person: their last turns are not valid labels"
    raise InputError(what, hint="use logs with natural ends, or allow cut ends (cut_ends, --cut-ends)")


def _kept(dialogue: Dialogue, selection: Selection, dropped: Counter[str]) -> bool:
    """Whether the selection keeps a dialogue; others are counted."""
    opening = selection.openings and len(dialogue.turns) == 1
    short = len(dialogue.turns) < selection.min_turns and not opening
    not_fading = selection.fading and not short and not fades(dialogue)
    dropped["short"] += short
    dropped["not_fading"] += not_fading
    return not (short or not_fading)


def _distinct(dialogues: Iterable[Dialogue], selection: Selection, dropped: Counter[str]) -> Iterator[Judged]:
    """Turns judged by people, each once: dialogues from one thread may share their beginning, with the same times."""
    seen = set[bytes]()
    for dialogue in dialogues:
        digest = blake2b(digest_size=16)
        for judged in labelled(dialogue):
            turn = dialogue.turns[judged.turn]
            digest.update("\0".join((turn.speaker, turn.time, turn.text, "\1")).encode("utf-8", "surrogatepass"))
            dropped["empty_turns"] += not turn.text.strip()
            answers = judged.turn or selection.openings
            if not answers or not turn.text.strip() or judged.user in dialogue.systems:
                continue
            if judged.replied is None:
                dropped["unlabelled_ends"] += 1
                continue
            repeated = bool(turn.time) and digest.digest() in seen
            seen.add(digest.digest())
            dropped["repeated_turns"] += repeated
            if not repeated:
                yield judged


def labelled(dialogue: Dialogue) -> Iterator[Judged]:
    """Every turn of a dialogue in which two people alternate, with the label given by the other person."""
    speakers, last = {turn.speaker for turn in dialogue.turns}, (*end_labels(dialogue), 0.0)[0]
    for i, turn in enumerate(dialogue.turns):
        user = next(iter(speakers - {turn.speaker}), "")
        value = 1.0 if i + 1 < len(dialogue.turns) else last
        yield Judged(dialogue, i, user, () if value is None else (Rating(value, user, CONTINUED, INTERLOCUTOR),))


def end_labels(dialogue: Dialogue) -> list[float | None]:
    """Labels of the last turn that the dialogue itself has; None if a limit ended it."""
    return [rating.value for rating in dialogue.ratings if rating.aspect == CONTINUED]


def rated_by(sample: Sample) -> str:
    """The person who rated a sample as the interlocutor; empty if nobody did."""
    return next((rating.rater for rating in sample.ratings if rating.role == INTERLOCUTOR), "")


def judge_of(sample: Sample) -> str:
    """The person who judges a sample: whoever rated it as the interlocutor, or else the last other speaker."""
    speakers = (turn.speaker for turn in reversed(sample.context) if turn.speaker != sample.system)
    return rated_by(sample) or next(speakers, "")


def judges_turns(sample: Sample) -> list[bool]:
    """Whether the judge spoke each turn of the context. Without names, speakers are assumed to alternate."""
    speakers, judge = [turn.speaker for turn in sample.context], judge_of(sample)
    if judge not in speakers:  # the rater has another name than the speaker
        judge = next((name for name in reversed(speakers) if name != sample.system), "")
    if judge:
        return [name == judge for name in speakers]
    return [(len(speakers) - i) % 2 == 1 for i in range(len(speakers))]
