# SPDX-License-Identifier: Apache-2.0
"""Likelihood of texts under a masked language model: each token is masked in turn and predicted.

Σ log p(token | the other tokens) over the tokens of `[CLS] text [SEP]` is the pseudo-log-likelihood of Salazar et al.
(2020). Unknown tokens are read but not predicted: no encoder learns to predict [UNK].

An untrained head would predict at random, so encoders without a trained head are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from interloq.data.files.opening import read_json, reading_saved
from interloq.data.text.token_texts import Texts
from interloq.errors import InputError
from interloq.models.batches import make_batches, number_distinct
from interloq.models.cross_encoder import join_rows
from interloq.models.memory import read_in_parts
from interloq.models.pretrained import (
    LONGEST,
    Subwords,
    check_fit,
    load_network,
    load_tokenizer,
    model_folder,
    weights_fingerprint,
)
from interloq.models.processes import pick_device
from interloq.models.token_predictor import SPARE, SpecialTokens, TokenPredictor, special_tokens_of
from interloq.models.token_rows import TokenRows

Mode = Literal["likelihood", "surprise"]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
TOKENS, ROWS = 8192, 256  # per batch, padding included
BOUNDS = "replies.json"
LOW, HIGH = 0.25, 0.75  # quantiles over the replies of a log, as in the code of Phy et al.
SPECIAL = 2  # [CLS] and [SEP]
HINT = "use an encoder with a masked-language-model head, or train one on your logs with: interloq train adapt"


class MaskedLikelihood:
    """Masked-token likelihoods in float32: batching changes a sum by a factor of less than 1e-5."""

    def __init__(
        self, predictor: TokenPredictor, subwords: Subwords, special_tokens: SpecialTokens, *, device: str = "auto"
    ) -> None:
        self.device = pick_device(device)
        self.predictor = predictor.to(self.device).eval()
        self.subwords, self.special_tokens, self.tokens = subwords, special_tokens, TOKENS

    @classmethod
    def load(cls, name: str, *, device: str = "auto", longest: int = LONGEST) -> MaskedLikelihood:
        """Load a model named as in `models.pretrained`; texts are truncated to `longest` tokens, or to what fits."""
        folder = model_folder(name)
        model = load_network(folder, transformers.AutoModelForMaskedLM, hint=HINT)
        tokenizer = load_tokenizer(folder)
        check_fit(tokenizer.vocab_size, model, folder)
        special_tokens = special_tokens_of(tokenizer, "mlm", folder)
        positions = getattr(model.config, "max_position_embeddings", None)
        if positions is not None:
            longest = min(longest, positions - SPARE - SPECIAL)
        return cls(TokenPredictor(model, []), Subwords(folder, longest=longest), special_tokens, device=device)

    def signature(self) -> str:
        kind = self.predictor.model.config.model_type
        return f"{kind}-{weights_fingerprint(self.subwords.folder)}-{self.subwords.signature()}"

    def quartiles(self, mode: Mode) -> tuple[float, float]:
        """Return the quartiles saved with the encoder."""
        return read_bounds(self.subwords.folder, mode)

    def count_known(self, text: str) -> int:
        """Return the number of tokens of a text that can be predicted."""
        return int(self._is_known(self.subwords.texts([text]).tokens).sum())

    def scores(self, texts: Sequence[str]) -> tuple[Floats, Ints]:
        """Return the summed log-likelihood and the number of predicted tokens of each text.

        Each distinct text is read once.
        """
        distinct, which = number_distinct(texts)
        sums, counts = self.of_tokens(self.subwords.texts(distinct))
        return sums[which], counts[which]

    def of_tokens(self, texts: Texts) -> tuple[Floats, Ints]:
        """Do what `scores` does, for tokenised texts."""
        starts, lengths = texts.ends[:-1], np.diff(texts.ends)
        hidden = np.flatnonzero(self._is_known(texts.tokens))  # one row per token
        owners = np.searchsorted(texts.ends, hidden, side="right") - 1
        likelihoods = np.zeros(len(hidden))
        for batch in make_batches(lengths[owners] + SPECIAL, size=ROWS, tokens=self.tokens, rng=None):
            rows = join_rows(texts, owners[batch][:, None], self.subwords)
            likelihoods[batch] = self._log_likelihoods(rows, 1 + (hidden - starts[owners])[batch])
        sums = np.bincount(owners, weights=likelihoods, minlength=len(starts))
        counts = np.bincount(owners, minlength=len(starts))
        return sums.astype(np.float64), counts.astype(np.int64)

    def _is_known(self, tokens: NDArray[Any]) -> NDArray[np.bool_]:
        return ~np.isin(tokens, self.special_tokens.special)

    def _log_likelihoods(self, rows: TokenRows, columns: Ints) -> Floats:
        """Return the log-likelihood of one token per row, with that token masked."""
        parts = read_in_parts(
            self,
            lambda part: self._masked_likelihoods(rows[part], torch.from_numpy(columns[part])),
            len(columns),
            lambda: f"one row of {rows.ids.shape[1]} tokens",
        )
        return np.asarray(torch.cat(parts).double().cpu())

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def _masked_likelihoods(self, rows: TokenRows, columns: torch.Tensor) -> torch.Tensor:
        ids = rows.ids.long()
        places = torch.zeros_like(ids, dtype=torch.bool)
        places[torch.arange(len(ids)), columns] = True
        targets = ids[places].to(self.device)
        ids = torch.where(places, self.special_tokens.mask, ids)
        hidden = TokenRows(ids, rows.mask.long(), rows.kinds.long()).on(self.device)
        logits = self.predictor(hidden, places.to(self.device)).float()
        likelihoods: torch.Tensor = logits.log_softmax(dim=1).gather(1, targets[:, None])[:, 0]
        return likelihoods


def values(mode: Mode, sums: Floats, counts: Ints) -> Floats:
    """Return the mean log-likelihood per token (likelihood), or minus the sum (surprise).

    Texts without tokens get NaN.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        value = sums / counts if mode == "likelihood" else -sums
    return np.where(counts > 0, value, np.nan)


def reply_bounds(scorer: MaskedLikelihood, replies: Texts) -> dict[str, Any]:
    """Return the quartiles of the replies' values in each mode."""
    sums, counts = scorer.of_tokens(replies)
    facts: dict[str, Any] = {"replies": int((counts > 0).sum()), "quantiles": [LOW, HIGH]}
    for mode in get_args(Mode) if facts["replies"] else ():
        facts[mode] = np.quantile(values(mode, sums, counts)[counts > 0], [LOW, HIGH]).tolist()
    return facts


def read_bounds(folder: Path, mode: Mode) -> tuple[float, float]:
    """Return the bounds saved when the encoder was adapted to a log."""
    hint = "adapt the encoder to a log with interloq train adapt, or give bounds=(low,high)"
    if not (folder / BOUNDS).is_file():
        raise InputError("the encoder has no bounds for replies", hint=hint, where=str(folder))
    with reading_saved(folder, f"{BOUNDS} has no bounds for {mode}", hint=hint):
        low, high = read_json(folder / BOUNDS, hint=hint)[mode]
        return float(low), float(high)
