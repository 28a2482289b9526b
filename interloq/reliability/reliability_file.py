# SPDX-License-Identifier: Apache-2.0
"""Reliability of the references in a file of samples: predict it, raise it with candidates from a log, use it."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any

from interloq.data.batched import batched
from interloq.data.files.opening import replacing
from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.progress import Progress, silent
from interloq.data.records.jsonl import header, header_after, header_line, record_line, write, write_then_head
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.data.records.sample_fingerprint import SampleFingerprint
from interloq.records import Sample, Score
from interloq.reliability.augment import Augmented, AugmentRecord, CandidateTrial, Request, augment, augment_record
from interloq.reliability.baselines import advise_adding_all
from interloq.reliability.candidates import find_candidates, open_finder
from interloq.reliability.labels import FEWEST_REPLIES
from interloq.reliability.model import Effects, why_undefined
from interloq.reliability.pooled import Pooled
from interloq.reliability.ready_fit import TrainedModel, load_trained
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
from interloq.signature import LIBRARIES, Signature, fingerprint

Turns = tuple[str, ...]
BATCH = 1_024  # samples whose references are predicted together


def predict_file(
    samples: str | Path,
    output: str | Path | None,
    options: PredictOptions,
    *,
    reading: ReadOptions = READ_DEFAULTS,
    progress: Progress = silent,
) -> tuple[list[Score], dict[str, Any]]:
    """Predict how reliable the references of each sample are; return scores and facts, and write them to `output`.

    Details of a score are its interval, the number of distinct references, the reference that helps and the one that
    harms most, and for sets below `minimum` how many more are `needed`, or None with the reason in `why_unknown`.
    """
    refuse_overwriting([output] if output else [], [samples, options.model])
    loaded, minimum = load_trained(options.model, options.encoder, options.device), options.minimum
    records = list(reading.read(samples))
    with progress("predicting", len(records)) as step:
        effects = []
        for batch in batched(records, BATCH):
            keys = list(zip(*contexts_and_references(batch), strict=True))
            distinct = list(dict.fromkeys(keys))  # predicted once per batch
            contexts, reference_sets = zip(*distinct, strict=True)
            by_key = dict(zip(distinct, loaded.leave_one_out(contexts, reference_sets), strict=True))
            effects += [by_key[key] for key in keys]
            step(len(batch))
    known_rises: Sequence[Rise] = ()
    if any(effect.whole.mean < minimum for effect in effects):
        known_rises = rises(loaded, *contexts_and_references(records), seed=options.seed)
    name, fingerprint = metric_name(loaded.metric), SampleFingerprint()
    fingerprint.add(records)
    scores = [
        _score(sample, effect, name, minimum, known_rises) for sample, effect in zip(records, effects, strict=True)
    ]
    signed = {"model": loaded.signature(), "minimum": f"{minimum:g}", "seed": options.seed, "samples": fingerprint}
    counts = summarise_predictions(scores)
    facts = {"metric": name, "signature": Signature.of("reliability", signed), "reliability": counts}
    about = _describe_model(loaded)
    if output:
        write(output, scores, kind="scores", **facts, warning=about["warning"], uses=about["uses"])
    return scores, facts | about


def _describe_model(model: TrainedModel, *, replies: bool = False) -> dict[str, Any]:
    """Return what a user must know about the model: a warning, what it was compared with, and what is used."""
    facts, name = model.facts, "_with_replies" if replies else ""
    baselines = facts.get("baselines") or facts.get(f"validation{name}", {})
    return {"warning": model.warning(), "baselines": baselines, "uses": facts.get("uses", {})}


def _score(sample: Sample, effects: Effects, name: str, minimum: float, known_rises: Sequence[Rise]) -> Score:
    value = float(effects.whole.mean)
    if math.isnan(value):
        (context,), (references,) = contexts_and_references([sample])
        return Score(sample.id, name, None, why_undefined(context, references), sample.system)
    details: dict[str, Any] = {"low": _null_if_nan(float(effects.whole.low))}
    details["high"] = _null_if_nan(float(effects.whole.high))
    pairs = zip(effects.effect.mean.tolist(), effects.references, strict=True)
    known = sorted(pair for pair in pairs if not math.isnan(pair[0]))
    extremes = {}  # the references whose removal lowers and raises the prediction most
    if known and known[-1][0] > 0:
        extremes["helps"] = {"text": known[-1][1], "effect": known[-1][0]}
    if known and known[0][0] < 0:
        extremes["harms"] = {"text": known[0][1], "effect": known[0][0]}
    details |= {"references": len(effects.references), **extremes, "minimum": minimum}
    if value < minimum:
        details["needed"], reason = count_needed_references(value, len(effects.references), minimum, known_rises)
        if reason:
            details["why_unknown"] = reason
    return Score(sample.id, name, value, "", sample.system, details)


def _null_if_nan(value: float) -> float | None:
    return None if math.isnan(value) else value


def augment_file(
    samples: str | Path,
    output: str | Path,
    source: CandidateOptions,
    options: AugmentOptions,
    *,
    reading: ReadOptions = READ_DEFAULTS,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Write the samples with candidates that raise the predicted reliability of their references; return facts.

    With `options.add_all`, and for other replies to the same utterance, no candidate is rejected. Facts are also in the
    header of the output. Unless a file is a pipe (`-`), results are kept in `OUTPUT.part` until the output is complete,
    and the same call resumes after the last of them. `options.trials` is a file for every candidate that was tried,
    with the predictions before and after it and whether it was kept.
    """
    outputs = [path for path in (output, options.trials) if path]
    refuse_overwriting(outputs, [samples, options.model, *source.files])
    loaded = load_trained(options.model, options.encoder, options.device)
    keep_all = options.add_all or source.origin == "query"  # real replies to the query are its own references
    finder, finder_signature = open_finder(source, reading.on_reject)
    before = {} if str(samples) == "-" else header(samples)
    chosen: dict[str, object] = {"model": loaded.signature(), "limit": options.most or "none", "seed": options.seed}
    if keep_all:
        chosen["keep"] = "all"
    replies: dict[Turns, list[str]] = {}
    if isinstance(loaded, Pooled) and str(samples) != "-":  # which can be read only once
        replies = _collect_replies(samples, reading)
        chosen["replies"] = fingerprint(*chain.from_iterable((*turns, *texts) for turns, texts in replies.items()))
    signed = finder_signature.with_parts(chosen)
    facts: dict[str, Any] = {"signature": replace(signed, name="augment"), "metric": loaded.metric}
    about = _describe_model(loaded, replies=bool(replies))
    facts |= {"warning": about["warning"], "uses": about["uses"]}
    tally, counts = SearchTally(), _AddedCounts()
    choose = _make_choice(loaded, options, replies, keep_all=keep_all)

    def head() -> dict[str, Any]:
        facts["counts"] = counts.facts() | {"dropped": tally.facts()["dropped"]}
        return header_after(before, "augmented", facts)

    def augment_samples() -> Iterator[Sample]:
        """Yield samples with the references that were kept; equal requests are done once per batch."""
        for batch in find_candidates(reading.read(samples), finder, source, tally):
            results = record.augment(choose, [request for _, request in batch])
            for sample, request in batch:
                result = results[request]
                counts.add(result)
                if trial_file:
                    trial_file.writelines(_trial_line(sample, trial) for trial in result.trials)
                yield replace(sample, references=(*sample.references, *result.kept))
            step(len(batch))

    open_trials = replacing(options.trials) if options.trials else nullcontext()
    with _record(samples, output, signed) as record, progress("augmenting", None) as step, open_trials as trial_file:
        if trial_file:
            trial_file.write(header_line("trials", {"signature": facts["signature"]}))
        write_then_head(output, augment_samples(), head, kind="samples")
    about |= {"resumed": record.resumed, "keep_all": keep_all, "advice": advise_adding_all(about["baselines"])}
    return facts | about


