"""Samples with weighted references."""

from __future__ import annotations

from interloq import Reference, Sample

SAMPLE = Sample(
    "c1/bot",
    ["hi there", "how was the film ?"],
    "it was a very very good film .",
    [
        Reference("it was a good film ."),
        Reference("how was the film ?", 0.4, "parrot"),
        Reference("very bad film , very very", 0.7, "retrieved:p1"),
        Reference("a very long story .", -0.8, "retrieved:p2"),
    ],
    "bot",
)
