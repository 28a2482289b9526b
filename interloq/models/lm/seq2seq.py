# SPDX-License-Identifier: Apache-2.0
"""Log-likelihoods of continuations under an encoder-decoder model, such as BlenderBot, BART or T5.

The encoder reads the dialogue. The decoder begins with its start token (and with the forced first token, if the model
has one) and predicts the continuation. The end of the continuation is not predicted, as with causal models. Encoder and
cross-attention run once per dialogue: the decoder's cached keys and values are repeated for all follow-ups.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from transformers.modeling_outputs import BaseModelOutput

from interloq.errors import InputError
from interloq.models.batches import lengths_of, make_batches, number_distinct
from interloq.models.lm.causal import RESERVE, ROWS, FollowUpScores, check_follow_ups, log_likelihood
from interloq.models.lm.network import Layout, LoadedModel, Turns, TurnTokens

Rows = Sequence[Sequence[int]]


class Seq2SeqModel(LoadedModel):
    """An encoder-decoder model with the same methods as `LanguageModel`."""

    kind = transformers.AutoModelForSeq2SeqLM
    hint = "use an encoder-decoder model, such as BlenderBot"
    fewest = 4

    def _inspect(self) -> None:
        self._start = self._decoder_start()

    def reply_scores(
        self, dialogues: Sequence[Turns], replies: Sequence[str], *, layout: Layout = "eos"
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the summed log-likelihood of each reply after the dialogue's turns, and its number of tokens."""
        turns = TurnTokens(self._tokenizer, layout, where=str(self.folder))
        contexts = self._contexts(turns, dialogues)
        rows = [row[: self.longest - len(self._start)] for row in turns.numbers(replies)]
        counts = lengths_of(rows)
        lengths = lengths_of(contexts) + counts
        sums = np.zeros(len(rows))
        for batch in make_batches(lengths, size=ROWS, tokens=self.tokens, rng=None):
            batch = batch[counts[batch] > 0]
            if len(batch):
                sums[batch] = self._pairs([contexts[i] for i in batch], [[rows[i]] for i in batch])[:, 0]
        return sums, counts

    def follow_up_scores(
        self, dialogues: Sequence[Turns], follow_ups: Sequence[str], *, layout: Layout = "eos", whole: bool = False
    ) -> FollowUpScores:
        """Return the scores of every follow-up after every dialogue.

        `whole=True` is refused, because an encoder-decoder model reads the dialogue and does not predict it.
        """
        if whole:
            raise InputError("an encoder-decoder model does not predict the dialogue", hint="use mode='conditional'")
        turns = TurnTokens(self._tokenizer, layout, where=str(self.folder))
        rows = turns.numbers(follow_ups)
        check_follow_ups(follow_ups, rows, min(RESERVE, self.longest // 2))
        contexts = self._contexts(turns, dialogues)
        distinct, which = number_distinct(contexts, sort=True)
        sums = self._every(distinct, rows)[which]
        return FollowUpScores(sums, lengths_of(rows), np.zeros(len(contexts)), np.zeros(len(contexts), dtype=np.int64))

    def _contexts(self, turns: TurnTokens, dialogues: Sequence[Turns]) -> list[tuple[int, ...]]:
        """Return contexts as for a causal model, followed by the end token if the layout has not added it."""
        end = []
        if turns.layout == "lines" and turns.end is not None:
            end = [turns.end]
        return [(*context, *end) for context in turns.contexts(dialogues, self.longest - len(end))]

    def _every(self, contexts: Sequence[tuple[int, ...]], follow_ups: Rows) -> NDArray[np.float64]:
        sums = np.zeros((len(contexts), len(follow_ups)))
        lengths = lengths_of(contexts)
        order = np.argsort(lengths_of(follow_ups), kind="stable")
        for start in range(0, len(order), ROWS):
            part = order[start : start + ROWS]
            rows = [follow_ups[i] for i in part]
            most = max(1, self.tokens // max(1, len(rows) * max(map(len, rows), default=1)))
            for batch in make_batches(lengths, size=most, tokens=self.tokens, rng=None):
                sums[np.ix_(batch, part)] = self._pairs([contexts[i] for i in batch], [rows] * len(batch))
        return sums

    def _pairs(self, contexts: Sequence[Sequence[int]], answers: Sequence[Rows]) -> NDArray[np.float64]:
        """Return the sums of each context's answers; all contexts have the same number of answers."""
        parts = self._in_parts(lambda part: self._read(contexts[part], answers[part]), list(map(len, contexts)))
        return np.concatenate(parts)

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def _read(self, contexts: Sequence[Sequence[int]], answers: Sequence[Rows]) -> NDArray[np.float64]:
        each = len(answers[0])
        ids, seen = _pad_rows(contexts, self.device)
        start = torch.tensor([self._start] * len(contexts), device=self.device)
        opened = self._model(input_ids=ids, attention_mask=seen, decoder_input_ids=start, use_cache=True)
        rows = list(chain.from_iterable(answers))
        following, _ = _pad_rows([row[:-1] for row in rows], self.device)
        logits = opened.logits[:, -1:].repeat_interleave(each, dim=0)
        if following.shape[1]:
            cache = opened.past_key_values
            cache.batch_repeat_interleave(each)
            states = opened.encoder_last_hidden_state.repeat_interleave(each, dim=0)
            rest = self._model(
                encoder_outputs=BaseModelOutput(last_hidden_state=states),
                attention_mask=seen.repeat_interleave(each, dim=0),
                decoder_input_ids=following,
                past_key_values=cache,
                use_cache=True,
            )
            logits = torch.cat([logits, rest.logits], dim=1)
        sums = []
        for row, values in zip(rows, logits, strict=True):
            sums.append(log_likelihood(values[: len(row)], torch.tensor(row, device=self.device)))
        return np.asarray(torch.stack(sums).cpu().numpy().reshape(len(contexts), each))

    def _decoder_start(self) -> list[int]:
        start = self._model.config.decoder_start_token_id
        if start is None:
            start = getattr(self._model.generation_config, "decoder_start_token_id", None)
        if start is None:
            raise InputError(
                "the model does not define its decoder's start token", hint=self.hint, where=str(self.folder)
            )
        forced = getattr(self._model.generation_config, "forced_bos_token_id", None)
        if forced is None:
            return [start]
        return [start, forced]


def _pad_rows(rows: Rows, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Pad rows on the right, and return them with their mask."""
    ids = torch.zeros((len(rows), max(map(len, rows))), dtype=torch.long)
    seen = torch.zeros_like(ids)
    for i, row in enumerate(rows):
        ids[i, : len(row)], seen[i, : len(row)] = torch.tensor(row, dtype=torch.long), 1
    return ids.to(device), seen.to(device)
