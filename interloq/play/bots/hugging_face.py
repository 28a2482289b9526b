# SPDX-License-Identifier: Apache-2.0
"""A bot that is a language model: a Hugging Face folder, an installed package, or `hub:org/name@revision`.

Models with a chat template get the dialogue as messages: the bot's turns are the assistant's, all others the user's.
Without a template (`chat=False`), the turns are concatenated, each followed by `separator`, and the reply ends with the
first line; `separator='eos'` is the model's own end token, as in DialoGPT. A dialogue that is too long loses its first
turns; a single turn that is too long loses its beginning.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from interloq.errors import InputError, MissingDependencyError
from interloq.models.chat_template import Message, TemplateRefused, render_chat
from interloq.models.loaded import last_written
from interloq.options import limited
from interloq.play.bot import Bot, ReplyCandidate, generator, make_crash_reply
from interloq.play.causal.settings import find_speaker_token
from interloq.play.decoding_options import Decoding, decoding_of
from interloq.records import Turn
from interloq.servers.replies import NOTHING_TO_ANSWER, Reply, roles
from interloq.signature import Signature, fingerprint, signature
from interloq.trust import names_download

FEW = 32  # networks in memory at a time
END = "eos"


@dataclass(frozen=True)
class HuggingFace(Bot, name="hf"):
    """Generates replies with a local language model."""

    model: Annotated[str, "a folder, an installed package, or `hub:org/name@revision`; only safetensors are loaded"]
    temperature: Annotated[float, "sampling temperature; 0: always the most likely token"] = 1.0
    top_p: Annotated[float, "sample from the most likely tokens whose probabilities add up to this"] = 0.9
    max_tokens: Annotated[int, "tokens per reply, at most; longer ones are cut"] = limited(64, least=1)
    chat: Annotated[Literal["auto", True, False], "use the chat template: if there is one, always, or never"] = "auto"
    system_prompt: Annotated[str, "a system message; without a template, a first line"] = ""
    separator: Annotated[str, "without a template, what follows each turn; `'eos'`: the model's end token"] = "\n"
    context: Annotated[int, "tokens of the dialogue that the model sees"] = limited(1_024, least=1)
    batch: Annotated[int, "dialogues per batch; halved when memory is short"] = limited(256, least=1)
    device: Annotated[Literal["auto", "cpu", "cuda"], "where the model runs; `'auto'`: on a GPU if there is one"] = (
        "auto"
    )
    precision: Annotated[
        Literal["auto", "float32", "bfloat16", "float16"],
        "number type of the weights; `'auto'`: bfloat16 on a GPU, float32 on a CPU",
    ] = "auto"
    top_k: Annotated[int, "sample from this many most likely tokens; 0: from all"] = 0
    beams: Annotated[int, "beam search with this many beams, instead of sampling"] = 1
    groups: Annotated[int, "groups of beams that differ from each other (diverse beam search)"] = 1
    diversity: Annotated[float, "what a group pays for a token that a beam of an earlier group chose"] = 0.0
    length_penalty: Annotated[float, "beams are ranked by log p(reply) / tokens^length_penalty"] = 1.0

    user: Annotated[str, "whose speaker token stands before the reply, in a model trained with `--speaker-token`"] = ""

    added = ("user", "top_k", "beams", "groups", "diversity", "length_penalty")

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.decoding  # checks its settings
        if not self.separator:
            raise InputError("separator must not be empty", hint="write separator='\\n', or separator='eos'")

    @property
    def decoding(self) -> Decoding:
        """How tokens are chosen."""
        return decoding_of(self)

    def stream(self, turns: Sequence[Turn], seed: int, show: Callable[[str], None]) -> Reply:
        """Return one reply, shown while it is generated."""
        return self._replies([turns], [seed], lambda text: show(self._prompts.first(text)))[0]

    def replies(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Reply]:
        return self._replies(dialogues, seeds)

    def candidates(
        self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int], n: int
    ) -> list[list[ReplyCandidate] | Exception]:
        """Return `n` possible replies to each dialogue: samples, or the best beams."""
        return self._candidates(dialogues, seeds, n)

    def check_candidates(self, n: int) -> None:
        """Refuse more candidates than its decoding can find."""
        self.decoding.check_candidates(n)

    def log_probabilities(self, dialogues: Sequence[Sequence[Turn]], texts: Sequence[str]) -> list[float]:
        """Return log p(text | dialogue) of each text as the bot's next turn, cut at `max_tokens`."""
        prompts = self._prompts.tokens(dialogues)
        sums: list[float] = self._writer.log_probabilities(prompts, texts, size=self.batch, most=self.max_tokens)
        return sums

    def _replies(
        self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int], show: Callable[[str], None] | None = None
    ) -> list[Reply]:
        replies = []
        for found in self._candidates(dialogues, seeds, 1, show):
            if isinstance(found, Exception):
                replies.append(make_crash_reply(found))
            else:
                replies.append(Reply(found[0].text) if found else Reply("", NOTHING_TO_ANSWER))
        return replies

    def _candidates(
        self,
        dialogues: Sequence[Sequence[Turn]],
        seeds: Sequence[int],
        n: int,
        show: Callable[[str], None] | None = None,
    ) -> list[list[ReplyCandidate] | Exception]:
        answerable = [i for i, turns in enumerate(dialogues) if turns]
        found = self._writer.candidates(
            self._prompts.tokens([dialogues[i] for i in answerable]),
            [int(generator(seeds[i], dialogues[i]).integers(2**63)) for i in answerable],
            self.decoding,
            self.max_tokens,
            n=n,
            size=self.batch,
            stop=self._prompts.stop,
            show=show,
        )
        every: list[list[ReplyCandidate] | Exception] = [[] for _ in dialogues]
        for i, texts in zip(answerable, found, strict=True):
            if not isinstance(texts, Exception):
                texts = [text._replace(text=self._prompts.first(text.text)) for text in texts]
            every[i] = texts
        return every

    @property
    def side_effect(self) -> str:
        """Return a text that names what it downloads."""
        return names_download(self.model)

    def signature(self) -> Signature:
        """Return fields that change replies, with fingerprints of weights and tokenizer instead of their location."""
        precision: Any = str(self._writer.precision).removeprefix("torch.")
        settings = fingerprint(repr(self._writer.network.generation_config.to_diff_dict()), self._prompts.template)
        bare = replace(self, model="", device="auto", batch=256, precision=precision)
        return signature(bare, **self._writer.fingerprints(), settings=settings)

    @cached_property
    def _writer(self) -> Any:
        writer = _load_writer(self.model, last_written(Path(self.model)), self.device, self.precision)
        self.decoding.check_vocabulary(writer.words)
        return writer

    @cached_property
    def _prompts(self) -> Prompts:
        room = min(self.context, self._writer.room(self.max_tokens))
        tokenizer = self._writer.tokenizer
        speaker = find_speaker_token(tokenizer, self.user)
        room -= speaker is not None
        prompts = Prompts.of(tokenizer, chat=self.chat, system=self.system_prompt, separator=self.separator, room=room)
        return replace(prompts, speaker=speaker)


