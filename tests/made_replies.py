"""Made replies of versions of a bot, with references and ratings."""

from __future__ import annotations

import numpy as np

from interloq import Sample, write
from interloq.compare.compare_options import GateOptions

METRIC = "chrf"
CHRF = GateOptions(metrics=[METRIC])


def replies(good: float, seed: int = 0, n: int = 30) -> list[Sample]:
    """Replies of which a share repeats the reference; the others say something else."""
    rng = np.random.default_rng(seed)
    text = [f"the answer to {i} is {i * 7}" if rng.random() < good else f"no idea {seed}" for i in range(n)]
    return [
        Sample(
            str(i), [f"what is {i} ?"], reply, [f"the answer to {i} is {i * 7}"], "bot", [5 if "answer" in reply else 2]
        )
        for i, reply in enumerate(text)
    ]


def write_replies() -> None:
    """Write an old version, one that is as good, and a bad one."""
    for name, good, seed in (("old", 0.9, 0), ("same", 0.9, 1), ("bad", 0.1, 2)):
        write(f"{name}.jsonl", replies(good, seed), kind="samples")
