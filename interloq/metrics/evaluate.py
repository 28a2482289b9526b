# SPDX-License-Identifier: Apache-2.0
"""Score samples with metrics: values, bootstrap intervals, and unscored samples with reasons."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from interloq.data.batched import batched
from interloq.data.columns import Rows, as_samples
from interloq.data.dialogue_names import DialogueFinder
from interloq.errors import InputError, RejectedWarning, count
from interloq.metrics.checks import Checks
from interloq.metrics.function import remember
from interloq.metrics.metric import Array, FittedMetric, Metric, SetMetric, details, judges_dialogues
from interloq.metrics.sample_fingerprint import SampleFingerprint, SamplePrints
from interloq.metrics.transposed import LayoutCheck
from interloq.records import NO_SYSTEM, BySample, Key, Note, Result, Sample, format_key
from interloq.registry import create, name_of, title
from interloq.signature import Signature, runs_network, signature
from interloq.unicode_form import FORM

CHUNK = 4096  # samples scored at a time: bounds memory, never changes a result
NETWORK_CHUNK = 256  # samples that a network scores between two reports of progress
T = TypeVar("T")
TAIL = 2.5  # percent outside the 95 % interval on either side


def evaluate(metric: Metric | str, samples: Rows, *, n_bootstrap: int = 1000, seed: int = 0) -> Result:
    """Score samples, dicts or a data frame with one metric; `n_bootstrap` resamples give the 95 % interval."""
    return evaluate_all([metric], samples, n_bootstrap=n_bootstrap, seed=seed)[0][""]


def evaluate_all(
    metrics: Sequence[Metric | str],
    samples: Rows,
    *,
    n_bootstrap: int = 1000,
    seed: int = 0,
    by_system: bool = False,
    progress: Callable[[int], None] | None = None,
    unscorable: Callable[[Sequence[Sample]], Sequence[str]] | None = None,
) -> list[dict[str, Result]]:
    """Several metrics in one pass: for each, results by system name, `""` being all samples together.

    Samples without a system are `(none)` if others have one. `unscorable` gives further reasons to leave samples
    unscored, "" for the others.
    """
    if n_bootstrap < 0:
        raise InputError(f"n_bootstrap must not be negative, got {n_bootstrap}")
    built: list[Any] = [create(m, kind="metric") if isinstance(m, str) else m for m in metrics]
    samples = as_samples(samples)
    if any(isinstance(m, FittedMetric | SetMetric) for m in built):
        samples = list(samples)
        built = [m.fit(samples) if isinstance(m, FittedMetric) else m for m in built]
    scoring = _Scoring(built, samples, progress, unscorable, by_system=by_system)
    systems = scoring.systems() if by_system else []
    return [{name: scoring.result(i, name, n_bootstrap, seed) for name in ["", *systems]} for i in range(len(built))]


def evaluate_by_unit(metrics: Sequence[Metric], evaluate: Callable[[Sequence[Metric], bool], Sequence[T]]) -> list[T]:
    """Results of `evaluate(some metrics, whole)` in the order of the metrics; `whole`: they score whole dialogues."""
    whole = [judges_dialogues(metric) for metric in metrics]
    found = {
        unit: iter(evaluate([m for m, own in zip(metrics, whole, strict=True) if own == unit], unit))
        for unit in dict.fromkeys(whole)
    }
    return [next(found[unit]) for unit in whole]


def bootstrap_counts(n: int, n_bootstrap: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """How often each of n items is in each resample, as blocks of rows of bounded size."""
    rng = np.random.default_rng(seed)
    step = max(1, 2**21 // max(n, 1))
    for start in range(0, n_bootstrap, step):
        rows = min(step, n_bootstrap - start)
        drawn = rng.integers(n, size=(rows, n)) + np.arange(rows)[:, None] * n
        yield np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n)


def cluster_counts(cluster: NDArray[np.int64], n_bootstrap: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """How often each item is in each resample if whole clusters are drawn; `cluster` numbers each item's from 0."""
    step = max(1, 2**21 // max(len(cluster), 1))
    for drawn in bootstrap_counts(int(cluster.max(initial=-1)) + 1, n_bootstrap, seed):
        for start in range(0, len(drawn), step):
            yield drawn[start : start + step, cluster]


def half_counts(n: int, n_draws: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Halves of n items drawn without replacement: rows of 0 and 1, as blocks of bounded size."""
    rng = np.random.default_rng(seed)
    step = max(1, 2**21 // max(n, 1))
    for start in range(0, n_draws, step):
        order = rng.random((min(step, n_draws - start), n)).argpartition(_half(n) - 1, axis=1)
        counts = np.zeros(order.shape, dtype=np.int64)
        np.put_along_axis(counts, order[:, : _half(n)], 1, axis=1)
        yield counts


def _half(n: int) -> int:
    return max(1, n // 2)


def percentile_interval(values: Array) -> tuple[float, float]:
    """Middle 95 % of resampled values, ignoring NaN."""
    values = values[~np.isnan(values)]
    if not len(values):
        return (float("nan"), float("nan"))
    low, high = np.percentile(values, [TAIL, 100 - TAIL])
    return (float(low), float(high))


class _Scoring:
    """Rows of all metrics, sorted by id and system, so that no result depends on the order of the input."""

    def __init__(
        self,
        metrics: Sequence[Any],
        samples: Iterable[Sample],
        progress: Callable[[int], None] | None,
        unscorable: Callable[[Sequence[Sample]], Sequence[str]] | None,
        *,
        by_system: bool,
    ) -> None:
        self.metrics, self.kept = metrics, samples if isinstance(samples, list) else None
        for metric in metrics:
            remember(metric)
        self.ids: list[str] = []
        self.system_of: list[str] = []
        self.fingerprint, self.prints = SampleFingerprint(), SamplePrints()
        layout, checks = LayoutCheck(), Checks(metrics)
        self.reasons: list[dict[Key, str]] = [{} for _ in metrics]
        rows: list[list[Array]] = [[] for _ in metrics]
        finder = DialogueFinder()
        for chunk in batched(samples, CHUNK):
            self.ids += [sample.id for sample in chunk]
            self.system_of += [sys.intern(sample.system) for sample in chunk]
            self.fingerprint.add(chunk)
            self.prints.add(chunk)
            finder.add(chunk)
            layout.add(chunk)
            checks.add(chunk)
            given = unscorable(chunk) if unscorable else [""] * len(chunk)
            self._score(chunk, given, rows, progress or (lambda _: None))
        layout.finish()
        for metric, reasons in zip(metrics, self.reasons, strict=True):
            _warn_of_failures(metric, reasons, len(self.ids))
        keys = zip(self.ids, self.system_of, strict=True)
        self.dialogues = {key: name for key, name in zip(keys, finder.names(), strict=True) if name}
        self.notes = [(*checks.of_data(), *checks.of_metric(i)) for i in range(len(metrics))]
        if by_system:
            self.notes = [(*checks.of_systems(i), *notes) for i, notes in enumerate(self.notes)]
        self._sort([np.concatenate(parts or [m.stats([])]) for m, parts in zip(metrics, rows, strict=True)])

    def _score(
        self, chunk: list[Sample], given: Sequence[str], rows: list[list[Array]], progress: Callable[[int], None]
    ) -> None:
        """Add the rows of a chunk. Networks score parts of it, so that progress shows within minutes, not hours."""
        networks = [i for i, metric in enumerate(self.metrics) if runs_network(metric)]
        for i, metric in enumerate(self.metrics):
            if i not in networks:
                rows[i].append(_scored(metric, chunk, given, self.reasons[i]))
        if not networks:
            progress(len(chunk))
            return
        # samples with the same context, and usually the same references, stay together: networks read each text once
        order = sorted(range(len(chunk)), key=lambda place: [turn.text for turn in chunk[place].context])
        found: dict[int, list[Array]] = {i: [] for i in networks}
        for places in batched(order, NETWORK_CHUNK):
            for i in networks:
                part, reasons = [chunk[place] for place in places], [given[place] for place in places]
                found[i].append(_scored(self.metrics[i], part, reasons, self.reasons[i]))
            progress(len(places))
        for i, parts in found.items():
            rows[i].append(np.concatenate(parts)[np.argsort(order)])

    def _sort(self, rows: list[Array]) -> None:
        order = sorted(range(len(self.ids)), key=lambda i: (self.ids[i], self.system_of[i]))
        self.ids = [self.ids[i] for i in order]
        self.system_of = [self.system_of[i] for i in order]
        for first, second in pairwise(zip(self.ids, self.system_of, strict=True)):
            if first == second:
                raise InputError(
                    f"duplicate sample {format_key(first)}", hint="give every sample of a system its own id"
                )
        self.rows = [part[order] for part in rows]
        self.prints = self.prints.select(order)
        self.kept = [self.kept[i] for i in order] if self.kept is not None else None

    def systems(self) -> list[str]:
        """Names of systems; samples without one are a separate group if others have one."""
        found = set(self.system_of)
        if "" in found and NO_SYSTEM in found:
            raise InputError(
                f"a system is called {NO_SYSTEM!r}, but other samples have no system", hint="rename the system"
            )
        return sorted(found - {""}) + ([NO_SYSTEM] if "" in found and len(found) > 1 else [])

    def result(self, i: int, system: str, n_bootstrap: int, seed: int) -> Result:
        metric, mask = self.metrics[i], self._mask(system)
        rows = self.rows[i][mask]
        ids, systems = ([names[j] for j in np.flatnonzero(mask)] for names in (self.ids, self.system_of))
        scored = ~np.isnan(rows).any(axis=1)
        kept = [self.kept[j] for j in np.flatnonzero(mask)[scored]] if self.kept is not None else []
        values = np.full(len(ids), np.nan)
        values[scored] = metric.value(rows[scored])
        keys = list(zip(ids, systems, strict=True))
        dialogues = [self.dialogues.get(keys[j]) or j for j in np.flatnonzero(scored).tolist()]
        value, ci = _bootstrapped(metric, rows[scored], kept, dialogues, n_bootstrap, seed)
        reasons = {key: self.reasons[i][key] for key in keys if key in self.reasons[i]}
        own_notes = tuple(n for n in self.notes[i] if not system or dict(n.by_system).keys() & set(systems))
        return Result(
            metric=title(metric),
            value=value,
            ci=ci,
            n=int(scored.sum()),
            unscored=len(ids) - int(scored.sum()),
            signature=self._signature(metric, n_bootstrap, seed),
            by_sample=BySample(ids, systems, values),
            reasons=reasons,
            dialogues=self.dialogues,
            prints=self.prints.select(np.flatnonzero(mask)) if system else self.prints,
            details=details(metric, rows[scored].sum(axis=0)) if scored.any() else {},
            notes=(*own_notes, *_remarks(metric, rows[scored])) if not system else own_notes,
        )

    def _mask(self, system: str) -> NDArray[np.bool_]:
        if not system:
            return np.ones(len(self.ids), dtype=bool)
        own = "" if system == NO_SYSTEM and NO_SYSTEM not in self.system_of else system
        return np.array([name == own for name in self.system_of], dtype=bool)

    def _signature(self, metric: Any, n_bootstrap: int, seed: int) -> Signature:
        facts: dict[str, object] = {"references": self.fingerprint.references(), "samples": self.fingerprint}
        facts["unicode"] = "" if self.fingerprint.is_ascii else FORM
        if isinstance(metric, FittedMetric):
            facts["fitted"] = metric.fitted()
        if n_bootstrap:
            facts |= {"resamples": n_bootstrap, "seed": seed}
            facts |= {"dialogues": len(set(self.dialogues.values()))} if self.dialogues else {}
        return signature(metric, **facts)


def _scored(metric: Any, chunk: Sequence[Sample], given: Sequence[str], reasons: dict[Key, str]) -> Array:
    found = {i: why for i, sample in enumerate(chunk) if (why := metric.unscorable(sample) or given[i])}
    reasons.update({chunk[i].key: why for i, why in found.items()})
    good = [sample for i, sample in enumerate(chunk) if i not in found]
    stats = metric.stats(good)
    bad = np.isnan(stats).any(axis=1)
    if bad.any():
        why = metric.failures(good) if hasattr(metric, "failures") else [""] * len(good)
        reasons.update({sample.key: text for sample, text in zip(good, why, strict=True) if text})
        bad &= np.array([not text for text in why])
    if bad.any():
        raise InputError(f"{name_of(metric)} left {format_key(good[int(bad.argmax())].key)} unscored without a reason")
    rows = np.full((len(chunk), stats.shape[1]), np.nan)
    rows[[i for i in range(len(chunk)) if i not in found]] = stats
    return rows


def _warn_of_failures(metric: Any, reasons: Mapping[Key, str], n: int) -> None:
    """Warn of samples that are unscored because the metric failed on them; the command line then exits with 1."""
    if not hasattr(metric, "failure"):
        return
    failed = {key: why for key, reason in reasons.items() if (why := metric.failure(reason))}
    for key, why in islice(failed.items(), 1):
        what = f"{name_of(metric)} failed on {len(failed):,} of {count(n, 'sample')}, first on {format_key(key)}: {why}"
        warnings.warn(what, RejectedWarning, stacklevel=5)


def _remarks(metric: Any, rows: Array) -> tuple[Note, ...]:
    """A note on how far to trust the scores, if the metric has one."""
    if not len(rows) or not hasattr(metric, "remark"):
        return ()
    name = title(metric)
    return (Note("judge", f"{name}: {metric.remark(rows.sum(axis=0))}", len(rows), len(rows), metric=name),)


def _bootstrapped(
    metric: Any, rows: Array, kept: Sequence[Sample], dialogues: Sequence[str | int], n_bootstrap: int, seed: int
) -> tuple[float, tuple[float, float] | None]:
    """Value of the whole set and its interval from resamples of dialogues; NaN and None without scored samples.

    The interval of replies in a single dialogue is unknown too.
    """
    if not len(rows):
        return float("nan"), None
    if isinstance(metric, SetMetric):
        return _jackknifed(metric, kept, n_bootstrap, seed)
    value = float(metric.value(rows.sum(axis=0)))
    number = {name: i for i, name in enumerate(dict.fromkeys(dialogues))}
    if not n_bootstrap or len(number) < min(2, len(rows)):
        return value, None
    sums = np.zeros((len(number), rows.shape[1]))
    np.add.at(sums, [number[name] for name in dialogues], rows)
    resampled = [metric.value(counts @ sums) for counts in bootstrap_counts(len(sums), n_bootstrap, seed)]
    return value, percentile_interval(np.concatenate(resampled))


def _jackknifed(
    metric: SetMetric, kept: Sequence[Sample], n_bootstrap: int, seed: int
) -> tuple[float, tuple[float, float] | None]:
    """Value and interval of a metric whose rows cannot be summed.

    A resample that repeats samples has fewer distinct n-grams than a new set would. So halves of the set are drawn
    without replacement (the delete-half jackknife): they vary around their mean as whole sets do around theirs.
    """
    n, once = len(kept), np.ones((1, len(kept)), dtype=np.int64)
    values = metric.value_of_set(kept, chain([once], half_counts(n, n_bootstrap, seed)))
    return float(values[0]), half_interval(values, n) if n_bootstrap else None


def half_interval(values: Array, n: int) -> tuple[float, float]:
    """Interval of the first value, that of n items, from the others, those of halves of them."""
    value, halves, size = values[0], values[1:], _half(n)
    return percentile_interval(value + (halves - np.nanmean(halves)) * np.sqrt(size / max(n - size, 1)))
