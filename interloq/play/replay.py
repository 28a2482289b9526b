# SPDX-License-Identifier: Apache-2.0
"""A bot that repeats a system's turns from recorded dialogues, so that a system that cannot be run can be a partner.

A transcript is replayed if its opening is that of the dialogue: the given turns, or else those before the system's
first line. Then the system's lines follow one after the other, whatever the partner says. Of several transcripts with
this opening, those with the same lines so far are used, and among these preferably those in which the partner's turns
are the same too; the seed picks one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated

from interloq.data import jsonl
from interloq.errors import InputError, nearest
from interloq.models.replies import Reply
from interloq.play.bot import generator, roles
from interloq.records import Dialogue, Turn
from interloq.registry import Component
from interloq.signature import Signature, file_fingerprint, signature

ENDED, UNKNOWN = "transcript ended", "no transcript has this opening"
Texts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Transcript:
    """One dialogue from the side of one speaker, with the positions of its lines after the opening."""

    texts: Texts
    opening: int
    own: tuple[int, ...]


@dataclass(frozen=True)
class Replay(Component):
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
        opened = next((some for n in range(len(texts), -1, -1) if (some := self._transcripts.get(texts[:n]))), [])
        if not opened:
            return Reply("", UNKNOWN)
        who = roles(turns)
        start = opened[0].opening
        own = tuple(text for text, role in zip(texts[start:], who[start:], strict=True) if role == "assistant")
        alike = [t for t in opened if tuple(t.texts[i] for i in t.own[: len(own)]) == own]
        lines = _next([t for t in alike if t.texts[: len(texts)] == texts], len(own)) or _next(alike, len(own))
        return Reply(lines[int(generator(seed, turns).integers(len(lines)))]) if lines else Reply("", ENDED)

    @cached_property
    def _transcripts(self) -> dict[Texts, list[Transcript]]:
        """Transcripts by their opening."""
        if not Path(self.dialogues).is_file():
            raise InputError(f"no file {self.dialogues!r}", hint="name a file of dialogues in JSON lines")
        recorded: list[Dialogue] = jsonl.load(self.dialogues, kind="dialogues")
        system = self.system or _only(recorded, self.dialogues)
        found: dict[Texts, list[Transcript]] = defaultdict(list)
        for dialogue in recorded:
            for transcript in _sides(dialogue, system):
                found[transcript.texts[: transcript.opening]].append(transcript)
        if not found:
            known = nearest(system, _systems(recorded))
            raise InputError(f"no turn of a system {system!r}{known}", where=self.dialogues)
        return dict(found)


def _sides(dialogue: Dialogue, system: str) -> Iterator[Transcript]:
    """The dialogue from the side of each speaker that is the system: both in self-play."""
    texts = tuple(turn.text for turn in dialogue.turns)
    for speaker in dict.fromkeys(turn.speaker for turn in dialogue.turns):
        if dialogue.systems.get(speaker, speaker) != system:
            continue
        own = tuple(i for i, turn in enumerate(dialogue.turns) if turn.speaker == speaker and i >= dialogue.given)
        if own:
            yield Transcript(texts, dialogue.given or own[0], own)


def _next(transcripts: Sequence[Transcript], n: int) -> list[str]:
    """The distinct n-th lines of these transcripts, sorted."""
    return sorted({t.texts[t.own[n]] for t in transcripts if n < len(t.own)})


def _systems(dialogues: Sequence[Dialogue]) -> list[str]:
    return sorted({d.systems.get(turn.speaker, turn.speaker) for d in dialogues for turn in d.turns})


def _only(dialogues: Sequence[Dialogue], where: str) -> str:
    named = _systems(dialogues)
    if len(named) != 1:
        raise InputError(
            f"the dialogues are by {len(named)} systems",
            hint=f"add system=… with one of {', '.join(named)}",
            where=where,
        )
    return named[0]
