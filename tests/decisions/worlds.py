"""Simulated versions of a system. The true difference between new and old is always the `shift`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from interloq.compare.match_versions import Unit, Version

Array = NDArray[np.float64]
Noise = Literal["normal", "heavy", "skewed"]
Draw = Callable[[Generator, float], tuple[Version, Version]]
METRICS = ("chrf", "rouge_l", "bleu", "meteor", "nist", "bertscore", "valid", "relevance", "usl_h", "ruber")


@dataclass(frozen=True, slots=True)
class World:
    """One setting: how to draw two versions, and a true difference that is worth finding."""

    name: str
    draw: Draw
    effect: float
    slice_by: Sequence[str] = ()
    labels: bool = False  # whether people's ratings are compared, not scores
    undecided: bool = field(default=False)  # whether every gate must be undecided


def make_version(
    name: str,
    values: Array,
    *,
    dialogues: Sequence[str] | None = None,
    ratings: Array | None = None,
    topics: int = 0,
    prefix: str = "",
) -> Version:
    """A version with one column of values per metric. Dialogues are unknown without names."""
    columns = values if values.ndim == 2 else values[:, None]
    units = []
    for i, row in enumerate(columns):
        units.append(
            Unit(
                id=f"{prefix}{i}",
                values=dict(zip(METRICS, map(float, row), strict=False)),
                keys={"id": f"{prefix}{i}"},
                dialogue=dialogues[i] if dialogues else "",
                rating=math.nan if ratings is None else float(ratings[i]),
                fields={"topic": f"topic {i % topics}"} if topics else {},
                text=f"{name} {i}",
            )
        )
    return Version(name, "sample", tuple(units))


def draw_noise(rng: Generator, size: int | tuple[int, int], kind: Noise = "normal") -> Array:
    """Independent numbers with mean 0."""
    if kind == "heavy":
        return rng.standard_t(3, size)
    if kind == "skewed":
        return rng.lognormal(0.0, 1.0, size) - math.exp(0.5)
    return rng.normal(size=size)


def names(sizes: Sequence[int], prefix: str = "d") -> list[str]:
    """Names of dialogues of these sizes, one per reply."""
    return [f"{prefix}{i}" for i, size in enumerate(sizes) for _ in range(size)]


def replies(
    rng: Generator,
    shift: float,
    *,
    n: int,
    metrics: int = 1,
    kind: Noise = "normal",
    topics: int = 0,
    said: bool = True,
) -> tuple[Version, Version]:
    """Paired replies that are independent; `said` is whether the tool is told."""
    shared, common = draw_noise(rng, (n, 1)), draw_noise(rng, (n, 1), kind)
    old, new = (shared + 0.7 * (common * side + draw_noise(rng, (n, metrics), kind)) for side in (0, 1))
    own = names([1] * n) if said else None
    return (
        make_version("old", old, dialogues=own, topics=topics),
        make_version("new", new + shift, dialogues=own, topics=topics),
    )


def unpaired(rng: Generator, shift: float, *, old: int, new: int, kind: Noise = "normal") -> tuple[Version, Version]:
    """Independent replies to different prompts."""
    first, second = draw_noise(rng, old, kind), draw_noise(rng, new, kind) + shift
    return (
        make_version("old", first, dialogues=names([1] * old, "o"), prefix="o"),
        make_version("new", second, dialogues=names([1] * new, "n"), prefix="n"),
    )


def binary(rng: Generator, shift: float, *, n: int, rate: float, paired: bool = True) -> tuple[Version, Version]:
    """Scores of 0 and 1; the new version has the rate + shift."""
    hard = rng.random(n)
    own = hard if paired else rng.random(n)
    mixed = rng.random(n) < 0.5  # half of the prompts decide alike for both versions
    first, second = (np.where(mixed, draw, rng.random(n)) for draw in (hard, own))
    old, new = (first < rate - min(shift, 0)).astype(float), (second < rate + max(shift, 0)).astype(float)
    prefixes = ("", "") if paired else ("o", "n")
    sides = (("old", old), ("new", new))
    versions = []
    for (name, values), prefix in zip(sides, prefixes, strict=True):
        versions.append(make_version(name, values, dialogues=names([1] * n, prefix or "d"), prefix=prefix))
    return versions[0], versions[1]


def dialogues(
    rng: Generator, shift: float, *, sizes: Sequence[int], known: bool = True, paired: bool = True
) -> tuple[Version, Version]:
    """Replies in dialogues that share half of the variance of the differences, or of the scores if not paired."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    versions = []
    shared = draw_noise(rng, len(groups)) if paired else 0.0
    for name, prefix in (("old", "o"), ("new", "n")):
        values = shared + math.sqrt(0.5) * (draw_noise(rng, len(sizes))[groups] + draw_noise(rng, len(groups)))
        prefix = "" if paired else prefix
        own = names(sizes, f"{prefix}d") if known else None
        values = values + shift * (name == "new")
        versions.append(make_version(name, values, dialogues=own, prefix=prefix))
    return versions[0], versions[1]


