# SPDX-License-Identifier: Apache-2.0
"""Judge: the rating that people would give the reply, from a linear head on the states of a relevance network.

score = state · w + c, limited to −1 … 1: the expected rank among the rated replies of a set, from the worst (−1) to the
best (1). `model` is a folder written by `interloq train judge`, or a judge that comes with this package: `ready` (extra
`interloq[ready]`), `ready-large`, which needs the encoder all-mpnet-base-v2 from the Hugging Face hub, or `ready-both`,
which joins `ready-large` with a judge on `smollm2`; write `./ready` for a folder of that name. `scorer` is the current
location of the relevance network if it has moved. An empty reply scores −1. A packaged judge leaves replies that are
clearly not in English unscored, unless `any_language` is set. For the training, see `interloq.statistics.ridge`
(frozen network) and `interloq.scorers.judge.tuned_job` (tuned network).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from interloq.learn.ready import EXTRAS, JUDGES, judge_folder, language_of
from interloq.metrics.metric import Array
from interloq.metrics.network_metric import ANY_LANGUAGE, ContextReply, knows_language
from interloq.models.loaded import load_model
from interloq.needs import Needs
from interloq.records import Sample


@dataclass(frozen=True)
class Judge(ContextReply, name="judge"):
    """The rating that people would give the reply, learned from rated replies."""

    needs = Needs(
        context=True,
        fields={
            "model": "a trained judge, or 'ready' with interloq[ready]; make one: interloq train judge RATED -o FOLDER"
        },
        extra="ready|encoder",
    )
    places = ("model", "scorer")
    is_probability = False
    lowest = -1.0
    reads_all_turns = True
    model: Annotated[
        str, "folder of the trained judge, or one that comes with this package: `ready`, `ready-large`, `ready-both`"
    ]
    aspect: Annotated[str, "what people rated; `interloq train judge` prints the aspects of a judge"] = "overall"
    scorer: Annotated[str | None, "current location of the relevance network; `None`: as in training"] = None
    any_language: Annotated[bool, ANY_LANGUAGE] = False
    precision: Annotated[
        Literal["float32", "int8"],
        "number type of the networks' linear layers; `int8` is faster and needs less memory, on a CPU",
    ] = "float32"

    @property
    def language(self) -> str:
        """The only language that the judge's networks know; empty if that is unknown."""
        return language_of(self.model) or language_of(self.network().origin)

    @property
    def scale(self) -> tuple[float, float] | None:
        """Lowest and highest score of a packaged judge; None for others, whose scale is their own rated replies."""
        return (self.lowest, 1.0) if self.model in JUDGES else None

    def unscorable(self, sample: Sample) -> str | None:
        reason = super().unscorable(sample)
        if reason is None and not self.any_language:
            reason = knows_language(self, sample)
        return reason

    def network(self) -> Any:
        made = "interloq.scorers.judge.model:load_judge"
        extra, folder = EXTRAS.get(self.model, "encoder"), str(judge_folder(self.model))
        options = {"scorer": self.scorer, "precision": self.precision}
        judge = load_model("metric 'judge'", made, folder, extra=extra, **options)
        judge.row(self.aspect)  # refuses an unknown aspect even if no reply has text
        return judge

    def network_scores(self, samples: Sequence[Sample]) -> Array:
        scores: Array = self.network().scores(samples, self.aspect)
        return scores

    def expected_errors(self, samples: Sequence[Sample]) -> Array | None:
        errors: Array | None = self.network().errors(samples) if self.aspect == "overall" else None
        return errors

    def trained_on(self, samples: Sequence[Sample]) -> int:
        """Return the number of samples whose context and reply the judge was trained on."""
        return int(self.network().trained_on(samples))
