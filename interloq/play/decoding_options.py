# SPDX-License-Identifier: Apache-2.0
"""How bots choose the tokens of a reply: the settings of `interloq.play.decoding`, which need no torch."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from interloq.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoding:
    """How tokens are chosen: the most likely one, a sample, or beam search.

    Beam search (more than one beam) uses no temperature, `top_k` or `top_p`.
    """

    temperature: float = 1.0  # 0: always the most likely token
    top_k: int = 0  # sample from this many most likely tokens; 0: from all
    top_p: float = 1.0  # sample from the most likely tokens whose probabilities add up to this
    beams: int = 1
    groups: int = 1  # of beams, each of which is kept apart from the earlier ones
    diversity: float = 0.0  # what a group pays for each beam of earlier groups that chose the same token
    length_penalty: float = 1.0  # a finished beam's score is log p(reply) / tokens ** length_penalty

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < math.inf:
            raise InputError(f"temperature must be at least 0, got {self.temperature}")
        if not 0 < self.top_p <= 1:
            raise InputError(f"top_p must be above 0 and at most 1, got {self.top_p}")
        if self.top_k < 0:
            raise InputError(f"top_k must be at least 0, got {self.top_k}", hint="0 samples from all tokens")
        if self.beams < 1 or self.groups < 1:
            raise InputError(f"beams and groups must be at least 1, got {self.beams} and {self.groups}")
        if self.beams % self.groups:
            hint = f"use {self.groups * math.ceil(self.beams / self.groups)} beams"
            raise InputError(f"{self.beams} beams cannot be divided into {self.groups} equal groups", hint=hint)
        if not 0 <= self.diversity < math.inf:
            raise InputError(f"diversity must be at least 0, got {self.diversity}")
        if self.diversity and self.groups == 1:
            raise InputError(
                f"diversity={self.diversity} needs groups", hint="write groups=2 or more, and as many beams"
            )
        if not math.isfinite(self.length_penalty):
            raise InputError(f"length_penalty must be a finite number, got {self.length_penalty}")

    def check_vocabulary(self, words: int) -> None:
        """Refuse more beams than the network has tokens: the first token could not fill them."""
        if self.beams > words:
            raise InputError(f"{self.beams} beams are more than the model's {words:,} tokens", hint="use fewer beams")

    def check_candidates(self, n: int) -> None:
        """Refuse more candidates per reply than this decoding can find."""
        if n < 1:
            raise InputError(f"candidates must be at least 1, got {n}")
        if self.beams > 1 and n > self.beams:
            raise InputError(f"{n} candidates cannot come from {self.beams} beams", hint=f"use {n} beams or more")
        if self.beams == 1 and self.temperature == 0 and n > 1:
            raise InputError(
                f"{n} candidates cannot come from the most likely tokens alone",
                hint="use beams, or a temperature above 0",
            )


def decoding_of(bot: object) -> Decoding:
    """Return the decoding of a bot that has all of its settings as fields of the same names."""
    return Decoding(**{field.name: getattr(bot, field.name) for field in fields(Decoding)})
