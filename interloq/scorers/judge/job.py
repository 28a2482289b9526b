"""Training of the scorer `judge`: encode every rated reply with a relevance network, then fit one head per aspect.

Each file is one set of rated replies. Encoding takes longest: states are written in batches to `<folder>/work`, and an
interrupted job resumes after the last complete batch.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from interloq.data.appended import Appended
from interloq.data.jsonl import read
from interloq.data.progress import Progress, silent
from interloq.errors import InputError, count
from interloq.learn.claim import WORK, claim, clear_work
from interloq.learn.ready import READY
from interloq.learn.store import read_facts, save_model
from interloq.records import Sample
from interloq.registry import full_spec
from interloq.retrieve.training_log import TrainingLog
from interloq.scorers.judge.model import KIND, context_of, pair_hash, texts_of
from interloq.scorers.judge.ridge import Floats, Head, Ints, RatedStates, learned, ranks
from interloq.scorers.judge.settings import JudgeSettings
from interloq.scorers.relevance.model import RelevanceScorer
from interloq.signature import fingerprint
from interloq.signature import signature as signed

STATES = "states.f32"
BATCH = 1024  # replies encoded at a time: the most work that a kill loses
Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Rated:
    """Rated replies with the numbers of their sets and contexts, and how many samples were omitted."""

    samples: Sequence[Sample]
    sets: Ints
    contexts: Ints
    omitted: int

    @classmethod
    def of(cls, files: TrainingLog) -> Rated:
        """Read the files, each of which is one set."""
        every = [
            (sample, i)
            for i, path in enumerate(files.files)
            for sample in read(path, strict=files.strict, on_reject=files.on_reject)
        ]
        kept = [(s, i) for s, i in every if s.response.strip() and context_of(s) and _means(s)]
        numbers = {context: i for i, context in enumerate(sorted({context_of(s) for s, _ in kept}))}
        contexts = np.array([numbers[context_of(s)] for s, _ in kept], dtype=np.int64)
        sets = np.array([i for _, i in kept], dtype=np.int64)
        return cls([s for s, _ in kept], sets, contexts, len(every) - len(kept))

    def aspects(self, least: int, report: Report) -> dict[str, tuple[Ints, Floats]]:
        """Replies that each aspect is learned from, with the ranks of their ratings."""
        means, found = [_means(sample) for sample in self.samples], {}
        for aspect in sorted({name for row in means for name in row}):
            values = np.array([row.get(aspect, np.nan) for row in means])
            groups = [np.flatnonzero((self.sets == i) & np.isfinite(values)) for i in np.unique(self.sets)]
            kept = [g for g in groups if len(g) >= least and np.ptp(values[g]) and np.ptp(self.contexts[g])]
            if kept:
                found[aspect] = np.concatenate(kept), np.concatenate([ranks(values[group]) for group in kept])
            else:
                report(f"{aspect} is skipped: no set has {least} replies with different ratings to different contexts")
        if not found:
            raise InputError("no aspect has enough ratings", hint="use more rated replies, or lower --least")
        return found


def train(
    files: TrainingLog,
    folder: str | Path,
    settings: JudgeSettings,
    *,
    scorer: str,
    device: str = "auto",
    progress: Progress = silent,
    report: Report = lambda _: None,
) -> dict[str, Any]:
    """Train on the ratings in these files and save to `folder`; an interrupted job resumes. Returns the facts."""
    folder, relevance = Path(folder), RelevanceScorer.load(scorer, device=device)
    job = fingerprint(full_spec(settings), relevance.signature(), files.fingerprint)
    path = folder / WORK / STATES
    begun = path.exists() and path.stat().st_size > 0
    if claim(folder, job, started=begun, others="other settings, another scorer or other ratings"):
        report(f"{folder.name} is already trained")
        return read_facts(folder, kind=KIND)
    rated = Rated.of(files)
    replies = count(len(rated.samples), "rated reply", "rated replies")
    report(f"{replies}, {count(rated.omitted, 'sample')} omitted that lack a reply, a context or ratings")
    aspects = rated.aspects(settings.least, report)
    with contextlib.closing(Appended(path)) as file:
        states = _encoded(rated.samples, file, relevance, progress)
    found = [
        (aspect, own, learned(own))
        for aspect, (which, targets) in aspects.items()
        for own in [RatedStates(states[which], targets, rated.sets[which], rated.contexts[which])]
    ]
    parts = {"scorer": relevance.signature(), "source": files.fingerprint, "device": str(relevance.device)}
    facts = {
        "kind": KIND,
        "job": job,
        "signature": str(signed(settings, **parts)),
        "scorer": {
            "place": scorer if scorer == READY else str(Path(scorer).resolve()),
            "signature": relevance.signature(),
        },
        "aspects": [_described(*one) for one in found],
    }
    save_model(folder, _tensors([head for *_, head in found], rated.samples), facts)
    clear_work(folder)
    return read_facts(folder, kind=KIND)


def _means(sample: Sample) -> dict[str, float]:
    """Mean rating by aspect."""
    values: dict[str, list[float]] = {}
    for rating in sample.ratings:
        if rating.value is not None:
            values.setdefault(rating.aspect, []).append(rating.value)
    return {aspect: float(np.mean(found)) for aspect, found in values.items()}


def _encoded(samples: Sequence[Sample], file: Appended, relevance: RelevanceScorer, progress: Progress) -> Floats:
    """States of all replies; batches of an earlier run are kept."""
    size = relevance.dimensions * np.dtype(np.float32).itemsize
    done = file.size() // (BATCH * size) * BATCH
    file.cut(done * size)
    with progress("encoding replies", len(samples)) as step:
        step(done)
        for start in range(done, len(samples), BATCH):
            batch = samples[start : start + BATCH]
            file.add(relevance.states(*texts_of(batch)).astype(np.float32).tobytes())
            step(len(batch))
    return np.fromfile(file.path, dtype=np.float32).reshape(-1, relevance.dimensions).astype(np.float64)


def _described(aspect: str, rated: RatedStates, head: Head) -> dict[str, Any]:
    counts = {"replies": len(rated.targets), "sets": len(np.unique(rated.sets))}
    return {"aspect": aspect, **counts, "strength": head.strength, "spearman": head.spearman, "ci": list(head.ci)}


def _tensors(heads: Sequence[Head], samples: Sequence[Sample]) -> dict[str, torch.Tensor]:
    return {
        "weights": torch.from_numpy(np.stack([head.weights for head in heads])),
        "offsets": torch.tensor([head.offset for head in heads], dtype=torch.float64),
        "pairs": torch.tensor(sorted({pair_hash(sample) for sample in samples}), dtype=torch.int64),
    }
