# SPDX-License-Identifier: Apache-2.0
"""Continuations of many contexts as trees of tokens, so that shared prefixes are computed once.

A row has the tokens of one or more contexts, with shared prefixes stored once, followed by one block per context: the
tree of all follow-ups. Every token attends to the tokens on its path from the root, and its position is their number,
so to the model each path is a separate text. A context is read once for all follow-ups, and a dialogue once for all its
turns.

A block's root repeats the context's last token, so that everything predicted is in blocks, at the end of the row. The
last tokens of follow-ups are never read, because nothing comes after them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Tokens = tuple[int, ...]
MULTIPLE = 8
ROW = 1024  # tokens collected in a row before the next one is started


@dataclass(frozen=True, slots=True)
class Block:
    """Tree of all follow-ups; node 0 is a placeholder for the context's last token."""

    tokens: Ints
    depths: Ints
    sees: Bools  # [node, node]
    places: Ints  # for each predicted token: the node that it follows
    targets: Ints  # the predicted tokens
    owners: tuple[Ints, ...]  # for each follow-up: indices of its tokens in `targets`

    @classmethod
    def of(cls, follow_ups: Sequence[Tokens]) -> Block:
        """Build the tree of these follow-ups."""
        parents, tokens = [-1], [0]
        children: dict[tuple[int, int], int] = {}
        edges: dict[tuple[int, int], int] = {}
        owners = []
        for follow_up in follow_ups:
            node, own = 0, []
            for i, token in enumerate(follow_up):
                own.append(edges.setdefault((node, token), len(edges)))
                if i + 1 < len(follow_up):
                    if (node, token) not in children:
                        children[node, token] = len(tokens)
                        parents.append(node)
                        tokens.append(token)
                    node = children[node, token]
            owners.append(np.array(own, dtype=np.int64))
        sees = np.eye(len(tokens), dtype=bool)
        for node in range(1, len(tokens)):
            sees[node] |= sees[parents[node]]
        wanted = np.array(list(edges), dtype=np.int64).reshape(-1, 2)
        return cls(
            np.array(tokens, dtype=np.int64), sees.sum(axis=1) - 1, sees, wanted[:, 0], wanted[:, 1], tuple(owners)
        )

    def __len__(self) -> int:
        return len(self.tokens)

    def sum_follow_ups(self, log_probs: Floats) -> Floats:
        """Return the sum per follow-up [contexts, follow-ups] from the log-probabilities of the targets."""
        each = np.zeros((len(self.targets), len(self.owners)))
        for i, own in enumerate(self.owners):
            each[own, i] = 1
        return np.asarray(log_probs @ each)


@dataclass(frozen=True, slots=True)
class Row:
    """Contexts, given by index, that are read together."""

    contexts: tuple[int, ...]
    tokens: Ints  # of the contexts' tree
    depths: Ints
    starts: Ints  # for each context: the first node not shared with an earlier context
    paths: tuple[Ints, ...]  # for each context: the nodes of all its tokens but the last
    lasts: Ints  # for each context: its last token

    def size(self, block: Block) -> int:
        return len(self.tokens) + len(self.contexts) * len(block)

    def sees(self) -> Bools:
        """Return the attention mask [node, node] of the contexts' tree; computed when needed, because it is large."""
        sees = np.zeros((len(self.tokens), len(self.tokens)), dtype=bool)
        ends = [*self.starts[1:], len(self.tokens)]
        for path, start, end in zip(self.paths, self.starts, ends, strict=True):
            sees[start:end, path[: len(path) - (end - start)]] = True
            sees[start:end, start:end] = np.tri(end - start, dtype=bool)
        return sees


def rows(contexts: Sequence[Tokens], block: Block, *, size: int = ROW) -> Iterator[Row]:
    """Yield the contexts in rows of about `size` tokens.

    Contexts that share more than half of their tokens are together.
    """
    order = sorted(range(len(contexts)), key=contexts.__getitem__)
    kept: list[int] = []
    total = 0
    for i in order:
        shared = _count_shared_tokens(contexts[kept[-1]], contexts[i]) if kept else 0
        more = len(contexts[i]) - shared + len(block)
        if kept and (total + more > size or 2 * shared <= len(contexts[i])):
            yield _row(contexts, kept)
            kept, total = [], 0
            more = len(contexts[i]) + len(block)
        kept.append(i)
        total += more
    if kept:
        yield _row(contexts, kept)


