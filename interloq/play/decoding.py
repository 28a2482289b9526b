# SPDX-License-Identifier: Apache-2.0
"""Decoding: turn a network's probabilities of the next token into replies, many dialogues at a time.

- **Sampling** is Gumbel-max: token = argmax_v [ log p(v)/T + g(seed, step, v) ] over the tokens that `top_k` and
  `top_p` (Holtzman et al., 2020) keep. The noise is a hash of the row's seed, the step and the token, so a reply
  depends on its turns and its seed, not on the other rows or the device, except for the network's rounding. T = 0 takes
  the most likely token.
- **Beam search** keeps the `beams` most likely beginnings. Finished replies are ranked by
  log p / tokens^length_penalty, with the end counted as a token. A row ends when its best open beam, ranked at its
  present length, is worse than its worst finished one. These are the rules of Hugging Face transformers
  (`early_stopping=False`); the tests compare the two.
- **Diverse beam search** (Vijayakumar et al., 2018) divides the beams into groups that choose one after another: a
  token costs a group `diversity` for each beam of the earlier groups that chose it in this step (Hamming diversity).
  The penalty affects the choice only: beams keep their log-probabilities, as in the paper's Θ.

A row that is finished leaves the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import torch

from interloq.play.decoding_options import Decoding

LIKELY = (512, 4_096)  # numbers of tokens among which the nucleus is searched, first and second attempt
FINISHED = 1 / 8  # share of a batch that must be finished before it is removed: removing copies the rest
_SPREAD, _MIX = (
    -7046029254386353131,
    (-4658895280553007687, -7723592293110705685),
)  # constants of splitmix64, as signed numbers
State = TypeVar("State")
Stopped = Callable[[torch.Tensor], torch.Tensor]


class Network(Protocol[State]):
    """What a network must offer to be decoded. Its state holds one row per reply that is being written."""

    end: int  # the token that ends a reply

    def start(self, rows: Sequence[Any]) -> tuple[State, torch.Tensor]:
        """Return the state before the first token, and the logits [rows, tokens] of the first one."""

    def step(self, state: State, tokens: torch.Tensor) -> tuple[State, torch.Tensor]:
        """Return the state after one more token per row, and the logits of the next one."""

    def select(self, state: State, rows: torch.Tensor) -> State:
        """Return the state of these rows, in this order; a row may be left out or repeated."""


class Candidate(NamedTuple):
    """A possible reply: its tokens without the end, the score it is ranked by, and its log-probability."""

    tokens: list[int]
    score: float
    log_probability: float


@torch.inference_mode()  # type: ignore[untyped-decorator]
def decode(
    network: Network[Any],
    rows: Sequence[Any],
    seeds: Sequence[int],
    decoding: Decoding,
    max_tokens: int,
    *,
    candidates: int = 1,
    batch: int = 256,
    stopped: Stopped | None = None,
) -> list[list[Candidate]]:
    """Return up to `candidates` replies to each row, best first, of at most `max_tokens` tokens.

    `batch` limits the replies, or beams, that are written at the same time. `stopped` may end replies at other tokens
    than the network's end: it is given tokens [replies, steps] and returns whether each is complete; the token that
    completes it is kept.
    """
    decoding.check_candidates(candidates)
    copies = candidates if decoding.beams == 1 else decoding.beams
    size = max(1, batch // copies)
    found: list[list[Candidate]] = []
    for first in range(0, len(rows), size):
        part = slice(first, first + size)
        state, logits = network.start(rows[part])
        decoding.check_vocabulary(logits.shape[-1])
        repeated = torch.arange(len(logits), device=logits.device).repeat_interleave(copies)
        if copies > 1:
            state, logits = network.select(state, repeated), logits[repeated]
        if decoding.beams > 1:
            search = _BeamSearch(network, decoding, len(logits) // copies, max_tokens, logits.device)
            found += [row[:candidates] for row in search.run(state, logits, stopped)]
        else:
            noise = seed_copies(seeds[part], copies).to(logits.device)
            written = _sample(network, state, logits, noise, decoding, max_tokens, stopped)
            for place in range(0, len(written), copies):
                found.append(sorted(written[place : place + copies], key=lambda reply: -reply.score))
    return found


def _sample(
    network: Network[Any],
    state: Any,
    logits: torch.Tensor,
    seeds: torch.Tensor,
    decoding: Decoding,
    max_tokens: int,
    stopped: Stopped | None,
) -> list[Candidate]:
    """Return one reply per row of the logits: samples, or the most likely tokens."""
    device, n = logits.device, len(logits)
    tokens = torch.full((n, max_tokens), network.end, device=device)
    lengths, sums = torch.zeros(n, dtype=torch.long, device=device), torch.zeros(n, device=device)
    rows, is_open = torch.arange(n, device=device), torch.ones(n, dtype=torch.bool, device=device)
    for step in range(max_tokens):
        chosen = choose_tokens(logits.float(), seeds[rows], step, decoding)
        chances = logits.float().log_softmax(-1).gather(1, chosen[:, None])[:, 0]
        ends = chosen == network.end
        sums[rows] += torch.where(is_open, chances, 0.0)
        tokens[rows, step] = torch.where(is_open, chosen, network.end)
        lengths[rows] += (is_open & ~ends).long()
        is_open &= ~ends
        if stopped is not None:
            is_open &= ~stopped(tokens[rows, : step + 1])
        left = int(is_open.sum())  # waits for the device once per token
        if not left or step + 1 == max_tokens:
            break
        if len(rows) - left >= FINISHED * len(rows):
            keep = is_open.nonzero()[:, 0]
            state, rows, chosen, is_open = network.select(state, keep), rows[keep], chosen[keep], is_open[keep]
        state, logits = network.step(state, chosen)
    return [
        Candidate(row[:length], score, score)
        for row, length, score in zip(tokens.tolist(), lengths.tolist(), sums.tolist(), strict=True)
    ]


def choose_tokens(logits: torch.Tensor, seeds: torch.Tensor, step: int, decoding: Decoding) -> torch.Tensor:
    """Return one token per row: the most likely one, or a sample with the row's own noise."""
    return add_noise(logits, seeds, step, decoding).argmax(-1)


