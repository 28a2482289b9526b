# SPDX-License-Identifier: Apache-2.0
"""Log-likelihoods of continuations under a causal language model.

log p(continuation | context) = Σ_t log p(token_t | start, context, the continuation's tokens before t)

Context and continuation are tokenised separately, so no token spans the boundary between them. The model's start token
(BOS) comes first if it has one. If not, its end token starts a text without context, because the first token must be
predicted from something. A context that is too long is truncated at the beginning, a continuation at the end.

Each distinct pair is computed once, in batches of similar length. Rows are padded on the right: later tokens cannot
change a causal model's predictions, so no pad token is needed. In float32 batching changes no sum by more than 1e-4. A
batch that does not fit in GPU memory is split in two.

Follow-ups are continuations that are the same for all contexts. They and the contexts are read as trees (`lm/tree.py`):
each context once for all follow-ups, a dialogue once for all its turns. A test run detects models that cannot read
trees, because they compute positions themselves or see only a window; such models read row by row.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, product

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from interloq.errors import InputError
from interloq.models.batches import lengths_of, make_batches, number_distinct
from interloq.models.lm import tree as lm_tree
from interloq.models.lm.network import TOKENS, Layout, LoadedModel, Turns, TurnTokens

ROWS = 256
ON_GPU = 8192  # tokens per batch of trees
PLACES = 1024  # positions normalised at a time
RESERVE = 64  # tokens reserved for follow-ups, so that contexts are truncated the same way whatever follows


@dataclass(frozen=True, slots=True)
class FollowUpScores:
    """Log-likelihoods of follow-ups after contexts, and of the contexts themselves after their first token."""

    sums: NDArray[np.float64]  # [contexts, follow-ups], in nats
    counts: NDArray[np.int64]  # [follow-ups], in tokens
    context_sums: NDArray[np.float64]  # [contexts]; 0 if not requested
    context_counts: NDArray[np.int64]  # [contexts]


class LanguageModel(LoadedModel):
    """A causal language model."""

    kind = transformers.AutoModelForCausalLM
    hint = "use a causal language model, such as a GPT"
    fewest = 2  # one token, and one to predict it from

    def _inspect(self) -> None:
        self._can_skip_logits = "logits_to_keep" in inspect.signature(self._model.forward).parameters
        self._reads_trees = self._probe()

    def log_likelihoods(
        self, contexts: Sequence[str], continuations: Sequence[str]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the summed log-likelihood of each continuation's tokens, in nats, and their number.

        An empty continuation has no tokens and sum 0.
        """
        pairs = list(zip(contexts, continuations, strict=True))
        distinct, which = number_distinct(pairs, sort=True)
        sums, counts = self._in_batches(*self._rows(distinct))
        return sums[which], counts[which]

    def reply_scores(
        self, dialogues: Sequence[Turns], replies: Sequence[str], *, layout: Layout = "eos"
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the summed log-likelihood of each reply after the dialogue's turns, and its number of tokens."""
        turns = TurnTokens(self._tokenizer, layout, where=str(self.folder))
        own = [row[: self.longest - 1] for row in turns.numbers(replies)]
        rows, starts = [], []
        for dialogue, reply in zip(dialogues, own, strict=True):
            before = turns.contexts([dialogue], self.longest - len(reply))[0]
            rows.append([*before, *reply])
            starts.append(len(before))
        return self._in_batches(rows, np.array(starts, dtype=np.int64))

    def follow_up_scores(
        self, dialogues: Sequence[Turns], follow_ups: Sequence[str], *, layout: Layout = "eos", whole: bool = False
    ) -> FollowUpScores:
        """Return the scores of every follow-up after every dialogue.

        `whole` adds the log-likelihood of the dialogues.
        """
        turns = TurnTokens(self._tokenizer, layout, where=str(self.folder))
        reserve = min(RESERVE, self.longest // 2)
        branches = list(map(tuple, turns.numbers(follow_ups)))
        check_follow_ups(follow_ups, branches, reserve)
        contexts = turns.contexts(dialogues, self.longest - reserve)
        distinct, which = number_distinct(contexts, sort=True)
        read = self._by_trees if self._reads_trees else self._by_rows
        sums, own = read(distinct, branches, whole)
        return FollowUpScores(sums[which], lengths_of(branches), own[which], lengths_of(contexts) - 1)

    def _in_batches(
        self, rows: list[list[int]], starts: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the sum over each row's tokens from its start on, and their number."""
        lengths = lengths_of(rows)
        sums = np.zeros(len(rows))
        for batch in make_batches(lengths, size=ROWS, tokens=self.tokens, rng=None):
            batch = batch[lengths[batch] > starts[batch]]
            if len(batch):
                sums[batch] = self._sums([rows[i] for i in batch], starts[batch])
        return sums, lengths - starts

    def _sums(self, rows: list[list[int]], starts: NDArray[np.int64]) -> list[float]:
        parts = self._in_parts(lambda part: self._read_rows(rows[part], starts[part]), list(map(len, rows)))
        return list(chain.from_iterable(parts))

    def _rows(self, pairs: Sequence[tuple[str, str]]) -> tuple[list[list[int]], NDArray[np.int64]]:
        """Return each pair's tokens as one row, and where its continuation starts."""
        turns = TurnTokens(self._tokenizer, "lines")
        contexts = turns.numbers([context for context, _ in pairs])
        continuations = turns.numbers([continuation for _, continuation in pairs])
        rows, starts = [], []
        for context, continuation in zip(contexts, continuations, strict=True):
            first = self._first(context)
            own = continuation[: self.longest - max(1, len(first))]
            room = self.longest - len(first) - len(own)
            before = [*first, *context[max(0, len(context) - room) :]]
            rows.append(before + own)
            starts.append(len(before))
        return rows, np.array(starts, dtype=np.int64)

    def _first(self, context: Sequence[int]) -> list[int]:
        start, end = self._tokenizer.bos_token_id, self._tokenizer.eos_token_id
        if start is not None:
            return [start]
        if context:
            return []
        return [end or 0]

    def _by_trees(
        self, contexts: list[lm_tree.Tokens], follow_ups: list[lm_tree.Tokens], whole: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        block = lm_tree.Block.of(follow_ups)
        rows = list(lm_tree.rows(contexts, block))
        sums, own = np.zeros((len(contexts), len(follow_ups))), np.zeros(len(contexts))
        lengths = np.array([row.size(block) for row in rows], dtype=np.int64)
        budget = self.tokens
        if self.device.type == "cuda" and self.tokens == TOKENS:
            budget = max(self.tokens, ON_GPU)
        own_sums = own if whole else None
        for batch in make_batches(lengths, size=ROWS, tokens=budget, rng=None):
            self._read_tree_parts([rows[i] for i in batch], lengths[batch].tolist(), block, sums, own_sums)
        return sums, own

    def _read_tree_parts(
        self,
        rows: list[lm_tree.Row],
        lengths: list[int],
        block: lm_tree.Block,
        sums: NDArray[np.float64],
        own: NDArray[np.float64] | None,
    ) -> None:
        """Fill in the sums of the rows' contexts, in parts if memory runs out."""
        self._in_parts(lambda part: self._read_trees(rows[part], block, sums, own), lengths)

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def _read_trees(
        self, rows: list[lm_tree.Row], block: lm_tree.Block, sums: NDArray[np.float64], own: NDArray[np.float64] | None
    ) -> None:
        """Fill in the sums of the rows' contexts."""
        batch = lm_tree.batch(rows, block)
        edges, start = batch.edges(block), batch.first
        if own is not None:
            edges, start = np.concatenate([edges, batch.context_edges]), 0
        logits, skipped = self._tree_logits(batch, start)
        log_probs = _log_probabilities(logits, edges - np.array([0, skipped, 0]))
        ends = len(batch.blocks) * len(block.targets)
        numbers = [number for _, _, number in batch.blocks]
        sums[numbers] = block.sum_follow_ups(log_probs[:ends].reshape(len(numbers), -1))
        if own is not None:
            own[numbers] = np.bincount(batch.context_owners, log_probs[ends:], minlength=len(numbers))

    def _tree_logits(self, batch: lm_tree.TreeBatch, start: int) -> tuple[torch.Tensor, int]:
        """Compute the logits of trees: unlike in `_logits`, the attention mask is given per token."""
        sees = torch.from_numpy(batch.sees).to(self.device)[:, None]
        mask = torch.zeros(sees.shape, dtype=self.precision, device=self.device)
        mask.masked_fill_(~sees, torch.finfo(self.precision).min)
        ids = torch.from_numpy(batch.tokens).to(self.device)
        depths = torch.from_numpy(batch.depths).to(self.device)
        return self._last_logits(ids, mask, start, position_ids=depths)

    def _last_logits(
        self, ids: torch.Tensor, mask: torch.Tensor, start: int, **options: torch.Tensor
    ) -> tuple[torch.Tensor, int]:
        """Return the logits from token `start` on, and the number of tokens skipped: 0 if the model cannot skip any."""
        skipped, keep = 0, {}
        if self._can_skip_logits:
            skipped, keep = start, {"logits_to_keep": ids.shape[1] - start}
        output = self._model(input_ids=ids, attention_mask=mask, use_cache=False, **options, **keep)
        return output.logits, skipped

    def _by_rows(
        self, contexts: list[lm_tree.Tokens], follow_ups: list[lm_tree.Tokens], whole: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Score pair by pair, for models that cannot read trees."""
        rows = []
        for context, follow_up in product(contexts, follow_ups):
            rows.append([*context, *follow_up])
        starts = np.repeat(lengths_of(contexts), len(follow_ups))
        sums = self._in_batches(rows, starts)[0].reshape(len(contexts), len(follow_ups))
        own = np.zeros(len(contexts))
        if whole:
            own = self._in_batches(list(map(list, contexts)), np.ones(len(contexts), dtype=np.int64))[0]
        return sums, own

    def _probe(self) -> bool:
        """Return whether the model reads trees; refuse one that is not causal. Called before precision is reduced."""
        wanted = self.device, self.precision
        self.device, self.precision = torch.device("cpu"), torch.float32
        try:
            self._check_causal()
            return not self._has_window() and self._probe_tree()
        finally:
            self.device, self.precision = wanted

    def _has_window(self) -> bool:
        """Return whether some layer sees less than the longest text."""
        config = self._model.config.get_text_config()
        kinds = getattr(config, "layer_types", None)
        window = getattr(config, "sliding_window", None) or self.longest
        return bool(window < self.longest and (kinds is None or any("sliding" in kind for kind in kinds)))

    def _probe_tree(self) -> bool:
        """Return whether the model uses given masks and positions, tested on a small tree."""
        if self.longest < 16:
            return False  # too short for the test
        size = int(self._model.get_input_embeddings().num_embeddings)
        first = tuple(((3 * np.arange(8) + 1) % size).tolist())
        second = tuple(((5 * np.arange(8) + 1) % size).tolist())
        contexts, follow_ups = [first[:3], first[:5]], [first, second, second[:4]]
        try:
            tree_sums, _ = self._by_trees(contexts, follow_ups, whole=False)
        except (TypeError, ValueError, RuntimeError):
            return False
        expected, _ = self._by_rows(contexts, follow_ups, whole=False)
        return bool(np.allclose(tree_sums, expected, rtol=0, atol=1e-3))

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def _read_rows(self, rows: list[list[int]], starts: NDArray[np.int64]) -> list[float]:
        ids = torch.zeros((len(rows), max(map(len, rows))), dtype=torch.long)
        for i, row in enumerate(rows):
            ids[i, : len(row)] = torch.tensor(row)
        logits, skipped = self._logits(ids, int(starts.min()) - 1)
        sums = []
        for row, start, values in zip(rows, starts.tolist(), logits, strict=True):
            own = values[start - 1 - skipped : len(row) - 1 - skipped]
            sums.append(log_likelihood(own, torch.tensor(row[start:], device=self.device)))
        values_of_rows: list[float] = torch.stack(sums).tolist()
        return values_of_rows

    def _logits(self, ids: torch.Tensor, start: int) -> tuple[torch.Tensor, int]:
        """Return logits [rows, tokens, vocabulary] as `_last_logits` does.

        Padding is not masked: it comes after all tokens of a row, so a causal model never sees it.
        """
        ids = ids.to(self.device)
        return self._last_logits(ids, torch.ones_like(ids), start)

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def _check_causal(self) -> None:
        """Refuse a model that sees later tokens, such as BERT: it would predict them too well."""
        logits, _ = self._logits(torch.tensor([[0, 0], [0, 1]]), 0)
        if not torch.allclose(logits[0, 0].float(), logits[1, 0].float(), atol=1e-4):
            raise InputError("the model reads in both directions", hint=self.hint, where=str(self.folder))


def check_follow_ups(texts: Sequence[str], rows: Sequence[Sequence[int]], reserve: int) -> None:
    """Refuse follow-ups that are empty or too long for the model."""
    for text, row in zip(texts, rows, strict=True):
        if not row:
            raise InputError("a follow-up is empty", hint="write a text that could be the next turn")
        if len(row) > reserve:
            raise InputError(
                f"a follow-up has {len(row)} tokens, at most {reserve} are allowed: {text!r:.60}", hint="shorten it"
            )


def _log_probabilities(logits: torch.Tensor, edges: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the log-probabilities of tokens, given as [row, position before the token, token].

    They are computed in parts, to save memory.
    """
    rows, places, targets = (torch.from_numpy(column.copy()).to(logits.device) for column in edges.T)
    flat = logits.flatten(0, 1)
    used, which = torch.unique(rows * logits.shape[1] + places, return_inverse=True)
    totals = torch.cat([_exact(flat[part]).logsumexp(dim=1) for part in used.split(PLACES)])
    log_probs = _exact(flat[used[which], targets]) - totals[which]
    values: NDArray[np.float64] = log_probs.double().cpu().numpy()
    return values


def _exact(logits: torch.Tensor) -> torch.Tensor:
    return logits if logits.dtype == torch.float64 else logits.float()


def log_likelihood(logits: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """Return the summed log-likelihood of tokens."""
    exact = _exact(logits)
    chosen = exact.gather(1, tokens[:, None]).squeeze(1) - exact.logsumexp(dim=1)
    return chosen.double().sum()
