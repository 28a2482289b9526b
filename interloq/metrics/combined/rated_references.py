# SPDX-License-Identifier: Apache-2.0
"""References from logs with a rater's weights: `interloq extend`, then `interloq rate`, in one call.

`extend` and `rate` are called by the stages of a run (score/stages.py). Their results are cached: if the same samples
pass the same stage again, the result is read from disk. Files are in the cache folder (see data/files/cache.py). A
file's name depends on the samples and the stage's signature. Files are written completely or not at all, and may be
deleted at any time.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from interloq.data.files.cache import cache_folder
from interloq.data.records.jsonl import header, read, write
from interloq.errors import InputError
from interloq.metrics.metric import Array, FittedMetric, Metric
from interloq.rate.rate_options import BATCH
from interloq.rate.rater import Rater, check_best, select
from interloq.rate.summary import summary
from interloq.records import Sample
from interloq.registry import component
from interloq.retrieve.extend import extend, extend_signature, identify_index
from interloq.retrieve.index import Index, open_index
from interloq.retrieve.store_address import key_variable, names_server
from interloq.signature import LIBRARIES, VERSION, Signature, fingerprint

Best = Annotated[int | None, "references to keep besides gold replies, those with the largest weights; `None`: all"]
Weigh = Annotated[bool, "whether weights count; if not, they only decide which references are kept"]


@dataclass(frozen=True)
class RatedReferences(Metric):
    """Base of metrics that score with references from an index, weighted by a rater."""

    places: ClassVar[tuple[str, ...]] = ("index",)
    index: Annotated[str, "index to search: a folder or a server's address (`interloq index build`)"]
    rater: Annotated[
        Rater, "who weighs the references: the packaged judge, or another rater such as `gru(model='rater')`"
    ] = component("rater", "by(judge(model='ready'))")
    k: Annotated[int, "replies to retrieve"] = 15
    parrot: Annotated[bool, "whether the utterance itself is also a reference"] = True
    turns: Annotated[int, "last turns of the context to search for; the raters `gru` and `bert` read the last one"] = 1
    best: Best = None
    weigh: Weigh = True
    _rated: StagedSamples | None = field(default=None, init=False, repr=False, compare=False)
    _fitted: Metric | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_best(self.best)
        self.metric()  # checks its own fields

    @property
    def side_effect(self) -> str:
        """Text that names the server it searches."""
        return names_server(self.index, "contexts")

    @property
    def key_variable(self) -> str:
        """The environment variable whose value it sends."""
        return key_variable(self.index)

    @property
    def needs_all(self) -> bool:
        """Whether no sample can be scored before all are rated: ratings of other references are refused."""
        return not self.rater.rates_all

    @property
    def is_staged(self) -> bool:
        """Whether it has rated samples."""
        return self._rated is not None

    def metric(self) -> Metric:
        """Return the metric that scores rated samples."""
        raise NotImplementedError

    def extend(self, samples: Sequence[Sample]) -> StagedSamples:
        """Return the samples with references from the index."""
        index = open_index(self.index)
        signature = self._sign_search(index)
        extended = run_cached(
            samples, lambda some: list(extend(some, index, **self._options())), signature=str(signature)
        )
        return StagedSamples(dict(zip(samples, extended, strict=True)), (signature,))

    def rate(self, extended: StagedSamples) -> StagedSamples:
        """Return extended samples with the rater's weights."""
        signature = self.rater.signature()
        rated = run_cached(list(extended.by_sample.values()), self._rate, signature=str(signature))
        return StagedSamples(dict(zip(extended.by_sample, rated, strict=True)), (*extended.signatures, signature))

    def with_rated(self, rated: StagedSamples) -> Self:
        """Return a copy that scores these samples by their rated references."""
        return self._copy(rated, None)

    def fit(self, samples: Sequence[Sample]) -> Self:
        """Return a copy fitted to these samples, which are extended and rated first unless a stage has done so."""
        rated = self._rated
        if rated is None or not rated.by_sample.keys() >= set(samples):
            rated = self.rate(self.extend(samples))
        rated_samples = [rated.by_sample[sample] for sample in samples]
        summary(rated_samples, self.rater)  # refuses ratings of other references
        metric: Any = self.metric()
        if isinstance(metric, FittedMetric):
            metric = metric.fit(self._select(rated_samples))
        return self._copy(rated, metric)

    def fitted(self) -> str:
        """Identify the samples that the metric was fitted to."""
        return str(self._fitted.fitted()) if isinstance(self._fitted, FittedMetric) else ""

    def built_with(self) -> str:
        """Identify the search and the rater."""
        if self._rated:
            search, rater = self._rated.signatures
        else:
            search, rater = self._sign_search(open_index(self.index)), self.rater.signature()
        metrics_own = (VERSION, *LIBRARIES)  # these are in the metric's own signature
        return f"index[{search.without(*metrics_own)}],rater[{rater.without(*metrics_own)}]"

    def rated(self, samples: Sequence[Sample]) -> list[Sample]:
        """Return the samples with the chosen references from the index and the rater's weights.

        Samples that no stage has seen are extended and rated here.
        """
        rated_by_sample: dict[Sample, Sample] = {}
        if self._rated:
            rated_by_sample |= self._rated.by_sample
        new = [sample for sample in dict.fromkeys(samples) if sample not in rated_by_sample]
        if new:
            rated_by_sample |= self.rate(self.extend(new)).by_sample
        return self._select([rated_by_sample[sample] for sample in samples])

    def _select(self, rated: Sequence[Sample]) -> list[Sample]:
        return [select(sample, best=self.best, weigh=self.weigh) for sample in rated]

    def unscorable(self, sample: Sample) -> str | None:
        return self._metric().unscorable(self.rated([sample])[0])

    def stats(self, samples: Sequence[Sample]) -> Array:
        return self._metric().stats(self.rated(samples))

    @property
    def is_mean(self) -> bool:
        """Whether the set's score is the mean of sample scores."""
        return self._metric().is_mean

    def value(self, total: Array) -> Array:
        return self._metric().value(total)

    def details(self, total: Array) -> dict[str, float]:
        """Return the details of the metric that scores rated samples."""
        return dict(self._metric().details(total))

    def _metric(self) -> Metric:
        return self._fitted or self.metric()

    def _copy(self, rated: StagedSamples, metric: Metric | None) -> Self:
        copy = dataclasses.replace(self)
        object.__setattr__(copy, "_rated", rated)
        object.__setattr__(copy, "_fitted", metric)
        return copy

    def _sign_search(self, index: Index) -> Signature:
        return extend_signature(index.retriever, identify_index(index), self._options())

    def _options(self) -> dict[str, Any]:
        return {"k": self.k, "parrot": self.parrot, "turns": self.turns}

    def _rate(self, samples: Sequence[Sample]) -> list[Sample]:
        rated: list[Sample] = []
        for start in range(0, len(samples), BATCH):
            rated += self.rater.rate(samples[start : start + BATCH])
        return rated


