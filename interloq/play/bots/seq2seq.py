# SPDX-License-Identifier: Apache-2.0
"""A bot that `interloq train bot` trained: LSTM, convolutional, Transformer or VHRED.

It reads the last turns of a dialogue, as many as in training, and writes a reply token by token. VHRED draws its latent
variable from the seed of the dialogue, also if `temperature` is 0 or with beams.
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
from interloq.play.bot import Bot, ReplyCandidate, generator
from interloq.play.decoding_options import Decoding, decoding_of
from interloq.records import Turn
from interloq.servers.replies import NOTHING_TO_ANSWER, Reply
from interloq.signature import Signature, signature

FEW = 32  # networks in memory at a time
BATCH = 256


@dataclass(frozen=True)
class Seq2Seq(Bot, name="seq2seq"):
    """Writes replies with a network trained by `interloq train bot`."""

    places = ("model",)
    model: Annotated[str, "a folder made by `interloq train bot`"]
    temperature: Annotated[float, "sampling temperature; 0: always the most likely token"] = 1.0
    top_k: Annotated[int, "sample from this many most likely tokens; 0: from all"] = 0
    top_p: Annotated[float, "sample from the most likely tokens whose probabilities add up to this"] = 0.9
    beams: Annotated[int, "beam search with this many beams, instead of sampling"] = 1
    groups: Annotated[int, "groups of beams that differ from each other (diverse beam search)"] = 1
    diversity: Annotated[float, "what a group pays for a token that a beam of an earlier group chose"] = 0.0
    length_penalty: Annotated[float, "beams are ranked by log p(reply) / tokens^length_penalty"] = 1.0
    max_tokens: Annotated[int, "tokens per reply, at most; longer ones are cut"] = limited(40, least=1)
    batch: Annotated[int, "replies that are written at the same time"] = limited(BATCH, least=1)
    device: Annotated[Literal["auto", "cpu", "cuda"], "where the network runs; `'auto'`: on a GPU if there is one"] = (
        "auto"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.decoding  # checks its settings

    @property
    def decoding(self) -> Decoding:
        """How tokens are chosen."""
        return decoding_of(self)

    def replies(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Reply]:
        written = self._write(dialogues, seeds, 1)
        return [Reply(found[0].text) if found else Reply("", NOTHING_TO_ANSWER) for found in written]

    def candidates(
        self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int], n: int
    ) -> list[list[ReplyCandidate] | Exception]:
        """Return `n` possible replies to each dialogue: samples, or the best beams."""
        return list(self._write(dialogues, seeds, n))

    def _write(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int], n: int) -> list[list[ReplyCandidate]]:
        from interloq.play.decoding import decode

        model = self.network
        answerable = [i for i, turns in enumerate(dialogues) if any(turn.text.strip() for turn in turns)]
        drawn = [int(generator(seeds[i], dialogues[i]).integers(2**63)) for i in answerable]
        prompts = model.prompts([dialogues[i] for i in answerable], drawn)
        written = decode(model.network, prompts, drawn, self.decoding, self.max_tokens, candidates=n, batch=self.batch)
        replies: list[list[ReplyCandidate]] = [[] for _ in dialogues]
        for i, found in zip(answerable, written, strict=True):
            replies[i] = [ReplyCandidate(model.text(each.tokens), each.log_probability) for each in found]
        return replies

    def check_candidates(self, n: int) -> None:
        """Refuse more candidates than its decoding can find."""
        self.decoding.check_candidates(n)

    def signature(self) -> Signature:
        """Return the fields that change replies, with the network's fingerprint instead of its location."""
        return signature(replace(self, model="", device="auto", batch=BATCH), weights=self.network.fingerprint)

    @cached_property
    def network(self) -> Any:
        """The loaded network, a `ReplyModel`."""
        model = _load(self.model, last_written(Path(self.model)), self.device)
        if model.settings.reverse:
            raise InputError(
                "the network predicts last turns, not replies",
                hint="use it in mmi(backward=…), or train one without --reverse",
                where=self.model,
            )
        self.decoding.check_vocabulary(model.facts["config"]["vocabulary"])
        return model


@lru_cache(maxsize=FEW)
def _load(model: str, written: int, device: str) -> Any:  # noqa: ARG001 - the time is part of the key
    try:
        from interloq.play.networks.model import ReplyModel
    except ImportError as error:
        raise MissingDependencyError("bot 'seq2seq'", error.name or "torch", "rater") from error
    return ReplyModel.load(model, device=device)
