# SPDX-License-Identifier: Apache-2.0
"""A bot that `interloq train bot` trained: LSTM, convolutional, Transformer or VHRED.

With `mmi`, a second network, trained with `--reverse`, re-ranks the candidates (Li et al., 2016, MMI-bidi):

(1 − λ) log p(reply | context) + λ log p(last turn | reply)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from interloq.errors import InputError, MissingDependencyError
from interloq.models.loaded import last_written
from interloq.options import limited
from interloq.play.bot import Bot, generator
from interloq.play.decoding_options import Decoding
from interloq.records import Turn
from interloq.servers.replies import NOTHING_TO_ANSWER, Reply
from interloq.signature import Signature, signature

FEW = 32  # networks in memory at a time


@dataclass(frozen=True)
class Seq2Seq(Bot, name="seq2seq"):
    """Writes replies with a network trained by `interloq train bot`."""

    places = ("model", "mmi")
    immaterial = ("device", "batch")
    model: Annotated[str, "a folder made by `interloq train bot`"]
    temperature: Annotated[float, "sampling temperature; 0: always the most likely token"] = 1.0
    top_k: Annotated[int, "sample from this many most likely tokens; 0: from all"] = 0
    top_p: Annotated[float, "sample from the most likely tokens whose probabilities add up to this"] = 0.9
    beams: Annotated[int, "beam search with this many beams, instead of sampling"] = 1
    groups: Annotated[int, "groups of beams that differ from each other (diverse beam search)"] = 1
    diversity: Annotated[float, "what a group pays for a token that a beam of an earlier group chose"] = 0.0
    length_penalty: Annotated[float, "beams are ranked by log p(reply) / tokens^length_penalty"] = 1.0
    max_tokens: Annotated[int, "tokens per reply, at most; longer ones are cut"] = limited(40, least=1)
    mmi: Annotated[str, "folder of a network trained with `--reverse`, to re-rank candidates; `''`: none"] = ""
    mmi_weight: Annotated[float, "weight λ of the reverse network"] = limited(0.5, least=0, most=1)
    candidates: Annotated[int, "replies that are re-ranked"] = limited(10, least=1)
    batch: Annotated[int, "replies that are written at the same time"] = limited(256, least=1)
    device: Annotated[Literal["auto", "cpu", "cuda"], "where the network runs; `'auto'`: on a GPU if there is one"] = (
        "auto"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        decoding = self.decoding  # checks its settings
        if self.mmi:
            decoding.check_candidates(self.candidates)

    @property
    def decoding(self) -> Decoding:
        """How tokens are chosen."""
        return Decoding(
            temperature=self.temperature,
            top_k=self.top_k,
            top_p=self.top_p,
            beams=self.beams,
            groups=self.groups,
            diversity=self.diversity,
            length_penalty=self.length_penalty,
        )

    def replies(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Reply]:
        answerable = [i for i, turns in enumerate(dialogues) if any(turn.text.strip() for turn in turns)]
        replies = [Reply("", NOTHING_TO_ANSWER)] * len(dialogues)
        texts = self._write([dialogues[i] for i in answerable], [seeds[i] for i in answerable])
        for i, text in zip(answerable, texts, strict=True):
            replies[i] = Reply(text)
        return replies

    def signature(self) -> Signature:
        """Return the fields that change replies, with fingerprints of the networks instead of their location."""
        parts = {"weights": self._model.fingerprint}
        bare = replace(self, model="", mmi="", device="auto", batch=256)
        if self._backward is None:
            bare = replace(bare, mmi_weight=0.5, candidates=10)
        else:
            parts["mmi_weights"] = self._backward.fingerprint
        return signature(bare, **parts)

    def _write(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[str]:
        from interloq.play.decoding import decode

        drawn = [int(generator(seed, turns).integers(2**63)) for seed, turns in zip(seeds, dialogues, strict=True)]
        found = decode(
            self._model.network,
            self._model.prompts(dialogues, drawn),
            drawn,
            self.decoding,
            self.max_tokens,
            candidates=self.candidates if self._backward else 1,
            batch=self.batch,
        )
        texts = []
        for turns, candidates in zip(dialogues, found, strict=True):
            texts.append(self._choose(turns, candidates))
        return texts

    def _choose(self, turns: Sequence[Turn], candidates: Sequence[Any]) -> str:
        """Return the best candidate; blank ones only if there are no others."""
        texts = [self._model.text(candidate.tokens) for candidate in candidates]
        chosen = [i for i, text in enumerate(texts) if text.strip()] or [0]
        if self._backward is None or len(chosen) == 1:
            return texts[chosen[0]]
        backward = self._backward.log_probabilities([turns] * len(chosen), [texts[i] for i in chosen])
        forward = [candidates[i].log_probability for i in chosen]
        scores = [
            (1 - self.mmi_weight) * ahead + self.mmi_weight * back
            for ahead, back in zip(forward, backward, strict=True)
        ]
        return texts[chosen[max(range(len(scores)), key=scores.__getitem__)]]

    @cached_property
    def _model(self) -> Any:
        model = _load(self.model, last_written(Path(self.model)), self.device)
        if model.settings.reverse:
            raise InputError(
                "the network predicts last turns, not replies",
                hint="use it as mmi=…, with another model",
                where=self.model,
            )
        return model

    @cached_property
    def _backward(self) -> Any:
        if not self.mmi:
            return None
        model = _load(self.mmi, last_written(Path(self.mmi)), self.device)
        if not model.settings.reverse:
            raise InputError(
                "the network predicts replies, not last turns", hint="train it with --reverse", where=self.mmi
            )
        return model


@lru_cache(maxsize=FEW)
def _load(model: str, written: int, device: str) -> Any:  # noqa: ARG001 - the time is part of the key
    try:
        from interloq.play.networks.model import ReplyModel
    except ImportError as error:
        raise MissingDependencyError("bot 'seq2seq'", error.name or "torch", "rater") from error
    return ReplyModel.load(model, device=device)
