# SPDX-License-Identifier: Apache-2.0
"""The loop that plays dialogues: thousands of dialogues advance together, so that each bot answers in full batches.

Dialogues wait for the bot that speaks next. The bot with the most waiting dialogues answers a batch of them, those
nearest to their end first; a finished dialogue is yielded and journaled at once. A reply depends only on its dialogue
and on the seed of match and turn, so batches and order do not change results.

Bots that wait for servers or programs (`waits`) answer concurrently, one batch each, together with one of the bots that
compute locally. All batches are finished before the next are started, so that scheduling does not depend on speed.

A bot never stops the others. A missing reply (crashed, timed out, empty) ends the dialogue; a bot or a rule may end it
too (`Dialogue.ended_by`); repeating itself is noted, and ends the dialogue only if `stop_repeating` is set.
`Dialogue.failure` lists what happened: `name: what at turn n`, joined by `; `.
"""

from __future__ import annotations

import contextvars
import heapq
import queue
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from interloq.errors import InputError
from interloq.play.bot import Bot, BotLike, as_bot, ask_bot
from interloq.play.endings import EndRules
from interloq.play.journal import Journal
from interloq.play.play_options import REPEATS
from interloq.play.schedule import SECOND, BotMatch, seed_of
from interloq.records import Dialogue, Turn
from interloq.servers.replies import Reply, one_line

BATCH = 256  # dialogues a bot answers at once, if it does not set this itself
TOGETHER = 4_096  # dialogues in flight
GIVE_UP = 100  # missing replies in a row after which a bot is no longer asked
REPEATING = "repeats itself"
NO_REPLY = "ended the dialogue without a reply"
NO_RULES = EndRules()


@dataclass(slots=True)
class PlayTally:
    """Counts of a run, updated by `talk`; may be read at any time."""

    dialogues: int = 0
    resumed: int = 0  # of these, finished in an earlier run
    utterances: int = 0  # of the dialogues' own
    with_failures: int = 0
    short: int = 0  # of these, dialogues that ended early
    failed: int = 0  # short ones with a missing reply; the others were ended by a speaker or a rule
    ended: Counter[tuple[str, str]] = field(default_factory=Counter)  # (bot, why) → dialogues that a speaker ended
    failures: Counter[tuple[str, str]] = field(default_factory=Counter)  # (bot, what) → how often
    replies: Counter[str] = field(default_factory=Counter)
    batches: Counter[str] = field(default_factory=Counter)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, dialogue: Dialogue, expected: int, *, resumed: bool = False) -> None:
        """Count a finished dialogue that should have this many utterances of its own."""
        utterances = len(dialogue.turns) - dialogue.given
        self.dialogues += 1
        self.resumed += resumed
        self.utterances += utterances
        self.short += utterances < expected
        is_stopped = dialogue.failure.split(": ")[-1].startswith(REPEATING)
        self.failed += utterances < expected and not dialogue.ended_by and not is_stopped
        if dialogue.ended_by:
            speaker, _, why = dialogue.ended_by.partition(": ")
            self.ended[dialogue.systems.get(speaker, speaker), why] += 1
        self.with_failures += bool(dialogue.failure)
        self.failures.update((bot, kind_of(what)) for bot, what in failures(dialogue))

    def facts(self) -> dict[str, Any]:
        """Return the counts for JSON."""
        failures_of, ended_of = _by_bot(self.failures), _by_bot(self.ended)
        bots = {}
        for bot in sorted({*self.replies, *failures_of}):
            bots[bot] = {
                "replies": self.replies[bot],
                "batches": self.batches[bot],
                "seconds": round(self.seconds.get(bot, 0.0), 3),
                "failures": failures_of.get(bot, {}),
            }
        return {
            "dialogues": self.dialogues,
            "resumed": self.resumed,
            "utterances": self.utterances,
            "with_failures": self.with_failures,
            "short": self.short,
            "failed": self.failed,
            "ended": ended_of,
            "bots": bots,
        }


