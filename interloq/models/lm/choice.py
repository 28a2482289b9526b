# SPDX-License-Identifier: Apache-2.0
"""Constrained choice: probabilities of a few possible answers to a prompt, under a local language model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interloq.errors import InputError
from interloq.models.lm.turns import Layout

MARGIN = 64  # tokens of the model kept for the answer, as in causal.py


def choice_probabilities(
    model: Any, prompts: Sequence[str], choices: Sequence[str], *, layout: Layout
) -> NDArray[np.float64]:
    """p(choice | prompt) [prompts, choices], not normalised: rows sum to the probability of all choices together."""
    lengths = model.context_lengths([[prompt] for prompt in prompts], layout=layout)
    room = model.longest - min(MARGIN, model.longest // 2)
    if max(lengths, default=0) > room:
        raise InputError(
            f"a prompt has {max(lengths):,} tokens, and the model reads at most {room:,}",
            hint="lower `longest`, or use a shorter rubric",
            where=str(model.folder),
        )
    found = model.follow_up_scores([[prompt] for prompt in prompts], choices, layout=layout)
    if len(set(found.counts.tolist())) > 1:
        sizes = ", ".join(f"{choice!r} {n}" for choice, n in zip(choices, found.counts.tolist(), strict=True))
        raise InputError(f"the model's answers differ in tokens: {sizes}", hint="use another scale or model")
    return np.asarray(np.exp(found.sums))
