# SPDX-License-Identifier: Apache-2.0
"""A bot that chooses among another bot's replies by mutual information (MMI-bidi, Li et al., 2016).

score(reply) = (1 − λ) log p(reply | dialogue) + λ log p(last turn | reply)

A forward bot, `hf` or `seq2seq`, gives its best or sampled candidates and their log-probabilities. A backward model,
trained with `interloq train bot --reverse`, says how well the last turn can be guessed from the reply: dull replies fit
every turn, so they score low. The paper adds a reward for length, which N-best lists of similar lengths do not need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from interloq.data.files.opening import read_json
from interloq.errors import InputError
from interloq.options import limited
from interloq.play.bot import Bot, CandidateBot, ReplyCandidate, make_crash_reply
from interloq.play.bots.hugging_face import HuggingFace
from interloq.records import Turn
from interloq.registry import name_of
from interloq.servers.replies import NOTHING_TO_ANSWER, Reply
from interloq.signature import Signature
from interloq.trust import names_download

SEQ2SEQ = "bot"  # kind of model in the folder of a sequence-to-sequence network


@dataclass(frozen=True)
class Mmi(Bot, name="mmi"):
    """Chooses the reply from which the last turn can best be guessed."""

    forward: Annotated[Bot, "the bot whose replies are candidates: `hf(…)` or `seq2seq(…)`"] = field(
        metadata={"kind": "bot"}
    )
    backward: Annotated[str, "a model of p(last turn | reply), trained with `--reverse`"]
    candidates: Annotated[int, "replies to choose from: samples or, with beams, the best beams"] = limited(16, least=2)
    weight: Annotated[float, "weight λ of the backward model"] = limited(0.5, least=0, most=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.forward, CandidateBot):
            name = name_of(self.forward)
            raise InputError(f"{name} cannot give several replies with their probabilities", hint="use hf or seq2seq")
        self.forward.check_candidates(self.candidates)

    def replies(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Reply]:
        forward: Any = self.forward
        found = forward.candidates(dialogues, seeds, self.candidates)
        rows, contexts, texts = list[int](), list[Sequence[Turn]](), list[str]()
        for i, candidates in enumerate(found):
            for candidate in [] if isinstance(candidates, Exception) else candidates:
                rows.append(i)
                contexts.append(dialogues[i])
                texts.append(candidate.text)
        scores: list[list[float]] = [[] for _ in found]
        for i, value in zip(rows, self._score(contexts, texts), strict=True):
            scores[i].append(value)
        return [self._choose(*each) for each in zip(found, scores, strict=True)]

    def _choose(self, candidates: list[ReplyCandidate] | Exception, backward: list[float]) -> Reply:
        """Return the best candidate; blank ones only if there are no others."""
        if isinstance(candidates, Exception):
            return make_crash_reply(candidates)
        if not candidates:
            return Reply("", NOTHING_TO_ANSWER)
        ranked = []
        for candidate, log_probability in zip(candidates, backward, strict=True):
            score = (1 - self.weight) * candidate.log_probability + self.weight * log_probability
            ranked.append((bool(candidate.text), score, candidate.text))
        return Reply(max(ranked, key=lambda each: each[:2])[2])

    def signature(self) -> Signature:
        """Return the weight, and the signatures of both models."""
        forward: Any = self.forward.signature()
        parts = {"forward": forward, "backward": self._backward_signature()}
        return Signature.of(f"mmi(candidates={self.candidates},weight={self.weight})", parts)

    @property
    def batch(self) -> int:  # type: ignore[override]
        """Return the forward bot's preferred number of dialogues."""
        return self.forward.batch

    @property
    def side_effect(self) -> str:
        """Return a text that names what it downloads."""
        return names_download(self.backward)

    def _score(self, dialogues: Sequence[Sequence[Turn]], replies: Sequence[str]) -> Sequence[float]:
        """Return log p(last turn | reply)."""
        if isinstance(self._backward, HuggingFace):
            turns = [[Turn(reply or " ")] for reply in replies]
            return self._backward.log_probabilities(turns, [dialogue[-1].text for dialogue in dialogues])
        values: list[float] = self._backward.log_probabilities(dialogues, replies).tolist()
        return values

    def _backward_signature(self) -> str:
        if isinstance(self._backward, HuggingFace):
            return str(self._backward.signature())
        return str(self._backward.fingerprint)

    @cached_property
    def _backward(self) -> Any:
        device: Any = getattr(self.forward, "device", "auto")
        path = Path(self.backward) / "model.json"
        facts = read_json(path, hint="copy the folder again") if path.is_file() else {}
        if facts.get("kind") == SEQ2SEQ:
            from interloq.play.networks.model import load_backward

            return load_backward(self.backward, device=device)
        if facts.get("reverse") is False:
            what = "the model predicts replies, not last turns"
            raise InputError(what, hint="train it with --reverse", where=self.backward)
        return HuggingFace(self.backward, device=device)
