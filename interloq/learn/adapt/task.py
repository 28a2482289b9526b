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
from interloq.models.packing import Packing
from interloq.models.token_predictor import Goal, SpecialTokens, TokenPredictor
from interloq.models.token_rows import Packed, Rows, rounded

SKIPPED = -100  # target of a place where nothing is to be predicted


@dataclass(frozen=True, slots=True)
class Guesses:
    """A batch on the CPU: rows, where they are to be guessed at, and the tokens that are right there.

    Places are true or false for padded rows [rows, tokens], and numbers for packed ones, of which some may be spare:
    what is right there is `SKIPPED`.
    """

    rows: Rows | Packed
    places: torch.Tensor
    right: torch.Tensor
    scale: float = field(kw_only=True)  # examples a token that is to be guessed

    def cut(self, pieces: int) -> list[Guesses]:
        """The same in about equal pieces, for padded rows."""
        assert isinstance(self.rows, Rows)  # noqa: S101
        size = -(-len(self.places) // pieces)
        rows = [self.rows[i : i + size] for i in range(0, len(self.places), size)]
        places = self.places.split(size)
        right = self.right.split([int(part.sum()) for part in places])
        return [Guesses(a, b, c, scale=self.scale) for a, b, c in zip(rows, places, right, strict=True)]

    def packed(self, packing: Packing) -> Guesses:
        """The same without padding; the number of places is rounded up, so that few shapes occur."""
        assert isinstance(self.rows, Rows)  # noqa: S101
        places = self.places[self.rows.mask.bool()].nonzero()[:, 0]
        spare = rounded(len(places)) - len(places)
        pad = torch.nn.functional.pad
        return Guesses(
            self.rows.packed(packing.start),
            pad(places, (0, spare)),
            pad(self.right, (0, spare), value=SKIPPED),
            scale=self.scale,
        )


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
        read = Rows(*map(torch.from_numpy, (ids, inside.astype(np.int64), rows.kinds)))
        guesses = Guesses(read, torch.from_numpy(places), torch.from_numpy(right), scale=self.scales[part])
        return guesses.packed(self.network.packing) if self.network.packing.on and self.pieces == 1 else guesses

    def loss(self, prepared: Guesses) -> torch.Tensor:
        """In several `pieces`, each computed anew for its gradient, a batch needs that much less memory."""
        if self.pieces == 1:
            return self._loss(prepared)
        parts = [checkpoint(self._loss, part, use_reentrant=False) for part in prepared.cut(self.pieces)]
        return torch.stack(parts).sum()

    def _loss(self, part: Guesses) -> torch.Tensor:
        device = next(self.network.parameters()).device
        places, right = (tensor.to(device, non_blocking=True) for tensor in (part.places, part.right))
        logits = self.network(part.rows.on(device), places)
        losses = torch.nn.functional.cross_entropy(logits.float(), right, reduction="sum", ignore_index=SKIPPED)
        return losses * part.scale


def dev_loss(task: AdaptTask, device: torch.device, *, amp: bool) -> float:
    """The mean loss of a token of the dev part before anything was learned."""
    task.network.to(device).eval()
    total = 0.0
    with torch.inference_mode(), torch.autocast(device.type, dtype=torch.bfloat16, enabled=amp):
        for examples in task.batches("dev", 0):
            total += float(task.loss(task.prepare("dev", examples)))
    return total / task.pairs.dev
