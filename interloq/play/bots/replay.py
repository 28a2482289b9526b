# SPDX-License-Identifier: Apache-2.0
"""A bot that repeats a system's turns from recorded dialogues, so that a system that cannot be run can be a partner.

A transcript is replayed if it has the same opening as the dialogue: the given turns, or else the turns before the
system's first line. Then the system's lines follow one after the other, whatever the partner says. If several
transcripts have this opening, those in which the system's lines so far are the same are used, preferably those in which
the partner's turns are also the same; the seed picks one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import Annotated

from interloq.data.records import jsonl
from interloq.errors import InputError, nearest
from interloq.play.bot import Bot, generator
from interloq.records import Dialogue, Turn
from interloq.servers.replies import Reply, roles
from interloq.signature import Signature, file_fingerprint, signature

ENDED, UNKNOWN = "transcript ended", "no transcript has this opening"
Texts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Transcript:
    """One dialogue from the side of one speaker, with the positions of its lines after the opening."""

    texts: Texts
    opening: int
    own: tuple[int, ...]

    def lines(self, n: int) -> Texts:
        """Return the speaker's first n lines after the opening."""
        return tuple(self.texts[i] for i in self.own[:n])


@dataclass(frozen=True)
class Replay(Bot, name="replay"):
    """Repeats the recorded lines of a system."""

    dialogues: Annotated[str, "a file of recorded dialogues"]
    system: Annotated[str, "the system whose lines are repeated; empty: the only one in the file"] = ""

    def replies(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Reply]:
        return [self._reply(turns, seed) for turns, seed in zip(dialogues, seeds, strict=True)]

    def signature(self) -> Signature:
        self._transcripts  # noqa: B018 - fails early
        return signature(replace(self, dialogues=""), dialogues=file_fingerprint(Path(self.dialogues)))

    def _reply(self, turns: Sequence[Turn], seed: int) -> Reply:
        texts = tuple(turn.text for turn in turns)
        opened = self._with_longest_opening(texts)
        if not opened:
            return Reply("", UNKNOWN)
        start = opened[0].opening
        is_own = [role == "assistant" for role in roles(turns)]
        own = tuple(compress(texts[start:], is_own[start:]))
        alike = [transcript for transcript in opened if transcript.lines(len(own)) == own]
        same_so_far = [transcript for transcript in alike if transcript.texts[: len(texts)] == texts]
        lines = _next_lines(same_so_far, len(own)) or _next_lines(alike, len(own))
        if not lines:
            return Reply("", ENDED)
        return Reply(lines[int(generator(seed, turns).integers(len(lines)))])

    def _with_longest_opening(self, texts: Texts) -> list[Transcript]:
        """Return the transcripts with the longest opening that these texts begin with."""
        for n in range(len(texts), -1, -1):
            if transcripts := self._transcripts.get(texts[:n]):
                return transcripts
        return []

    @cached_property
    def _transcripts(self) -> dict[Texts, list[Transcript]]:
        """Return the transcripts by their opening."""
        if not Path(self.dialogues).is_file():
            raise InputError(f"no file {self.dialogues!r}", hint="name a file of dialogues in JSON lines")
        recorded: list[Dialogue] = jsonl.load(self.dialogues, kind="dialogues")
        systems = set[str]()
        for dialogue in recorded:
            systems.update(dialogue.systems.get(turn.speaker, turn.speaker) for turn in dialogue.turns)
        named = sorted(systems)
        if not self.system and len(named) != 1:
            raise InputError(
                f"the dialogues are by {len(named)} systems",
                hint=f"add system=… with one of {', '.join(named)}",
                where=self.dialogues,
            )
        system = self.system or named[0]
        by_opening: dict[Texts, list[Transcript]] = defaultdict(list)
        for dialogue in recorded:
            for transcript in _sides(dialogue, system):
                by_opening[transcript.texts[: transcript.opening]].append(transcript)
        if not by_opening:
            raise InputError(f"no turn of a system {system!r}{nearest(system, named)}", where=self.dialogues)
        return dict(by_opening)


def _sides(dialogue: Dialogue, system: str) -> Iterator[Transcript]:
    """Yield the dialogue from the side of each speaker that is the system, which is both in self-play."""
    texts = tuple(turn.text for turn in dialogue.turns)
    places: dict[str, list[int]] = {turn.speaker: [] for turn in dialogue.turns}
    for i, turn in enumerate(dialogue.turns):
        if i >= dialogue.given:
            places[turn.speaker].append(i)
    for speaker, own in places.items():
        if own and dialogue.systems.get(speaker, speaker) == system:
            yield Transcript(texts, dialogue.given or own[0], tuple(own))


def _next_lines(transcripts: Sequence[Transcript], n: int) -> list[str]:
    """Return the distinct n-th lines of these transcripts, sorted."""
    return sorted({transcript.texts[transcript.own[n]] for transcript in transcripts if n < len(transcript.own)})