def _collect_replies(samples: str | Path, reading: ReadOptions) -> dict[Turns, list[str]]:
    """Return the replies to each context, whose scores a pooled model compares; bad lines are reported later."""
    replies: dict[Turns, list[str]] = {}
    for sample in replace(reading, on_reject=lambda _: None).read(samples):
        replies.setdefault(tuple(turn.text for turn in sample.context), []).append(sample.response)
    return replies


def _make_choice(
    model: TrainedModel, options: AugmentOptions, replies: Mapping[Turns, Sequence[str]], *, keep_all: bool
) -> Callable[[Sequence[Request]], list[Augmented]]:
    """Return a function that adds candidates to queries as the model does."""
    if isinstance(model, Pooled):
        pooled = model
        return lambda requests: pooled.choose(
            requests, limit=options.most, replies=[_enough(replies.get(request.turns, ())) for request in requests]
        )
    projected, seed = model.make_projected(), options.seed
    return lambda requests: augment(projected, requests, limit=options.most, seed=seed, keep_all=keep_all)


def _enough(replies: Sequence[str]) -> Sequence[str]:
    """Return the replies, or none if there are too few to compare their scores."""
    return replies if len(replies) >= FEWEST_REPLIES else ()


@contextmanager
def _record(samples: str | Path, output: str | Path, signed: Signature) -> Iterator[AugmentRecord]:
    """Open the record next to the output, or a temporary one if a file is a pipe."""
    run = {"signature": str(signed.without(*LIBRARIES))}  # other releases of these may resume
    with tempfile.TemporaryDirectory() as folder:
        path = Path(f"{output}.part")
        if "-" in (str(samples), str(output)):
            path = Path(folder, "results")
        with augment_record(path, run) as record:
            yield record


def _trial_line(sample: Sample, trial: CandidateTrial) -> bytes:
    candidate = trial.reference
    return record_line(
        {
            "id": sample.id,
            "system": sample.system,
            "text": candidate.text,
            "source": candidate.source,
            "before": _null_if_nan(trial.before),
            "after": _null_if_nan(trial.after),
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
