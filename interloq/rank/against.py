# SPDX-License-Identifier: Apache-2.0
"""Rank new systems among the reference systems of a partner set that comes with their dialogues and scores.

New dialogues must have been played with the very set. They are scored by the metric of the stored scores; if another
metric is named, or the judge is now another one, the dialogues of the reference systems are scored again too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from interloq.data.progress import Progress
from interloq.data.records.jsonl import header, load
from interloq.data.records.read_options import ReadOptions
from interloq.errors import InputError
from interloq.metrics.metric_names import find
from interloq.play.dialogue_origin import same_judge
from interloq.play.partners import load_partners
from interloq.play.self_contained import DIALOGUES, SCORES, locate_set
from interloq.rank.scored_dialogues import ScoredDialogues, read_scored, score_dialogues
from interloq.signature import VERSION, Signature


def score_against(
    paths: Sequence[str | Path], name: str | Path, metric: str, *, reading: ReadOptions, progress: Progress
) -> tuple[ScoredDialogues, list[str]]:
    """Return the new dialogues with those of the reference systems, the scores of all, and notes for the reader."""
    known, folder = load_partners(name), locate_set(name).parent
    title = known.name or str(name)
    published = folder / DIALOGUES
    if not published.is_file():
        raise InputError(f"the partner set {title} has no dialogues of reference systems", where=str(folder))
    command = f"interloq play run --target mine=BOT --partners {name} -o dialogues.jsonl"
    for path in paths:
        seen = header(path).get("partners")
        if seen != known.hash:
            hint = f"play your system with the set: {command}"
            what = f"the dialogues are from the partner set {seen or '(none)'}, but {title} is {known.hash}"
            raise InputError(what, hint=hint, where=str(path))
    read = read_scored([], [*paths, published], reading=reading)
    references = load(published, kind="dialogues")
    ids = {dialogue.id for dialogue in references}
    new = [dialogue for dialogue in read.dialogues if dialogue.id not in ids]
    stored = header(folder / SCORES) if (folder / SCORES).is_file() else {}
    if not (metric or stored):
        raise InputError(f"{title} has no published scores, so no metric is chosen", hint="name one with -m")
    scores, judge = score_dialogues(new, metric or str(stored["metric"]), progress)
    notes = []
    if stored and find(metric or str(stored["metric"]), [str(stored["metric"])]) == stored["metric"]:
        known_judge = Signature.from_json(stored["signature"], where=str(folder))
        versions = [dict(signature.parts).get(VERSION, "") for signature in (known_judge, judge)]
        if same_judge(known_judge, judge):
            if versions[0] != versions[1]:
                notes.append(f"{title} was scored with version {versions[0]} of Interloq, yours with {versions[1]}")
            return replace(read, scores=[*scores, *load(folder / SCORES, kind="scores")]), notes
        notes.append(f"the published scores of {title} are by another version of the metric: scored again here")
    else:
        notes.append(f"not the metric of the published scores of {title}: its dialogues were scored here")
    again, _ = score_dialogues(references, metric or str(stored["metric"]), progress)
    return replace(read, scores=[*scores, *again]), notes
