# SPDX-License-Identifier: Apache-2.0
"""Dialogues → samples, one per judged utterance; given openings are never judged.

The context is all previous turns that were said: instructions and tools' results are in the dialogue, but are nobody's
words. Sample `<dialogue>#<n>` is turn n of what was said, counted from 0, with the turn's ratings and fields. For
metrics that score whole dialogues, there is one sample per dialogue and judged system instead, with the dialogue's id.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.records.jsonl import header, write
from interloq.data.records.messages import assistant_systems
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.errors import InputError, RejectedWarning
from interloq.play.play_options import SamplesOptions
from interloq.records import Dialogue, Further, Rating, Sample, Turn

JUDGED, OTHER = "judged", "other"  # speakers of a whole dialogue
DEFAULTS = SamplesOptions()
SHOWN = 8  # names shown in a message
CARRIED = ("partners", "scheme", "openings", "exchanges")  # facts about the dialogues that their scores need


@dataclass(slots=True)
class Sampled:
    """Counts over dialogues, filled in by `samples`."""

    dialogues: int = 0
    samples: int = 0
    with_failures: int = 0
    silent: int = 0  # dialogues without a judged utterance
    unmatched: int = 0  # dialogues in which no speaker is known to be a system
    unspoken: int = 0  # turns that are in no sample: instructions, tool calls and their results


def samples(
    dialogues: Iterable[Dialogue], *, targets: Collection[str] = (), system: str = "", tally: Sampled | None = None
) -> Iterator[Sample]:
    """Yield one sample per judged utterance.

    Only `targets` are judged; by default, the target of dialogues by `interloq play run`, and every system of recorded
    dialogues. `system` names the assistant of chat exports that do not name it.
    """
    return _samples(dialogues, _split_utterances, targets, system, tally or Sampled())


def whole_dialogues(
    dialogues: Iterable[Dialogue], *, targets: Collection[str] = (), system: str = ""
) -> Iterator[Sample]:
    """Yield one sample per dialogue and judged system: all turns as its context, no reply, and the system's ratings.

    The speakers are `judged`, the system, and `other`. `targets` and `system` are as for `samples`.
    """
    return _samples(dialogues, _split_systems, targets, system, Sampled())


def system_ratings(dialogue: Dialogue, system: str) -> list[Rating]:
    """Return the ratings of a system; ratings that name none are about the dialogue's only judged system.

    Ratings that name no system in a dialogue of several systems, or one that is not in the dialogue, are refused.
    """
    for rating in dialogue.ratings:
        names = sorted(set(dialogue.systems.values()))
        systems = _format_names(names)
        if rating.system and rating.system not in names:
            what = f"dialogue {dialogue.id!r} has a rating of {rating.system!r}, but its systems are {systems}"
            raise InputError(what, hint="name one of its systems in the rating")
        if not rating.system and len(find_judged_systems(dialogue)) > 1:
            what = f"dialogue {dialogue.id!r} has a rating that does not say which of its systems it is of: {systems}"
            raise InputError(what, hint='name it in each rating: {"value": 4, "system": "…"}, or remove the rating')
    return _clear_ratings(dialogue, system)


def _clear_ratings(dialogue: Dialogue, system: str) -> list[Rating]:
    """Return ratings that are clearly about this system."""
    unnamed = find_judged_systems(dialogue) == {system}
    return [rating for rating in dialogue.ratings if rating.system == system or (unnamed and not rating.system)]


def _samples(
    dialogues: Iterable[Dialogue],
    split: Callable[[Dialogue, Collection[str]], Iterator[Sample]],
    targets: Collection[str],
    system: str,
    tally: Sampled,
) -> Iterator[Sample]:
    first, seen = "", set[str]()
    for dialogue in dialogues:
        named = dialogue
        if system and not dialogue.systems:
            named = replace(dialogue, systems=assistant_systems(_speakers(dialogue), system))
        seen.update(named.systems.values())
        unmatched = _explain_unmatched(named)
        judged_samples: list[Sample] = []
        if not unmatched:
            judged_samples += split(named, set(targets) or find_judged_systems(named))
        first = first or unmatched
        tally.dialogues += 1
        tally.samples += len(judged_samples)
        tally.with_failures += bool(dialogue.failure)
        tally.silent += not judged_samples and not unmatched
        tally.unmatched += bool(unmatched)
        tally.unspoken += len(dialogue.unspoken)
        yield from judged_samples
    _check(tally, first, targets, seen)


def find_judged_systems(dialogue: Dialogue) -> set[str]:
    """Return the systems judged by default: the target of a played dialogue, all systems of a recorded one."""
    names = list(dialogue.systems.values())
    return {names[0]} if is_scheduled(dialogue) else set(names)


def is_scheduled(dialogue: Dialogue) -> bool:
    """Return whether `interloq play run` made the dialogue, as its id `target~partner/…` shows.

    Of such a dialogue, only the target is judged.
    """
    names = list(dialogue.systems.values())
    return len(names) == 2 and dialogue.id.startswith(f"{names[0]}~{names[1]}/")


def target_of(dialogue: Dialogue) -> str:
    """Return the judged system: the first of the dialogue's systems."""
    for system in dialogue.systems.values():
        return system
    raise InputError(f"dialogue {dialogue.id!r} names no system", hint='write "systems": {"speaker": "system"}')


