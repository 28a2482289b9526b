# SPDX-License-Identifier: Apache-2.0
"""Reliability of the references in a file of samples: predict it, raise it with candidates from a log, use it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any

from interloq.data.batched import batched
from interloq.data.files.opening import replacing
from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.progress import Progress, silent
from interloq.data.records.jsonl import (
    header,
    header_after,
    header_line,
    read_lines,
    record_line,
    write,
    write_then_head,
)
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.data.records.sample_fingerprint import SampleFingerprint
from interloq.data.text.language import NAMES, main_language
from interloq.records import Sample, Score
from interloq.registry import create
from interloq.reliability.augment import Augmented, CandidateTrial
from interloq.reliability.augment_task import CHUNK, PIECE, AugmentTask, read_augmented
from interloq.reliability.baselines import advise_adding_all
from interloq.reliability.labels import FEWEST_REPLIES
from interloq.reliability.pooled import Pooled
from interloq.reliability.predict_task import PredictTask, null_if_nan
from interloq.reliability.ready_fit import TrainedModel
from interloq.reliability.reliability_options import AugmentOptions, CandidateOptions, PredictOptions
from interloq.reliability.weak_references import (
    Rise,
    contexts_and_references,
    count_needed_references,
    metric_name,
    rises,
    summarise_predictions,
)
from interloq.retrieve.extend import SearchTally
from interloq.servers.spending import check_processes, current
from interloq.shards.dealt import Dealt
from interloq.shards.run import open_shards
from interloq.shards.shard_options import ONE_PROCESS, ShardOptions
from interloq.signature import Signature

Turns = tuple[str, ...]
BATCH = 1_024  # samples whose references are predicted together


def predict_file(
    samples: str | Path,
    output: str | Path | None,
    options: PredictOptions,
    *,
    shards: ShardOptions = ONE_PROCESS,
    reading: ReadOptions = READ_DEFAULTS,
    progress: Progress = silent,
) -> tuple[list[Score], dict[str, Any]]:
    """Predict how reliable the references of each sample are; return scores and facts, and write them to `output`.

    Details of a score are its interval, the number of distinct references, the reference that helps and the one that
    harms most, and for sets below `minimum` how many more are `needed`, or None with the reason in `why_unknown`.
    """
    refuse_overwriting([output] if output else [], [samples, options.model])
    task, minimum = PredictTask(options), options.minimum
    model, task.signature = task.model, task.identify()
    records, fingerprint = list(reading.read(samples)), SampleFingerprint()
    fingerprint.add(records)
    job = {"verb": "reliability predict", "model": task.signature, "columns": str(dict(reading.columns or {}))}
    about = _describe_model(model, [sample.response for sample in records])
    with (
        open_shards(shards, job, source=samples, output=output) as run,
        progress("predicting", len(records)) as step,
    ):
        scores: list[Score] = []
        for result in run.compute("samples", task, batched(records, BATCH), step):
            scores += read_lines(result, kind="scores")
        known_rises: Sequence[Rise] = ()
        if any(score.value is not None and score.value < minimum for score in scores):
            known_rises = rises(model, *contexts_and_references(records), seed=options.seed)
        scores = [_compare_with_minimum(score, minimum, known_rises) for score in scores]
        signed = {"model": task.signature, "minimum": f"{minimum:g}", "seed": options.seed, "samples": fingerprint}
        facts: dict[str, Any] = {"metric": metric_name(model.metric)}
        facts |= {"signature": Signature.of("reliability", signed), "reliability": summarise_predictions(scores)}
        if output:
            write(output, scores, kind="scores", **facts, warning=about["warning"], uses=about["uses"])
    return scores, facts | about


def _compare_with_minimum(score: Score, minimum: float, known_rises: Sequence[Rise]) -> Score:
    """Return the score with the minimum, and with the number of references needed to reach it."""
    if score.value is None:
        return score
    details = {**score.details, "minimum": minimum}
    if score.value < minimum:
        details["needed"], reason = count_needed_references(score.value, details["references"], minimum, known_rises)
        if reason:
            details["why_unknown"] = reason
    return replace(score, details=details)


def _describe_model(model: TrainedModel, texts: Sequence[str], *, replies: bool = False) -> dict[str, Any]:
    """Return what a user must know about the model: warnings, what it was compared with, and what is used."""
    facts, name = model.facts, "_with_replies" if replies else ""
    baselines = facts.get("baselines") or facts.get(f"validation{name}", {})
    warning = model.warning(replies=replies) if isinstance(model, Pooled) else model.warning()
    learned, language = facts.get("language", ""), main_language(texts)
    if learned != language and {learned, language} <= NAMES.keys():
        seen = f"these replies are {NAMES[language]}, but the model learned from {NAMES[learned]} ones"
        warning = "; ".join(filter(None, [seen, warning]))
    return {"warning": warning, "baselines": baselines, "uses": facts.get("uses", {})}


def augment_file(
    samples: str | Path,
    output: str | Path,
    source: CandidateOptions,
    options: AugmentOptions,
    *,
    shards: ShardOptions = ONE_PROCESS,
    reading: ReadOptions = READ_DEFAULTS,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Write the samples with candidates that raise the predicted reliability of their references; return facts.

    With `options.add_all`, and for other replies to the same utterance, no candidate is rejected. Facts are also in the
    header of the output. Unless a file is a pipe (`-`), results are kept in `OUTPUT.parts` until the output is
    complete, and the same call resumes. `options.trials` is a file for every candidate that was tried, with the
    predictions before and after it and whether it was kept. `shards` says which processes compute what.
    """
    outputs = [path for path in (output, options.trials) if path]
    refuse_overwriting(outputs, [samples, options.model, *source.files])
    if source.llm:
        check_processes([create(source.llm, kind="bot")], shards, current())
    before = {} if str(samples) == "-" else header(samples)
    task = AugmentTask(source, options, on_reject=reading.on_reject)
    if isinstance(task.model, Pooled) and str(samples) != "-":  # which can be read only once
        task.replies = _collect_replies(samples, reading)
    task.signature = task.identify()
    facts: dict[str, Any] = {"signature": task.sign(), "metric": task.model.metric}
    knows_replies = any(len(set(texts)) >= FEWEST_REPLIES for texts in task.replies.values())
    about = _describe_model(task.model, list(chain.from_iterable(task.replies.values())), replies=knows_replies)
    facts |= {"warning": about["warning"], "uses": about["uses"]}
    tally, counts = SearchTally(), _AddedCounts()
    dealt = Dealt(CHUNK, PIECE, lambda sample: [turn.text for turn in sample.context])

    def head() -> dict[str, Any]:
        facts["counts"] = counts.facts() | {"dropped": tally.facts()["dropped"]}
        return header_after(before, "augmented", facts)

    job = {"verb": "reliability augment", "signature": task.signature, "columns": str(dict(reading.columns or {}))}
    open_trials = replacing(options.trials) if options.trials else nullcontext()
    with (
        open_shards(shards, job, source=samples, output=output, resumes=True) as run,
        progress("augmenting", None) as step,
    ):
        results = run.compute("samples", task, dealt.cut(reading.read(samples)), step)

        def augment_samples() -> Iterator[Sample]:
            """Yield samples with the references that were kept, and write what was tried."""
            read = chain.from_iterable(read_augmented(result, tally.dropped, tally.affected) for result in results)
            for sample, augmented in dealt.restore(read):
                counts.add(augmented)
                if trial_file:
                    trial_file.writelines(_trial_line(sample, trial) for trial in augmented.trials)
                yield sample

        with open_trials as trial_file:
            if trial_file:
                trial_file.write(header_line("trials", {"signature": facts["signature"]}))
            write_then_head(output, augment_samples(), head, kind="samples")
    keep_all = task.keeps_all
    about |= {"resumed": run.resumed, "keep_all": keep_all, "advice": advise_adding_all(about["baselines"])}
    return facts | about


