# SPDX-License-Identifier: Apache-2.0
"""Deep FM, the fluency half of Deep AM-FM (Zhang et al., 2021): how likely is the reply under a language model?

reference_free: FM = [ log p(utterance + reply) − log p(utterance) ] / (number of the reply's tokens)
referenced:     FM = max_j  min(e_j, e) / max(e_j, e),  e = exp( log p(reply) / tokens ), e_j likewise for reference j

e is the inverse of the perplexity. `separator` is put between utterance and reply and counts as part of the reply: a
space by default, as in running text; '' for models that put a space in front of every text themselves. A text is
tokenised independently of what precedes it, so the difference is exactly log p(reply | utterance); the public code
tokenises both together and may have a token across the boundary.

A reply without text has no tokens: it is unscored in `reference_free` mode and scores 0 in `referenced` mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from interloq.metrics import metric
from interloq.metrics.contextual.deep_am import Mode
from interloq.metrics.network_metric import NetworkMetric, needs_context
from interloq.models.loaded import load_model
from interloq.needs import LANGUAGE_MODEL, Needs
from interloq.records import Sample


@dataclass(frozen=True)
class DeepFm(NetworkMetric, name="deep_fm"):
    """How likely the reply is under a language model."""

    papers = ("zhang-etal-2021-deep",)
    needs = Needs(context=True, fields={"model": LANGUAGE_MODEL}, extra="smollm2|encoder")
    model: Annotated[str, "causal language model: a folder, an installed package, or `hub:org/name@revision`"]
    mode: Annotated[Mode, "the reply's likelihood, or its closeness to the references' likelihood"] = "reference_free"
    separator: Annotated[str, "text between utterance and reply; its tokens count as the reply's"] = " "

    def unscorable(self, sample: Sample) -> str | None:
        if self.mode == "referenced":
            return metric.needs_references(sample)
        return needs_context(sample) or metric.needs_reply(sample)

    def stats(self, samples: Sequence[Sample]) -> metric.Array:
        if self.mode == "referenced":
            counts, references = metric.reference_counts(samples), metric.reference_texts(samples)
            texts = [text if text.strip() else "" for text in (*references, *metric.replies(samples))]
            means = self._mean_log_likelihoods([""] * len(texts), texts)
            reply_means = np.repeat(means[len(references) :], counts)
            with np.errstate(invalid="ignore"):
                ratios = np.exp(-np.abs(means[: len(references)] - reply_means))
            return metric.score_rows(metric.best_reference(np.nan_to_num(ratios), samples))
        contexts = [sample.context[-1].text for sample in samples]
        texts = [self.separator + sample.response for sample in samples]
        return metric.score_rows(self._mean_log_likelihoods(contexts, texts))

    def _mean_log_likelihoods(self, contexts: Sequence[str], texts: Sequence[str]) -> metric.Array:
        """Return the mean per token; minus infinity for a text without tokens."""
        sums, counts = self.network().log_likelihoods(contexts, texts)
        return np.where(counts > 0, sums / np.maximum(counts, 1), -np.inf)

    def network(self) -> Any:
        return load_model("metric 'deep_fm'", "interloq.models.lm.causal:LanguageModel", self.model)