def select_carried_facts(header: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts that samples copy from the header of their dialogues, above all the partner set's hash."""
    return {name: header[name] for name in CARRIED if name in header}


def _speakers(dialogue: Dialogue) -> list[str]:
    return sorted({turn.speaker for turn in dialogue.turns} - {""})


def _explain_unmatched(dialogue: Dialogue) -> str:
    """Return why no turn is known to be a system's, or ''."""
    speakers = _speakers(dialogue)
    if not dialogue.turns or dialogue.systems.keys() & set(speakers):
        return ""
    who = f"its speakers are {_format_names(speakers)}" if speakers else "its turns have no speakers"
    if not dialogue.systems:
        return f"dialogue {dialogue.id!r} names no system; {who}"
    return f"dialogue {dialogue.id!r} has systems for the speakers {_format_names(dialogue.systems)}, but {who}"


def _check(tally: Sampled, first: str, targets: Collection[str], seen: Collection[str]) -> None:
    """Raise an error if nothing can be judged and the reason is known; warn if this applies only to some dialogues."""
    hint = (
        'write "systems": {"speaker": "system"}, or name the assistant of a chat export: '
        "interloq play samples FILE --system NAME -o samples.jsonl"
    )
    if unknown := sorted(set(targets) - set(seen)):
        raise InputError(
            f"no dialogue has a system {unknown[0]!r}", hint=f"systems seen: {_format_names(sorted(seen))}"
        )
    if tally.unmatched and not tally.samples:
        raise InputError(first, hint=hint)
    if tally.unmatched:
        n = f"{tally.unmatched:,} dialogues have" if tally.unmatched > 1 else "1 dialogue has"
        warnings.warn(f"{n} no speaker that is a system: {first}; {hint}", RejectedWarning, stacklevel=3)


def _format_names(names: Iterable[str]) -> str:
    quoted = [repr(name) for name in names]
    text = ", ".join(quoted[:SHOWN])
    if len(quoted) > SHOWN:
        text += " …"
    return text or "none"


def _split_utterances(dialogue: Dialogue, targets: Collection[str]) -> Iterator[Sample]:
    turns = [_bare(turn) for turn in dialogue.turns]
    for i, turn in enumerate(dialogue.turns):
        system = dialogue.systems.get(turn.speaker, "")
        if i >= dialogue.given and system in targets:
            fields = {**_select_shared_fields(dialogue.fields), **_select_shared_fields(turn.fields or {})}
            yield Sample(f"{dialogue.id}#{i}", turns[:i], turn.text, (), system, turn.ratings, dialogue.id, fields)


def _split_systems(dialogue: Dialogue, targets: Collection[str]) -> Iterator[Sample]:
    for system in sorted({*targets} & {*dialogue.systems.values()}):
        turns = []
        for turn in dialogue.turns:
            is_judged = dialogue.systems.get(turn.speaker) == system
            turns.append(replace(_bare(turn), speaker=JUDGED if is_judged else OTHER))
        ratings = _clear_ratings(dialogue, system)
        yield Sample(
            dialogue.id,
            turns,
            system=system,
            ratings=ratings,
            dialogue=dialogue.id,
            fields=_select_shared_fields(dialogue.fields),
        )


def _bare(turn: Turn) -> Turn:
    """Return a turn as part of a context: what is known about it is of the reply that it was."""
    return replace(turn, ratings=(), fields=None) if turn.ratings or turn.fields else turn


def _select_shared_fields(fields: Further) -> Further:
    """Return further fields of a dialogue or turn that its samples can have too."""
    return {name: item for name, item in fields.items() if name not in Sample.__dataclass_fields__}


def samples_file(
    dialogues: str | Path,
    output: str | Path,
    options: SamplesOptions = DEFAULTS,
    *,
    reading: ReadOptions = READ_DEFAULTS,
) -> Sampled:
    """Write the systems' utterances as samples, with the partner set from the dialogues' header; `-` is a pipe."""
    refuse_overwriting([output], [dialogues])
    tally, facts = Sampled(), {} if str(dialogues) == "-" else header(dialogues)
    recorded = reading.read(dialogues, kind="dialogues")
    judged = samples(recorded, targets=options.targets, system=options.system, tally=tally)
    write(output, judged, kind="samples", **select_carried_facts(facts))
    return tally
