# SPDX-License-Identifier: Apache-2.0
"""Dialogues in shards: one process or many play the matches of a run (see `interloq.shards`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from interloq.data.batched import batched
from interloq.data.records.jsonl import record_line
from interloq.data.records.parsers import PARSERS
from interloq.play.bot import Bot
from interloq.play.endings import EndRules
from interloq.play.journal import Journal, journal_path
from interloq.play.partners import drop_version
from interloq.play.play_options import REPEATS
from interloq.play.schedule import BotMatch
from interloq.play.talk import NO_RULES, PlayTally, find_unplayed, talk
from interloq.records import Dialogue
from interloq.registry import create, spec
from interloq.shards.run import open_shards
from interloq.shards.shard_options import ShardOptions
from interloq.shards.task import Compute, ShareComputed
from interloq.signature import fingerprint, runs_network

PIECE = 128  # matches in a shard: enough for full batches, few enough that a killed worker loses little


@dataclass(frozen=True)
class TalkTask:
    """Bots, and the rules of their dialogues. Each shard has its own count of missing replies (`give_up`)."""

    bots: Mapping[str, Bot]
    batch: int | None = None
    repeats: int = REPEATS
    stop_repeating: bool = False
    endings: EndRules = NO_RULES
    patience: float = 0.0
    signature: str = ""

    @property
    def uses_gpu(self) -> bool:
        """Whether a GPU would help."""
        return any(map(runs_network, self.bots.values()))

    def identify(self) -> str:
        """Identify the bots with their weights, and the rules."""
        bots = [f"{name}={drop_version(bot.signature())}" for name, bot in sorted(self.bots.items())]
        return fingerprint(*bots, repr((self.repeats, self.stop_repeating, self.endings)))

    def open(self) -> Compute:
        return self._play

    def play(self, matches: Iterable[BotMatch], tally: PlayTally, **options: Any) -> Iterator[Dialogue]:
        """Play the matches with these bots and rules; see `talk`."""
        return talk(
            matches,
            self.bots,
            batch=self.batch,
            repeats=self.repeats,
            stop_repeating=self.stop_repeating,
            endings=self.endings,
            patience=self.patience,
            tally=tally,
            **options,
        )

    def _play(self, matches: Sequence[BotMatch]) -> bytes:
        """Return a line of counts, which only this process knows, and the dialogues in the order of the matches."""
        tally = PlayTally()
        played = {dialogue.id: dialogue for dialogue in self.play(matches, tally)}
        counts = {"replies": tally.replies, "batches": tally.batches, "seconds": tally.seconds}
        lines = [record_line(played[match.id]) for match in matches]
        return orjson.dumps(counts) + b"\n" + b"".join(lines)

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "bots": {name: spec(bot) for name, bot in self.bots.items()}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        bots = {name: create(text, kind="bot") for name, text in state["bots"].items()}
        self.__dict__.update({**state, "bots": bots})


def play_into(
    journal: Journal,
    task: TalkTask,
    matches: Sequence[BotMatch],
    shards: ShardOptions,
    *,
    output: str | Path,
    tally: PlayTally,
    progress: Callable[[int], None] = lambda _: None,
) -> Iterator[Dialogue]:
    """Play the matches that are not in the journal, and yield their dialogues once they are in it."""
    if not shards.is_used:
        yield from task.play(matches, tally, journal=journal, progress=progress)
        return
    left = list(find_unplayed(matches, task.bots, journal, tally))
    ids = [match.id for match in left]
    signed = replace(task, signature=task.identify())
    facts = {
        "run": fingerprint(repr(sorted(journal.run.items()))),
        "bots": signed.signature,
        "matches": fingerprint(*ids, *(f"{match.seed}" for match in left)),
    }
    utterances = {match.id: match.utterances for match in left}
    coming = iter(utterances.values())

    def step(matches: int) -> None:
        progress(sum(islice(coming, matches)))

    with open_shards(shards, facts, source=None, output=output) as run:
        try:
            results = run.compute("dialogues", signed, batched(left, PIECE), step)
        except ShareComputed:
            journal.discard()  # it has nothing but what a finished output has
            raise
        for result in results:
            counts, *lines = map(orjson.loads, result.splitlines())
            tally.replies.update(counts["replies"])
            tally.batches.update(counts["batches"])
            for name, seconds in counts["seconds"].items():
                tally.seconds[name] += seconds
            for line in lines:
                dialogue: Dialogue = PARSERS["dialogues"](line, "")
                journal.add(dialogue)
                tally.add(dialogue, utterances[dialogue.id])
                yield dialogue


def journal_of(output: str | Path, shards: ShardOptions) -> Path:
    """Return the path of a run's journal; processes that compute shares of a run do not write to the same one."""
    if shards.shard is None:
        return journal_path(output)
    first, every = shards.share
    return journal_path(f"{output}.{first}-of-{every}")