def _row(contexts: Sequence[Tokens], numbers: Sequence[int]) -> Row:
    """Build a row of sorted contexts: a prefix shared with any earlier context is shared with the previous one."""
    tokens: list[int] = []
    depths: list[int] = []
    paths: list[Ints] = []
    starts: list[int] = []
    before: Tokens = ()
    path = np.zeros(0, dtype=np.int64)
    for i in numbers:
        own = contexts[i][:-1]
        shared = _count_shared_tokens(before, own)
        path = np.concatenate([path[:shared], np.arange(len(tokens), len(tokens) + len(own) - shared)])
        starts.append(len(tokens))
        tokens += own[shared:]
        depths += range(shared, len(own))
        paths.append(path)
        before = own
    lasts = [contexts[i][-1] for i in numbers]
    read, placed, begun, ended = (np.array(part, dtype=np.int64) for part in (tokens, depths, starts, lasts))
    return Row(tuple(numbers), read, placed, begun, tuple(paths), ended)


def _count_shared_tokens(first: Tokens, second: Tokens) -> int:
    least = min(len(first), len(second))
    if first[:least] == second[:least]:
        return least
    differ = np.array(first[:least]) != np.array(second[:least])
    return int(differ.argmax())


@dataclass(frozen=True, slots=True)
class TreeBatch:
    """Rows padded on the left, so that blocks are at the end of each."""

    tokens: Ints  # [rows, length]
    depths: Ints
    sees: Bools  # [rows, length, length]
    blocks: tuple[tuple[int, int, int], ...]  # row, start of the block, index of the context
    context_edges: Ints  # predictions within contexts: [row, position, token]
    context_owners: Ints  # for each of these: its block

    def edges(self, block: Block) -> Ints:
        """Return the predictions in the blocks, block by block: [row, position, token]."""
        edges = []
        for row, start, _ in self.blocks:
            edges.append(np.column_stack([np.full(len(block.places), row), start + block.places, block.targets]))
        return np.concatenate(edges)

    @property
    def first(self) -> int:
        """Where the first block starts."""
        return min(start for _, start, _ in self.blocks)


def batch(members: Sequence[Row], block: Block) -> TreeBatch:
    """Join rows into a batch; its length is a multiple of 8, which is faster on GPUs."""
    length = -(-max(row.size(block) for row in members) // MULTIPLE) * MULTIPLE
    tokens = np.zeros((len(members), length), dtype=np.int64)
    depths = np.zeros_like(tokens)
    sees = np.zeros((len(members), length, length), dtype=bool)
    blocks: list[tuple[int, int, int]] = []
    edges, owners = [], []
    for r, row in enumerate(members):
        start = length - row.size(block)
        sees[r, :start, :start] = np.eye(start, dtype=bool)  # padding sees only itself
        end = start + len(row.tokens)
        tokens[r, start:end], depths[r, start:end] = row.tokens, row.depths
        sees[r, start:end, start:end] = row.sees()
        for number, path, last in zip(row.contexts, row.paths, row.lasts, strict=True):
            place = slice(end, end + len(block))
            tokens[r, place], depths[r, place] = block.tokens, block.depths + len(path)
            tokens[r, end] = last
            sees[r, place, start + path] = True
            sees[r, place, place] = block.sees
            targets = np.append(row.tokens[path[1:]], last)[: len(path)]
            edges.append(np.column_stack([np.full(len(path), r), start + path, targets]))
            owners += [len(blocks)] * len(path)
            blocks.append((r, end, number))
            end += len(block)
    return TreeBatch(
        tokens, depths, sees, tuple(blocks), np.concatenate(edges).astype(np.int64), np.array(owners, np.int64)
    )
