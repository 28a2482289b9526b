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
from interloq.play.partners import PartnerSet, load_partners
from interloq.play.self_contained import DIALOGUES, SCORES, check_files, locate_set
from interloq.rank.scored_dialogues import ScoredDialogues, read_scored, score_dialogues
from interloq.signature import VERSION, Signature


def score_against(
    paths: Sequence[str | Path], name: str | Path, metric: str, *, reading: ReadOptions, progress: Progress
) -> tuple[ScoredDialogues, list[str]]:
    """Return the new dialogues with those of the reference systems, the scores of all, and notes for the reader."""
    known, folder = load_partners(name), locate_set(name).parent
    if DIALOGUES not in known.published:
        raise InputError(f"the partner set {name} has no dialogues of reference systems", where=str(folder))
    check_files(folder, known.published)
    _check_partners(paths, known, str(name))
    read = read_scored([], [*paths, folder / DIALOGUES], reading=reading)
    references = load(folder / DIALOGUES, kind="dialogues")
    ids = {dialogue.id for dialogue in references}
    new = [dialogue for dialogue in read.dialogues if dialogue.id not in ids]
    stored = header(folder / SCORES) if SCORES in known.published else {}
    published_metric = str(stored.get("metric", ""))
    if not (metric or published_metric):
        raise InputError(f"{known.name} has no published scores, so no metric is chosen", hint="name one with -m")
    metric = find(metric, [published_metric]) if metric and stored else metric or published_metric
    scores, judge = score_dialogues(new, metric, progress)
    if stored and metric == published_metric:
        published_judge = Signature.from_json(stored["signature"], where=str(folder))
        notes = _compare_judges(known.name, published_judge, judge)
        if same_judge(published_judge, judge):
            return replace(read, scores=[*scores, *load(folder / SCORES, kind="scores")]), notes
    else:
        notes = [f"{metric} is not the metric of published scores of {known.name}: its dialogues were scored here"]
    again, _ = score_dialogues(references, metric, progress)
    return replace(read, scores=[*scores, *again]), notes


def _check_partners(paths: Sequence[str | Path], known: PartnerSet, name: str) -> None:
    """Refuse dialogues that were not played with this set."""
    for path in paths:
        seen = header(path).get("partners")
        if seen != known.hash:
            raise InputError(
                f"the dialogues are from the partner set {seen or '(none)'}, but {known.name} is {known.hash}",
                hint=f"play your system with the set: interloq play run --target mine=BOT --partners {name} -o FILE",
                where=str(path),
            )


def _compare_judges(name: str, published: Signature, own: Signature) -> list[str]:
    """Return notes on how the metric of the published scores differs from the one used here."""
    if not same_judge(published, own):
        return [f"the published scores of {name} are by another version of the metric: scored again here"]
    versions = [dict(signature.parts).get(VERSION, "") for signature in (published, own)]
    if versions[0] == versions[1]:
        return []
    return [f"{name} was scored with version {versions[0]} of Interloq, yours with {versions[1]}"]
