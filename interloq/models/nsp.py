# SPDX-License-Identifier: Apache-2.0
"""Next-sentence prediction of a pretrained BERT (Devlin et al., 2019): does the second text follow the first?

BERT reads [CLS] A [SEP] B [SEP] with token types 0 and 1. Its head was trained in pretraining. Many encoders were
trained without such a head; it would be random, so they are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from interloq.models import pretrained
from interloq.models.batches import make_batches, number_distinct
from interloq.models.cross_encoder import rows
from interloq.models.memory import read_in_parts
from interloq.models.processes import pick_device
from interloq.models.token_rows import TokenRows

TOKENS, PAIRS = 8192, 512  # per batch, padding included
FOLLOWS = 0  # label in transformers and in Google's code; 1 is a random sentence
HINT = (
    "use a BERT with a next-sentence-prediction head, such as bert-base-uncased; for any other encoder, "
    "train a head on your logs with: interloq train relevance"
)


class NextSentence:
    """A model named as in `models.pretrained`; texts are truncated to `longest` tokens, see `cross_encoder.rows`."""

    def __init__(
        self, name: str, *, device: str = "auto", longest: int = pretrained.LONGEST, tokens: int = TOKENS
    ) -> None:
        self.folder, self.tokens, self.device = pretrained.model_folder(name), tokens, pick_device(device)
        model = pretrained.load_network(self.folder, transformers.AutoModelForNextSentencePrediction, hint=HINT)
        self.subwords = pretrained.Subwords(self.folder, longest=longest)
        pretrained.check_fit(self.subwords.size, model, self.folder)
        self.positions: int | None = getattr(model.config, "max_position_embeddings", None)
        self.precision = pretrained.pick_precision("auto", self.device)
        self.kinds = (getattr(model.config, "type_vocab_size", 0) or 0) > 1
        self._model = model.to(self.device, self.precision).eval()

    def scores(self, first: Sequence[str], second: Sequence[str]) -> NDArray[np.float64]:
        """Return P(the second text follows the first) for each pair; each distinct pair is read once."""
        pairs = list(zip(first, second, strict=True))
        distinct, which = number_distinct(pairs, sort=True)
        before = self.subwords.texts([text for text, _ in distinct])
        after = self.subwords.texts([text for _, text in distinct])
        probabilities = np.zeros(len(distinct))
        for batch in make_batches(before.lengths + after.lengths + 3, size=PAIRS, tokens=self.tokens, rng=None):
            tokens = [(before[i], after[i]) for i in batch.tolist()]
            probabilities[batch] = self._probabilities(tokens).cpu().numpy()
        return probabilities[which]

    def signature(self) -> str:
        precision = "" if self.precision == torch.float32 else "-bfloat16"
        kind = self._model.config.model_type
        return f"{kind}-{pretrained.weights_fingerprint(self.folder)}-{self.subwords.signature()}{precision}"

    def _probabilities(self, tokens: Sequence[Any]) -> torch.Tensor:
        parts = read_in_parts(
            self,
            lambda part: self._logits(rows(tokens[part], self.subwords, limit=self.positions)),
            len(tokens),
            lambda: "one pair of texts",
        )
        return torch.cat(parts).double().softmax(dim=1)[:, FOLLOWS]

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def _logits(self, padded: TokenRows) -> torch.Tensor:
        read = TokenRows(padded.ids.long(), padded.mask.long(), padded.kinds.long()).on(self.device)
        options: dict[str, Any] = {"token_type_ids": read.kinds} if self.kinds else {}
        logits: torch.Tensor = self._model(input_ids=read.ids, attention_mask=read.mask, **options).logits
        return logits
