# SPDX-License-Identifier: Apache-2.0
"""Warnings about a rater: a weak one, from the dev figures in its folder; one that trusts the parrot, from its weights.

Half of the dev examples are positive, so guessing has a loss of ln 2 = .693. A rater is called weak if its loss is less
than a third below that, above .462. Measured raters (docs/rate.md): a Bi-GRU with .570 distinguished valid replies from
random ones with an AUC of .61, and the rater of the demo's embedded log with .51 gives high weights to replies that
repeat the utterance; a rater from MiniLM with .268 had an AUC of .85.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log
from pathlib import Path
from typing import Any

from interloq.data.files.opening import read_json, reading_saved
from interloq.learn.calibrate import CALIBRATION
from interloq.registry import parts_of

GUESSING = log(2)
WEAK = 2 / 3 * GUESSING


def warning(loss: float) -> str:
    """The warning about a rater with this dev loss; empty if it is good enough."""
    if loss <= WEAK:
        return ""
    return (
        f"the rater is weak: its dev loss is {loss:.3f}; random guessing has {GUESSING:.3f}. Its weights may reward "
        "replies that only repeat the utterance: train it on more pairs, use another rater (bert(…), "
        "by(relevance(…))), or exclude the utterance from the references (parrot=False, extend --no-parrot)"
    )


def parrot_warning(sources: Mapping[str, Mapping[str, Any]]) -> str:
    """The warning about weights that reward repeating the utterance, from a rating's summary by source; or empty.

    Good dev figures do not rule this out: the wrong replies that a rater learns from answer other utterances.
    """
    mean = sources.get("parrot", {}).get("mean")
    if mean is None or mean <= 0:
        return ""
    return (
        f"the rater gives the utterance itself a mean weight of {mean:.2f}, so replies that only repeat it are "
        "rewarded: exclude it from the references (extend --no-parrot, parrot=False), or use another rater, such as "
        "by(relevance(…))"
    )


def folder_warning(folder: str, *, scaled: bool) -> str:
    """The warning about a trained folder; `scaled` if its probabilities are used with the temperature."""
    path = Path(folder) / CALIBRATION
    if not folder or not path.is_file():
        return ""
    with reading_saved(folder):
        facts = read_json(path)
        return warning(float((facts["scaled"] if scaled else facts)["nll"]))


def warnings_of(component: Any) -> list[str]:
    """The warnings of a component, and of the components in its fields."""
    warnings = []
    if hasattr(component, "warning"):
        warnings.append(component.warning())
    for part in parts_of(component):
        warnings += warnings_of(part)
    return list(dict.fromkeys(filter(None, warnings)))