def add_noise(logits: torch.Tensor, seeds: torch.Tensor, step: int, decoding: Decoding) -> torch.Tensor:
    """Return scores whose maximum is a sample: filtered, with temperature, plus each row's noise."""
    if decoding.temperature == 0:
        return logits
    scores = nucleus(keep_most_likely(logits / decoding.temperature, decoding.top_k), decoding.top_p)
    rows, tokens = torch.isfinite(scores).nonzero(as_tuple=True)  # noise is expensive, and the other tokens need none
    noise = gumbel(seeds[rows], step, tokens)
    noisy = scores.clone()
    noisy[rows, tokens] += noise.to(scores.dtype)
    return noisy


class _BeamSearch:
    """The beams of a batch of rows: open ones [rows, groups, beams], and the best finished ones in the same shape."""

    def __init__(
        self, network: Network[Any], decoding: Decoding, rows: int, max_tokens: int, device: torch.device
    ) -> None:
        self.network, self.decoding, self.max_tokens = network, decoding, max_tokens
        self.groups, self.width = decoding.groups, decoding.beams // decoding.groups
        shape = (rows, self.groups, self.width)
        self.rows = torch.arange(rows, device=device)
        self.tokens = torch.full((*shape, max_tokens), network.end, device=device)
        self.sums = torch.full(shape, -torch.inf, device=device)
        self.sums[:, :, 0] = 0  # all beams begin equal, so only the first of each group may choose
        self.done_tokens, self.done_sums = self.tokens.clone(), torch.full_like(self.sums, -torch.inf)
        self.done_scores, self.done_lengths = (
            self.done_sums.clone(),
            torch.zeros(shape, dtype=torch.long, device=device),
        )
        self.found: list[list[Candidate]] = [[] for _ in range(rows)]

    def run(self, state: Any, logits: torch.Tensor, stopped: Stopped | None) -> list[list[Candidate]]:
        """Return the finished beams of each row, best first."""
        for step in range(self.max_tokens):
            log_probs = logits.float().log_softmax(-1).view(*self.sums.shape, -1)
            parents = self._extend(log_probs, step, stopped)
            is_open = self._can_improve(step + 1)
            if step + 1 == self.max_tokens or not is_open.any():
                break
            first = torch.arange(len(is_open), device=parents.device)[:, None] * self.decoding.beams
            sources = (first + parents.flatten(1))[is_open]
            self._leave(is_open)
            state = self.network.select(state, sources.flatten())
            state, logits = self.network.step(state, self.tokens[..., step].flatten())
        self._leave(torch.zeros_like(is_open))
        return self.found

    def _extend(self, log_probs: torch.Tensor, step: int, stopped: Stopped | None) -> torch.Tensor:
        """Add a token to each open beam, group after group; return the beam [rows, groups, beams] each continues."""
        words = log_probs.shape[-1]
        parents = torch.zeros_like(self.done_lengths)
        used = torch.zeros((len(log_probs), words), device=log_probs.device)
        for group in range(self.groups):
            sums = (self.sums[:, group, :, None] + log_probs[:, group]).flatten(1)
            penalty = (self.decoding.diversity * used).repeat(1, self.width)
            best = (sums - penalty).topk(2 * self.width).indices  # if every beam ends, as many can still go on
            sums, beams, tokens = sums.gather(1, best), best // words, best % words
            history = self._pick(self.tokens[:, group], beams)
            history[..., step] = tokens
            ends = tokens == self.network.end
            if stopped is not None:
                ends |= stopped(history[..., : step + 1].flatten(0, 1)).view_as(ends)
            if step + 1 == self.max_tokens:
                ends = torch.ones_like(ends)
            self._finish(group, history, sums, ends, step + 1)
            going_on = sums.masked_fill(ends, -torch.inf)
            order = ends.long().argsort(dim=1, stable=True)[:, : self.width]  # as chosen, those that end last
            self.sums[:, group] = going_on.gather(1, order)
            self.tokens[:, group] = self._pick(history, order)
            parents[:, group] = beams.gather(1, order) + group * self.width
            used.scatter_add_(1, tokens.gather(1, order), torch.ones_like(self.sums[:, group]))
        return parents

    def _finish(self, group: int, history: torch.Tensor, sums: torch.Tensor, ends: torch.Tensor, length: int) -> None:
        """Keep the best of the group's finished beams; only the best half of the choice may finish."""
        ends = ends.clone()
        ends[:, self.width :] = False
        sums = sums.masked_fill(~ends, -torch.inf)
        scores = torch.cat([self.done_scores[:, group], sums / length**self.decoding.length_penalty], dim=1)
        kept, order = scores.topk(self.width)
        lengths = torch.full_like(ends, length, dtype=torch.long)
        self.done_scores[:, group] = kept
        self.done_sums[:, group] = torch.cat([self.done_sums[:, group], sums], dim=1).gather(1, order)
        self.done_lengths[:, group] = torch.cat([self.done_lengths[:, group], lengths], dim=1).gather(1, order)
        self.done_tokens[:, group] = self._pick(torch.cat([self.done_tokens[:, group], history], dim=1), order)

    def _can_improve(self, length: int) -> torch.Tensor:
        """Return whether an open beam of each row would rank above a finished one of its group."""
        best = self.sums.amax(-1) / length**self.decoding.length_penalty
        return (best > self.done_scores.amin(-1)).any(-1)

    def _leave(self, is_open: torch.Tensor) -> None:
        """Store the replies of rows that are done, and keep the others."""
        for row in (~is_open).nonzero()[:, 0].tolist():
            self.found[int(self.rows[row])] = self._candidates(row)
        for name in ("rows", "tokens", "sums", "done_tokens", "done_sums", "done_scores", "done_lengths"):
            setattr(self, name, getattr(self, name)[is_open])

    def _candidates(self, row: int) -> list[Candidate]:
        """Return the finished replies of a row, best first, each text once."""
        parts = (self.done_tokens, self.done_lengths, self.done_scores, self.done_sums)
        tokens, lengths, scores, sums = (part[row].flatten(0, 1).tolist() for part in parts)
        found: dict[tuple[int, ...], Candidate] = {}
        for i in sorted(range(len(scores)), key=lambda i: -scores[i]):
            reply = tokens[i][: lengths[i]]
            if reply and reply[-1] == self.network.end:
                reply = reply[:-1]
            if scores[i] > -torch.inf:
                found.setdefault(tuple(reply), Candidate(reply, scores[i], sums[i]))
        return list(found.values())

    @staticmethod
    def _pick(tokens: torch.Tensor, beams: torch.Tensor) -> torch.Tensor:
        """Return the tokens [rows, n, steps] of these beams [rows, n]."""
        return tokens.gather(1, beams[..., None].expand(-1, -1, tokens.shape[-1]))


