# SPDX-License-Identifier: Apache-2.0
"""The rows of a shard of samples: what takes the time of scoring, in one process or many (see `interloq.shards`)."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import orjson
from numpy.typing import NDArray

from interloq.errors import InputError
from interloq.metrics.function import pack_metric, unpack_metric
from interloq.metrics.metric import Array, Metric
from interloq.records import Sample, format_key
from interloq.registry import name_of
from interloq.score.row_cache import identify_rows, load_rows, shard_key, store_rows
from interloq.score.stages import extend_samples, rate_samples, with_rated
from interloq.shards.task import Compute
from interloq.signature import fingerprint, runs_network, signature

Reasons = dict[int, str]  # place of a sample → why it is unscored


class ScoreFilter(Protocol):
    """Why samples are left unscored, also in another process."""

    def __call__(self, samples: Sequence[Sample]) -> Sequence[str]:
        """Return a reason per sample; "" for those that may be scored."""

    def identify(self) -> str:
        """Return what the reasons depend on besides the samples."""


@dataclass(frozen=True, slots=True)
class ShardScores:
    """Rows of each metric, and reasons of each metric and of the filter."""

    rows: list[Array]
    reasons: list[Reasons]
    filtered: Reasons = field(default_factory=dict)


@dataclass(frozen=True)
class ScoreTask:
    """Metrics, fitted if they have constants; those that are parts of another metric are not filtered."""

    metrics: tuple[Metric, ...]
    is_part: tuple[bool, ...]
    filter: ScoreFilter | None = None
    signature: str = ""

    @property
    def uses_gpu(self) -> bool:
        """Whether a GPU would help."""
        return any(map(runs_network, self.metrics))

    def identify(self) -> str:
        identity = identify_metrics(self.metrics)
        return f"{identity}, {self.filter.identify()}" if self.filter else identity

    def open(self) -> Compute:
        identities = list(map(identify_rows, self.metrics))
        return lambda samples: self._compute(samples, identities)

    def _compute(self, samples: Sequence[Sample], identities: Sequence[str]) -> bytes:
        filtered = list(self.filter(samples)) if self.filter else [""] * len(samples)
        none = [""] * len(samples)
        staged = with_rated(self.metrics, rate_samples(extend_samples(self.metrics, samples)))
        rows, reasons = [], []
        for metric, is_part, identity in zip(staged, self.is_part, identities, strict=True):
            metric_rows, metric_reasons = _find_rows(metric, samples, none if is_part else filtered, identity)
            rows.append(metric_rows)
            reasons.append(metric_reasons)
        return write_scored(ShardScores(rows, reasons, {i: why for i, why in enumerate(filtered) if why}))

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "metrics": tuple(map(pack_metric, self.metrics))}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self.__dict__["metrics"] = tuple(map(unpack_metric, self.metrics))


def identify_metrics(metrics: Sequence[Metric]) -> str:
    """Identify metrics with their models and versions."""
    signatures = [signature(metric) for metric in metrics]
    return f"{','.join(map(name_of, metrics))} ({fingerprint(*map(str, signatures))})"


def _find_rows(
    metric: Metric, samples: Sequence[Sample], filtered: Sequence[str], identity: str
) -> tuple[Array, Reasons]:
    """Do what `compute_rows` does, with the cache of rows. Failures are not stored, so that they are tried again."""
    key = shard_key(identity, samples, filtered)
    if stored := load_rows(key):
        scored = read_scored(stored, 0)
        return scored.rows[0], scored.reasons[0]
    rows, reasons = compute_rows(metric, samples, filtered)
    if key and not any(map(metric.failure, reasons.values())):
        store_rows(key, write_scored(ShardScores([rows], [reasons])))
    return rows, reasons


def compute_rows(metric: Metric, samples: Sequence[Sample], filtered: Sequence[str]) -> tuple[Array, Reasons]:
    """Return one row per sample, NaN for unscored ones, and why these are unscored."""
    reasons: Reasons = {}
    scorable = []
    for i, sample in enumerate(samples):
        if why := metric.unscorable(sample) or filtered[i]:
            reasons[i] = why
        else:
            scorable.append(i)
    scored_samples = [samples[i] for i in scorable]
    stats = metric.stats(scored_samples)
    failed = np.asarray(np.isnan(stats).any(axis=1))
    if failed.any():
        for i, why in enumerate(metric.failures(scored_samples)):
            if why:
                reasons[scorable[i]] = why
                failed[i] = False
    if failed.any():
        first = scored_samples[int(failed.argmax())]
        raise InputError(f"{name_of(metric)} left {format_key(first.key)} unscored without a reason")
    rows = np.full((len(samples), stats.shape[1]), np.nan)
    rows[scorable] = stats
    return rows, reasons


def write_scored(scored: ShardScores) -> bytes:
    """Return the result of a shard as the bytes of an .npz file."""
    reasons = [list(each.items()) for each in (*scored.reasons, scored.filtered)]
    arrays: dict[str, NDArray[np.generic]] = {f"rows{i}": rows for i, rows in enumerate(scored.rows)}
    file = io.BytesIO()
    np.savez(file, **arrays, reasons=np.frombuffer(orjson.dumps(reasons), dtype=np.uint8))  # type: ignore[arg-type]
    return file.getvalue()


def read_scored(result: bytes, start: int) -> ShardScores:
    """Read the result of a shard whose first sample is at `start`."""
    with np.load(io.BytesIO(result), allow_pickle=False) as arrays:
        rows = [arrays[f"rows{i}"] for i in range(len(arrays) - 1)]
        stored = orjson.loads(arrays["reasons"].tobytes())
    *reasons, filtered = [{start + i: why for i, why in each} for each in stored]
    return ShardScores(rows, reasons, filtered)


def join_scored(results: Iterator[bytes], n: int) -> ShardScores:
    """Join the results of all shards, in order, for n metrics."""
    rows: list[list[Array]] = [[] for _ in range(n)]
    joined = ShardScores([], [{} for _ in range(n)])
    start = 0
    for result in results:
        scored = read_scored(result, start)
        for i in range(n):
            rows[i].append(scored.rows[i])
            joined.reasons[i].update(scored.reasons[i])
        joined.filtered.update(scored.filtered)
        start += len(scored.rows[0])
    joined.rows.extend(np.concatenate(each) for each in rows if each)
    return joined
