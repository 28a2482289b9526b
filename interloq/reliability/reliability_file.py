# SPDX-License-Identifier: Apache-2.0
"""Reliability of the references in a file of samples: predict it, raise it with candidates from a log, use it."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import IO, Any

from interloq.data.files.opening import replacing
from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.progress import Progress, silent
from interloq.data.records.jsonl import (
    Rejected,
    header,
    header_after,
    header_line,
    read,
    record_line,
    write,
    write_then_head,
)
from interloq.data.records.sample_fingerprint import SampleFingerprint
from interloq.errors import InputError
from interloq.records import Sample, Score
from interloq.reliability.augment import LIMIT, Augmented, AugmentRecord, CandidateTrial, Request, augment_record
from interloq.reliability.candidates import CandidateOptions
from interloq.reliability.model import Effects, Reliability, why_undefined
from interloq.reliability.weak_references import Rise, metric_name, needed, rises, summary
from interloq.retrieve.extend import SearchTally
from interloq.signature import LIBRARIES, Signature

MINIMUM = 0.1  # by convention the least correlation that is called small (Cohen, 1988)
BATCH = 1_024  # samples whose references are predicted together
OnReject = Callable[[Rejected], None] | None


# ---- predict ---------------------------------------------------------------------------------------------------------


def predict_file(
    samples: str | Path,
    output: str | Path | None = None,
    *,
    model: str | Path,
    minimum: float = MINIMUM,
    encoder: str | None = None,
    device: str = "auto",
    seed: int = 0,
    strict: bool = False,
    on_reject: OnReject = None,
    columns: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> tuple[list[Score], dict[str, Any]]:
    """Predict how reliable the references of each sample are; return scores and facts, and write them to `output`.

    Details of a score are its interval, the number of distinct references, the reference that helps and the one that
    harms most, and for sets below `minimum` how many more are `needed` (None: unknown, see `reliability.growth`).
    """
    check_minimum(minimum)
    refuse_overwriting([output] if output else [], [samples, model])
    loaded = Reliability.load(model, encoder=encoder, device=device)
    given = list(read(samples, strict=strict, on_reject=on_reject, columns=columns))
    with progress("predicting", len(given)) as step:
        effects = list(_effects(loaded, given, step))
    weak = any(effect.whole.mean < minimum for effect in effects)
    grown = rises(loaded, *_texts(given), seed=seed) if weak else []
    name = metric_name(loaded.metric)
    scores = [_score(sample, effect, name, minimum, grown) for sample, effect in zip(given, effects, strict=True)]
    signed = {"model": loaded.signature(), "minimum": f"{minimum:g}", "seed": seed, "samples": _fingerprint(given)}
    facts = {"metric": name, "signature": Signature.of("reliability", signed), "reliability": summary(scores)}
    if output:
        write(output, scores, kind="scores", **facts)
    return scores, facts | {"warning": loaded.warning()}


def _fingerprint(samples: Sequence[Sample]) -> SampleFingerprint:
    fingerprint = SampleFingerprint()
    fingerprint.add(samples)
    return fingerprint


def check_minimum(minimum: float) -> None:
    """Refuse a reliability that no set can have."""
    if not -1 <= minimum <= 1:
        raise InputError(f"the minimum must be from -1 to 1, got {minimum}", hint="reliability is a correlation")


def _texts(samples: Sequence[Sample]) -> tuple[list[tuple[str, ...]], list[list[str]]]:
    contexts, references = [], []
    for sample in samples:
        contexts.append(tuple(turn.text for turn in sample.context))
        references.append([reference.text for reference in sample.references])
    return contexts, references


def _effects(model: Reliability, samples: Sequence[Sample], step: Callable[[int], None]) -> Iterator[Effects]:
    """Predictions for each sample; samples with the same context and references are predicted once per batch."""
    for start in range(0, len(samples), BATCH):
        turns, texts = _texts(samples[start : start + BATCH])
        keys = [(query, tuple(some)) for query, some in zip(turns, texts, strict=True)]
        distinct = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        predicted = model.leave_one_out([query for query, _ in distinct], [some for _, some in distinct])
        yield from (predicted[distinct[key]] for key in keys)
        step(len(keys))


def _score(sample: Sample, found: Effects, name: str, minimum: float, grown: Sequence[Rise]) -> Score:
    turns, texts = (one[0] for one in _texts([sample]))
    value = float(found.whole.mean)
    if math.isnan(value):
        return Score(sample.id, name, None, why_undefined(turns, texts), sample.system)
    details: dict[str, Any] = {"low": _known(float(found.whole.low)), "high": _known(float(found.whole.high))}
    details |= {"references": len(found.references), **_extremes(found), "minimum": minimum}
    if value < minimum:
        details["needed"] = needed(value, len(found.references), minimum, grown)
    return Score(sample.id, name, value, "", sample.system, details)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _extremes(found: Effects) -> dict[str, Any]:
    """The references whose removal lowers and raises the prediction most; omitted if there is none."""
    effects = sorted((e, text) for e, text in zip(found.effect.mean.tolist(), found.references, strict=True) if e == e)
    most = {"helps": effects[-1:], "harms": effects[:1]}
    return {
        name: {"text": text, "effect": effect}
        for name, some in most.items()
        for effect, text in some
        if (effect > 0) == (name == "helps") and effect
    }


def weak_references(model: Reliability, minimum: float) -> Callable[[Sequence[Sample]], list[str]]:
    """A function that gives the reason why samples should not be scored: "" if their references are good enough.

    A sample whose references have no prediction is left to the metric.
    """
    check_minimum(minimum)
    reason = f"references too weak: predicted reliability below {minimum:g}"

    def reasons(samples: Sequence[Sample]) -> list[str]:
        predicted = model.predict(*_texts(samples)).mean
        return [reason if value < minimum else "" for value in predicted.tolist()]

    return reasons


# ---- augment ---------------------------------------------------------------------------------------------------------


def augment_file(
    samples: str | Path,
    output: str | Path,
    *,
    model: str | Path,
    source: CandidateOptions,
    limit: int = LIMIT,
    seed: int = 0,
    trials: str | Path | None = None,
    encoder: str | None = None,
    device: str = "auto",
    strict: bool = False,
    on_reject: OnReject = None,
    columns: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Write the samples with candidates that raise the predicted reliability of their references; return facts.

    Facts are also in the header of the output. Unless a file is a pipe (`-`), results are kept in `OUTPUT.part` until
    the output is complete, and the same call resumes after the last of them. `trials` is a file for every candidate
    that was tried, with the predictions before and after it and whether it was kept.
    """
    outputs = [path for path in (output, trials) if path]
    refuse_overwriting(outputs, [samples, model, *source.files])
    loaded = Reliability.load(model, encoder=encoder, device=device)
    finder, found = source.open(on_reject)
    before = {} if str(samples) == "-" else header(samples)
    signed = found.with_parts({"model": loaded.signature(), "limit": limit, "seed": seed})
    facts: dict[str, Any] = {"signature": replace(signed, name="augment"), "metric": loaded.metric}
    tally, counts = SearchTally(), _AddedCounts()

    def head() -> dict[str, Any]:
        facts["counts"] = counts.facts() | {"dropped": tally.facts()["dropped"]}
        return header_after(before, "augmented", facts)

    with _record(samples, output, signed) as record, progress("augmenting", None) as step:
        given = read(samples, strict=strict, on_reject=on_reject, columns=columns)
        for_each = _augmented(loaded, record, source.batches(given, finder, tally), limit, seed, step)
        with replacing(trials) if trials else nullcontext() as tried:
            if tried:
                tried.write(header_line("trials", {"signature": facts["signature"]}))
            write_then_head(output, _counted(for_each, counts, tried), head, kind="samples")
    return facts | {"resumed": record.resumed, "warning": loaded.warning()}


