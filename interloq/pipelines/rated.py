"""Samples with references from logs and the weights of a rater: `interloq extend`, then `interloq rate`, in one call.

Extended and rated samples are kept (see stages.py), so another metric on them costs no second search.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Self

from interloq.metrics.metric import Array, FittedMetric, Metric, details, is_mean
from interloq.pipelines.stages import cached
from interloq.rate.rater import BATCH, Rater
from interloq.rate.summary import summary
from interloq.records import Sample
from interloq.registry import Component
from interloq.retrieve.extend import extend, extend_signature, searched_in
from interloq.retrieve.index import open_index


@dataclass(frozen=True)
class RatedReferences(Component):
    """Base of the metrics that score with references from an index, weighed by a rater."""

    index: Annotated[str, "where references are searched: a folder or a server's address (`interloq index build`)"]
    rater: Annotated[
        Rater, "who weighs the references, such as `gru(model='rater')` or `human(ratings='ratings.jsonl')`"
    ] = field(metadata={"kind": "rater"})
    k: Annotated[int, "replies to retrieve"] = 15
    parrot: Annotated[bool, "whether the utterance itself is a reference too"] = True
    turns: Annotated[int, "last turns of the context to search for; the rater reads the last one"] = 1
    _rated: Rated | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.metric()  # checks its own fields

    def metric(self) -> Metric:
        """The metric that scores rated samples."""
        raise NotImplementedError

    def fit(self, samples: Sequence[Sample]) -> Self:
        """A copy that knows the rated references of these samples."""
        fitted = dataclasses.replace(self)
        found = self._run(samples)
        metric = self.metric()
        rated = [found.by_sample[sample] for sample in samples]
        summary(rated, self.rater)  # refuses ratings of other references
        found = dataclasses.replace(found, metric=metric.fit(rated) if isinstance(metric, FittedMetric) else metric)
        object.__setattr__(fitted, "_rated", found)
        return fitted

    def fitted(self) -> str:
        """The index as it was searched, the rater, and what the metric was fitted on."""
        if self._rated is None:
            return ""
        metric = self._rated.metric
        source = metric.fitted() if isinstance(metric, FittedMetric) else ""
        return f"{self._rated.signature}|{source}" if source else self._rated.signature

    def rated(self, samples: Sequence[Sample]) -> list[Sample]:
        """The samples with references from the index and the rater's weights."""
        known = self._rated.by_sample if self._rated else {}
        new = [sample for sample in dict.fromkeys(samples) if sample not in known]
        found = {**known, **self._run(new).by_sample} if new else known
        return [found[sample] for sample in samples]

    def unscorable(self, sample: Sample) -> str | None:
        return self._metric().unscorable(self.rated([sample])[0])

    def stats(self, samples: Sequence[Sample]) -> Array:
        return self._metric().stats(self.rated(samples))

    @property
    def is_mean(self) -> bool:
        """Whether the set's score is the mean of sample scores."""
        return is_mean(self._metric())

    def value(self, total: Array) -> Array:
        return self._metric().value(total)

    def details(self, total: Array) -> dict[str, float]:
        """Those of the metric that scores rated samples."""
        return dict(details(self._metric(), total))

    def _metric(self) -> Metric:
        return self._rated.metric if self._rated and self._rated.metric else self.metric()

    def _run(self, samples: Sequence[Sample]) -> Rated:
        index = open_index(self.index)
        options: dict[str, Any] = {"k": self.k, "parrot": self.parrot, "turns": self.turns}
        searched = extend_signature(index.retriever, searched_in(index), options)
        extended = cached(samples, lambda some: list(extend(some, index, **options)), signature=searched)
        signature = self.rater.signature()
        rated = cached(extended, self._rate, signature=signature)
        return Rated(f"{searched}|{signature}", dict(zip(samples, rated, strict=True)))

    def _rate(self, samples: Sequence[Sample]) -> list[Sample]:
        parts = (samples[i : i + BATCH] for i in range(0, len(samples), BATCH))
        return [rated for part in parts for rated in self.rater.rate(part)]


@dataclass(frozen=True, eq=False)
class Rated:
    """Samples with rated references, and the metric that was fitted to them."""

    signature: str
    by_sample: dict[Sample, Sample]
    metric: Metric | None = None
