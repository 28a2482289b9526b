"""Continuations of many contexts as trees of tokens, so that nothing that is shared is calculated twice.

A row holds the tokens of one or more contexts, each token once however many contexts begin with it, and after them, for
each context, a block: the tree of all follow-ups. Every token attends to the tokens on its way from the root, and its
position is their number; to the model each way is a text of its own. So a context is read once for all follow-ups, and
a dialogue once for all its turns.

A block's root repeats the context's last token: then all that is predicted stands in blocks, at a row's end. The last
tokens of follow-ups are never read, as nothing comes after them.
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
ROW = 1024  # tokens that are gathered in a row before the next one is begun


@dataclass(frozen=True, slots=True)
class Block:
    """The tree of all follow-ups: node 0 is the context's last token, to be filled in."""

    tokens: Ints
    depths: Ints
    sees: Bools  # [node, node]
    places: Ints  # of each token to be predicted: the node it follows,
    targets: Ints  # and the token
    owners: tuple[Ints, ...]  # of each follow-up: its tokens' numbers among these

    @classmethod
    def of(cls, follow_ups: Sequence[Tokens]) -> Block:
        """The tree of these follow-ups."""
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
            np.array(tokens, dtype=np.int64),
            sees.sum(axis=1) - 1,
            sees,
            wanted[:, 0],
            wanted[:, 1],
            tuple(owners),
        )

    def __len__(self) -> int:
        return len(self.tokens)

    def summed(self, said: Floats) -> Floats:
        """Each follow-up's sum, [contexts, follow-ups], from log-probabilities of what is predicted."""
        each = np.zeros((len(self.targets), len(self.owners)))
        for i, own in enumerate(self.owners):
            each[own, i] = 1
        return np.asarray(said @ each)


@dataclass(frozen=True, slots=True)
class Row:
    """Contexts, by their numbers, that are read together."""

    contexts: tuple[int, ...]
    tokens: Ints  # of the contexts' tree
    depths: Ints
    starts: Ints  # of each context: its first token that none before it has
    ways: tuple[Ints, ...]  # of each context: the nodes of all its tokens but the last
    lasts: Ints  # of each context: its last token

    def size(self, block: Block) -> int:
        return len(self.tokens) + len(self.contexts) * len(block)

    def sees(self) -> Bools:
        """[node, node] of the contexts' tree; made when it is needed, because it is large."""
        found = np.zeros((len(self.tokens), len(self.tokens)), dtype=bool)
        ends = [*self.starts[1:], len(self.tokens)]
        for way, start, end in zip(self.ways, self.starts, ends, strict=True):
            found[start:end, way[: len(way) - (end - start)]] = True
            found[start:end, start:end] = np.tri(end - start, dtype=bool)
        return found


def rows(contexts: Sequence[Tokens], block: Block, *, size: int = ROW) -> Iterator[Row]:
    """Contexts in rows of about `size` tokens; those that share more than half of their tokens stand together."""
    order = sorted(range(len(contexts)), key=contexts.__getitem__)
    kept: list[int] = []
    total = 0
    for i in order:
        shared = _shared(contexts[kept[-1]], contexts[i]) if kept else 0
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
    """Contexts come sorted, so each shares with all before it what it shares with the last."""
    tokens: list[int] = []
    depths: list[int] = []
    ways: list[Ints] = []
    starts: list[int] = []
    before: Tokens = ()
    way = np.zeros(0, dtype=np.int64)
    for i in numbers:
        own = contexts[i][:-1]
        shared = _shared(before, own)
        way = np.concatenate([way[:shared], np.arange(len(tokens), len(tokens) + len(own) - shared)])
        starts.append(len(tokens))
        tokens += own[shared:]
        depths += range(shared, len(own))
        ways.append(way)
        before = own
    lasts = [contexts[i][-1] for i in numbers]
    read, placed, begun, ended = (np.array(part, dtype=np.int64) for part in (tokens, depths, starts, lasts))
    return Row(tuple(numbers), read, placed, begun, tuple(ways), ended)


def _shared(first: Tokens, second: Tokens) -> int:
    least = min(len(first), len(second))
    if first[:least] == second[:least]:
        return least
    differ = np.array(first[:least]) != np.array(second[:least])
    return int(differ.argmax())


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows filled up on the left, so that blocks stand at the end of each."""

    tokens: Ints  # [rows, length]
    depths: Ints
    sees: Bools  # [rows, length, length]
    blocks: tuple[tuple[int, int, int], ...]  # row, where the block starts, number of the context
    context_edges: Ints  # what is predicted within contexts: [row, place, token]
    context_owners: Ints  # of each of these: its block

    def edges(self, block: Block) -> Ints:
        """What is predicted in blocks, one after another: [row, place, token]."""
        each = [
            np.column_stack([np.full(len(block.places), row), start + block.places, block.targets])
            for row, start, _ in self.blocks
        ]
        return np.concatenate(each)

    @property
    def first(self) -> int:
        """Where the first block starts."""
        return min(start for _, start, _ in self.blocks)


def batch(members: Sequence[Row], block: Block, *, multiple: int = 8) -> Batch:
    """GPUs like lengths that are multiples of 8."""
    length = -(-max(row.size(block) for row in members) // multiple) * multiple
    tokens = np.zeros((len(members), length), dtype=np.int64)
    depths = np.zeros_like(tokens)
    sees = np.zeros((len(members), length, length), dtype=bool)
    blocks: list[tuple[int, int, int]] = []
    edges, owners = [], []
    for r, row in enumerate(members):
        start = length - row.size(block)
        sees[r, :start, :start] = np.eye(start, dtype=bool)  # what fills up sees itself only
        end = start + len(row.tokens)
        tokens[r, start:end], depths[r, start:end] = row.tokens, row.depths
        sees[r, start:end, start:end] = row.sees()
        for number, way, last in zip(row.contexts, row.ways, row.lasts, strict=True):
            place = slice(end, end + len(block))
            tokens[r, place], depths[r, place] = block.tokens, block.depths + len(way)
            tokens[r, end] = last
            sees[r, place, start + way] = True
            sees[r, place, place] = block.sees
            said = np.append(row.tokens[way[1:]], last)[: len(way)]
            edges.append(np.column_stack([np.full(len(way), r), start + way, said]))
            owners += [len(blocks)] * len(way)
            blocks.append((r, end, number))
            end += len(block)
    return Batch(
        tokens, depths, sees, tuple(blocks), np.concatenate(edges).astype(np.int64), np.array(owners, np.int64)
    )
