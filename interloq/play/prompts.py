"""Dialogues as a language model reads them: by its chat template, or turn after turn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import jinja2

from interloq.errors import InputError
from interloq.play.bot import roles
from interloq.records import Turn

Message = dict[str, str]


@dataclass(frozen=True)
class Prompts:
    """Turns dialogues into the tokens that a model reads."""

    tokenizer: Any
    template: str  # "" for turn after turn
    system: str
    separator: str
    room: int  # tokens
    special: re.Pattern[str]  # what the tokenizer would take for more than text

    @classmethod
    def of(
        cls, tokenizer: Any, *, chat: Literal["auto", True, False], system: str, separator: str, room: int
    ) -> Prompts:
        """How this model wants to be asked."""
        template = str(tokenizer.chat_template or "") if chat else ""
        if chat is True and not template:
            raise InputError("the model has no chat template", hint="write chat=False")
        if separator == "eos":
            separator = tokenizer.eos_token or ""
        if not template and not separator:
            raise InputError("the model has no end token", hint="give another separator than 'eos'")
        return cls(tokenizer, template, system, separator, room, _special(tokenizer))

    def tokens(self, dialogues: Sequence[Sequence[Turn]]) -> list[list[int]]:
        """Each dialogue's tokens, as many turns from its end as there is room for."""
        found: list[list[int]] = [[] for _ in dialogues]
        left = {
            i: [Turn(self.special.sub(" ", turn.text), turn.speaker) for turn in d] for i, d in enumerate(dialogues)
        }
        start = 0
        while left:  # all that are still too long lose a turn at a time, and are read together
            texts = [self._text(turns[start:], roles(turns)[start:]) for turns in left.values()]
            for (i, turns), ids in zip(list(left.items()), self._numbers(texts), strict=True):
                fits, last = len(ids) <= self.room, start == len(turns) - 1
                if fits or last:
                    found[i] = ids if fits else self._cut(turns[-1], len(ids))
                    del left[i]
            start += 1
        return found

    @property
    def stop(self) -> str:
        """What ends a reply but the model's own end token: without messages it would continue with the other's turn."""
        return "" if self.template or self.special.fullmatch(self.separator) else self.separator

    def first(self, text: str) -> str:
        """The bot's own turn in what the model wrote."""
        text = text.strip()
        return text if self.template else text.split(self.separator, 1)[0].strip()

    def _cut(self, turn: Turn, length: int) -> list[int]:
        """The end of a turn that is too long alone; with the template's own tokens it may still not fit."""
        own = self.tokenizer(turn.text, add_special_tokens=False, verbose=False)["input_ids"]
        keep = max(1, len(own) - (length - self.room))
        for _ in range(8):  # cut at a border of tokens, a text may have more of them than before
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
        """A turn on one line, where a line is a turn."""
        return text.replace(self.separator, " ")

    def _templated(self, turns: Sequence[Turn], who: Sequence[str]) -> str:
        """Some templates want the user to begin, or know no system: they say so by an error."""
        messages = _joined(turns, who)
        system = [{"role": "system", "content": self.system}] * bool(self.system)
        opened = messages if messages[0]["role"] == "user" else [{"role": "user", "content": ""}, *messages]
        told = [{"role": "user", "content": f"{self.system}\n\n{opened[0]['content']}".strip()}, *opened[1:]]
        for attempt in ([*system, *messages], [*system, *opened]):
            try:
                return self._rendered(attempt)
            except jinja2.TemplateError:
                continue
        return self._rendered(told)

    def _rendered(self, messages: list[Message]) -> str:
        return str(self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))


def _joined(turns: Sequence[Turn], who: Sequence[str]) -> list[Message]:
    """Messages that take turns: what one side said in a row is one message."""
    messages: list[Message] = []
    for turn, role in zip(turns, who, strict=True):
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += "\n" + turn.text
        else:
            messages.append({"role": role, "content": turn.text})
    return messages


def _special(tokenizer: Any) -> re.Pattern[str]:
    """Words such as `<|im_end|>`: said in a turn, they would end it for the model."""
    words = {str(token.content) for token in tokenizer.added_tokens_decoder.values() if token.special}
    words |= set(tokenizer.all_special_tokens)
    return re.compile("|".join(map(re.escape, sorted(filter(None, words), key=len, reverse=True))) or r"(?!)")
