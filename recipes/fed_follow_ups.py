"""FED's follow-ups after many dialogues: their mean log-likelihoods are computed once and kept in a folder.

All variants of FED (dimensions; both sides, only positive or only negative follow-ups) are differences of means over
the same follow-ups, so one pass of the language model is enough for all of them. A part of the dialogues is written as
soon as it is finished, so an interrupted run resumes, and a larger sample computes only what is new.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from interloq.data.follow_ups import read_follow_ups
from interloq.models.pretrained import model_folder, weights_fingerprint
from interloq.signature import fingerprint

Floats = NDArray[np.float64]
Turns = tuple[str, ...]
DIMENSIONS = ("fluent", "specificity", "sensibleness", "overall")  # those of Sato et al. (2022), Table 1
BOTH, NEGATIVE, POSITIVE = SETS = ("both", "negative_only", "positive_only")
PART = 32  # dialogues that are scored and written at a time
TOKENS = 512  # per batch: on a processor, smaller batches waste less on padding
LONGEST = 1024  # tokens of a dialogue, as in the metric `fed`


def asked(dimensions: Sequence[str] = DIMENSIONS) -> list[str]:
    """Return the follow-ups of these dimensions, each once."""
    known = read_follow_ups("en")
    texts: list[str] = []
    for name in dimensions:
        dimension = known.dimension(name)
        texts += [*dimension.positive, *dimension.negative]
    return list(dict.fromkeys(texts))


def has_both_sides(dimension: str) -> bool:
    """Return whether a dimension has positive and negative follow-ups."""
    follow_ups = read_follow_ups("en").dimension(dimension)
    return bool(follow_ups.positive and follow_ups.negative)


@dataclass(frozen=True, slots=True)
class Likelihoods:
    """Mean log-likelihood per token [dialogues, follow-ups]."""

    values: Floats
    texts: Sequence[str]

    def fed(self, dimension: str, sets: str = BOTH) -> Floats:
        """Return FED's score of each dialogue, as the metric `fed` combines the follow-ups."""
        follow_ups = read_follow_ups("en").dimension(dimension)
        scores = np.zeros(len(self.values))
        if sets != NEGATIVE and follow_ups.positive:
            scores += self._mean(follow_ups.positive)
        if sets != POSITIVE and follow_ups.negative:
            scores -= self._mean(follow_ups.negative)
        return scores

    def _mean(self, texts: Sequence[str]) -> Floats:
        columns = [self.texts.index(text) for text in texts]
        return np.asarray(self.values[:, columns].mean(axis=1))


def likelihoods(
    model: str, dialogues: Sequence[Turns], work: Path, *, layout: str = "eos", dimensions: Sequence[str] = DIMENSIONS
) -> Likelihoods:
    """Return the likelihoods of all follow-ups after each dialogue; only those that are not in `work` are computed."""
    texts = asked(dimensions)
    weights = weights_fingerprint(model_folder(model))
    path = work / f"follow-ups-{fingerprint(weights, layout, str(LONGEST), *texts)}.jsonl"
    known = _read(path)
    missing = [turns for turns in dict.fromkeys(dialogues) if fingerprint(*turns) not in known]
    if missing:
        known |= _compute(model, missing, texts, layout, path)
    values = np.array([known[fingerprint(*turns)] for turns in dialogues], dtype=np.float64)
    return Likelihoods(values, texts)


def _read(path: Path) -> dict[str, list[float]]:
    known: dict[str, list[float]] = {}
    if path.exists():
        for line in path.read_text("utf-8").splitlines():
            known |= _complete(line)
    return known


def _complete(line: str) -> Mapping[str, list[float]]:
    """Return a stored part; nothing if the line is empty or was cut."""
    try:
        part: dict[str, list[float]] = json.loads(line)
    except ValueError:
        return {}
    return part


def _compute(
    model: str, dialogues: Sequence[Turns], texts: Sequence[str], layout: str, path: Path
) -> dict[str, list[float]]:
    from interloq.models.lm.dialogue_scorer import language_model

    network = language_model(model, longest=LONGEST, tokens=TOKENS)
    path.parent.mkdir(parents=True, exist_ok=True)
    computed: dict[str, list[float]] = {}
    for start in range(0, len(dialogues), PART):
        some = dialogues[start : start + PART]
        scored = network.follow_up_scores(some, texts, layout=layout)
        means = np.round(scored.sums / scored.counts, 6).tolist()
        part = {fingerprint(*turns): row for turns, row in zip(some, means, strict=True)}
        with path.open("a", encoding="utf-8") as file:
            file.write("\n" + json.dumps(part))  # on a new line, even if the last one was cut by an interruption
        computed |= part
        print(f"follow-ups after {start + len(some):,} of {len(dialogues):,} dialogues", file=sys.stderr)
    return computed
