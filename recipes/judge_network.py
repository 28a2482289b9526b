"""Networks with one output per aspect, for teaching: reading replies fast, and training.

On a GPU, the encoder has half precision, each of its layers is compiled, and rows are put together from tokens that
stay in the GPU's memory. Updates are computed beside the frozen weights, Wx + s·B(Ax), so no gradient of a whole weight
matrix is needed.

A language model reads all replies to one context in one row:

    [start] context [end] reply [end] reply [end] …

Each reply has the positions that it would have if it alone followed the context, and sees only the context and itself.
Tokens of a language model see only earlier tokens, so each reply gets the same state as in a row of its own. With four
replies, this costs less than half as much.
"""

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

from interloq.learn.low_rank import STORED, Update
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
SHARED = 8  # replies that share a row, at most
ROUNDED = 16  # row lengths are rounded up to a multiple of this
CONTEXT, PADDING = 0, -1  # owners of tokens that belong to no reply
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

    def groups(self) -> list[Ints]:
        """Return the replies that share a row: adjacent ones to the same context, at most SHARED."""
        starts = np.flatnonzero(np.diff(self.owner, prepend=-1))
        groups = []
        for group in np.split(np.arange(len(self.owner)), starts[1:]):
            groups += [group[start : start + SHARED] for start in range(0, len(group), SHARED)]
        return groups


