# SPDX-License-Identifier: Apache-2.0
"""Score samples with metrics: values, bootstrap intervals, and unscored samples with reasons."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, compress, pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from interloq.data.batched import batched
from interloq.data.records.columns import Rows, as_samples
from interloq.data.records.dialogue_names import DialogueFinder
from interloq.data.records.sample_fingerprint import SampleFingerprint, SamplePrints
from interloq.data.text.joined_texts import JoinedTexts
from interloq.errors import InputError, RejectedWarning, count
from interloq.metrics.function import remember
from interloq.metrics.metric import Array, FittedMetric, Metric, MetricLike, SetMetric, as_metric, reference_texts
from interloq.records import NO_SYSTEM, BySample, Key, Note, Result, Sample, format_key
from interloq.registry import name_of, title
from interloq.score.checks import TOGETHER, Checks
from interloq.score.score_task import Reasons, ScoreFilter, ScoreTask, compute_rows, join_scored
from interloq.score.split_metrics import change_scored, fit_alone, is_split, list_scored, with_rows
from interloq.score.transposed import LayoutCheck
from interloq.shards.dealt import Dealt
from interloq.shards.run import Shards
from interloq.shards.shard_options import ONE_PROCESS
from interloq.signature import Signature, runs_network, signature
from interloq.statistics.resampling import bootstrap_counts, half_counts, half_interval, percentile_interval
from interloq.unicode_form import FORM

CHUNK = 4096  # samples per shard: bounds memory, never changes a result
NETWORK_CHUNK = 256  # samples per shard of a network, whose scores change in the last digits with what is read together
T = TypeVar("T")


def evaluate(metric: MetricLike | str, samples: Rows, *, n_bootstrap: int = 1000, seed: int = 0) -> Result:
    """Score samples, dicts or a data frame with one metric; `n_bootstrap` resamples give the 95 % interval."""
    return evaluate_all([metric], samples, n_bootstrap=n_bootstrap, seed=seed)[0][""]


def evaluate_all(
    metrics: Sequence[MetricLike | str],
    samples: Rows,
    *,
    n_bootstrap: int = 1000,
    seed: int = 0,
    by_system: bool = False,
    progress: Callable[[int], None] | None = None,
    fit_to: Sequence[Sample] | None = None,
) -> list[dict[str, Result]]:
    """Score samples with several metrics; return each metric's results by system, `""` for all samples.

    Samples without a system are `(none)` if others have one. `fit_to` are those of the samples that metrics with
    constants are fitted to; by default all.
    """
    if n_bootstrap < 0:
        raise InputError(f"n_bootstrap must not be negative, got {n_bootstrap}")
    return score_samples(
        [as_metric(metric) for metric in metrics],
        as_samples(samples),
        n_bootstrap=n_bootstrap,
        seed=seed,
        by_system=by_system,
        progress=progress,
        fit_to=fit_to,
    )


def score_samples(
    metrics: Sequence[Metric],
    samples: Iterable[Sample],
    *,
    n_bootstrap: int = 1000,
    seed: int = 0,
    by_system: bool = False,
    progress: Callable[[int], None] | None = None,
    unscorable: ScoreFilter | None = None,
    fit_to: Sequence[Sample] | None = None,
    shards: Shards | None = None,
    job: str = "samples",
) -> list[dict[str, Result]]:
    """Score samples in one pass, like `evaluate_all`, as a job of `shards`.

    `unscorable` gives further reasons to leave samples unscored, "" for the others.
    """
    if any(isinstance(metric, FittedMetric | SetMetric) for metric in metrics):
        samples = list(samples)
    to_fit = fit_to
    if to_fit is None and isinstance(samples, list):
        to_fit = samples
    scoring = _Scoring(metrics, samples, to_fit or [], by_system=by_system)
    scoring.compute(shards or Shards(ONE_PROCESS), job, unscorable, progress or (lambda _: None))
    systems = [""]
    if by_system:
        systems += scoring.systems()
    results = []
    for i in range(len(metrics)):
        by_name = {system: scoring.result(i, system, n_bootstrap, seed) for system in systems}
        results.append(by_name)
    return results


def evaluate_by_unit(metrics: Sequence[Metric], evaluate: Callable[[Sequence[Metric], bool], Sequence[T]]) -> list[T]:
    """Return results of `evaluate(some metrics, whole)` in the order of the metrics.

    `whole` says whether these metrics score whole dialogues rather than single replies.
    """
    metrics_by_unit: dict[bool, list[Metric]] = {}
    for metric in metrics:
        metrics_by_unit.setdefault(metric.of == "dialogue", []).append(metric)
    results = {whole: iter(evaluate(some, whole)) for whole, some in metrics_by_unit.items()}
    return [next(results[metric.of == "dialogue"]) for metric in metrics]


class _Scoring:
    """Rows of all metrics, sorted by id and system, so that no result depends on the order of the input."""

    def __init__(
        self, metrics: Sequence[Metric], samples: Iterable[Sample], to_fit: Sequence[Sample], *, by_system: bool
    ) -> None:
        self.metrics = [metric if is_split(metric) else fit_alone(metric, to_fit) for metric in metrics]
        self.samples: list[Sample] | None = None  # only if all were given at once
        if isinstance(samples, list):
            self.samples = samples
        for metric in metrics:
            remember(metric)
        self.ids: list[str] = []
        self.system_of: list[str] = []
        self.fingerprint, self.prints = SampleFingerprint(), SamplePrints()
        self.by_system = by_system
        self._stream, self._to_fit = samples, to_fit
        self._layout, self._checks, self._finder = LayoutCheck(), Checks(self.metrics), DialogueFinder()

    def compute(self, shards: Shards, job: str, filter: ScoreFilter | None, progress: Callable[[int], None]) -> None:
        """Score all samples in shards, check them, and sort the rows."""
        scored_metrics: list[Metric] = []
        is_part: list[bool] = []
        for metric in self.metrics:
            if is_split(metric):
                scored_metrics += [fit_alone(part, self._to_fit) for part in list_scored(metric)]
            else:
                scored_metrics.append(metric)
            is_part += [is_split(metric)] * (len(scored_metrics) - len(is_part))
        task = ScoreTask(tuple(scored_metrics), tuple(is_part), filter)
        if shards.options.is_used:
            task = replace(task, signature=task.identify())
        dealt = Dealt(CHUNK, CHUNK)
        if any(map(runs_network, scored_metrics)):
            # samples with the same context, and usually the same references, share a shard: networks read a text once
            dealt = Dealt(CHUNK, NETWORK_CHUNK, lambda sample: [turn.text for turn in sample.context])
        results = shards.compute(job, task, dealt.cut(self._watch()), progress)
        scored = join_scored(results, len(scored_metrics))
        self._layout.finish()
        back = np.argsort(np.array(dealt.places, dtype=np.int64))
        all_rows = [rows[back] for rows in scored.rows] or [metric.stats([]) for metric in scored_metrics]
        all_reasons = [{dealt.places[i]: why for i, why in reasons.items()} for reasons in scored.reasons]
        filtered = {dealt.places[i]: why for i, why in scored.filtered.items()}
        self.rows: list[Array] = []
        self.reasons: list[dict[Key, str]] = []
        known = zip(scored_metrics, all_rows, all_reasons, strict=True)
        for i, metric in enumerate(self.metrics):
            if is_split(metric):
                self.metrics[i], rows, reasons = self._join(metric, known, filtered)
            else:
                _, rows, reasons = next(known)
            self.rows.append(rows)
            self.reasons.append({(self.ids[j], self.system_of[j]): why for j, why in sorted(reasons.items())})
            _warn_of_failures(metric, self.reasons[i], len(self.ids))
        self.dialogues: dict[Key, str] = {}
        for id, system, dialogue in zip(self.ids, self.system_of, self._finder.names(), strict=True):
            if dialogue:
                self.dialogues[id, system] = dialogue
        if self.by_system:
            self._checks.compare_systems(self.ids, self.system_of, self.prints)
        self.notes: list[tuple[Note, ...]] = []
        for i in range(len(self.metrics)):
            notes = (*self._checks.of_data(), *self._checks.of_metric(i))
            if self.by_system:
                notes = (*self._checks.of_systems(i), *notes)
            self.notes.append(notes)
        self._sort()

    def _watch(self) -> Iterator[Sample]:
        """Yield the samples; note and check them on the way."""
        for chunk in batched(self._stream, TOGETHER):
            self.ids += [sample.id for sample in chunk]
            self.system_of += [sys.intern(sample.system) for sample in chunk]
            references = JoinedTexts.of(reference_texts(chunk))
            self.fingerprint.add(chunk)
            self.prints.add(chunk, references)
            self._finder.add(chunk)
            self._layout.add(chunk)
            self._checks.add(chunk, references)
            yield from chunk

    def _join(
        self, metric: Metric, known: Iterator[tuple[Metric, Array, Reasons]], filtered: Reasons
    ) -> tuple[Metric, Array, Reasons]:
        """Return a metric fitted to the scores of its parts, its rows, and why samples are unscored."""
        places = {key: i for i, key in enumerate(zip(self.ids, self.system_of, strict=True))}
        metric = change_scored(metric, lambda _: with_rows(*next(known), places))
        if isinstance(metric, FittedMetric):
            metric = metric.fit(self._to_fit)
        samples = self.samples or []
        return metric, *compute_rows(metric, samples, [filtered.get(i, "") for i in range(len(samples))])

    def _sort(self) -> None:
        order = sorted(range(len(self.ids)), key=lambda i: (self.ids[i], self.system_of[i]))
        self.ids = [self.ids[i] for i in order]
        self.system_of = [self.system_of[i] for i in order]
        for first, second in pairwise(zip(self.ids, self.system_of, strict=True)):
            if first == second:
                raise InputError(
                    f"duplicate sample {format_key(first)}", hint="give every sample of a system its own id"
                )
        self.rows = [rows[order] for rows in self.rows]
        self.prints = self.prints.select(order)
        if self.samples is not None:
            self.samples = [self.samples[i] for i in order]

    def systems(self) -> list[str]:
        """Return the names of systems; samples without one are a separate group if others have one."""
        systems = set(self.system_of)
        if "" not in systems:
            return sorted(systems)
        if NO_SYSTEM in systems:
            raise InputError(
                f"a system is called {NO_SYSTEM!r}, but other samples have no system", hint="rename the system"
            )
        if systems == {""}:
            return []
        return [*sorted(systems - {""}), NO_SYSTEM]

    def result(self, i: int, system: str, n_bootstrap: int, seed: int) -> Result:
        """Return the result of metric `i` for a system, or for all samples if `system` is empty."""
        metric, mask = self.metrics[i], self._mask(system)
        rows, places = self.rows[i][mask], np.flatnonzero(mask)
        ids, systems = list(compress(self.ids, mask)), list(compress(self.system_of, mask))
        scored = ~np.isnan(rows).any(axis=1)
        samples: list[Sample] = []
        if self.samples is not None:
            samples = [self.samples[j] for j in places[scored]]
        values = np.full(len(ids), np.nan)
        values[scored] = metric.value(rows[scored])
        keys = list(zip(ids, systems, strict=True))
        # a sample without a dialogue is a group of its own
        dialogues = [self.dialogues.get(keys[j]) or j for j in np.flatnonzero(scored).tolist()]
        value, ci = _bootstrap(metric, rows[scored], samples, dialogues, n_bootstrap, seed)
        notes, prints = self.notes[i], self.prints
        if system:
            notes = tuple(note for note in notes if not set(systems).isdisjoint(dict(note.by_system)))
            prints = prints.select(places)
        else:
            notes = (*notes, *_remarks(metric, rows[scored]))
        return Result(
            metric=title(metric),
            value=value,
            ci=ci,
            n=int(scored.sum()),
            unscored=len(ids) - int(scored.sum()),
            signature=self._signature(metric, n_bootstrap, seed),
            by_sample=BySample(ids, systems, values),
            reasons={key: self.reasons[i][key] for key in keys if key in self.reasons[i]},
            dialogues=self.dialogues,
            prints=prints,
            details=metric.details(rows[scored].sum(axis=0)) if scored.any() else {},
            notes=notes,
        )

    def _mask(self, system: str) -> NDArray[np.bool_]:
        if not system:
            return np.ones(len(self.ids), dtype=bool)
        if system == NO_SYSTEM and NO_SYSTEM not in self.system_of:
            system = ""
        return np.array([name == system for name in self.system_of], dtype=bool)

    def _signature(self, metric: Metric, n_bootstrap: int, seed: int) -> Signature:
        facts: dict[str, object] = {"references": self.fingerprint.references(), "samples": self.fingerprint}
        facts["unicode"] = "" if self.fingerprint.is_ascii else FORM
        if isinstance(metric, FittedMetric):
            facts["fitted"] = metric.fitted()
        if n_bootstrap:
            facts |= {"resamples": n_bootstrap, "seed": seed}
            if self.dialogues:
                facts["dialogues"] = len(set(self.dialogues.values()))
        return signature(metric, **facts)


def _warn_of_failures(metric: Metric, reasons: Mapping[Key, str], n: int) -> None:
    """Warn of samples that are unscored because the metric failed on them; the command line then exits with 1."""
    failures = [(key, why) for key, reason in reasons.items() if (why := metric.failure(reason))]
    if failures:
        key, why = failures[0]
        failed = f"{name_of(metric)} failed on {len(failures):,} of {count(n, 'sample')}"
        warnings.warn(f"{failed}, first on {format_key(key)}: {why}", RejectedWarning, stacklevel=5)


def _remarks(metric: Metric, rows: Array) -> tuple[Note, ...]:
    """Return a note on how far to trust the scores, if the metric has one."""
    remark = metric.remark(rows.sum(axis=0)) if len(rows) else ""
    if not remark:
        return ()
    name = title(metric)
    return (Note("judge", f"{name}: {remark}", len(rows), len(rows), metric=name),)


def _bootstrap(
    metric: Metric, rows: Array, samples: Sequence[Sample], dialogues: Sequence[str | int], n_bootstrap: int, seed: int
) -> tuple[float, tuple[float, float] | None]:
    """Return the value of the whole set and its interval from resamples of dialogues.

    Without scored samples, they are NaN and None. Replies in a single dialogue have no interval either.
    """
    if not len(rows):
        return float("nan"), None
    if isinstance(metric, SetMetric):
        # A resample that repeats samples has fewer distinct n-grams than a new set would. So halves of the set are
        # drawn without replacement (the delete-half jackknife): they vary around their mean as whole sets do.
        n, once = len(samples), np.ones((1, len(samples)), dtype=np.int64)
        values = metric.value_of_set(samples, chain([once], half_counts(n, n_bootstrap, seed)))
        return float(values[0]), half_interval(values, n) if n_bootstrap else None
    value = float(metric.value(rows.sum(axis=0)))
    number = {name: i for i, name in enumerate(dict.fromkeys(dialogues))}
    if not n_bootstrap or len(number) < min(2, len(rows)):
        return value, None
    sums = np.zeros((len(number), rows.shape[1]))
    np.add.at(sums, [number[name] for name in dialogues], rows)
    resampled = [metric.value(counts @ sums) for counts in bootstrap_counts(len(sums), n_bootstrap, seed)]
    return value, percentile_interval(np.concatenate(resampled))