def _collect_replies(samples: str | Path, reading: ReadOptions) -> dict[Turns, list[str]]:
    """Return the replies to each context, whose scores a pooled model compares; bad lines are reported later."""
    replies: dict[Turns, list[str]] = {}
    for sample in replace(reading, on_reject=lambda _: None).read(samples):
        replies.setdefault(tuple(turn.text for turn in sample.context), []).append(sample.response)
    return replies


def _trial_line(sample: Sample, trial: CandidateTrial) -> bytes:
    candidate = trial.reference
    return record_line(
        {
            "id": sample.id,
            "system": sample.system,
            "text": candidate.text,
            "source": candidate.source,
            "before": null_if_nan(trial.before),
            "after": null_if_nan(trial.after),
            "kept": trial.kept,
        }
    )


class _AddedCounts:
    """Counts over samples, and predictions for samples that had references before."""

    def __init__(self) -> None:
        self.samples = self.tried = self.kept = self.unchanged = 0
        self.before: list[float] = []
        self.after: list[float] = []

    def add(self, result: Augmented) -> None:
        self.samples += 1
        self.tried += len(result.trials)
        self.kept += len(result.kept)
        self.unchanged += not result.kept
        if not math.isnan(result.before):  # the means are over the same samples
            self.before.append(result.before)
            self.after.append(result.after)

    def facts(self) -> dict[str, Any]:
        """Return the numbers of samples, candidates tried and kept, unchanged samples, and mean predictions."""
        return {
            "samples": self.samples,
            "tried": self.tried,
            "kept": self.kept,
            "unchanged": self.unchanged,
            "before": fmean(self.before) if self.before else None,
            "after": fmean(self.after) if self.after else None,
        }
