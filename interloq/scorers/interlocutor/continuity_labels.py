# SPDX-License-Identifier: Apache-2.0
"""Continuity samples (Tsuta et al., 2024): replies of logged dialogues, labelled by whether they were answered.

A dialogue of two people is u_0 … u_(M-1). Each reply u_k (k ≥ 1) is one sample: its context is u_0 … u_(k-1), its judge
the person who would speak next, and its label 1 if u_(k+1) exists, so all replies but the last are positive. The label
is stored as the judge's rating with aspect `continued` and role `interlocutor`: other stages read these samples like
any others. First turns answer nobody and are not samples; the paper's Table 3 agrees with that (turns per dialogue
minus 2 is the ratio of its two classes). `openings` adds them. If a dialogue itself has such a rating, as chats do, it
is the label of its last turn: a rating without a value means that a limit of turns ended the dialogue, and that turn is
not a sample. Without a rating, `Dialogue.ended_by` says whether the other person left, or the speaker took leave.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import combinations, pairwise
from typing import Literal

from interloq.data.corpus.clean import NO_TIME
from interloq.data.corpus.dialogues import merge_turns
from interloq.data.corpus.draw import read_date
from interloq.data.corpus.times import microseconds
from interloq.errors import InputError
from interloq.options import check_limits, option
from interloq.records import INTERLOCUTOR, Dialogue, Rating, Sample, Turn

CONTINUED = "continued"  # the aspect of continuity labels
MIN_DIALOGUES = 20  # of a number of turns that the collector chose, see `cut_ends`
MIN_SHARE = 0.05
MIN_ENDING = 0.5
MIN_RATIO = 3.0
UNUSABLE = {  # reason → meaning
    "no_speaker": "a turn has no speaker",
    "one_speaker": "only one person speaks, so the interlocutor is unknown",
    "several_speakers": "more than two people speak",
    "renamed_speaker": "two speakers have names such as ann and ann_, probably of one person",
    "bad_time": "a time cannot be read",
    "backwards": "a turn is dated before the turn that precedes it",
}
_AWAY = re.compile(r"[|\[{(].*$")


@dataclass(frozen=True, slots=True)
class JudgedTurn:
    """A turn of a dialogue and the ratings of the person who was addressed; `user` is empty if they are unknown."""

    dialogue: Dialogue
    turn: int
    user: str
    ratings: tuple[Rating, ...]

    @property
    def replied(self) -> bool | None:
        """The continuity label; None if there is none."""
        for rating in self.ratings:
            if rating.aspect == CONTINUED:
                return rating.value == 1
        return None

    def sample(self, context: int = 0) -> Sample:
        """Return the turn as a reply to the turns before it, or to the last `context`.

        `<dialogue>#<turn>` is its id.
        """
        before = [turn for turn in self.dialogue.turns[: self.turn] if turn.text.strip()][-context:]
        spoken = self.dialogue.turns[self.turn]
        system = self.dialogue.systems.get(spoken.speaker, "")
        name = self.dialogue.id
        return Sample(f"{name}#{self.turn}", before, spoken.text, (), system, self.ratings, name)


@dataclass(frozen=True)
class SampleSelection:
    """Which dialogues and users become samples, and how they are split into train, dev and test."""

    min_conversations: int = option(30, "drop users with fewer conversations", least=0)
    max_conversations: int = option(400, "conversations per user, drawn at random; 0: all", least=0)
    count_in: Literal["train", "all"] = option(
        "train", "conversations that these limits are about: those in train, or all (always with --by user)"
    )
    draw_users: int = option(0, "users to draw at random of those with enough conversations; 0: all", least=0)
    min_turns: int = option(2, "drop shorter dialogues", least=1)
    context: int = option(0, "last turns to keep of each context; 0: all", least=0)
    fading: bool = option(False, "keep only dialogues in which the pauses between turns tend to grow")
    openings: bool = option(False, "also label first turns, answered or not")
    cut_ends: bool = option(False, "accept dialogues that were ended after a fixed number of turns")
    by: Literal["time", "own-time", "user"] = option(
        "time", "what is held out: the latest dialogues, the latest of each user, or users"
    )
    dev: float = option(0.1, "share of the dev part", metavar="SHARE")
    test: float = option(0.1, "share of the test part", metavar="SHARE")
    dev_from: str = option("", "date on which dev starts, instead of shares (--by time)", metavar="DATE")
    test_from: str = option("", "date on which test starts", metavar="DATE")
    balance: float = option(
        0.0, "share of answered replies to draw each part to; 0: as in the log", metavar="SHARE", least=0, most=1
    )
    balanced: Literal["all", "tested"] = option("all", "parts that --balance changes: all, or only dev and test")
    seed: int = option(0, "seed of random choices", least=0)

    def __post_init__(self) -> None:
        check_limits(self)
        if 0 < self.max_conversations < self.min_conversations:
            what = f"at least {self.min_conversations} conversations, but at most {self.max_conversations}"
            raise InputError(f"no user has {what}", hint="raise max_conversations or lower min_conversations")
        if not (self.dev >= 0 and self.test >= 0 and self.dev + self.test < 1):
            what = f"dev and test must be shares below 1 in total, got {self.dev} and {self.test}"
            raise InputError(what, hint="try 0.1 and 0.1")
        if self.balance == 1:
            raise InputError("balance must be below 1, got 1", hint="try 0.58")
        dates = read_date(self.dev_from, "dev_from"), read_date(self.test_from, "test_from")
        if dates == (NO_TIME, NO_TIME):
            return
        if NO_TIME in dates or dates[0] > dates[1] or self.by != "time":
            what = f"cannot split by {self.by} at the dates {self.dev_from!r} and {self.test_from!r}"
            raise InputError(what, hint="give dev_from and a later test_from, with by='time' (--by time)")

    def counts_training(self) -> bool:
        """Return whether the limits per user are about conversations in train. Held-out users have none there."""
        return self.count_in == "train" and self.by != "user"


@dataclass(frozen=True, slots=True)
class CutEnds:
    """A number of turns at which suspiciously many dialogues end."""

    turns: int
    dialogues: int  # that end there
    of: int  # all dialogues

    def __str__(self) -> str:
        share = self.dialogues / self.of
        return f"{self.dialogues:,} of {self.of:,} dialogues ({share:.0%}) end after exactly {self.turns} turns"


@dataclass(frozen=True, slots=True)
class LabelledTurns:
    """Labelled turns by dialogue, and the number of dialogues and turns dropped, by reason."""

    judged: Sequence[JudgedTurn]
    dropped: Counter[str]
    cut: CutEnds | None = None


def continuity(
    dialogues: Iterable[Dialogue], selection: SampleSelection, *, rename: Callable[[Dialogue], Dialogue] | None = None
) -> LabelledTurns:
    """Label the turns of all usable dialogues. Dialogues with ends made by the collector are refused by default.

    `rename` gives pseudonyms to usable dialogues, and not earlier, since a speaker who changed names is recognised by
    the names.
    """
    dropped, usable, lengths = Counter[str](), list[Dialogue](), list[int]()
    for dialogue in dialogues:
        reason = unusable(dialogue)
        opening = selection.openings and reason == "one_speaker"
        if reason and not opening:
            dropped[reason] += 1
            continue
        merged = join_speaker_turns(rename(dialogue) if rename else dialogue)
        dropped["merged_turns"] += len(dialogue.turns) - len(merged.turns)
        if not (opening or end_labels(dialogue)):
            lengths.append(len(dialogue.turns))
        usable.append(merged)
    cut = cut_ends(lengths)
    if cut and not selection.cut_ends:
        what = f"{cut}, so the collector ended them and not a person: their last turns are not valid labels"
        raise InputError(what, hint="use logs with natural ends, or allow cut ends (cut_ends, --cut-ends)")
    selected = [dialogue for dialogue in usable if _is_selected(dialogue, selection, dropped)]
    return LabelledTurns(list(_distinct(selected, selection, dropped)), +dropped, cut)


def cut_ends(lengths: Iterable[int]) -> CutEnds | None:
    """Return the number of turns after which the collector ended dialogues; None if there is no such number.

    Of the dialogues that reach a length, some share ends there. In natural logs this share changes slowly with the
    length; a fixed number of turns makes it jump. A length is recognised if at least half of the dialogues that reach
    it end there, three times the share at all other lengths, and if these are at least 20 dialogues and 5 % of all.
    """
    counts = Counter(lengths)
    of = reached = counts.total()
    at_risk = 0  # turns at which a dialogue could have ended
    for length, n in counts.items():
        at_risk += (length - min(counts) + 1) * n
    cuts = []
    for length, n in sorted(counts.items()):
        elsewhere = (of - n) / max(1, at_risk - reached)
        if n >= max(MIN_DIALOGUES, MIN_SHARE * of) and n / reached >= max(MIN_ENDING, MIN_RATIO * elsewhere):
            cuts.append(CutEnds(length, n, of))
        reached -= n
    return max(cuts, key=lambda cut: cut.dialogues, default=None)


def _is_selected(dialogue: Dialogue, selection: SampleSelection, dropped: Counter[str]) -> bool:
    """Return whether the selection keeps a dialogue; count the others."""
    opening = selection.openings and len(dialogue.turns) == 1
    short = len(dialogue.turns) < selection.min_turns and not opening
    not_fading = selection.fading and not short and not fades(dialogue)
    dropped["short"] += short
    dropped["not_fading"] += not_fading
    return not (short or not_fading)


def _distinct(dialogues: Iterable[Dialogue], selection: SampleSelection, dropped: Counter[str]) -> Iterator[JudgedTurn]:
    """Yield each turn judged by people once: dialogues from one thread may share their beginning and its times."""
    seen = set[bytes]()
    for dialogue in dialogues:
        digest = blake2b(digest_size=16)
        for judged in label_turns(dialogue):
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


def label_turns(dialogue: Dialogue) -> Iterator[JudgedTurn]:
    """Yield every turn of a dialogue in which two people alternate, with the label given by the other person."""
    speakers = {turn.speaker for turn in dialogue.turns}
    for i, turn in enumerate(dialogue.turns):
        user = next(iter(speakers - {turn.speaker}), "")
        label: float | None = 1.0
        if i + 1 == len(dialogue.turns):
            label = (*end_labels(dialogue), 0.0)[0]
        ratings: tuple[Rating, ...] = ()
        if label is not None:
            ratings = (Rating(label, user, CONTINUED, INTERLOCUTOR),)
        yield JudgedTurn(dialogue, i, user, ratings)


def end_labels(dialogue: Dialogue) -> list[float | None]:
    """Return the labels of the last turn that the dialogue itself has; None if nobody chose not to answer it.

    That is so if a limit ended the dialogue, or the speaker of the last turn did.
    """
    labels = [rating.value for rating in dialogue.ratings if rating.aspect == CONTINUED]
    if not labels and dialogue.ended_by and dialogue.turns:
        who = dialogue.ended_by.partition(": ")[0]
        labels.append(None if who == dialogue.turns[-1].speaker else 0.0)
    return labels


def find_rater(sample: Sample) -> str:
    """Return the person who rated a sample as the interlocutor; empty if nobody did."""
    for rating in sample.ratings:
        if rating.role == INTERLOCUTOR:
            return rating.rater
    return ""


def judge_of(sample: Sample) -> str:
    """Return the person who judges a sample: whoever rated it as the interlocutor, or else the last other speaker."""
    return find_rater(sample) or _last_other_speaker(sample)


def _last_other_speaker(sample: Sample) -> str:
    for turn in reversed(sample.context):
        if turn.speaker != sample.system:
            return turn.speaker
    return ""


def judges_turns(sample: Sample) -> list[bool]:
    """Return whether the judge spoke each turn of the context. Without names, speakers are assumed to alternate."""
    speakers, judge = [turn.speaker for turn in sample.context], judge_of(sample)
    if judge not in speakers:  # the rater has another name than the speaker
        judge = _last_other_speaker(sample)
    if judge:
        return [name == judge for name in speakers]
    return [(len(speakers) - i) % 2 == 1 for i in range(len(speakers))]


def unusable(dialogue: Dialogue) -> str:
    """Return why nothing can be learned from how this dialogue ended; empty if something can. See UNUSABLE."""
    speakers = {turn.speaker for turn in dialogue.turns}
    if not speakers or "" in speakers:
        return "no_speaker"
    if len({_plain(name) for name in speakers}) < len(speakers):
        return "renamed_speaker"
    if len(speakers) != 2:
        return "one_speaker" if len(speakers) == 1 else "several_speakers"
    if has_bad_time(dialogue):
        return "bad_time"
    for earlier, later in pairwise(times(dialogue.turns)):
        if later < earlier:
            return "backwards"
    return ""


def has_bad_time(dialogue: Dialogue) -> bool:
    """Return whether the time of a turn cannot be read."""
    try:
        list(times(dialogue.turns))
    except InputError:
        return True
    return False


def times(turns: Iterable[Turn]) -> Iterator[int]:
    """Yield the times of turns that have one, in microseconds."""
    for turn in turns:
        time = microseconds(turn.time)
        if time != NO_TIME:
            yield time


def start(dialogue: Dialogue) -> int:
    """Return the first known time of a dialogue; NO_TIME if there is none."""
    return next(times(dialogue.turns), NO_TIME)


def end(dialogue: Dialogue) -> int:
    """Return the last known time of a dialogue; NO_TIME if there is none."""
    return next(times(reversed(dialogue.turns)), NO_TIME)


def join_speaker_turns(dialogue: Dialogue) -> Dialogue:
    """Join consecutive turns of one speaker, so that every turn of the dialogue answers the one before it."""
    return replace(dialogue, turns=tuple(merge_turns(dialogue.turns)), given=0)


def fades(dialogue: Dialogue) -> bool:
    """Return whether the rate of replies falls: the pauses between turns tend to grow (Kendall's tau above 0)."""
    pauses = [later - earlier for earlier, later in pairwise(times(dialogue.turns))]
    growing = 0
    for earlier, later in combinations(pauses, 2):
        growing += (later > earlier) - (later < earlier)
    return growing > 0


def _plain(name: str) -> str:
    """Return a nick without additions for being away or reconnecting: `Ann_` and `ann|away` → `ann`."""
    return _AWAY.sub("", name).rstrip("_`^").casefold() or name