@dataclass(frozen=True, eq=False)
class StagedSamples:
    """Samples after a stage, by the sample that entered the run, with the signatures of the stages so far."""

    by_sample: dict[Sample, Sample]
    signatures: tuple[Signature, ...]


Stage = Callable[[Sequence[Sample]], list[Sample]]


def run_cached(samples: Sequence[Sample], stage: Stage, *, signature: str) -> list[Sample]:
    """Return the result of `stage` on the samples, which may only change their references."""
    folder = cache_folder()
    if folder is None:
        return stage(samples)
    name = fingerprint(signature, *map(_whole, samples))
    path = folder / f"{name}.jsonl.zst"
    result = _read(path, samples, signature)
    if result is None:
        result = stage(samples)
        # a full disk, or text that is not UTF-8, must not lose the result
        with contextlib.suppress(OSError, InputError, TypeError):
            write(path, result, kind="samples", signature=signature)
    return result


def _whole(sample: Sample) -> str:
    """Return everything that a stage may read; ratings are not part of it."""
    references = [f"{r.text}\1{r.weight!r}\1{r.source}" for r in sample.references]
    return "\0".join([*sample.key, *(turn.text for turn in sample.context), "\2", sample.response, "\2", *references])


def _read(path: Path, samples: Sequence[Sample], signature: str) -> list[Sample] | None:
    """Return the samples with cached references; None if there are no usable ones."""
    try:
        stored = list(read(path, strict=True)) if path.exists() else []
        fits = bool(stored) and header(path).get("signature") == signature
    except (InputError, OSError):
        return None
    if not fits or len(stored) != len(samples):
        return None
    result = []
    for sample, cached_sample in zip(samples, stored, strict=True):
        if sample.key != cached_sample.key:
            return None
        result.append(replace(sample, references=cached_sample.references))
    return result
