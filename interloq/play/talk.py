"""The one loop in which bots speak: thousands of dialogues advance together, so that each bot answers in full batches.

Dialogues wait for the bot that speaks next. The bot for which most wait answers a batch of them, those nearest to
their end first; a dialogue that ends is yielded, and journaled, at once. A reply depends on its dialogue and on the
seed of match and turn alone, so batches and order change nothing.

Nothing that a bot does stops the others. No reply (crashed, timed out, empty) ends the dialogue; a bot that says the
same thing again and again is noted, and goes on unless asked otherwise. What happened stands in `Dialogue.trouble`:
`name: what at turn n`, joined by `; `.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from interloq.errors import InputError
from interloq.play.bot import Bot, Reply, guarded, one_line
from interloq.play.journal import Journal
from interloq.play.schedule import SECOND, Match, seed_of
from interloq.records import Dialogue, Turn

BATCH = 256  # dialogues a bot answers at once, where it has no wish of its own
TOGETHER = 4_096  # dialogues under way
REPEATS = 3  # times the same words, until a bot is said to repeat itself
GIVE_UP = 100  # replies missing in a row, until a bot is no longer asked
REPEATING = "repeats itself"


@dataclass(slots=True)
class Tally:
    """Counts of a run; pass one to `talk` and read it at any time."""

    dialogues: int = 0
    resumed: int = 0  # of these, finished in an earlier run
    utterances: int = 0  # of the dialogues' own
    troubled: int = 0
    short: int = 0  # of the troubled, those that ended too early
    troubles: Counter[tuple[str, str]] = field(default_factory=Counter)  # (bot, what) → how often
    replies: Counter[str] = field(default_factory=Counter)
    batches: Counter[str] = field(default_factory=Counter)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, dialogue: Dialogue, exchanges: int, *, resumed: bool = False) -> None:
        own = len(dialogue.turns) - dialogue.given
        self.dialogues += 1
        self.resumed += resumed
        self.utterances += own
        self.short += own < 2 * exchanges
        self.troubled += bool(dialogue.trouble)
        self.troubles.update((bot, kind_of(what)) for bot, what in troubles(dialogue))

    def facts(self) -> dict[str, Any]:
        """The counts as they stand in JSON."""
        bots = sorted({*self.replies, *(bot for bot, _ in self.troubles)})
        each = {bot: {what: n for (who, what), n in sorted(self.troubles.items()) if who == bot} for bot in bots}
        return {
            "dialogues": self.dialogues,
            "resumed": self.resumed,
            "utterances": self.utterances,
            "troubled": self.troubled,
            "short": self.short,
            "bots": {
                bot: {
                    "replies": self.replies[bot],
                    "batches": self.batches[bot],
                    "seconds": round(self.seconds.get(bot, 0.0), 3),
                    "troubles": each[bot],
                }
                for bot in bots
            },
        }


def talk(
    matches: Iterable[Match],
    bots: Mapping[str, Bot],
    *,
    batch: int | None = None,
    together: int = TOGETHER,
    repeats: int = REPEATS,
    stop_repeating: bool = False,
    patience: float = 0.0,
    give_up: int = GIVE_UP,
    journal: Journal | None = None,
    tally: Tally | None = None,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Dialogue]:
    """Play the matches; each dialogue comes as soon as it is finished, in no order that counts.

    Dialogues that the journal holds are not played again, nor yielded. `batch` limits what a bot is asked at once (else
    the bot's own wish), `together` how many dialogues are under way. A batch may take `patience` seconds, if not 0;
    a bot that takes longer, or owes `give_up` replies in a row, is asked no more. `progress` hears of utterances.
    """
    for name, value in (("batch", batch), ("together", together), ("repeats", repeats), ("give_up", give_up)):
        if value is not None and value < 1:
            raise InputError(f"{name} must be 1 or more, got {value}")
    tally = Tally() if tally is None else tally
    room = _Room(bots, batch, _Rules(repeats, stop_repeating, patience, give_up), tally)
    waiting = _unplayed(matches, bots, journal, tally)
    room.fill(waiting, together)
    while room.under_way:
        finished, heard = room.advance()
        for match, dialogue in finished:
            if journal is not None:
                journal.add(dialogue)
            tally.add(dialogue, match.exchanges)
        if progress:
            progress(heard)
        yield from (dialogue for _, dialogue in finished)
        room.fill(waiting, together)


def close_all(bots: Iterable[Bot]) -> None:
    """End what bots have started, where they can."""
    for close in {id(bot): getattr(bot, "close", None) for bot in bots}.values():
        if callable(close):
            close()


def troubles(dialogue: Dialogue) -> list[tuple[str, str]]:
    """The system in trouble and what happened, for each trouble of the dialogue."""
    parts = [part.partition(": ") for part in dialogue.trouble.split("; ") if part]
    return [(dialogue.systems.get(speaker, speaker), what) for speaker, _, what in parts]


def kind_of(what: str) -> str:
    """`crashed: ValueError: … at turn 5` → `crashed`: what can be counted."""
    return what.rpartition(" at turn ")[0].split(":")[0] or what


# ---- one dialogue under way ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Rules:
    repeats: int
    stop_repeating: bool
    patience: float
    give_up: int


class _Talk:
    """A match, and what has been said."""

    __slots__ = ("match", "speakers", "troubles", "turns")

    def __init__(self, match: Match) -> None:
        self.match = match
        partner = match.partner + SECOND if match.partner == match.target else match.partner
        self.speakers = (match.target, partner) if match.target_first else (partner, match.target)
        given = len(match.opening)  # whoever speaks next did not say the last of them
        self.turns = [Turn(text, self.speakers[(given - i) % 2]) for i, text in enumerate(match.opening)]
        self.troubles: list[str] = []

    @property
    def speaker(self) -> str:
        return self.speakers[(len(self.turns) - len(self.match.opening)) % 2]

    @property
    def bot(self) -> str:
        return self.match.target if self.speaker == self.match.target else self.match.partner

    @property
    def seed(self) -> int:
        return seed_of(self.match.seed, str(len(self.turns)))

    def hear(self, reply: Reply, rules: _Rules) -> bool:
        """Add the reply; says whether the dialogue goes on."""
        if reply.trouble:
            self._note(reply.trouble)
        if not reply.text:
            return False
        self.turns.append(Turn(reply.text, self.speaker))
        if self._repeats(rules.repeats):
            self._note(REPEATING, turn=len(self.turns))
            if rules.stop_repeating:
                return False
        return len(self.turns) < len(self.match.opening) + 2 * self.match.exchanges

    def finished(self) -> Dialogue:
        """The target is the first of the systems."""
        match = self.match
        first, second = self.speakers if match.target_first else reversed(self.speakers)
        systems = {first: match.target, second: match.partner}
        return Dialogue(match.id, self.turns, systems, given=len(match.opening), trouble="; ".join(self.troubles))

    def _note(self, trouble: str, turn: int = 0) -> None:
        speaker = self.turns[turn - 1].speaker if turn else self.speaker
        what = one_line(trouble).replace(";", ",")
        self.troubles.append(f"{speaker}: {what} at turn {turn or len(self.turns) + 1}")

    def _repeats(self, times: int) -> bool:
        """Noted when the speaker says the same for the n-th time, and not again after that."""
        last = self.turns[-1]
        own = [turn.text for turn in self.turns[len(self.match.opening) :] if turn.speaker == last.speaker]
        said = [" ".join(text.split()).casefold() for text in own]
        return times > 1 and said.count(said[-1]) == times


# ---- all dialogues under way -----------------------------------------------------------------------------------------


class _Room:
    """Dialogues by the bot they wait for. Bots that are equal are one bot: they share batches, and what is loaded."""

    def __init__(self, bots: Mapping[str, Bot], batch: int | None, rules: _Rules, tally: Tally) -> None:
        first: dict[Any, str] = {}
        self.voice = {name: first.setdefault(_sameness(bot), name) for name, bot in bots.items()}
        self.bots, self.batch, self.rules, self.tally = bots, batch, rules, tally
        self.queues: dict[str, list[tuple[int, int, _Talk]]] = {name: [] for name in first.values()}
        self.missing: Counter[str] = Counter()  # replies that did not come, in a row
        self.gone: dict[str, str] = {}  # bots that are asked no more, and why
        self.under_way = self._number = 0

    def fill(self, matches: Iterator[Match], together: int) -> None:
        while self.under_way < together and (match := next(matches, None)) is not None:
            self._number += 1
            self.under_way += 1
            self._wait(self._number, _Talk(match))

    def advance(self) -> tuple[list[tuple[Match, Dialogue]], int]:
        """One batch of the bot for which most dialogues wait: what ended with it, and how many utterances it had."""
        voice = max(self.queues, key=lambda name: len(self.queues[name]))
        queue = self.queues[voice]
        taken = [heapq.heappop(queue)[1:] for _ in range(min(len(queue), self._size(voice)))]
        finished = []
        before = sum(len(talk.turns) for _, talk in taken)
        for (number, talk), reply in zip(taken, self._replies(voice, [talk for _, talk in taken]), strict=True):
            if talk.hear(reply, self.rules):
                self._wait(number, talk)
            else:
                finished.append((talk.match, talk.finished()))
        self.under_way -= len(finished)
        return finished, sum(len(talk.turns) for _, talk in taken) - before

    def _wait(self, number: int, talk: _Talk) -> None:
        left = len(talk.match.opening) + 2 * talk.match.exchanges - len(talk.turns)
        heapq.heappush(self.queues[self.voice[talk.bot]], (left, number, talk))

    def _size(self, voice: str) -> int:
        return self.batch or getattr(self.bots[voice], "batch", 0) or BATCH

    def _replies(self, voice: str, talks: Sequence[_Talk]) -> list[Reply]:
        if voice in self.gone:
            return [Reply("", self.gone[voice])] * len(talks)
        start = time.perf_counter()
        found = _within(
            self.rules.patience,
            lambda: guarded(self.bots[voice], [tuple(talk.turns) for talk in talks], [talk.seed for talk in talks]),
        )
        if found is None:
            self.gone[voice] = f"given up: a batch took over {self.rules.patience:g} s"
            found = [Reply("", "timed out")] * len(talks)
        self._count(voice, talks, found, time.perf_counter() - start)
        return found

    def _count(self, voice: str, talks: Sequence[_Talk], found: Sequence[Reply], seconds: float) -> None:
        names = Counter(talk.bot for talk in talks)
        for name, n in names.items():  # names that share a bot share its time
            self.tally.replies[name] += n
            self.tally.batches[name] += 1
            self.tally.seconds[name] += seconds * n / len(talks)
        for reply in found:
            self.missing[voice] = 0 if reply.text else self.missing[voice] + 1
        if self.missing[voice] >= self.rules.give_up:
            self.gone.setdefault(voice, f"given up: {self.rules.give_up} replies in a row did not come")


def _unplayed(
    matches: Iterable[Match], bots: Mapping[str, Bot], journal: Journal | None, tally: Tally
) -> Iterator[Match]:
    for match in matches:
        for name in (match.target, match.partner):
            if name not in bots:
                raise InputError(f"no bot is called {name!r}, but {match.id!r} needs it", cure="add it to the bots")
        if journal is not None and match.id in journal:
            tally.add(journal[match.id], match.exchanges, resumed=True)
        else:
            yield match


def _sameness(bot: Bot) -> Any:
    """Frozen dataclasses that are equal are the same bot; what cannot be compared is only itself."""
    try:
        hash(bot)
    except TypeError:
        return id(bot)
    return bot


def _within(seconds: float, call: Callable[[], list[Reply]]) -> list[Reply] | None:
    """What the call returns, or None when it takes too long; it cannot be stopped, so it is left behind."""
    if not seconds:
        return call()
    found: list[Any] = []

    def work() -> None:
        try:
            found.append(call())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    if not found:
        return None
    if isinstance(found[0], BaseException):
        raise found[0]
    replies: list[Reply] = found[0]
    return replies
