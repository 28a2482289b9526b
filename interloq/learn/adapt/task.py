# SPDX-License-Identifier: Apache-2.0
"""Self-supervised training on a log: predict masked tokens, or the next ones.

The loss of a token is its cross-entropy. The loss of an example is the sum over its tokens, divided by the mean number
of predicted tokens per example. So the mean over all examples equals the mean over all tokens, however batches are
formed, and exp(loss) is the perplexity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch.utils.checkpoint import checkpoint

from interloq.errors import InputError
from interloq.learn.adapt.rows import Ints, known_tokens, masked, pair_rows, wanted
from interloq.learn.adapt.settings import Adaptation
from interloq.learn.pair_tokens import Numbers, PairTokens, Part
from interloq.models.batches import bucketed
from interloq.models.packing import Packing
from interloq.models.token_predictor import Goal, SpecialTokens, TokenPredictor
from interloq.models.token_rows import Packed, TokenRows, rounded

SKIPPED = -100  # target of a place where nothing is to be predicted


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """A batch on the CPU: rows, the positions to predict, and the correct tokens there.

    `places` is a mask for padded rows [rows, tokens], and indices for packed ones, some of which may be unused: their
    target is `SKIPPED`.
    """

    rows: TokenRows | Packed
    places: torch.Tensor
    targets: torch.Tensor
    scale: float = field(kw_only=True)  # examples per predicted token

    def cut(self, pieces: int) -> list[TokenBatch]:
        """Split a batch of padded rows into pieces of about equal size."""
        assert isinstance(self.rows, TokenRows)  # noqa: S101
        size = -(-len(self.places) // pieces)
        rows = [self.rows[i : i + size] for i in range(0, len(self.places), size)]
        places = self.places.split(size)
        targets = self.targets.split([int(part.sum()) for part in places])
        return [TokenBatch(a, b, c, scale=self.scale) for a, b, c in zip(rows, places, targets, strict=True)]

    def packed(self, packing: Packing) -> TokenBatch:
        """Return the batch without padding; the number of places is rounded up, so that few shapes occur."""
        assert isinstance(self.rows, TokenRows)  # noqa: S101
        places = self.places[self.rows.mask.bool()].nonzero()[:, 0]
        spare = rounded(len(places)) - len(places)
        pad = torch.nn.functional.pad
        return TokenBatch(
            self.rows.packed(packing.start),
            pad(places, (0, spare)),
            pad(self.targets, (0, spare), value=SKIPPED),
            scale=self.scale,
        )


class AdaptTask:
    """Predicts tokens in pairs of a log. Example e · n + i is pair i of n, masked for epoch e. `pieces`: see `loss`."""

    def __init__(
        self,
        network: TokenPredictor,
        pairs: PairTokens,
        settings: Adaptation,
        goal: Goal,
        special_tokens: SpecialTokens,
        *,
        pieces: int = 1,
    ) -> None:
        self.network, self.pairs, self.settings = network, pairs, settings
        self.goal, self.special_tokens, self.pieces = goal, special_tokens, pieces
        self.known = known_tokens(pairs, special_tokens.special)
        self.scales = {part: self._scale(part) for part in ("train", "dev")}

    def _scale(self, part: Part) -> float:
        """Return the number of examples per predicted token."""
        targets = int(self.targets(part).sum())
        if not targets:
            raise InputError(
                f"all tokens of the {part} part are unknown to the tokenizer", hint="use a model for the log's language"
            )
        return len(self.pairs.rows(part)) / targets

    def targets(self, part: Part) -> Ints:
        """Return the number of tokens to predict in each example."""
        rows = self.pairs.rows(part)
        if self.goal == "mlm":
            return wanted(self.known[rows].sum(axis=1), self.settings.mask)
        return np.asarray(self._lengths(part) - 1)

    def _lengths(self, part: Part) -> Ints:
        lengths = self.pairs.lengths[self.pairs.rows(part)].sum(axis=1, dtype=np.int64)
        return np.asarray(lengths + self.special_tokens.extra)

    def batches(self, part: Part, epoch: int) -> Sequence[Numbers]:
        lengths, settings = self._lengths(part), self.settings
        if part == "dev":
            return bucketed(lengths, size=settings.batch, tokens=settings.tokens, rng=None)
        rng = np.random.default_rng([settings.seed, epoch])
        batches = bucketed(lengths, size=settings.batch, tokens=settings.tokens, rng=rng)
        return [batch + epoch * len(lengths) for batch in batches]

    def prepare(self, part: Part, examples: Numbers) -> TokenBatch:
        pairs = self.pairs.rows(part)
        rows = pair_rows(self.pairs, np.asarray(pairs[examples % len(pairs)], dtype=np.int64), self.special_tokens)
        inside = rows.inside
        if self.goal == "mlm":
            share, seed = self.settings.mask, self.settings.seed
            ids, places = masked(rows, examples, self.special_tokens, share=share, seed=seed)
            targets = rows.ids[places]
        else:
            ids, places = rows.ids, np.zeros_like(inside)
            places[:, :-1] = inside[:, 1:]
            targets = rows.ids[:, 1:][inside[:, 1:]]
        read = TokenRows(*map(torch.from_numpy, (ids, inside.astype(np.int64), rows.kinds)))
        batch = TokenBatch(read, torch.from_numpy(places), torch.from_numpy(targets), scale=self.scales[part])
        if self.network.packing.on and self.pieces == 1:
            return batch.packed(self.network.packing)
        return batch

    def loss(self, prepared: TokenBatch) -> torch.Tensor:
        """Loss of a batch. With more `pieces`, each recomputed for its gradient, a batch needs less memory."""
        if self.pieces == 1:
            return self._loss(prepared)
        parts = [checkpoint(self._loss, part, use_reentrant=False) for part in prepared.cut(self.pieces)]
        return torch.stack(parts).sum()

    def _loss(self, part: TokenBatch) -> torch.Tensor:
        device = next(self.network.parameters()).device
        places, targets = (tensor.to(device, non_blocking=True) for tensor in (part.places, part.targets))
        logits = self.network(part.rows.on(device), places)
        losses = torch.nn.functional.cross_entropy(logits.float(), targets, reduction="sum", ignore_index=SKIPPED)
        return losses * part.scale


def dev_loss(task: AdaptTask, device: torch.device, *, amp: bool) -> float:
    """Return the mean loss per token of the dev part before any training."""
    task.network.to(device).eval()
    total = 0.0
    with torch.inference_mode(), torch.autocast(device.type, dtype=torch.bfloat16, enabled=amp):
        for examples in task.batches("dev", 0):
            total += float(task.loss(task.prepare("dev", examples)))
    return total / task.pairs.dev