@dataclass(frozen=True, slots=True)
class SharedRows:
    """Ids, positions and owners [rows, tokens], and where replies end: the row and position of each."""

    ids: torch.Tensor
    positions: torch.Tensor
    owners: torch.Tensor
    rows: torch.Tensor
    ends: torch.Tensor


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

    def _send(self, values: Ints) -> torch.Tensor:
        return torch.from_numpy(values).to(self.device, non_blocking=True)

    def rows(self, which: Ints) -> TokenRows:
        """Return the rows that `cross_encoder.rows` makes of these pairs."""
        width = int(self.pairs.lengths[which].max())
        chosen = self._send(which)
        owner = self.owner[chosen]
        columns = torch.arange(width, device=self.device).expand(len(which), width)
        middle = self.context_lengths[owner][:, None] + 1  # the position of the separator
        last = middle + self.reply_lengths[chosen][:, None] + 1
        ids = self._contexts(owner, columns)
        in_reply = (columns > middle) & (columns < last)
        ids = torch.where(in_reply, _pick(self.replies[chosen], columns - middle - 1), ids)
        ids = ids.masked_fill(columns == last, self.subwords.end)
        mask = columns <= last
        return TokenRows(ids, mask.int(), (mask & (columns > middle)).int())

    def _contexts(self, owner: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
        """Return rows with the contexts between the special tokens, and padding after them."""
        middle = self.context_lengths[owner][:, None] + 1
        ids = torch.full(columns.shape, self.subwords.pad, dtype=torch.int32, device=self.device)
        in_context = (columns >= 1) & (columns < middle)
        ids = torch.where(in_context, _pick(self.contexts[owner], columns - 1), ids)
        ids = ids.masked_fill(columns == middle, self.subwords.end)
        return ids.masked_fill(columns == 0, self.subwords.start)

    def shared_rows(self, which: Ints) -> SharedRows:
        """Return rows in which adjacent replies to the same context share it, at most SHARED of them."""
        owners, lengths = self.pairs.owner[which], self.pairs.reply_lengths[which] + 1
        numbers = _count_up(owners)  # of each reply to its context
        new = numbers % SHARED == 0
        rows = np.cumsum(new) - 1
        before = np.cumsum(lengths) - lengths
        middle = self.pairs.context_lengths[owners] + 2
        starts = middle + before - before[new][rows]
        width = -(-int((starts + lengths).max()) // ROUNDED) * ROUNDED
        columns = torch.arange(width, device=self.device).expand(int(rows[-1]) + 1, width)
        own_context = self._send(owners[new])
        ids = self._contexts(own_context, columns)
        in_context = columns < self.context_lengths[own_context][:, None] + 2
        positions = torch.where(in_context, columns, 0)
        marks = torch.where(in_context, CONTEXT, PADDING)
        # the tokens of all replies, written to their places; those beyond a reply's end go to a place that is cut off
        chosen, row, start = self._send(which), self._send(rows), self._send(starts)
        inside = torch.arange(self.replies.shape[1] + 1, device=self.device)[None]
        length = self.reply_lengths[chosen][:, None]
        tokens = torch.nn.functional.pad(self.replies[chosen], (0, 1), value=self.subwords.end)
        tokens = tokens.masked_fill(inside == length, self.subwords.end)
        places = torch.where(inside <= length, row[:, None] * width + start[:, None] + inside, columns.numel())
        number = self._send(numbers % SHARED)[:, None] + 1
        return SharedRows(
            _write(ids, places, tokens),
            _write(positions, places, self._send(middle)[:, None] + inside),
            _write(marks, places, number.expand_as(places)),
            row,
            start + length[:, 0],
        )


def _pick(tokens: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    return tokens.gather(1, places.clamp(0, tokens.shape[1] - 1))


def _write(matrix: torch.Tensor, places: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Return the matrix with values at flat places; the place after its end is not kept."""
    flat = torch.cat([matrix.flatten().long(), matrix.new_zeros(1).long()])
    return flat.scatter_(0, places.flatten(), values.flatten().long())[:-1].view(matrix.shape)


def _count_up(values: Ints) -> Ints:
    """Return the number of equal values directly before each value."""
    starts = np.flatnonzero(np.diff(values, prepend=-1))
    sizes = np.diff([*starts, len(values)])
    return np.arange(len(values)) - np.repeat(starts, sizes)


@dataclass(frozen=True, slots=True)
class NetworkSpec:
    """A network by name: its base, the rank of its updates, and the trained tensors that it starts from."""

    name: str
    base: str
    low_rank: int
    start: Path | None = None

    @classmethod
    def parse(cls, text: str) -> NetworkSpec:
        """Parse NAME,BASE,RANK[,TENSORS] from the command line."""
        name, base, low_rank, *start = text.split(",")
        return cls(name, base, int(low_rank), Path(start[0]) if start else None)


class LowRankLinear(torch.nn.Module):  # type: ignore[misc]
    """A frozen linear layer with an update computed beside it."""

    def __init__(self, layer: torch.nn.Linear, settings: LowRank) -> None:
        super().__init__()
        self.weight, self.bias = layer.weight, layer.bias
        self.update = Update(layer.weight, settings).float()

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        linear = torch.nn.functional.linear
        inner = linear(states, self.update.a.to(states.dtype))
        changed: torch.Tensor = linear(inner, (self.update.scale * self.update.b).to(states.dtype))
        return linear(states, self.weight, self.bias) + changed


def add_updates(encoder: torch.nn.Module, settings: LowRank) -> None:
    """Give every linear layer an update, and freeze all else."""
    encoder.requires_grad_(False)
    linear = [(name, module) for name, module in encoder.named_modules() if isinstance(module, torch.nn.Linear)]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        for name, layer in linear:
            owner, _, last = name.rpartition(".")
            setattr(encoder.get_submodule(owner), last, LowRankLinear(layer, settings))


class JudgeNetwork:
    """A cross-encoder with one output per head."""

    def __init__(self, spec: NetworkSpec, device: str, outputs: int = len(HEADS)) -> None:
        from interloq.learn.start import Start

        files = Start.of(spec.base).files
        self.network = CrossEncoder.pretrained(files, outputs)
        self.subwords = Subwords(files, longest=READING["longest"])
        self.reader = RelevanceScorer(self.network, self.subwords, {"config": READING}, device)
        self.device = self.reader.device
        if self.device.type == "cuda":
            self.network.encoder.to(torch.bfloat16)
        add_updates(self.network.encoder, LowRank(low_rank=spec.low_rank))
        self.network.to(self.device)
        if self.device.type == "cuda":
            self._compile()
        self.start = load_file(spec.start) if spec.start else {}
        self.initial = {name: p.detach().clone() for name, p in self._trained()}
        self._on_device: dict[int, DevicePairs] = {}

    def _compile(self) -> None:
        """Compile each layer; layers are alike, so this costs as much as compiling one."""
        for module in self.network.encoder.modules():
            if isinstance(module, torch.nn.ModuleList):
                for layer in module:
                    layer.compile(dynamic=True)

    def _trained(self) -> list[tuple[str, torch.nn.Parameter]]:
        parameters = self.network.named_parameters()
        return [(name.replace(".update.", ".weight."), p) for name, p in parameters if p.requires_grad]

    def reset(self, tensors: Mapping[str, torch.Tensor] | None = None) -> None:
        """Load trained tensors, by default the tensors that the network starts from.

        If there is only a head for relevance, every head starts from it. Updates of a lower rank fill the first rows or
        columns.
        """
        tensors = self.start if tensors is None else tensors
        with torch.no_grad():
            for name, parameter in self._trained():
                parameter.copy_(self.initial[name])
                if name not in tensors:
                    continue
                tensor = tensors[name].to(self.device)
                if name.startswith("head."):
                    parameter.copy_(tensor.expand_as(parameter))
                else:
                    parameter[: tensor.shape[0], : tensor.shape[1]] = tensor.to(parameter.dtype)

    def stored(self) -> dict[str, torch.Tensor]:
        """Return a copy of the trained tensors in half precision."""
        return {name: parameter.detach().to(STORED).cpu().clone() for name, parameter in self._trained()}

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
        if id(pairs) not in self._on_device:
            self._on_device[id(pairs)] = DevicePairs(pairs, self.subwords, self.device)
        on_device = self._on_device[id(pairs)]
        if self.network.causal:
            states = self._shared_states(on_device.shared_rows(which))
        else:
            states = self.network.states(on_device.rows(which))
        outputs: torch.Tensor = self.network.head(states.float())
        return outputs

    def _shared_states(self, rows: SharedRows) -> torch.Tensor:
        """Return the state at the end of each reply [replies, dimensions]."""
        columns = torch.arange(rows.ids.shape[1], device=self.device)
        sees = (rows.owners[:, None, :] == CONTEXT) | (rows.owners[:, None, :] == rows.owners[:, :, None])
        mask = (sees & (columns[None, :] <= columns[:, None]))[:, None]
        made = self.network.encoder(
            input_ids=rows.ids, position_ids=rows.positions, attention_mask=mask, use_cache=False
        )
        states: torch.Tensor = made.last_hidden_state[rows.rows, rows.ends]
        return states

    @torch.no_grad()  # type: ignore[untyped-decorator]  # not inference_mode: kept rows are also used in training
    def score(self, pairs: Pairs, tokens: int = 2**17) -> NDArray[np.float32]:
        """Return the outputs of all replies."""
        self.network.eval()
        scores = torch.zeros(len(pairs.replies), self.network.head.out_features, device=self.device)
        for batch in self.batches(pairs, size=4096, tokens=tokens):
            scores[torch.from_numpy(batch).to(self.device)] = self.outputs(pairs, batch)
        return np.asarray(scores.cpu().numpy())

    def batches(self, pairs: Pairs, *, size: int, tokens: int, rng: np.random.Generator | None = None) -> list[Ints]:
        """Split replies into batches of rows of similar length; replies that share a row stay together."""
        if not self.network.causal:
            return make_batches(pairs.lengths, size=size, tokens=tokens, rng=rng)
        groups = pairs.groups()
        sizes = [
            pairs.context_lengths[pairs.owner[group[0]]] + int((pairs.reply_lengths[group] + 1).sum()) + 2
            for group in groups
        ]
        rows = make_batches(np.array(sizes), size=max(1, size // 4), tokens=tokens, rng=rng)
        return [np.concatenate([groups[i] for i in batch]) for batch in rows]

    def minimise(
        self,
        loss: Callable[[int], torch.Tensor],
        steps: int,
        rate: float,
        warmup: float,
        title: str,
        *,
        dropout: bool = True,
    ) -> None:
        """Take steps of AdamW with a linear schedule."""
        heads = list(self.network.head.parameters())
        updates = [p for p in self.network.encoder.parameters() if p.requires_grad]
        groups = [{"params": updates, "factor": 1.0}, {"params": heads, "factor": FASTER}]
        optimizer = torch.optim.AdamW(groups, lr=rate, weight_decay=0.01, fused=self.device.type == "cuda")
        self.network.train(dropout)
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
