# SPDX-License-Identifier: Apache-2.0
"""BERTScore (Zhang et al., 2020): each token is matched to the most similar token of the other text.

P = Σ_a s_a · max_b cos(a, b) over tokens a of the reply and b of a reference, R the other way round, F = 2PR / (P + R)

As in the public `bert_score`: vectors of one layer; [CLS] and [SEP] are matched but have no weight; `idf` weighs tokens
by log((N + 1) / (df + 1)) over the N references of the sample set; with several references, the best P, R and F are
used, each separately; `rescale` maps x to (x − b) / (1 − b), with b the level of unrelated texts. A reply or reference
without tokens has P = R = F = 0 before rescaling.

Unlike in `bert_score`, if `idf` leaves a reply, or all its references, without any token of weight above 0 (as with a
single reference), the sample is unscored, not 0. Also, padding is never matched. In `bert_score` it counts as a
similarity of 0, so a token whose best match is negative gets 0 instead, depending on what else is in the batch.

`weights` (vBERTScore, Tsuta et al., 2023): `outside` multiplies a reference's value by its weight, after rescaling and
before the best is taken; `inside` is the formula as printed, with w inside the maximum: w · max for w ≥ 0, w · min for
w < 0. For weights of 0 and above, both give the same score.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np

from interloq.errors import InputError
from interloq.metrics.contextual.bertscore_baseline import Part, levels, load_baseline
from interloq.metrics.metric import Array, Reduction, mean_parts, reference_counts, reference_texts, score_rows
from interloq.metrics.network_metric import NetworkMetric
from interloq.metrics.overlap.delta_bleu import NO_POSITIVE_WEIGHT
from interloq.models.loaded import load_model
from interloq.needs import ENCODER, Needs
from interloq.records import Sample
from interloq.signature import fingerprint

Weights = Literal["ignore", "outside", "inside"]
Precision = Annotated[
    Literal["auto", "float32", "bfloat16", "int8"],
    "number type; `'auto'`: float32 on a CPU, bfloat16 on a GPU; `'int8'`: the fastest on a CPU, but not exact",
]
SAMPLES = 4096  # samples processed together: bounds memory
LONGEST = 512  # tokens of a text that are used, as most models allow
NO_IDF = "idf leaves nothing to compare: every token is in every reference"
COLUMNS: dict[Part, int] = {"p": 0, "r": 1, "f": 2}


@dataclass(frozen=True)
class BertScore(NetworkMetric, name="bertscore"):
    """BERTScore, with or without idf, rescaling and weights of references."""

    papers = ("zhang-etal-2020-bertscore",)
    variant_papers: ClassVar[Mapping[str, str]] = {"weights": "tsuta-etal-2023-uncertainty"}
    needs = Needs(references=True, fields={"model": ENCODER}, extra="ready|encoder")
    places = ("model", "rescale")
    model: Annotated[str, "encoder: a folder, an installed package, or `hub:org/name@revision`"]
    layer: Annotated[int | None, "layer whose vectors are compared, from 1; `None`: the last"] = None
    idf: Annotated[bool, "whether rare tokens weigh more"] = False
    rescale: Annotated[str, "baseline file, or a folder with `baseline.json`; empty: no rescaling"] = ""
    part: Annotated[Part, "precision, recall or F"] = "f"
    weights: Annotated[Weights, "whether weights of references are used, and where in the formula"] = "ignore"
    precision: Precision = "auto"
    _idf: Any = field(default=None, init=False, repr=False, compare=False)

    @property
    def reads_weights(self) -> bool:
        """Whether weights of references are used."""
        return self.weights != "ignore"

    @property
    def over_references(self) -> Reduction | None:
        """ "max", unless a reference's score depends on its weight or, with idf, on the other references."""
        return None if self.idf or self.reads_weights else "max"

    def by_reference(self, samples: Sequence[Sample]) -> Array:
        """Return the score of each reply against each of its references."""
        return np.concatenate([np.zeros((0, 3)), *self.parts(samples)])[:, COLUMNS[self.part]]

    def fit(self, samples: Sequence[Sample]) -> Self:
        """Return a copy with the idf weights of these samples' references; itself without `idf`."""
        if not self.idf:
            return self
        encoder = self.network()
        from interloq.metrics.contextual.token_matching import Idf

        fitted = dataclasses.replace(self)
        object.__setattr__(fitted, "_idf", Idf.of(reference_texts(samples), encoder))
        return fitted

    def fitted(self) -> str:
        return self._idf.source if self._idf else ""

    def built_with(self) -> str:
        """Identify the encoder and the baseline."""
        encoder = super().built_with()
        if not self.rescale:
            return encoder
        return f"{encoder},baseline-{fingerprint(str(load_baseline(self.rescale)))}"

    def unscorable(self, sample: Sample) -> str | None:
        if reason := super().unscorable(sample):
            return reason
        if self.weights != "ignore" and max(reference.weight for reference in sample.references) <= 0:
            return NO_POSITIVE_WEIGHT
        if self._idf is not None:
            texts = [sample.response.strip(), *(reference.text.strip() for reference in sample.references)]
            reply, *references = self._idf.weightless(texts, self.network())
            return NO_IDF if reply or all(references) else None
        return None

    def stats(self, samples: Sequence[Sample]) -> Array:
        """Return [score, 1, best precision, best recall], perhaps from different references, as in bert_score."""
        best_rows = [self._weigh(sample, rows)[:, :3].max(axis=0) for sample, rows in self._rows(samples)]
        best = np.array(best_rows, dtype=np.float64).reshape(-1, 3)
        return score_rows(best[:, COLUMNS[self.part]], best[:, 0], best[:, 1])

    def details(self, total: Array) -> dict[str, float]:
        """Return precision and recall, as means over samples."""
        return mean_parts(total, "precision", "recall")

    def parts(self, samples: Sequence[Sample]) -> list[Array]:
        """Return P, R and F for each reference, [references, 3] per sample: rescaled, without weights."""
        return [rows[:, :3] for _, rows in self._rows(samples)]

    def _weigh(self, sample: Sample, rows: Array) -> Array:
        """Return weighted P, R and F; `rows` has them with the largest and, if needed, the smallest similarities."""
        if self.weights == "ignore":
            return rows
        weights = np.array([[reference.weight] for reference in sample.references])
        if self.weights == "inside":
            rows = np.where(weights < 0, rows[:, 3:], rows[:, :3])
        return weights * rows

    def _rows(self, samples: Sequence[Sample]) -> Iterator[tuple[Sample, Array]]:
        if self.idf and self._idf is None:
            raise InputError(
                "bertscore is not fitted: it has no idf weights", hint="call fit(samples) first, or use evaluate"
            )
        for start in range(0, len(samples), SAMPLES):
            block = samples[start : start + SAMPLES]
            ends = np.cumsum(reference_counts(block))
            yield from zip(block, np.split(self._match_pairs(block), ends[:-1]), strict=True)

    def _match_pairs(self, samples: Sequence[Sample]) -> Array:
        """Return P, R and F of every sample with every reference, then P, R and F with the smallest similarities."""
        encoder = self.network()
        from interloq.metrics.contextual.token_matching import f_measure, match

        texts, pairs = _pairs(samples)
        distinct, which = np.unique(pairs[:, 0] * max(1, len(texts)) + pairs[:, 1], return_inverse=True)
        pairs = np.stack(np.divmod(distinct, max(1, len(texts))), axis=1)
        matched = match(encoder, texts, pairs, idf=self._idf, lowest=self.weights == "inside")
        triples = []
        for i in range(0, matched.shape[1], 2):
            p, r = matched[:, i : i + 2].T
            triples.append(np.stack([p, r, f_measure(p, r)], axis=1))
        if self.weights == "inside":
            low = triples[1]  # if P and R differ in sign, their harmonic mean is meaningless and unbounded
            low[:, 2] = np.where(low[:, 0] * low[:, 1] > 0, low[:, 2], 0.0)
        return np.concatenate(list(map(self._rescale, triples)), axis=1)[which]

    def _rescale(self, values: Array) -> Array:
        if not self.rescale:
            return values
        unrelated = levels(load_baseline(self.rescale), self.network(), idf=self.idf, where=self.rescale)
        base = np.array([unrelated[part] for part in COLUMNS])
        return np.asarray((values - base) / (1 - base))

    def network(self) -> Any:
        return load_model(
            "metric 'bertscore'",
            "interloq.models.encoder:Encoder",
            self.model,
            layer=self.layer,
            longest=LONGEST,
            precision=self.precision,
        )


def _pairs(samples: Sequence[Sample]) -> tuple[list[str], Any]:
    """Return distinct texts, and the text numbers of each sample's reply and references."""
    place: dict[str, int] = {}
    pairs = []
    for sample in samples:
        reply = place.setdefault(sample.response.strip(), len(place))
        pairs += [(reply, place.setdefault(reference.text.strip(), len(place))) for reference in sample.references]
    return list(place), np.array(pairs, dtype=np.int64).reshape(-1, 2)
