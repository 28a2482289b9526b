# SPDX-License-Identifier: Apache-2.0
"""Turns dialogues into prompts for a language model: with its chat template, or by concatenating the turns."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from interloq.errors import InputError
from interloq.models.chat_template import Message, TemplateRefused, render_chat
from interloq.play.bot import roles
from interloq.records import Turn


@dataclass(frozen=True)
class Prompts:
    """Turns dialogues into tokens for a model."""

    tokenizer: Any
    template: str  # "" for turn after turn
    system: str
    separator: str
    room: int  # tokens
    special: re.Pattern[str]  # texts that the tokenizer would read as special tokens

    @classmethod
    def of(
        cls, tokenizer: Any, *, chat: Literal["auto", True, False], system: str, separator: str, room: int
    ) -> Prompts:
        """The prompts for this model."""
        template = str(tokenizer.chat_template or "") if chat else ""
        if chat is True and not template:
            raise InputError("the model has no chat template", hint="write chat=False")
        if separator == "eos":
            separator = tokenizer.eos_token or ""
        if not template and not separator:
            raise InputError("the model has no end token", hint="use another separator than 'eos'")
        if template:
            with contextlib.suppress(TemplateRefused):  # exceeding the limits is an error now, not in each dialogue
                render_chat(tokenizer, [{"role": "user", "content": "hello"}])
        return cls(tokenizer, template, system, separator, room, _special(tokenizer))

    def tokens(self, dialogues: Sequence[Sequence[Turn]]) -> list[list[int]]:
        """Tokens of each dialogue, with as many of its last turns as fit."""
        tokens_of: list[list[int]] = [[] for _ in dialogues]
        left: dict[int, list[Turn]] = {}
        for i, dialogue in enumerate(dialogues):
            left[i] = [Turn(self.special.sub(" ", turn.text), turn.speaker) for turn in dialogue]
        start = 0
        while left:  # all dialogues that are still too long lose one turn at a time, and are encoded together
            texts = [self._text(turns[start:], roles(turns)[start:]) for turns in left.values()]
            for (i, turns), ids in zip(list(left.items()), self._numbers(texts), strict=True):
                fits, last = len(ids) <= self.room, start == len(turns) - 1
                if fits or last:
                    tokens_of[i] = ids if fits else self._cut(turns[-1], len(ids))
                    del left[i]
            start += 1
        return tokens_of

    @property
    def stop(self) -> str:
        """Text that ends a reply besides the end token: without messages, the model would continue the dialogue."""
        return "" if self.template or self.special.fullmatch(self.separator) else self.separator

    def first(self, text: str) -> str:
        """The bot's turn in the generated text."""
        text = text.strip()
        return text if self.template else text.split(self.separator, 1)[0].strip()

    def _cut(self, turn: Turn, length: int) -> list[int]:
        """The end of a single turn that is too long; with the template's own tokens it may still not fit."""
        own = self.tokenizer(turn.text, add_special_tokens=False, verbose=False)["input_ids"]
        keep = max(1, len(own) - (length - self.room))
        for _ in range(8):  # a text cut between tokens may have more tokens than before
            (ids,) = self._numbers([self._text([Turn(self.tokenizer.decode(own[-keep:]))], ["user"])])
            if len(ids) <= self.room or keep == 1:
                break
            keep = max(1, keep - (len(ids) - self.room))
        return ids[-self.room :]

    def _numbers(self, texts: Sequence[str]) -> list[list[int]]:
        special = not self.template  # which writes its own
        return list(self.tokenizer(list(texts), add_special_tokens=special, verbose=False)["input_ids"])

    def _text(self, turns: Sequence[Turn], who: Sequence[str]) -> str:
        if self.template:
            return self._templated(turns, who)
        parts = [self.system] * bool(self.system) + [self._flat(turn.text) for turn in turns]
        return "".join(part + self.separator for part in parts)

    def _flat(self, text: str) -> str:
        """A turn on one line, if lines separate turns."""
        return text.replace(self.separator, " ")

    def _templated(self, turns: Sequence[Turn], who: Sequence[str]) -> str:
        """The prompt by the template; some templates need the user first, or no system message, and raise an error."""
        messages = _joined(turns, who)
        system = [{"role": "system", "content": self.system}] * bool(self.system)
        opened = messages if messages[0]["role"] == "user" else [{"role": "user", "content": ""}, *messages]
        merged = [{"role": "user", "content": f"{self.system}\n\n{opened[0]['content']}".strip()}, *opened[1:]]
        for attempt in ([*system, *messages], [*system, *opened]):
            try:
                return self._rendered(attempt)
            except TemplateRefused:
                continue
        try:
            return self._rendered(merged)
        except TemplateRefused as error:
            hint = "write chat=False"
            raise InputError(f"the chat template refuses {len(merged)} messages: {error}", hint=hint) from error

    def _rendered(self, messages: list[Message]) -> str:
        return render_chat(self.tokenizer, messages)


def _joined(turns: Sequence[Turn], who: Sequence[str]) -> list[Message]:
    """Alternating messages: consecutive turns of one side become one message."""
    messages: list[Message] = []
    for turn, role in zip(turns, who, strict=True):
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += "\n" + turn.text
        else:
            messages.append({"role": role, "content": turn.text})
    return messages


def _special(tokenizer: Any) -> re.Pattern[str]:
    """Special tokens such as `<|im_end|>`, which would end a turn for the model if its text contained them."""
    words = {str(token.content) for token in tokenizer.added_tokens_decoder.values() if token.special}
    words |= set(tokenizer.all_special_tokens)
    return re.compile("|".join(map(re.escape, sorted(filter(None, words), key=len, reverse=True))) or r"(?!)")