def talk(
    matches: Iterable[BotMatch],
    bots: Mapping[str, BotLike],
    *,
    batch: int | None = None,
    together: int = TOGETHER,
    repeats: int = REPEATS,
    stop_repeating: bool = False,
    endings: EndRules = NO_RULES,
    patience: float = 0.0,
    give_up: int = GIVE_UP,
    journal: Journal | None = None,
    tally: PlayTally | None = None,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Dialogue]:
    """Play the matches; each dialogue is yielded as soon as it is finished, in arbitrary order.

    Dialogues in the journal are neither played again nor yielded. `batch` is the most dialogues a bot answers at once
    (default: set by the bot), `together` the most dialogues in flight. A batch may take `patience` seconds (0: no
    limit); a bot that takes longer, gives no reply for that long, or fails `give_up` times in a row is not asked again.
    `progress` is called with numbers of utterances.
    """
    for name, value in (("batch", batch), ("together", together), ("repeats", repeats), ("give_up", give_up)):
        if value is not None and value < 1:
            raise InputError(f"{name} must be 1 or more, got {value}")
    if not patience >= 0:
        raise InputError(f"patience must be 0 seconds or more, got {patience}", hint="0 means no limit")
    tally = PlayTally() if tally is None else tally
    completed = {name: as_bot(bot) for name, bot in bots.items()}
    room = _Room(completed, batch, _Rules(repeats, stop_repeating, endings, patience, give_up), tally)
    waiting = find_unplayed(matches, bots, journal, tally)
    room.fill(waiting, together)
    while room.under_way:
        for finished, heard in room.advance():
            for match, dialogue in finished:
                if journal is not None:
                    journal.add(dialogue)
                tally.add(dialogue, match.utterances)
            if progress:
                progress(heard)
            yield from (dialogue for _, dialogue in finished)
        room.fill(waiting, together)


def _by_bot(counts: Mapping[tuple[str, str], int]) -> dict[str, dict[str, int]]:
    by_bot: dict[str, dict[str, int]] = {}
    for (bot, what), n in sorted(counts.items()):
        by_bot.setdefault(bot, {})[what] = n
    return by_bot


def close_all(bots: Iterable[BotLike]) -> None:
    """End everything the bots started."""
    for bot in {id(bot): bot for bot in bots}.values():
        as_bot(bot).close()


def failures(dialogue: Dialogue) -> list[tuple[str, str]]:
    """Return the system and description of each failure in the dialogue."""
    described = []
    for part in filter(None, dialogue.failure.split("; ")):
        speaker, _, what = part.partition(": ")
        described.append((dialogue.systems.get(speaker, speaker), what))
    return described


def kind_of(what: str) -> str:
    """Return the kind of a failure, so that failures can be counted: `crashed: ValueError: … at turn 5` → `crashed`."""
    return what.rpartition(" at turn ")[0].split(":")[0] or what


@dataclass(frozen=True, slots=True)
class _Rules:
    repeats: int
    stop_repeating: bool
    endings: EndRules
    patience: float
    give_up: int


