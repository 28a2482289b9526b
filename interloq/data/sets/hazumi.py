# SPDX-License-Identifier: Apache-2.0
"""Hazumi (Komatani and Okada, 2021): Japanese dialogues with a Wizard of Oz, one ELAN file per participant.

Exchange i is the i-th annotation of every tier: the Wizard's utterance (`sys_utterance`), the participant's
(`user_utterance`), the participant's own impression of the exchange (`UI_self`, role `interlocutor`) and outsiders'
impressions (`UI_F1` …), from 1 to 7; `TC_…` is how well the topic was continued. The file name is the participant's id.

About 1 % of the values are not ratings (`E`, `(e)`, blank, `6 delete`): they become None. `5.` is 5. If the Wizard said
nothing (`*` or `（システム発話なし）`, in 14 exchanges of 1902), the reply is empty. Empty turns, of which participants
have 305, are omitted from contexts. In transcripts, fillers `(F …)` and uncertain words `(? …)` are kept as words,
fragments `(D …)` are removed, and pauses `|` become spaces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

from interloq.data.files.archives import DataFile, read_files
from interloq.errors import InputError, short_repr
from interloq.records import INTERLOCUTOR, OUTSIDER, Rating, Sample, Turn

FILES = ("elan/*.eaf",)
WIZARD = "wizard"
ASPECTS = {"UI": "impression", "TC": "topic_continuance"}
ABSENT = ("*", "（システム発話なし）")
_RATING = re.compile(r"(UI|TC)_(self|[FM]\d+)")
_VALUE = re.compile(r"([1-7])\.?")
_NO_VALUE = re.compile(r"|\(?[Ee]\)?|[1-7] delete")
_FRAGMENT = re.compile(r"\(D [^()]*\)")
_WORD = re.compile(r"\([F?] ([^()]*)\)")


def samples(path: str | Path) -> Iterator[Sample]:
    """Yield every utterance of the Wizard with all turns before it and the ratings of that exchange."""
    for file in read_files(path, FILES):
        yield from _exchanges(file, Path(file.name).stem)


def _exchanges(file: DataFile, participant: str) -> Iterator[Sample]:
    tiers = _read_tiers(file)
    spoken = tiers.get("sys_utterance", [])
    answered = tiers.get("user_utterance", [])
    if not spoken or len(spoken) != len(answered):
        what = f"{len(spoken)} utterances of the system and {len(answered)} of the user"
        raise InputError(f"expected as many, found {what}", hint="name the published files", where=file.where)
    context: list[Turn] = []
    for i, (wizard, user) in enumerate(zip(spoken, answered, strict=True)):
        reply = "" if wizard in ABSENT else wizard
        ratings = _ratings(tiers, i, participant, f"{file.where}:{i}")
        dialogue = f"hazumi/{participant}"
        yield Sample(f"{dialogue}#{i}", context, reply, (), WIZARD, ratings, dialogue)
        turns = (Turn(reply, WIZARD), Turn(transcript(user), participant))
        context += [turn for turn in turns if turn.text]


def transcript(text: str) -> str:
    """Return an utterance without the marks of its transcription."""
    while (plain := _WORD.sub(r"\1", _FRAGMENT.sub("", text))) != text:  # marks may be nested
        text = plain
    return " ".join(text.replace("|", " ").split())


def _ratings(tiers: Mapping[str, list[str]], i: int, participant: str, where: str) -> list[Rating]:
    ratings = []
    for tier, values in tiers.items():
        name = _RATING.fullmatch(tier)
        if name is None:
            continue
        if i >= len(values):
            raise InputError(f"{tier} has {len(values)} values only", hint="copy the file again", where=where)
        rater, role = name[2], OUTSIDER
        if rater == "self":
            rater, role = participant, INTERLOCUTOR
        ratings.append(Rating(_value(values[i], tier, where), rater, ASPECTS[name[1]], role))
    return ratings


def _value(text: str, tier: str, where: str) -> float | None:
    if value := _VALUE.fullmatch(text):
        return float(value[1])
    if _NO_VALUE.fullmatch(text):
        return None
    raise InputError(
        f"{tier} must be a number from 1 to 7, got {short_repr(text)}", hint="write E for none", where=where
    )


def _read_tiers(file: DataFile) -> dict[str, list[str]]:
    """Return the values of each tier's annotations, in order. Documents that declare entities are refused."""
    if b"<!DOCTYPE" in file.data or b"<!ENTITY" in file.data:
        raise InputError("an ELAN file declares no document type", hint="copy it again", where=file.where)
    try:
        root = ET.fromstring(file.data)  # noqa: S314 -- entities, the danger, were refused
    except (ET.ParseError, ValueError, LookupError) as error:
        raise InputError(f"not valid XML: {error}", hint="copy the file again", where=file.where) from error
    tiers = {}
    for tier in root.iterfind("TIER"):
        values = [(value.text or "").strip() for value in tier.iterfind("*/*/ANNOTATION_VALUE")]
        tiers[tier.get("TIER_ID", "")] = values
    return tiers
