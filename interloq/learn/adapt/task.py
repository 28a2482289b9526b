"""What a network learns from a log alone: the tokens that were hidden from it, or the next ones.

The loss is the cross-entropy of a token, and that of an example is the sum over its tokens, divided by the mean number
of tokens that an example has. So the mean over all examples is that over all tokens, however they are cut into batches,
and exp(loss) is the perplexity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch.utils.checkpoint import checkpoint

from interloq.errors import InputError
from interloq.learn.adapt.rows import Ints, known_tokens, laid_out, masked, wanted
from interloq.learn.adapt.settings import Adaptation
from interloq.learn.pair_tokens import Numbers, PairTokens, Part
from interloq.models.batches import bucketed
from interloq.models.token_predictor import Goal, SpecialTokens, TokenPredictor


@dataclass(frozen=True, slots=True)
class Guesses:
    """A batch on the CPU: rows, where they are to be guessed at, and the tokens that are right there."""

    ids: torch.Tensor
    mask: torch.Tensor
    kinds: torch.Tensor
    places: torch.Tensor
    right: torch.Tensor
    scale: float = field(kw_only=True)  # examples a token that is to be guessed

    def cut(self, pieces: int) -> list[Guesses]:
        """The same in about equal pieces."""
        size = -(-len(self.ids) // pieces)
        counts = [int(part.sum()) for part in self.places.split(size)]
        tensors = [part.split(size) for part in (self.ids, self.mask, self.kinds, self.places)]
        columns = zip(*tensors, self.right.split(counts), strict=True)
        return [Guesses(a, b, c, d, e, scale=self.scale) for a, b, c, d, e in columns]


class AdaptTask:
    """Pairs of a log. Example e · n + i is pair i of n with the masks of epoch e. `pieces`: see `loss`."""

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
        """Examples a token that is to be guessed."""
        targets = int(self.targets(part).sum())
        if not targets:
            raise InputError(
                f"the tokenizer knows no token of the {part} part", hint="name a model of the log's language"
            )
        return len(self.pairs.rows(part)) / targets

    def targets(self, part: Part) -> Ints:
        """How many tokens of each example are to be guessed."""
        rows = self.pairs.rows(part)
        if self.goal == "mlm":
            return wanted(self.known[rows].sum(axis=1), self.settings.mask)
        return np.asarray(self._lengths(part) - 1)

    def _lengths(self, part: Part) -> Ints:
        lengths = self.pairs.lengths[self.pairs.rows(part)].sum(axis=1, dtype=np.int64)
        return np.asarray(lengths + self.special_tokens.extra)

    def batches(self, part: Part, epoch: int) -> Sequence[Numbers]:
        lengths, own = self._lengths(part), self.settings
        rng = np.random.default_rng([own.seed, epoch]) if part == "train" else None
        batches = bucketed(lengths, size=own.batch, tokens=own.tokens, rng=rng)
        return batches if rng is None else [batch + epoch * len(lengths) for batch in batches]

    def prepare(self, part: Part, examples: Numbers) -> Guesses:
        pairs = self.pairs.rows(part)
        rows = laid_out(self.pairs, np.asarray(pairs[examples % len(pairs)], dtype=np.int64), self.special_tokens)
        inside = rows.inside
        if self.goal == "mlm":
            own = self.settings
            ids, places = masked(rows, examples, self.special_tokens, share=own.mask, seed=own.seed)
            right = rows.ids[places]
        else:
            ids, places = rows.ids, np.zeros_like(inside)
            places[:, :-1] = inside[:, 1:]
            right = rows.ids[:, 1:][inside[:, 1:]]
        arrays = (ids, inside.astype(np.int64), rows.kinds, places, right)
        return Guesses(*map(torch.from_numpy, arrays), scale=self.scales[part])

    def loss(self, prepared: Guesses) -> torch.Tensor:
        """In several `pieces`, each computed anew for its gradient, a batch needs that much less memory."""
        if self.pieces == 1:
            return self._loss(prepared)
        parts = [checkpoint(self._loss, part, use_reentrant=False) for part in prepared.cut(self.pieces)]
        return torch.stack(parts).sum()

    def _loss(self, part: Guesses) -> torch.Tensor:
        device = next(self.network.parameters()).device
        columns = (part.ids, part.mask, part.kinds, part.places, part.right)
        ids, mask, kinds, places, right = (tensor.to(device, non_blocking=True) for tensor in columns)
        logits = self.network(ids, mask, kinds, places)
        return torch.nn.functional.cross_entropy(logits.float(), right, reduction="sum") * part.scale


def dev_loss(task: AdaptTask, device: torch.device, *, amp: bool) -> float:
    """The mean loss of a token of the dev part before anything was learned."""
    task.network.to(device).eval()
    total = 0.0
    with torch.inference_mode(), torch.autocast(device.type, dtype=torch.bfloat16, enabled=amp):
        for examples in task.batches("dev", 0):
            total += float(task.loss(task.prepare("dev", examples)))
    return total / task.pairs.dev