class _Talk:
    """A match and its turns so far."""

    __slots__ = ("ended_by", "failures", "given", "match", "speakers", "turns")

    def __init__(self, match: BotMatch) -> None:
        self.match = match
        partner = match.partner
        if partner == match.target:
            partner += SECOND
        self.speakers = (match.target, partner)
        if not match.target_first:
            self.speakers = (partner, match.target)
        given = len(match.opening)  # the next speaker did not say the last of them
        self.turns = [Turn(text, self.speakers[(given - i) % 2]) for i, text in enumerate(match.opening)]
        if match.context:
            self.speakers = (match.target, match.target)
            self.turns = list(match.context)
        self.given = len(self.turns)
        self.failures: list[str] = []
        self.ended_by = ""

    @property
    def speaker(self) -> str:
        return self.speakers[(len(self.turns) - self.given) % 2]

    @property
    def bot(self) -> str:
        return self.match.target if self.speaker == self.match.target else self.match.partner

    @property
    def left(self) -> int:
        return self.given + self.match.utterances - len(self.turns)

    @property
    def seed(self) -> int:
        return seed_of(self.match.seed, str(len(self.turns)))

    def hear(self, reply: Reply, rules: _Rules) -> bool:
        """Add the reply; return whether the dialogue continues."""
        reply, ending = rules.endings.apply(reply)
        if reply.failure:
            self._note(reply.failure)
        if ending:
            self.ended_by = f"{self.speaker}: {ending}"
        if not reply.text:
            if ending and self.match.context:
                self._note(NO_REPLY)
            return False
        self.turns.append(Turn(reply.text, self.speaker))
        last, equal = self.turns[-1], 0
        for turn in self.turns[self.given :]:
            equal += turn.speaker == last.speaker and _plain_text(turn) == _plain_text(last)
        if rules.repeats > 1 and equal == rules.repeats:  # noted once per dialogue
            self._note(REPEATING, turn=len(self.turns))
            if rules.stop_repeating:
                return False
        return self.left > 0 and not ending

    def make_dialogue(self) -> Dialogue:
        """Return the finished dialogue; the target is the first of its systems."""
        match = self.match
        failure = "; ".join(self.failures)
        if match.context:  # who asked has the context
            return Dialogue(match.id, self.turns[self.given :], {match.target: match.target}, failure=failure)
        first, second = self.speakers if match.target_first else reversed(self.speakers)
        systems = {first: match.target, second: match.partner}
        return Dialogue(match.id, self.turns, systems, given=self.given, failure=failure, ended_by=self.ended_by)

    def _note(self, failure: str, turn: int = 0) -> None:
        speaker = self.turns[turn - 1].speaker if turn else self.speaker
        what = one_line(failure).replace(";", ",")
        self.failures.append(f"{speaker}: {what} at turn {turn or len(self.turns) + 1}")


def _plain_text(turn: Turn) -> str:
    return " ".join(turn.text.split()).casefold()


class _Room:
    """Dialogues by the bot they wait for. Equal bots are one bot: they share batches and loaded models."""

    def __init__(self, bots: Mapping[str, Bot], batch: int | None, rules: _Rules, tally: PlayTally) -> None:
        first: dict[Any, str] = {}
        self.voice = {name: first.setdefault(sameness(bot), name) for name, bot in bots.items()}
        self.bots, self.batch, self.rules, self.tally = bots, batch, rules, tally
        self.queues: dict[str, list[tuple[int, int, _Talk]]] = {name: [] for name in first.values()}
        self.missing: Counter[str] = Counter()  # missing replies in a row
        self.silent: defaultdict[str, float] = defaultdict(float)  # seconds since the last batch with a reply
        self.gone: dict[str, str] = {}  # bots that are no longer asked, and why
        self.under_way = self._number = 0

    def fill(self, matches: Iterator[BotMatch], together: int) -> None:
        while self.under_way < together and (match := next(matches, None)) is not None:
            self._number += 1
            self.under_way += 1
            self._wait(self._number, _Talk(match))

    def advance(self) -> Iterator[tuple[list[tuple[BotMatch, Dialogue]], int]]:
        """Ask the next bots for one batch each; yield the finished dialogues and the number of utterances."""
        taken = {voice: self._take_batch(voice) for voice in self._choose_voices()}
        calls = {voice: self._call(voice, batch) for voice, batch in taken.items() if voice not in self.gone}
        for voice, batch in taken.items():
            if voice not in calls:
                yield self._hear(batch, [Reply("", self.gone[voice])] * len(batch))
        for voice, replies, seconds in _side_by_side(calls, self.rules.patience):
            talks = [talk for _, talk in taken[voice]]
            if replies is None:
                self.gone[voice] = f"given up: a batch took over {self.rules.patience:g} s"
            heard = replies or [Reply("", "timed out")] * len(talks)
            self._count(voice, talks, heard, seconds)
            yield self._hear(taken[voice], heard)

    def _choose_voices(self) -> list[str]:
        """Return bots that wait for servers or programs, and of the others the one with the most waiting dialogues."""
        chosen, here, most = [], "", 0
        for name, queued in self.queues.items():
            if queued and self.bots[name].waits:
                chosen.append(name)
            elif len(queued) > most:  # it computes in this process
                here, most = name, len(queued)
        if here:
            chosen.append(here)
        return chosen

    def _take_batch(self, voice: str) -> list[tuple[int, _Talk]]:
        queued = self.queues[voice]
        size = self.batch or self.bots[voice].batch or BATCH
        return [heapq.heappop(queued)[1:] for _ in range(min(len(queued), size))]

    def _call(self, voice: str, taken: Sequence[tuple[int, _Talk]]) -> Callable[[], list[Reply]]:
        dialogues = [tuple(talk.turns) for _, talk in taken]
        seeds = [talk.seed for _, talk in taken]
        return lambda: ask_bot(self.bots[voice], dialogues, seeds)

    def _hear(
        self, taken: Sequence[tuple[int, _Talk]], replies: Sequence[Reply]
    ) -> tuple[list[tuple[BotMatch, Dialogue]], int]:
        finished, utterances = [], 0
        for (number, talk), reply in zip(taken, replies, strict=True):
            before = len(talk.turns)
            if talk.hear(reply, self.rules):
                self._wait(number, talk)
            else:
                finished.append((talk.match, talk.make_dialogue()))
            utterances += len(talk.turns) - before
        self.under_way -= len(finished)
        return finished, utterances

    def _wait(self, number: int, talk: _Talk) -> None:
        heapq.heappush(self.queues[self.voice[talk.bot]], (talk.left, number, talk))

    def _count(self, voice: str, talks: Sequence[_Talk], replies: Sequence[Reply], seconds: float) -> None:
        names = Counter(talk.bot for talk in talks)
        for name, n in names.items():  # names that share a bot share its seconds
            self.tally.replies[name] += n
            self.tally.batches[name] += 1
            self.tally.seconds[name] += seconds * n / len(talks)
        self.silent[voice] += seconds
        for reply in replies:
            self.missing[voice] += 1
            if reply.text:
                self.missing[voice], self.silent[voice] = 0, 0.0
        if 0 < self.rules.patience <= self.silent[voice]:
            self.gone.setdefault(voice, f"given up: no reply for {self.rules.patience:g} s")
        if self.missing[voice] >= self.rules.give_up:
            self.gone.setdefault(voice, f"given up: {self.rules.give_up} missing replies in a row")


