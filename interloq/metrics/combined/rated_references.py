# SPDX-License-Identifier: Apache-2.0
"""References from logs with a rater's weights: `interloq extend`, then `interloq rate`, in one call.

Extended and rated samples are cached (see stages.py), so another metric on them needs no second search.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Self

from interloq.metrics.combined.stage_cache import cached
from interloq.metrics.metric import Array, FittedMetric, Metric, details, is_mean
from interloq.rate.rater import BATCH, Rater
from interloq.rate.selection import check_best, select
from interloq.rate.summary import summary
from interloq.records import Sample
from interloq.registry import Component
from interloq.retrieve.extend import extend, extend_signature, searched_in
from interloq.retrieve.index import Index, open_index
from interloq.retrieve.store_address import key_variable, names_server
from interloq.signature import LIBRARIES, VERSION, Signature

Best = Annotated[int | None, "references to keep besides gold replies, those with the largest weights; `None`: all"]
Weigh = Annotated[bool, "whether weights count; if not, they only decide which references are kept"]


@dataclass(frozen=True)
class RatedReferences(Component):
    """Base of metrics that score with references from an index, weighted by a rater."""

    places: ClassVar[tuple[str, ...]] = ("index",)
    index: Annotated[str, "index to search: a folder or a server's address (`interloq index build`)"]
    rater: Annotated[
        Rater, "who weighs the references, such as `gru(model='rater')` or `by(relevance(model='relevance'))`"
    ] = field(metadata={"kind": "rater"})
    k: Annotated[int, "replies to retrieve"] = 15
    parrot: Annotated[bool, "whether the utterance itself is also a reference"] = True
    turns: Annotated[int, "last turns of the context to search for; the raters `gru` and `bert` read the last one"] = 1
    best: Best = None
    weigh: Weigh = True
    _rated: RatedSamples | None = field(default=None, init=False, repr=False, compare=False)

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

    def metric(self) -> Metric:
        """Metric that scores rated samples."""
        raise NotImplementedError

    def fit(self, samples: Sequence[Sample]) -> Self:
        """A copy with the rated references of these samples."""
        fitted = dataclasses.replace(self)
        stages = self._run_stages(samples)
        rated = [stages.by_sample[sample] for sample in samples]
        summary(rated, self.rater)  # refuses ratings of other references
        metric: Any = self.metric()
        if isinstance(metric, FittedMetric):
            metric = metric.fit(self._select(rated))
        object.__setattr__(fitted, "_rated", dataclasses.replace(stages, metric=metric))
        return fitted

    def fitted(self) -> str:
        """Identifies the samples that the metric was fitted to."""
        metric: Any = self._rated and self._rated.metric
        return str(metric.fitted()) if isinstance(metric, FittedMetric) else ""

    def built_with(self) -> str:
        """Identifies the search and the rater."""
        signatures = self._rated.signatures if self._rated else self._sign(open_index(self.index))
        metrics_own = (VERSION, *LIBRARIES)  # these are in the metric's own signature
        return f"index[{signatures[0].without(*metrics_own)}],rater[{signatures[1].without(*metrics_own)}]"

    def rated(self, samples: Sequence[Sample]) -> list[Sample]:
        """The samples with the chosen references from the index and the rater's weights."""
        rated_by_sample: dict[Sample, Sample] = {}
        if self._rated:
            rated_by_sample |= self._rated.by_sample
        new = [sample for sample in dict.fromkeys(samples) if sample not in rated_by_sample]
        if new:
            rated_by_sample |= self._run_stages(new).by_sample
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
        return is_mean(self._metric())

    def value(self, total: Array) -> Array:
        return self._metric().value(total)

    def details(self, total: Array) -> dict[str, float]:
        """Details of the metric that scores rated samples."""
        return dict(details(self._metric(), total))

    def _metric(self) -> Metric:
        if self._rated and self._rated.metric:
            return self._rated.metric
        return self.metric()

    def _run_stages(self, samples: Sequence[Sample]) -> RatedSamples:
        index = open_index(self.index)
        signatures = searched, rater = self._sign(index)
        extended = cached(samples, lambda some: list(extend(some, index, **self._options())), signature=str(searched))
        rated = cached(extended, self._rate, signature=str(rater))
        return RatedSamples(signatures, dict(zip(samples, rated, strict=True)))

    def _sign(self, index: Index) -> tuple[Signature, Signature]:
        """Signatures of the search and of the rater."""
        return extend_signature(index.retriever, searched_in(index), self._options()), self.rater.signature()

    def _options(self) -> dict[str, Any]:
        return {"k": self.k, "parrot": self.parrot, "turns": self.turns}

    def _rate(self, samples: Sequence[Sample]) -> list[Sample]:
        rated: list[Sample] = []
        for start in range(0, len(samples), BATCH):
            rated += self.rater.rate(samples[start : start + BATCH])
        return rated


@dataclass(frozen=True, eq=False)
class RatedSamples:
    """Samples with rated references, and the metric fitted to them."""

    signatures: tuple[Signature, Signature]  # of the search and of the rater
    by_sample: dict[Sample, Sample]
    metric: Metric | None = None