def keep_most_likely(logits: torch.Tensor, top_k: int) -> torch.Tensor:
    """Return logits with minus infinity for all but the `top_k` most likely tokens, and those as likely as the last."""
    if not 0 < top_k < logits.shape[-1]:
        return logits
    return logits.masked_fill(logits < logits.topk(top_k).values[:, -1:], -torch.inf)


def seed_copies(seeds: Sequence[int], copies: int) -> torch.Tensor:
    """Return seeds for `copies` replies per row; the first copy has the row's own seed."""
    signed = torch.from_numpy(np.array([seed % 2**64 for seed in seeds], dtype=np.uint64).view(np.int64))
    own = signed[:, None].repeat(1, copies)
    own[:, 1:] = _mix_bits(own[:, 1:] + torch.arange(1, copies))
    return own.flatten()


def nucleus(logits: torch.Tensor, top_p: float) -> torch.Tensor:
    """Return logits with minus infinity for all tokens outside the nucleus: the most likely ones that add up to top_p.

    Tokens as likely as the last of these are kept as well, so that ties need no order. Sorting a few top tokens is
    usually enough; more, and finally all, are sorted only for the rows that need it.
    """
    if top_p >= 1:
        return logits
    words, total = logits.shape[-1], logits.logsumexp(-1, keepdim=True)
    least = torch.empty_like(total)  # of the logits inside
    rows = torch.arange(len(logits), device=logits.device)
    for k in (*(k for k in LIKELY if k < words), words):
        some = logits if len(rows) == len(logits) else logits[rows]
        ordered = some.topk(k).values if k < words else some.sort(dim=-1, descending=True).values
        chances = (ordered - total[rows]).exp()
        inside = (chances.cumsum(-1) - chances < top_p).sum(-1, keepdim=True)
        least[rows] = ordered.gather(-1, inside - 1)
        rows = rows[chances.sum(-1) < top_p]
        if not len(rows):
            break
    return logits.masked_fill(logits < least, -torch.inf)


def gumbel(seeds: torch.Tensor, step: int, tokens: torch.Tensor) -> torch.Tensor:
    """Return standard Gumbel noise as a hash of seed, step and token; both arguments may broadcast."""
    rows = _mix_bits(_mix_bits(seeds) + step * _SPREAD % 2**63)
    mixed = _mix_bits(rows + tokens * _SPREAD)
    uniform = (((mixed >> 12) & (2**52 - 1)).double() + 0.5) / 2**52  # never 0 or 1
    return -torch.log(-torch.log(uniform))


def _mix_bits(numbers: torch.Tensor) -> torch.Tensor:
    """Apply the finalizer of splitmix64 (Steele et al., 2014); torch's shift keeps the sign, so bits are masked off."""
    numbers = numbers + _SPREAD
    numbers = (numbers ^ ((numbers >> 30) & (2**34 - 1))) * _MIX[0]
    numbers = (numbers ^ ((numbers >> 27) & (2**37 - 1))) * _MIX[1]
    return numbers ^ ((numbers >> 31) & (2**33 - 1))