def labelled(
    rng: Generator, shift: float, *, labels: int, n: int, use: float, chosen: bool = False, scale: bool = False
) -> tuple[Version, Version]:
    """Scores of n replies and ratings of some; `use` is the correlation of scores and ratings.

    `chosen` rates the replies with the highest scores of the new and the lowest of the old version; `scale` rounds
    ratings to 1 … 5.
    """
    versions = []
    for name, prefix in (("old", "o"), ("new", "n")):
        quality = draw_noise(rng, n)
        scores = use * quality + math.sqrt(1 - use**2) * draw_noise(rng, n)
        ratings = 3 + quality + shift * (name == "new")
        if scale:
            ratings = np.clip(np.round(ratings), 1, 5)
        rated = np.argsort(scores if name == "old" else -scores)[:labels] if chosen else np.arange(labels)
        ratings = np.where(np.isin(np.arange(n), rated), ratings, np.nan)
        own = names([1] * n, prefix)
        versions.append(make_version(name, scores, dialogues=own, ratings=ratings, prefix=prefix))
    return versions[0], versions[1]


UNEQUAL = (1, 1, 2, 2, 3, 3, 4, 5, 6, 8, 10, 12, 15, 18, 20)
WORLDS = (
    World("100 replies", partial(replies, n=100), 0.4),
    World("100 replies, dialogues unknown", partial(replies, n=100, said=False), 0.4),
    World("10 replies", partial(replies, n=10), 1.2),
    World("100 replies, heavy tails", partial(replies, n=100, kind="heavy"), 0.6),
    World("30 replies, skewed", partial(replies, n=30, kind="skewed"), 1.2),
    World("100 replies, 10 metrics", partial(replies, n=100, metrics=10), 0.4),
    World("120 replies, 6 slices", partial(replies, n=120, topics=6), 0.4, ("topic",)),
    World("not paired, 60 and 60", partial(unpaired, old=60, new=60), 0.55),
    World("not paired, 20 and 120, skewed", partial(unpaired, old=20, new=120, kind="skewed"), 1.8),
    World("100 scores of 0 or 1, rate .3", partial(binary, n=100, rate=0.3), 0.15),
    World("100 scores of 0 or 1, rate .03", partial(binary, n=100, rate=0.03), 0.1),
    World("not paired, scores of 0 or 1, rate .05", partial(binary, n=80, rate=0.05, paired=False), 0.15),
    World("40 dialogues of 5", partial(dialogues, sizes=[5] * 40), 0.35),
    World("40 dialogues of 5, unknown", partial(dialogues, sizes=[5] * 40, known=False), 0.35),
    World("10 dialogues of 20", partial(dialogues, sizes=[20] * 10), 0.8),
    World("10 dialogues of 20, unknown", partial(dialogues, sizes=[20] * 10, known=False), 0.8),
    World("15 dialogues of 1 to 20", partial(dialogues, sizes=UNEQUAL), 0.8),
    World("not paired, 20 dialogues of 5", partial(dialogues, sizes=[5] * 20, paired=False), 0.7),
)
LABELLED = (
    World("30 labels, good metric", partial(labelled, labels=30, n=300, use=0.7), 0.6, labels=True),
    World("30 labels, useless metric", partial(labelled, labels=30, n=300, use=0.0), 0.75, labels=True),
    World("10 labels, good metric", partial(labelled, labels=10, n=300, use=0.7), 1.2, labels=True),
    World("30 labels of 1 to 5", partial(labelled, labels=30, n=300, use=0.5, scale=True), 0.7, labels=True),
    World("30 labels chosen by score", partial(labelled, labels=30, n=300, use=0.7, chosen=True), 0.6, (), True, True),
)