def find_unplayed(
    matches: Iterable[BotMatch], bots: Mapping[str, BotLike], journal: Journal | None, tally: PlayTally
) -> Iterator[BotMatch]:
    """Yield the matches whose dialogues are not in the journal, and count the others."""
    for match in matches:
        for name in match.bots:
            if name not in bots:
                raise InputError(f"no bot is called {name!r}, but {match.id!r} needs it", hint="add it to the bots")
        if journal is not None and match.id in journal:
            tally.add(journal[match.id], match.utterances, resumed=True)
        else:
            yield match


def sameness(bot: BotLike) -> Any:
    """Return the key of a bot: equal frozen dataclasses are the same bot; other bots are equal only to themselves."""
    try:
        hash(bot)
    except TypeError:
        return id(bot)
    return bot


def _side_by_side(
    calls: Mapping[str, Callable[[], list[Reply]]], patience: float
) -> Iterator[tuple[str, list[Reply] | None, float]]:
    """Yield the result and seconds of each call, as they end.

    The result is None for a call that takes too long: it cannot be stopped, so it is abandoned.
    """
    start, left = time.perf_counter(), dict(calls)
    if len(calls) == 1 and not patience:  # nothing to run concurrently
        for name, call in calls.items():
            yield name, call(), time.perf_counter() - start
        return
    ended: queue.SimpleQueue[tuple[str, list[Reply] | BaseException, float]] = queue.SimpleQueue()

    def work(name: str, call: Callable[[], list[Reply]]) -> None:
        outcome: list[Reply] | BaseException
        try:
            outcome = call()
        except BaseException as error:
            outcome = error
        ended.put((name, outcome, time.perf_counter() - start))

    for named in calls.items():
        context = contextvars.copy_context()  # the limits of spending
        threading.Thread(target=context.run, args=(work, *named), daemon=True).start()
    while left:
        timeout = None
        if patience:
            timeout = max(0.0, start + patience - time.perf_counter())
        try:
            name, outcome, seconds = ended.get(timeout=timeout)
        except queue.Empty:
            for name in left:
                yield name, None, patience
            return
        if isinstance(outcome, BaseException):
            raise outcome
        del left[name]
        yield name, outcome, seconds