@contextmanager
def _record(samples: str | Path, output: str | Path, signed: Signature) -> Iterator[AugmentRecord]:
    """The record next to the output, or a temporary one if a file is a pipe."""
    run = {"signature": str(signed.without(*LIBRARIES))}  # other releases of these may resume
    with tempfile.TemporaryDirectory() as folder:
        piped = "-" in (str(samples), str(output))
        with augment_record(Path(folder, "results") if piped else Path(f"{output}.part"), run) as record:
            yield record


def _augmented(
    model: Reliability,
    record: AugmentRecord,
    batches: Iterable[Sequence[tuple[Sample, Request]]],
    limit: int,
    seed: int,
    step: Callable[[int], None],
) -> Iterator[tuple[Sample, Augmented]]:
    """Results for each sample; equal requests are done once."""
    projected = model.projected()
    for batch in batches:
        results = record.augmented(projected, [request for _, request in batch], limit=limit, seed=seed)
        yield from ((sample, results[request]) for sample, request in batch)
        step(len(batch))


def _counted(
    done: Iterable[tuple[Sample, Augmented]], counts: _AddedCounts, tried: IO[bytes] | None
) -> Iterator[Sample]:
    """Samples with the references that were kept; trials are written to `tried`."""
    for sample, result in done:
        counts.add(result)
        if tried:
            tried.writelines(_trial_line(sample, trial) for trial in result.trials)
        yield replace(sample, references=(*sample.references, *result.kept))


def _trial_line(sample: Sample, trial: CandidateTrial) -> bytes:
    candidate, numbers = trial.reference, {"before": _known(trial.before), "after": _known(trial.after)}
    named = {"id": sample.id, "system": sample.system, "text": candidate.text, "source": candidate.source}
    return record_line({**named, **numbers, "kept": trial.kept})


class _AddedCounts:
    """Counts over samples, and predictions of those that had references before."""

    def __init__(self) -> None:
        self.samples = self.tried = self.kept = self.unchanged = 0
        self.before: list[float] = []
        self.after: list[float] = []

    def add(self, found: Augmented) -> None:
        self.samples += 1
        self.tried += len(found.trials)
        self.kept += len(found.kept)
        self.unchanged += not found.kept
        if not math.isnan(found.before):  # the means are over the same samples
            self.before.append(found.before)
            self.after.append(found.after)

    def facts(self) -> dict[str, Any]:
        """Numbers of samples, candidates tried and kept, samples without a new one, and mean predictions."""
        means = {"before": _mean(self.before), "after": _mean(self.after)}
        return {name: getattr(self, name) for name in ("samples", "tried", "kept", "unchanged")} | means


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None
