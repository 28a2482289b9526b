"""Networks with one output per aspect, for teaching: reading replies fast, and training."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from judge_sets import ASPECTS
from numpy.typing import NDArray
from safetensors.torch import load_file
from shared_context import share_contexts, shared_states

from interloq.learn.low_rank import attach, merge, select_stored_tensors
from interloq.learn.settings import LowRank
from interloq.models.batches import make_batches
from interloq.models.cross_encoder import CrossEncoder
from interloq.models.pretrained import Subwords
from interloq.models.token_rows import TokenRows
from interloq.scorers.relevance.model import RelevanceScorer

RELEVANCE = "relevance"
HEADS = (RELEVANCE, *ASPECTS)
READING = {"turns": 4, "longest": 128, "context": 96, "reply": 48}
FASTER = 10.0  # the heads' learning rate, as a multiple of the encoder's
MESSAGES = 10  # progress messages per training
Tokens = NDArray[Any]
Ints = NDArray[np.int64]


def log(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Pairs:
    """Tokens of contexts and replies, and each reply's context; replies to the same context are adjacent."""

    contexts: Sequence[Tokens]
    replies: Sequence[Tokens]
    owner: Ints

    @cached_property
    def context_lengths(self) -> Ints:
        return np.array(list(map(len, self.contexts)), dtype=np.int64)

    @cached_property
    def reply_lengths(self) -> Ints:
        return np.array(list(map(len, self.replies)), dtype=np.int64)

    @cached_property
    def lengths(self) -> Ints:
        """Tokens of each reply with its context."""
        return np.asarray(self.context_lengths[self.owner] + self.reply_lengths + 3)

    def __add__(self, other: Pairs) -> Pairs:
        """Return these pairs, followed by others."""
        owner = np.concatenate([self.owner, other.owner + len(self.contexts)])
        return Pairs([*self.contexts, *other.contexts], [*self.replies, *other.replies], owner)

    def take(self, which: Ints) -> Pairs:
        """Return some of the pairs, each with a context of its own."""
        contexts = [self.contexts[i] for i in self.owner[which].tolist()]
        return Pairs(contexts, [self.replies[i] for i in which.tolist()], np.arange(len(which)))


class DevicePairs:
    """Pairs as padded matrices on a device, which joins them into rows without waiting for the processor."""

    def __init__(self, pairs: Pairs, subwords: Subwords, device: torch.device) -> None:
        self.pairs, self.subwords, self.device = pairs, subwords, device
        self.contexts, self.replies = self._pad(pairs.contexts), self._pad(pairs.replies)
        self.owner = torch.from_numpy(pairs.owner).to(device)
        self.context_lengths = torch.from_numpy(pairs.context_lengths).to(device)
        self.reply_lengths = torch.from_numpy(pairs.reply_lengths).to(device)

    def _pad(self, texts: Sequence[Tokens]) -> torch.Tensor:
        matrix = np.full((len(texts), max(map(len, texts), default=1)), self.subwords.pad, dtype=np.int32)
        for row, tokens in zip(matrix, texts, strict=True):
            row[: len(tokens)] = tokens
        return torch.from_numpy(matrix).to(self.device)

    def rows(self, which: Ints) -> TokenRows:
        """Return the rows that `cross_encoder.rows` makes of these pairs."""
        width = int(self.pairs.lengths[which].max())
        chosen = torch.from_numpy(which).to(self.device, non_blocking=True)
        owner = self.owner[chosen]
        columns = torch.arange(width, device=self.device).expand(len(which), width)
        middle = self.context_lengths[owner][:, None] + 1  # the position of the separator
        last = middle + self.reply_lengths[chosen][:, None] + 1
        ids = torch.full((len(which), width), self.subwords.pad, dtype=torch.int32, device=self.device)
        in_context = (columns >= 1) & (columns < middle)
        in_reply = (columns > middle) & (columns < last)
        ids = torch.where(in_context, _pick(self.contexts[owner], columns - 1), ids)
        ids = torch.where(in_reply, _pick(self.replies[chosen], columns - middle - 1), ids)
        ids = ids.masked_fill((columns == middle) | (columns == last), self.subwords.end)
        ids = ids.masked_fill(columns == 0, self.subwords.start)
        mask = columns <= last
        return TokenRows(ids, mask.int(), (mask & (columns > middle)).int())


