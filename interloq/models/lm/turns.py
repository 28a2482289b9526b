# SPDX-License-Identifier: Apache-2.0
"""Dialogue turns as the tokens that a language model reads before the next turn.

Layouts:
- `eos`: start, turn, end token, turn, end token …, as DialoGPT was trained;
- `lines`: start, and one line per turn;
- `chat`: the model's own chat template, with its prompt for the assistant's answer. The assistant speaks next, so the
  last turn is the user's, and the two alternate backwards from there.

Every turn is tokenised separately (except in `chat`, where the template is one text), so a turn's tokens do not depend
on its neighbours. A dialogue that is too long loses its oldest turns as a whole; if the last turn alone is too long, it
loses its beginning.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from interloq.errors import InputError
from interloq.models.chat_template import Message, TemplateRefused, render_chat

Layout = Literal["eos", "lines", "chat"]
Turns = Sequence[str]


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
        """Tokens before the next turn, at most `room` and at least one."""
        if self.layout == "chat":
            return [self._chat(list(turns), room) for turns in dialogues]
        mark = [self.end] if self.layout == "eos" else []
        texts = sorted({turn for turns in dialogues for turn in turns})
        written = [text if self.layout == "eos" else text + "\n" for text in texts]
        known = {text: [*row, *mark] for text, row in zip(texts, self.numbers(written), strict=True)}
        return [self._cut([known[turn] for turn in turns], room) for turns in dialogues]

    def numbers(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids without special tokens; a text that yields no tokens is one unknown token."""
        if not texts:
            return []
        rows: list[list[int]] = self.tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]
        unknown = self.tokenizer.unk_token_id or 0
        return [list(row) or ([unknown] if text else []) for row, text in zip(rows, texts, strict=True)]

    def first(self) -> list[int]:
        """Tokens that start a text: its first token must also be predicted from something."""
        return [self.start if self.start is not None else self.end or 0]

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
        row = self._templated(turns)
        while len(row) > room and len(turns) > 1:
            turns = turns[1:]
            row = self._templated(turns)
        return tuple(row[-room:])

    def _templated(self, turns: Turns) -> list[int]:
        roles = ("user", "assistant")
        messages = [{"role": roles[i % 2], "content": turn} for i, turn in enumerate(reversed(turns))][::-1]
        try:
            text = self._text(messages)
        except TemplateRefused:  # mostly because the user must speak first
            text = self._text_after([{"role": "user", "content": ""}, *messages])
        return self.numbers([text])[0] or self.first()

    def _text(self, messages: list[Message]) -> str:
        return render_chat(self.tokenizer, messages, where=self.where)

    def _text_after(self, messages: list[Message]) -> str:
        try:
            return self._text(messages)
        except TemplateRefused as error:
            raise InputError(
                f"the chat template refuses a dialogue of {len(messages)} turns: {error!s:.100}",
                hint="use layout='eos' or layout='lines'",
                where=self.where,
            ) from error
