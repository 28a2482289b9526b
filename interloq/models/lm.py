"""Log-likelihoods of continuations under a causal language model.

log p(continuation | context) = Σ_t log p(token_t | start, context, the continuation's tokens before t)

Context and continuation are tokenised apart, so the border between them is that of the texts, whatever stands on its
other side. The model's start token (BOS) comes first where it has one; where it has none, its end token opens a text
without context, because the first token must be foretold from something. A context that is too long loses its
beginning, a continuation that is too long for the model its end.

Each distinct pair is calculated once, in batches of like length. Rows are padded on the right by our own hand: what
comes later cannot change what a causal model says, and no pad token is needed. In float32 batches change no sum by more
than 1e-4. A batch that a GPU has no room for is cut in two.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from interloq.errors import InputError
from interloq.models.batches import bucketed
from interloq.models.pretrained import load_network, load_tokenizer, model_folder, weights_fingerprint
from interloq.models.processes import pick_device

Precision = Literal["auto", "float32", "float64", "bfloat16", "float16"]
TOKENS = 2048  # in a batch, padding included: each has a number for every word of the vocabulary
ROWS = 256
LONGEST = 512  # tokens of context and continuation together
CURE = "name a causal language model, such as a GPT"


class LanguageModel:
    """`name` is a folder, an installed package or `hub:org/name@revision`; see `models.pretrained`."""

    def __init__(
        self,
        name: str,
        *,
        device: str = "auto",
        precision: Precision = "auto",
        longest: int = LONGEST,
        tokens: int = TOKENS,
    ) -> None:
        self.folder, self.tokens, self.device = model_folder(name), tokens, pick_device(device)
        self.precision = _precision(precision, self.device)
        self._tokenizer = load_tokenizer(self.folder)
        model = load_network(self.folder, transformers.AutoModelForCausalLM, cure=CURE)
        self.longest = min(longest, getattr(model.config, "max_position_embeddings", None) or longest)
        if self.longest < 2:  # a token, and one to foretell it from
            raise InputError(f"longest must be at least 2, got {longest}")
        self._some = "logits_to_keep" in inspect.signature(model.forward).parameters
        self._model = model.to(self.device, self.precision).eval()
        self._check_causal()

    def log_likelihoods(
        self, contexts: Sequence[str], continuations: Sequence[str]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """For each pair the summed log-likelihood of the continuation's tokens, in nats, and their number.

        An empty continuation has no tokens and the sum 0.
        """
        pairs = list(zip(contexts, continuations, strict=True))
        place = {pair: i for i, pair in enumerate(sorted(set(pairs)))}
        rows, starts = self._rows(list(place))
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        sums = np.zeros(len(rows))
        for batch in bucketed(lengths, size=ROWS, tokens=self.tokens, rng=None):
            batch = batch[lengths[batch] > starts[batch]]
            if len(batch):
                sums[batch] = self._sums([rows[i] for i in batch], starts[batch])
        each = np.array([place[pair] for pair in pairs], dtype=np.int64)
        return sums[each], (lengths - starts)[each]

    def signature(self) -> str:
        """Names the weights, wherever they lie, and all that likelihoods depend on."""
        parts = [self._model.config.model_type, weights_fingerprint(self.folder), str(self.longest)]
        if self.precision != torch.float32:
            parts.append(str(self.precision).removeprefix("torch."))
        return "-".join(parts)

    def _rows(self, pairs: Sequence[tuple[str, str]]) -> tuple[list[list[int]], NDArray[np.int64]]:
        """Each pair's tokens in one row, and where the continuation starts in it."""
        contexts, continuations = (self._numbers([pair[side] for pair in pairs]) for side in (0, 1))
        rows, starts = [], []
        for context, continuation in zip(contexts, continuations, strict=True):
            first = self._first(context)
            own = continuation[: self.longest - max(1, len(first))]
            room = self.longest - len(first) - len(own)
            before = [*first, *context[max(0, len(context) - room) :]]
            rows.append(before + own)
            starts.append(len(before))
        return rows, np.array(starts, dtype=np.int64)

    def _numbers(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids without special tokens; a text of which nothing is left is one unknown token."""
        if not texts:
            return []
        rows: list[list[int]] = self._tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]
        unknown = self._tokenizer.unk_token_id or 0
        return [list(row) or ([unknown] if text else []) for row, text in zip(rows, texts, strict=True)]

    def _first(self, context: Sequence[int]) -> list[int]:
        start, end = self._tokenizer.bos_token_id, self._tokenizer.eos_token_id
        if start is not None:
            return [start]
        return [] if context else [end or 0]

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def _sums(self, rows: list[list[int]], starts: NDArray[np.int64]) -> list[float]:
        ids = torch.zeros((len(rows), max(map(len, rows))), dtype=torch.long)
        for i, row in enumerate(rows):
            ids[i, : len(row)] = torch.tensor(row)
        try:
            logits, skipped = self._logits(ids, int(starts.min()) - 1)
        except torch.OutOfMemoryError as error:
            if len(rows) == 1:
                raise InputError(
                    f"no memory for one text of {ids.shape[1]} tokens on {self.device}",
                    cure="use a smaller model, or --device cpu",
                ) from error
            torch.cuda.empty_cache()
            self.tokens = max(1, self.tokens // 2)  # later calls start with smaller batches
            half = len(rows) // 2
            return [*self._sums(rows[:half], starts[:half]), *self._sums(rows[half:], starts[half:])]
        sums = []
        for row, start, values in zip(rows, starts.tolist(), logits, strict=True):
            said = values[start - 1 - skipped : len(row) - 1 - skipped]
            sums.append(_log_likelihood(said, torch.tensor(row[start:], device=self.device)))
        found: list[float] = torch.stack(sums).tolist()
        return found

    def _logits(self, ids: torch.Tensor, start: int) -> tuple[torch.Tensor, int]:
        """Logits [rows, tokens, vocabulary] from a place on, or all where the model gives no part; and how many lack.

        All are attended to: a causal model's pads come too late to be seen.
        """
        options: dict[str, Any] = {"logits_to_keep": ids.shape[1] - start} if self._some else {}
        ids = ids.to(self.device)
        found = self._model(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False, **options)
        return found.logits, start if self._some else 0

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def _check_causal(self) -> None:
        """A model that sees what comes next, such as a BERT, would foretell it too well."""
        logits, _ = self._logits(torch.tensor([[0, 0], [0, 1]]), 0)
        if not torch.allclose(logits[0, 0].float(), logits[1, 0].float(), atol=1e-4):
            raise InputError("the model reads in both directions", cure=CURE, where=str(self.folder))


def _log_likelihood(logits: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    exact = logits.double() if logits.dtype == torch.float64 else logits.float()
    chosen = exact.gather(1, tokens[:, None]).squeeze(1) - exact.logsumexp(dim=1)
    return chosen.double().sum()


def _precision(name: Precision, device: torch.device) -> torch.dtype:
    chosen = ("bfloat16" if device.type == "cuda" else "float32") if name == "auto" else name
    found: torch.dtype = getattr(torch, chosen)
    return found
