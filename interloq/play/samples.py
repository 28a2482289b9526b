"""Dialogues → samples: one for each utterance of the target; the given openings are nobody's and never judged.

The context is all that was said before. Sample `<dialogue>#<n>` is turn n of the dialogue, counted from 0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from interloq.errors import InputError
from interloq.records import Dialogue, Sample

CARRIED = ("partners", "scheme", "openings", "exchanges")  # facts of the dialogues that judgments of them need


@dataclass(slots=True)
class Sampled:
    """Counts over dialogues; pass one to `samples` and read it afterwards."""

    dialogues: int = 0
    samples: int = 0
    troubled: int = 0
    silent: int = 0  # dialogues in which the target said nothing


def samples(
    dialogues: Iterable[Dialogue], *, targets: Collection[str] = (), tally: Sampled | None = None
) -> Iterator[Sample]:
    """A sample for every utterance of the dialogue's target, or of all these `targets`."""
    tally = Sampled() if tally is None else tally
    for dialogue in dialogues:
        found = list(_of(dialogue, set(targets) or {target_of(dialogue)}))
        tally.dialogues += 1
        tally.samples += len(found)
        tally.troubled += bool(dialogue.trouble)
        tally.silent += not found
        yield from found


def target_of(dialogue: Dialogue) -> str:
    """The system that is judged: the first of the dialogue's systems."""
    for system in dialogue.systems.values():
        return system
    raise InputError(f"dialogue {dialogue.id!r} names no system", cure='write "systems": {"speaker": "system"}')


def place_of(sample_id: str) -> tuple[str, int]:
    """The dialogue and the turn that a sample was: `a~b/opening-3/repeat-1#4` → (`a~b/opening-3/repeat-1`, 4)."""
    dialogue, _, turn = sample_id.rpartition("#")
    if not dialogue or not turn.isdecimal():
        raise InputError(
            f"sample {sample_id!r} is no turn of a dialogue", cure="make samples with `interloq play samples`"
        )
    return dialogue, int(turn)


def carried(header: Mapping[str, Any]) -> dict[str, Any]:
    """What the header of samples takes over from that of their dialogues; above all the partner set's hash."""
    return {name: header[name] for name in CARRIED if name in header}


def _of(dialogue: Dialogue, targets: Collection[str]) -> Iterator[Sample]:
    for i, turn in enumerate(dialogue.turns):
        system = dialogue.systems.get(turn.speaker, "")
        if i >= dialogue.given and system in targets:
            yield Sample(f"{dialogue.id}#{i}", dialogue.turns[:i], turn.text, system=system)