@lru_cache(maxsize=FEW)
def _load_writer(model: str, written: int, device: str, precision: Any) -> Any:  # noqa: ARG001 - the time is part of the key
    try:
        from interloq.play.bots.generate import Writer
    except ImportError as error:
        raise MissingDependencyError("bot 'hf'", error.name or "torch", "encoder") from error
    return Writer(model, device=device, precision=precision)


@dataclass(frozen=True)
class Prompts:
    """Turns dialogues into tokens for a model: with its chat template, or by concatenating the turns."""

    tokenizer: Any
    template: str  # "" for turn after turn
    system: str
    separator: str
    room: int  # tokens
    special: re.Pattern[str]  # texts that the tokenizer would read as special tokens
    speaker: int | None = None  # the token of who speaks next

    @classmethod
    def of(
        cls, tokenizer: Any, *, chat: Literal["auto", True, False], system: str, separator: str, room: int
    ) -> Prompts:
        """Return the prompts for this model."""
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
        """Return the tokens of each dialogue, with as many of its last turns as fit."""
        tokens_of: list[list[int]] = [[] for _ in dialogues]
        left: dict[int, list[Turn]] = {}
        for i, dialogue in enumerate(dialogues):
            left[i] = [Turn(self.special.sub(" ", turn.text), turn.speaker) for turn in dialogue]
        start = 0
        while left:  # all dialogues that are still too long lose one turn at a time, and are encoded together
            texts = [self._text(turns[start:], roles(turns)[start:]) for turns in left.values()]
            for (i, turns), ids in zip(list(left.items()), self._encode(texts), strict=True):
                fits, last = len(ids) <= self.room, start == len(turns) - 1
                if fits or last:
                    tokens_of[i] = ids if fits else self._cut(turns[-1], len(ids))
                    del left[i]
            start += 1
        return tokens_of if self.speaker is None else [[*ids, self.speaker] for ids in tokens_of]

    @property
    def stop(self) -> str:
        """Text that ends a reply besides the end token: without messages, the model would continue the dialogue."""
        return "" if self.template or self.special.fullmatch(self.separator) else self.separator

    def first(self, text: str) -> str:
        """Return the bot's turn in the generated text."""
        text = text.strip()
        return text if self.template else text.split(self.separator, 1)[0].strip()

    def _cut(self, turn: Turn, length: int) -> list[int]:
        """Return the end of a single turn that is too long; with the template's own tokens it may still not fit."""
        tokens = self.tokenizer(turn.text, add_special_tokens=False, verbose=False)["input_ids"]
        keep = max(1, len(tokens) - (length - self.room))
        for _ in range(8):  # a text cut between tokens may have more tokens than before
            (ids,) = self._encode([self._text([Turn(self.tokenizer.decode(tokens[-keep:]))], ["user"])])
            if len(ids) <= self.room or keep == 1:
                break
            keep = max(1, keep - (len(ids) - self.room))
        return ids[-self.room :]

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        special = not self.template  # which writes its own
        return list(self.tokenizer(list(texts), add_special_tokens=special, verbose=False)["input_ids"])

    def _text(self, turns: Sequence[Turn], who: Sequence[str]) -> str:
        if self.template:
            return self._apply_template(turns, who)
        # each turn on one line, if lines separate turns
        parts = [self.system] * bool(self.system) + [turn.text.replace(self.separator, " ") for turn in turns]
        return "".join(part + self.separator for part in parts)

    def _apply_template(self, turns: Sequence[Turn], who: Sequence[str]) -> str:
        """Render the prompt with the template.

        Some templates need the user first, or no system message, and raise an error.
        """
        # alternating messages: consecutive turns of one side become one message
        messages: list[Message] = []
        for turn, role in zip(turns, who, strict=True):
            if messages and messages[-1]["role"] == role:
                messages[-1]["content"] += "\n" + turn.text
            else:
                messages.append({"role": role, "content": turn.text})
        system = [{"role": "system", "content": self.system}] * bool(self.system)
        opened = messages if messages[0]["role"] == "user" else [{"role": "user", "content": ""}, *messages]
        merged = [{"role": "user", "content": f"{self.system}\n\n{opened[0]['content']}".strip()}, *opened[1:]]
        for attempt in ([*system, *messages], [*system, *opened]):
            try:
                return render_chat(self.tokenizer, attempt)
            except TemplateRefused:
                continue
        try:
            return render_chat(self.tokenizer, merged)
        except TemplateRefused as error:
            hint = "write chat=False"
            raise InputError(f"the chat template refuses {len(merged)} messages: {error}", hint=hint) from error


def _special(tokenizer: Any) -> re.Pattern[str]:
    """Return special tokens such as `<|im_end|>`, which would end a turn for the model if its text contained them."""
    words = {str(token.content) for token in tokenizer.added_tokens_decoder.values() if token.special}
    words |= set(tokenizer.all_special_tokens)
    return re.compile("|".join(map(re.escape, sorted(filter(None, words), key=len, reverse=True))) or r"(?!)")
