"""υBLEU (Tsuta et al., 2020 and 2023): references from logs, rated by a network trained on logs, weigh BLEU.

extend (`interloq extend`) → rate (`interloq rate`) → `delta_bleu`, in one call; the score is that of the three verbs.
Extended and rated samples are kept (see stages.py), so another order or tokenizer costs no second search.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from interloq.data.tokenize import Tokenizer
from interloq.metrics.delta_bleu import DeltaBleu, Mode
from interloq.metrics.metric import Array
from interloq.pipelines.stages import cached
from interloq.rate.rater import BATCH, Rater
from interloq.records import Sample
from interloq.registry import Component, component
from interloq.retrieve.extend import extend, extend_signature, searched_in
from interloq.retrieve.index import open_index


@dataclass(frozen=True)
class Vbleu(Component):
    index: str
    rater: Rater = field(metadata={"kind": "rater"})
    k: int = 15
    parrot: bool = True
    turns: int = 1
    order: int = 2
    mode: Mode = "sentence"
    tokenizer: Tokenizer = component("tokenizer", "13a")
    _rated: Rated | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.delta_bleu()  # checks order and mode

    def delta_bleu(self) -> DeltaBleu:
        """The metric that scores rated samples."""
        return DeltaBleu(order=self.order, mode=self.mode, tokenizer=self.tokenizer)

    def fit(self, samples: Sequence[Sample]) -> Self:
        """A copy that knows the rated references of these samples."""
        fitted = dataclasses.replace(self)
        object.__setattr__(fitted, "_rated", self._run(samples))
        return fitted

    def fitted(self) -> str:
        """The index as it was searched, and the rater."""
        return self._rated.signature if self._rated else ""

    def rated(self, samples: Sequence[Sample]) -> list[Sample]:
        """The samples with references from the index and the rater's weights."""
        known = self._rated.by_sample if self._rated else {}
        new = [sample for sample in dict.fromkeys(samples) if sample not in known]
        found = {**known, **self._run(new).by_sample} if new else known
        return [found[sample] for sample in samples]

    def unscorable(self, sample: Sample) -> str | None:
        return self.delta_bleu().unscorable(self.rated([sample])[0])

    def stats(self, samples: Sequence[Sample]) -> Array:
        return self.delta_bleu().stats(self.rated(samples))

    def value(self, total: Array) -> Array:
        return self.delta_bleu().value(total)

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
    signature: str
    by_sample: dict[Sample, Sample]