def _pick(tokens: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    return tokens.gather(1, places.clamp(0, tokens.shape[1] - 1))


@dataclass(frozen=True, slots=True)
class NetworkSpec:
    """A network by name: its base, the rank of its updates, and the trained tensors that it starts from."""

    name: str
    base: str
    low_rank: int
    start: Path

    @classmethod
    def parse(cls, text: str) -> NetworkSpec:
        """Parse NAME,BASE,RANK,TENSORS from the command line."""
        name, base, low_rank, start = text.split(",")
        return cls(name, base, int(low_rank), Path(start))


class JudgeNetwork:
    """A cross-encoder with one output per head."""

    def __init__(self, spec: NetworkSpec, device: str) -> None:
        from interloq.learn.start import Start

        files = Start.of(spec.base).files
        self.settings = LowRank(low_rank=spec.low_rank)
        self.network = CrossEncoder.pretrained(files, len(HEADS))
        self.subwords = Subwords(files, longest=READING["longest"])
        attach(self.network, self.settings, seed=0)
        self.reader = RelevanceScorer(self.network, self.subwords, {"config": READING}, device)
        self.device = self.reader.device
        self.start = load_file(spec.start)
        self.initial = {name: p.detach().clone() for name, p in self._trained()}
        self._on_device: dict[int, DevicePairs] = {}

    def _trained(self) -> list[tuple[str, torch.nn.Parameter]]:
        parameters = self.network.named_parameters()
        return [
            (name.replace(".parametrizations.weight.0.", ".weight."), p) for name, p in parameters if p.requires_grad
        ]

    def reset(self, tensors: Mapping[str, torch.Tensor] | None = None) -> None:
        """Load trained tensors, by default the tensors that the network starts from.

        If there is only a head for relevance, every head starts from it. Updates of a lower rank fill the first rows or
        columns.
        """
        tensors = self.start if tensors is None else tensors
        with torch.no_grad():
            for name, parameter in self._trained():
                tensor = tensors[name].to(self.device)
                parameter.copy_(self.initial[name])
                if name.startswith("head."):
                    parameter.copy_(tensor.expand_as(parameter))
                else:
                    parameter[: tensor.shape[0], : tensor.shape[1]] = tensor.to(parameter.dtype)

    def stored(self) -> dict[str, torch.Tensor]:
        """Return a copy of the trained tensors in half precision."""
        return {name: tensor.cpu().clone() for name, tensor in select_stored_tensors(self.network).items()}

    def merge(self) -> None:
        """Add the updates to the weights, in half precision on a GPU: for scoring only."""
        merge(self.network)
        if self.device.type == "cuda":
            self.network.to(torch.bfloat16)

    def read(self, contexts: Sequence[Sequence[str]], replies: Sequence[str], owner: Ints) -> Pairs:
        """Tokenise contexts and replies."""
        first = dict.fromkeys(owner.tolist())  # contexts that have a reply
        pairs = self.reader.token_rows([contexts[i] for i in first], [""] * len(first))
        tokens = {i: context for i, (context, _) in zip(first, pairs, strict=True)}
        empty = np.zeros(0, dtype=np.int32)
        texts = self.subwords.texts(replies)
        return Pairs(
            [tokens.get(i, empty) for i in range(len(contexts))],
            [texts[i][: READING["reply"]] for i in range(len(replies))],
            owner,
        )

    def outputs(self, pairs: Pairs, which: Ints) -> torch.Tensor:
        """Return the outputs [replies, heads] of some replies."""
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.device.type == "cuda"):
            if self.network.causal:
                states = self._shared_states(pairs, which)
            else:
                if id(pairs) not in self._on_device:
                    self._on_device[id(pairs)] = DevicePairs(pairs, self.subwords, self.device)
                states = self.network.states(self._on_device[id(pairs)].rows(which))
            logits: torch.Tensor = self.network.head(states)
        return logits.float()

    def _shared_states(self, pairs: Pairs, which: Ints) -> torch.Tensor:
        """Return the states of replies; adjacent replies to the same context share a row."""
        contexts: list[Tokens] = []
        replies: list[list[Tokens]] = []
        last = -1
        for i in which.tolist():
            if pairs.owner[i] != last:
                last = int(pairs.owner[i])
                contexts.append(pairs.contexts[last])
                replies.append([])
            replies[-1].append(pairs.replies[i])
        return shared_states(self.network, share_contexts(contexts, replies, self.subwords))

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def score(self, pairs: Pairs, tokens: int = 2**16) -> NDArray[np.float32]:
        """Return the outputs of all replies."""
        self.network.eval()
        scores = torch.zeros(len(pairs.replies), len(HEADS), device=self.device)
        for batch in self._batches(pairs, tokens):
            scores[torch.from_numpy(batch).to(self.device)] = self.outputs(pairs, batch)
        return np.asarray(scores.cpu().numpy())

    def _batches(self, pairs: Pairs, tokens: int) -> list[Ints]:
        if not self.network.causal:
            return make_batches(pairs.lengths, size=2048, tokens=tokens, rng=None)
        starts = np.flatnonzero(np.diff(pairs.owner, prepend=-1))
        groups = np.split(np.arange(len(pairs.owner)), starts[1:])
        sizes = pairs.context_lengths[pairs.owner[starts]] + np.add.reduceat(pairs.reply_lengths + 1, starts) + 2
        return [
            np.concatenate([groups[i] for i in batch])
            for batch in make_batches(sizes, size=512, tokens=tokens, rng=None)
        ]

    def minimise(self, loss: Callable[[int], torch.Tensor], steps: int, rate: float, warmup: float, title: str) -> None:
        """Take steps of AdamW with a linear schedule."""
        heads = list(self.network.head.parameters())
        updates = [p for p in self.network.encoder.parameters() if p.requires_grad]
        groups = [{"params": updates, "factor": 1.0}, {"params": heads, "factor": FASTER}]
        optimizer = torch.optim.AdamW(groups, lr=rate, weight_decay=0.01, fused=self.device.type == "cuda")
        self.network.train()
        interval = max(1, steps // MESSAGES)
        running = torch.zeros((), device=self.device)
        for step in range(steps):
            optimizer.zero_grad(set_to_none=True)
            value = loss(step)
            value.backward()
            torch.nn.utils.clip_grad_norm_([*updates, *heads], 1.0)
            warm = (step + 1) / max(1.0, warmup * steps)
            decayed = (steps - step) / ((1 - warmup) * steps)
            for group in optimizer.param_groups:
                group["lr"] = group["factor"] * rate * min(warm, decayed)
            optimizer.step()
            running += value.detach()
            if (step + 1) % interval == 0:
                mean = float(running) / interval
                log(f"{title}: step {step + 1} of {steps}, loss {mean:.4f}")
                running.zero_()
                if not math.isfinite(mean):
                    raise SystemExit(f"{title}: the loss is {mean}")
