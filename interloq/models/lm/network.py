# SPDX-License-Identifier: Apache-2.0
"""Base of all language models: loading, signature, insufficient memory, and dialogue turns as tokens.

Layouts of the turns that a model reads before the next one:
- `eos`: start, turn, end token, turn, end token …, as DialoGPT was trained;
- `lines`: start, and one line per turn;
- `chat`: the model's own chat template, with its prompt for the assistant's answer. The assistant speaks next, so the
last turn is the user's, and speakers alternate backwards from there.

Every turn is tokenised separately (except in `chat`, where the template is one text), so a turn's tokens do not depend
on its neighbours. A dialogue that is too long loses its oldest turns as a whole; if the last turn alone is too long, it
loses its beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, ClassVar, Literal

import torch

from interloq.errors import InputError
from interloq.models import pretrained
from interloq.models.chat_template import Message, TemplateRefused, render_chat
from interloq.models.cpu_linear import speed_up
from interloq.models.memory import Result, read_in_parts
from interloq.models.processes import pick_device

TOKENS = 2048  # per batch, padding included: each token has one logit per word of the vocabulary
TEMPLATE = "chat_template.jinja"
LONGEST = 512  # tokens of context and continuation together
UNLIMITED = 1 << 30
Layout = Literal["eos", "lines", "chat"]
Turns = Sequence[str]


class LoadedModel:
    """A language model from a folder, an installed package or `hub:org/name@revision`; see `models.pretrained`."""

    kind: ClassVar[Any]  # one of transformers' `AutoModel…` classes
    hint: ClassVar[str]  # for the error if the folder has another kind of model
    fewest: ClassVar[int]  # tokens that must fit

    def __init__(
        self,
        name: str,
        *,
        device: str = "auto",
        precision: pretrained.Precision = "auto",
        longest: int = LONGEST,
        tokens: int = TOKENS,
    ) -> None:
        self.folder, self.tokens, self.device = pretrained.model_folder(name), tokens, pick_device(device)
        self.precision = pretrained.pick_precision(precision, self.device)
        self._tokenizer = pretrained.load_tokenizer(self.folder)
        self._model = pretrained.load_network(self.folder, self.kind, hint=self.hint).eval()
        pretrained.check_fit(self._tokenizer.vocab_size, self._model, self.folder)
        self.longest = min(longest, getattr(self._model.config, "max_position_embeddings", None) or longest)
        if self.longest < self.fewest:
            raise InputError(f"longest must be at least {self.fewest}, got {longest}")
        self._inspect()
        self._model.to(self.device, self.precision)
        speed_up(self._model)

    def _inspect(self) -> None:
        """Examine the network before it is moved, on the CPU and in float32."""

    def signature(self) -> str:
        """Identify everything that likelihoods depend on: weights, tokenizer, template, …, but not their location."""
        files = [pretrained.weights_fingerprint(self.folder), pretrained.tokenizer_fingerprint(self.folder, TEMPLATE)]
        parts = [self._model.config.model_type, *files, str(self.longest)]
        if self.precision != torch.float32:
            parts.append(str(self.precision).removeprefix("torch."))
        return "-".join(parts)

    def context_lengths(self, dialogues: Sequence[Turns], *, layout: Layout) -> list[int]:
        """Return the tokens of each dialogue before the next turn, if nothing were truncated."""
        turns = TurnTokens(self._tokenizer, layout, where=str(self.folder))
        return [len(context) for context in turns.contexts(dialogues, UNLIMITED)]

    def _in_parts(self, work: Callable[[slice], Result], lengths: Sequence[int]) -> list[Result]:
        """Return the results of `work` on texts of these lengths, read in parts if memory runs out."""
        return read_in_parts(self, work, len(lengths), lambda: f"one text of {max(lengths)} tokens")


class TurnTokens:
    """Turns texts of a dialogue into tokens, with a transformers tokenizer."""

    def __init__(self, tokenizer: Any, layout: Layout, *, where: str = "") -> None:
        self.tokenizer, self.layout, self.where = tokenizer, layout, where
        self.start, self.end = tokenizer.bos_token_id, tokenizer.eos_token_id
        if layout == "eos" and self.end is None:
            raise InputError("the model has no end token", hint="use layout='lines'", where=where)
        if layout == "chat" and not getattr(tokenizer, "chat_template", None):
            raise InputError("the model has no chat template", hint="use layout='eos' or layout='lines'", where=where)

    def contexts(self, dialogues: Sequence[Turns], room: int) -> list[tuple[int, ...]]:
        """Return the tokens before the next turn, at most `room` and at least one."""
        if self.layout == "chat":
            return [self._chat(list(turns), room) for turns in dialogues]
        texts = sorted(set(chain.from_iterable(dialogues)))
        if self.layout == "eos":
            rows = [[*row, self.end] for row in self.numbers(texts)]
        else:
            rows = self.numbers([f"{text}\n" for text in texts])
        tokens = dict(zip(texts, rows, strict=True))
        contexts = []
        for turns in dialogues:
            turn_tokens = [tokens[turn] for turn in turns]
            contexts.append(self._cut(turn_tokens, room))
        return contexts

    def numbers(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids without special tokens; a text that yields no tokens is one unknown token."""
        if not texts:
            return []
        rows: list[list[int]] = self.tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]
        unknown = self.tokenizer.unk_token_id or 0
        for row, text in zip(rows, texts, strict=True):
            if text and not row:
                row.append(unknown)
        return rows

    def first(self) -> list[int]:
        """Return the tokens that start a text: its first token must also be predicted from something."""
        if self.start is not None:
            return [self.start]
        return [self.end or 0]

    def _cut(self, turns: Sequence[Sequence[int]], room: int) -> tuple[int, ...]:
        first = self.first()
        kept: list[int] = []
        for turn in reversed(turns):
            if len(first) + len(turn) + len(kept) > room:
                break
            kept[:0] = turn
        if not kept and turns and room > len(first):
            kept = list(turns[-1][len(first) - room :])
        return tuple(first + kept)

    def _chat(self, turns: list[str], room: int) -> tuple[int, ...]:
        row = self._apply_template(turns)
        while len(row) > room and len(turns) > 1:
            turns = turns[1:]
            row = self._apply_template(turns)
        return tuple(row[-room:])

    def _apply_template(self, turns: Turns) -> list[int]:
        roles = ("user", "assistant")
        messages = [{"role": roles[i % 2], "content": turn} for i, turn in enumerate(reversed(turns))]
        messages.reverse()
        try:
            text = render_chat(self.tokenizer, messages, where=self.where)
        except TemplateRefused:  # mostly because the user must speak first
            text = self._text_after_user(messages)
        return self.numbers([text])[0] or self.first()

    def _text_after_user(self, messages: list[Message]) -> str:
        """Return the prompt with an empty message of the user before the others."""
        messages = [{"role": "user", "content": ""}, *messages]
        try:
            return render_chat(self.tokenizer, messages, where=self.where)
        except TemplateRefused as error:
            raise InputError(
                f"the chat template refuses a dialogue of {len(messages)} turns: {error!s:.100}",
                hint="use layout='eos' or layout='lines'",
                where=self.where,
            ) from error
