"""Played and scored dialogues in files, as `interloq play` and `interloq score` leave them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from interloq import Dialogue, Score, Turn, write
from interloq.play.samples import samples

PARTNER_SET = "0123456789abcdef"


def made_dialogues(
    levels: Mapping[str, float], partners: Sequence[str] = ("p", "q"), openings: int = 6, *, seed: int = 0
) -> tuple[list[Dialogue], list[Score]]:
    """Bipartite dialogues with two given turns and two exchanges; scores scatter around each target's level."""
    rng = np.random.default_rng(seed)
    dialogues = []
    for target, partner, opening in product(levels, partners, range(openings)):
        said = [f"opening {opening}", "tell me more", f"I am {target}", "ok", f"{target} again", "fine"]
        turns = [Turn(text, (target, partner)[i % 2]) for i, text in enumerate(said)]
        id = f"{target}~{partner}/opening-{opening}/repeat-1"
        dialogues.append(Dialogue(id, turns, {target: target, partner: partner}, given=2))
    scores = [
        Score(sample.id, "made", levels[sample.system] + float(rng.normal()), system=sample.system)
        for sample in samples(dialogues)
    ]
    return dialogues, scores


def write_dialogues(
    folder: Path,
    dialogues: Sequence[Dialogue],
    scores: Sequence[Score],
    *,
    name: str = "",
    partners: str = PARTNER_SET,
    bots: Mapping[str, str] | None = None,
    results: Any = None,
) -> list[str]:
    """Paths of scores, dialogues and samples."""
    facts = {"partners": partners, "scheme": "bipartite", "openings": "o", "exchanges": 2} if partners else {}
    own = {**facts, "bots": dict(bots)} if bots else facts
    paths = [str(folder / f"{name}{what}.jsonl") for what in ("scores", "dialogues", "samples")]
    write(paths[0], scores, kind="scores", **({} if results is None else {"results": results}))
    write(paths[1], dialogues, kind="dialogues", **own)
    write(paths[2], samples(dialogues), kind="samples", **facts)
    return paths
