# SPDX-License-Identifier: Apache-2.0
"""Probe a metric: change good replies in known ways, and test whether their scores change as they should.

The replies and all their changed versions are scored together. A metric with constants from the whole set is fitted
once, to all but those that try to fool a judge. The change is the mean difference of a reply's two scores; its 95 %
interval resamples contexts, because replies to one context are not independent. Metrics of sets (distinct-n) are
compared by the values of the two sets, with an interval from halves of them.

A metric may lose points with any change of wording. So damage counts as noticed only if it costs more, on average, than
the harmless change that costs most. What is added to fool a judge must not earn points; it need not cost any.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interloq.data.embedded import embedded_path
from interloq.data.progress import Progress, Step, silent
from interloq.data.records.columns import Rows, as_samples
from interloq.data.records.jsonl import load
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.errors import InputError
from interloq.metrics.metric import Array, Direction, Metric, MetricLike, SetMetric, as_metric
from interloq.records import NO_SYSTEM, Note, Result, Sample
from interloq.registry import title
from interloq.score.checks import Checks
from interloq.score.evaluate import evaluate_all
from interloq.score.parse_metrics import choose
from interloq.score.perturb import PERTURBATIONS, Expected, Perturbation, perturb_replies
from interloq.score.score_options import PROBE_DEFAULTS, Language, ProbeOptions
from interloq.signature import Signature
from interloq.statistics.resampling import cluster_counts, half_counts, half_interval, percentile_interval
from interloq.tabular import Row, Tabular, bounds

ORIGINAL = "original"
GOOD_SYSTEM = "attentive"  # the embedded system whose replies all fit
FEWEST = 5  # changed replies for a verdict
NOISE = 1e-6  # relative differences up to this are rounding errors of networks
VERDICTS: dict[tuple[Expected, int], str] = {  # by what should happen, and whether scores got worse (-1) or better (1)
    ("worse", -1): "notices",
    ("worse", 0): "does not notice",
    ("worse", 1): "rewards it",
    ("not better", -1): "is not fooled",
    ("not better", 0): "is not fooled",
    ("not better", 1): "is fooled",
    ("same", -1): "should not react",
    ("same", 0): "does not react",
    ("same", 1): "should not react",
    ("better", -1): "penalises it",
    ("better", 0): "does not notice",
    ("better", 1): "notices",
}
LIKE_HARMLESS = "like a harmless change"
AS_EXPECTED = ("notices", "does not react", "is not fooled")
MOVES = {-1: "falls", 0: "no change", 1: "rises"}  # of a metric without a better side


@dataclass(frozen=True, slots=True)
class Probed:
    """Effect of one perturbation on the scores."""

    perturbation: str
    expected: Expected
    change: float  # changed replies minus originals
    ci: tuple[float, float] | None
    worse: float  # share of replies whose score got worse; lower, if the metric has no better side
    n: int  # replies with both scores
    unchanged: int  # replies that the perturbation does not apply to
    unscored: int
    verdict: str

    @property
    def is_expected(self) -> bool:
        """Whether the metric does what it should."""
        return self.verdict in AS_EXPECTED


@dataclass(frozen=True, slots=True, repr=False)
class Probe(Tabular):
    """Which changes of replies a metric notices."""

    metric: str
    direction: Direction
    n: int
    rows: tuple[Probed, ...]
    signature: Signature
    notes: tuple[Note, ...] = ()

    def facts(self) -> dict[str, Any]:
        """Return everything as plain values."""
        rows = [{**asdict(row), "is_expected": row.is_expected} for row in self.rows]
        return {
            "metric": self.metric,
            "direction": self.direction,
            "n": self.n,
            "perturbations": rows,
            "notes": [asdict(note) for note in self.notes],
            "signature": self.signature,
        }

    def _title(self) -> str:
        return self.metric

    def _table_rows(self) -> list[Row]:
        rows: list[Row] = []
        for row in self.rows:
            cells: dict[str, object] = {"perturbation": row.perturbation, "change": row.change, **bounds(row.ci)}
            cells |= {"worse": row.worse, "n": row.n, "verdict": row.verdict}
            rows.append(cells)
        return rows

    def _remarks(self) -> list[str]:
        return [note.text for note in self.notes]


def probe(
    metric: MetricLike | str,
    samples: Rows | None = None,
    *,
    language: Language = "en",
    n_bootstrap: int = 1000,
    seed: int = 0,
    step: Step = lambda _: None,
) -> Probe:
    """Probe a metric on good replies: samples, or the embedded replies in this language.

    `step` is called with the number of replies just scored.
    """
    made = as_metric(metric)
    base = load_embedded_replies(language) if samples is None else list(as_samples(samples))
    if not base:
        raise InputError("there are no replies to change", hint="give samples with good replies")
    base.sort(key=lambda sample: sample.key)  # the order of the samples must not change the intervals
    pool = [_rename(ORIGINAL, sample) for sample in base]
    fit_to = list(pool)
    changed = {}
    for perturbation in PERTURBATIONS:
        changed[perturbation] = _change_replies(base, perturbation, seed)
        renamed = [_rename(perturbation.name, sample) for sample in changed[perturbation] if sample]
        pool += renamed
        if perturbation.expected != "not better":  # replies of 500 words would change the scale of a metric
            fit_to += renamed
    result = evaluate_all([made], pool, n_bootstrap=0, progress=step, fit_to=fit_to)[0][""]
    probing = _Probing(made, base, result, n_bootstrap, seed)
    rows = [probing.row(perturbation, samples) for perturbation, samples in changed.items()]
    checks = Checks([made])
    checks.add(base)
    return Probe(
        metric=title(made),
        direction=probing.direction,
        n=len(base),
        rows=_compare_with_harmless(rows, probing.sign),
        signature=result.signature.with_parts({"resamples": n_bootstrap, "seed": seed}),
        notes=checks.notes(),
    )


def probe_file(
    metric: str,
    samples: str | Path | None = None,
    options: ProbeOptions = PROBE_DEFAULTS,
    *,
    reading: ReadOptions = READ_DEFAULTS,
    progress: Progress = silent,
) -> Probe:
    """Probe a metric on the replies of a file; without a file, on embedded English replies. `-` is standard input."""
    chosen, _ = choose([metric], trust=options.trust)
    if len(chosen) != 1:
        raise InputError(f"{len(chosen)} metrics are given", hint="probe one at a time")
    if samples is None and options.system is not None:
        raise InputError("a system is given, but no file of samples", hint="give the file, or omit the system")
    if samples is not None and options.language is not None:
        raise InputError("a language chooses embedded replies, but a file is given", hint="omit one of them")
    replies = None
    if samples is not None:
        replies = _select_system(reading.read(samples), options.system, str(samples))
    with progress("scoring changed replies", None) as step:
        probed = probe(
            chosen[0].metric,
            replies,
            language=options.language or "en",
            n_bootstrap=options.n_bootstrap,
            seed=options.seed,
            step=step,
        )
    return replace(probed, metric=chosen[0].name)


def _select_system(samples: Iterable[Sample], system: str | None, where: str) -> list[Sample]:
    """Return the samples of a system, or all of them."""
    every = list(samples)
    selected = [sample for sample in every if system is None or sample.system == system]
    if not selected:
        systems = ", ".join(sorted({sample.system or NO_SYSTEM for sample in every}))
        raise InputError(f"no replies of {system!r}", hint=f"the systems are: {systems}", where=where)
    return selected


def load_embedded_replies(language: Language) -> list[Sample]:
    """Return the embedded replies that fit their contexts, with references of weight above 0."""
    replies = []
    for sample in load(embedded_path(language)):
        if sample.system == GOOD_SYSTEM:
            trusted = [reference for reference in sample.references if reference.weight > 0]
            replies.append(replace(sample, references=trusted))
    return replies


def _compare_with_harmless(rows: Sequence[Probed], sign: int) -> tuple[Probed, ...]:
    """Return the rows; damage that costs no more than a harmless change has its own verdict."""
    harmless_changes = [sign * row.change for row in rows if row.expected == "same" and row.n >= FEWEST]
    harmless = min(harmless_changes, default=0.0)
    compared = []
    for row in rows:
        if row.expected == "worse" and row.verdict == "notices" and sign * row.change >= harmless:
            row = replace(row, verdict=LIKE_HARMLESS)
        compared.append(row)
    return tuple(compared)


def _change_replies(base: Sequence[Sample], perturbation: Perturbation, seed: int) -> list[Sample | None]:
    changed: list[Sample | None] = []
    for sample, text in zip(base, perturb_replies(base, perturbation, seed=seed), strict=True):
        changed.append(replace(sample, response=text) if text is not None else None)
    return changed


def _rename(name: str, sample: Sample) -> Sample:
    return replace(sample, id=f"{name}/{sample.id}")


class _Probing:
    """Scores of the replies and of their changed versions, compared perturbation by perturbation."""

    def __init__(self, metric: Metric, base: Sequence[Sample], result: Result, n_bootstrap: int, seed: int) -> None:
        self.metric, self.base, self.scores = metric, base, result.by_sample
        self.n_bootstrap, self.seed = n_bootstrap, seed
        self.direction = metric.direction
        self.sign = -1 if self.direction == "lower" else 1  # times a change: above 0 if the score got better
        clusters = {sample.context: i for i, sample in enumerate(base)}
        self.cluster = np.array([clusters[sample.context] for sample in base])

    def row(self, perturbation: Perturbation, changed: Sequence[Sample | None]) -> Probed:
        before, after = self._scores(ORIGINAL, self.base), self._scores(perturbation.name, changed)
        scored = ~np.isnan(before) & ~np.isnan(after)
        differences = after[scored] - before[scored]
        differences[np.abs(differences) <= NOISE * np.maximum(1, np.abs(before[scored]))] = 0.0
        change, ci = self._change(differences, np.flatnonzero(scored), changed)
        applied = sum(sample is not None for sample in changed)
        return Probed(
            perturbation.name,
            perturbation.expected,
            change,
            ci,
            float((self.sign * differences < 0).mean()) if len(differences) else float("nan"),
            n=int(scored.sum()),
            unchanged=len(changed) - applied,
            unscored=applied - int(scored.sum()),
            verdict=self._verdict(perturbation.expected, ci or (change, change), int(scored.sum())),
        )

    def _scores(self, name: str, samples: Sequence[Sample | None]) -> Array:
        scores = np.full(len(samples), np.nan)
        for i, sample in enumerate(samples):
            if sample:
                scores[i] = self.scores[_rename(name, sample).key]
        return scores

    def _change(
        self, differences: Array, scored: NDArray[np.int_], changed: Sequence[Sample | None]
    ) -> tuple[float, tuple[float, float] | None]:
        if not len(differences):
            return float("nan"), None
        if isinstance(self.metric, SetMetric):
            before, after = [self.base[i] for i in scored], [s for i in scored if (s := changed[i])]
            return self._change_of_set(self.metric, before, after)
        if not self.n_bootstrap:
            return float(differences.mean()), None
        cluster = np.unique(self.cluster[scored], return_inverse=True)[1]
        blocks = cluster_counts(cluster, self.n_bootstrap, self.seed)
        means = [counts @ differences / counts.sum(axis=1) for counts in blocks]
        return float(differences.mean()), percentile_interval(np.concatenate(means))

    def _change_of_set(
        self, metric: SetMetric, before: Sequence[Sample], after: Sequence[Sample]
    ) -> tuple[float, tuple[float, float] | None]:
        n, once = len(before), np.ones((1, len(before)), dtype=np.int64)
        counts = list(chain([once], half_counts(n, self.n_bootstrap, self.seed)))
        values = metric.value_of_set(after, counts) - metric.value_of_set(before, counts)
        return float(values[0]), half_interval(values, n) if self.n_bootstrap else None

    def _verdict(self, expected: Expected, ci: tuple[float, float], n: int) -> str:
        if n < FEWEST:
            return "too few replies"
        moved = 0
        if ci[0] > 0:
            moved = 1
        elif ci[1] < 0:
            moved = -1
        if self.direction == "neither":
            return MOVES[moved]
        return VERDICTS[expected, self.sign * moved]
