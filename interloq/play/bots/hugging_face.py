# SPDX-License-Identifier: Apache-2.0
"""A bot that is a language model: a Hugging Face folder, an installed package, or `hub:org/name@revision`.

Models with a chat template get the dialogue as messages: the bot's turns are the assistant's, all others the user's.
Without one (`chat=False`) the turns are concatenated, each followed by `separator`, and the reply ends with the first
line; `separator='eos'` is the model's own end token, as in DialoGPT. A dialogue that is too long loses its first turns;
a single turn that is too long loses its beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from interloq.errors import InputError, MissingDependencyError
from interloq.models.loaded import last_written
from interloq.play.bot import NOTHING_TO_ANSWER, crashed, generator
from interloq.records import Turn
from interloq.registry import Component
from interloq.servers.replies import Reply
from interloq.signature import Signature, fingerprint, signature
from interloq.trust import names_download

FEW = 32  # networks in memory at a time
END = "eos"


@dataclass(frozen=True)
class HuggingFace(Component):
    """Generates replies with a local language model."""

    model: Annotated[str, "a folder, an installed package, or `hub:org/name@revision`; only safetensors are loaded"]
    temperature: Annotated[float, "sampling temperature; 0: always the most likely token"] = 1.0
    top_p: Annotated[float, "sample from the most likely tokens whose probabilities add up to this"] = 0.9
    max_tokens: Annotated[int, "tokens per reply, at most; longer ones are cut"] = 64
    chat: Annotated[Literal["auto", True, False], "use the chat template: if there is one, always, or never"] = "auto"
    system_prompt: Annotated[str, "a system message; without a template, a first line"] = ""
    separator: Annotated[str, "without a template, what follows each turn; `'eos'`: the model's end token"] = "\n"
    context: Annotated[int, "tokens of the dialogue that the model sees"] = 1_024
    batch: Annotated[int, "dialogues per batch; halved when memory is short"] = 256
    device: Annotated[Literal["auto", "cpu", "cuda"], "where the model runs; `'auto'`: on a GPU if there is one"] = (
        "auto"
    )
    precision: Annotated[
        Literal["auto", "float32", "bfloat16", "float16"],
        "number type of the weights; `'auto'`: bfloat16 on a GPU, float32 on a CPU",
    ] = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.temperature < 0 or not 0 < self.top_p <= 1:
            raise InputError(f"temperature must be ≥ 0 and top_p in (0, 1], got {self.temperature} and {self.top_p}")
        for name in ("max_tokens", "context", "batch"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not self.separator:
            raise InputError("separator must not be empty", hint="write separator='\\n', or separator='eos'")

    def stream(self, turns: Sequence[Turn], seed: int, show: Callable[[str], None]) -> Reply:
        """One reply, shown while it is generated."""
        return self._replies([turns], [seed], lambda text: show(self._prompts.first(text)))[0]

    def replies(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Reply]:
        return self._replies(dialogues, seeds)

    def _replies(
        self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int], show: Callable[[str], None] | None = None
    ) -> list[Reply]:
        from interloq.play.bots.generate import Sampling

        some = [i for i, turns in enumerate(dialogues) if turns]
        texts = self._writer.texts(
            self._prompts.tokens([dialogues[i] for i in some]),
            [int(generator(seeds[i], dialogues[i]).integers(2**63)) for i in some],
            Sampling(self.temperature, self.top_p, self.max_tokens),
            size=self.batch,
            stop=self._prompts.stop,
            show=show,
        )
        replies = [Reply("", NOTHING_TO_ANSWER)] * len(dialogues)
        for i, text in zip(some, texts, strict=True):
            replies[i] = crashed(text) if isinstance(text, Exception) else Reply(self._prompts.first(text))
        return replies

    @property
    def side_effect(self) -> str:
        """Text that names what it downloads."""
        return names_download(self.model)

    def signature(self) -> Signature:
        """Fields that change replies, with fingerprints of weights and tokenizer instead of their location."""
        precision: Any = str(self._writer.precision).removeprefix("torch.")
        settings = fingerprint(repr(self._writer.network.generation_config.to_diff_dict()), self._prompts.template)
        bare = replace(self, model="", device="auto", batch=256, precision=precision)
        return signature(bare, **self._writer.fingerprints(), settings=settings)

    @cached_property
    def _writer(self) -> Any:
        return _kept(self.model, last_written(Path(self.model)), self.device, self.precision)

    @cached_property
    def _prompts(self) -> Any:
        from interloq.play.bots.prompts import Prompts

        room = min(self.context, self._writer.room(self.max_tokens))
        return Prompts.of(
            self._writer.tokenizer, chat=self.chat, system=self.system_prompt, separator=self.separator, room=room
        )


@lru_cache(maxsize=FEW)
def _kept(model: str, written: int, device: str, precision: Any) -> Any:  # noqa: ARG001 - the time is part of the key
    try:
        from interloq.play.bots.generate import Writer
    except ImportError as error:
        raise MissingDependencyError("bot 'hf'", error.name or "torch", "encoder") from error
    return Writer(model, device=device, precision=precision)
