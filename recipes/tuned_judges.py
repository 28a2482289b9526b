"""Judges tuned from one relevance network, each on all rated sets but those it is tested on.

A judge is tuned as `interloq train judge --tune` does it (see `interloq.scorers.judge.task`), a tenth of each set's
contexts held out for early stopping. It learns from no set with ratings of the same dialogues as the tested one, and
from no reply to a context that occurs in it. Sets of the same dialogues are tested by one training. Dialogues are not
learned from; a tested one has the mean score of the system's turns in it.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from numpy.typing import NDArray
from rated_sets import KNOWN, RatedSet

from interloq import Sample
from interloq.learn.fit import fit
from interloq.learn.ready import scorer_folder
from interloq.learn.store import FACTS
from interloq.registry import full_spec
from interloq.retrieve.leaks import context_of
from interloq.scorers.judge.model import HIGHEST, LOWEST, texts_of
from interloq.scorers.judge.rated import Rated
from interloq.scorers.judge.replies import RatedReplies
from interloq.scorers.judge.settings import TUNING, TuneSettings
from interloq.scorers.judge.task import TuneTask
from interloq.scorers.relevance.model import RelevanceScorer
from interloq.signature import file_fingerprint, fingerprint

Floats = NDArray[np.float64]
SETTINGS = TuneSettings()


class TunedJudges:
    """Judges tuned from the scorer in one folder, which is loaded once; `keep` stores their scores."""

    def __init__(
        self, folder: str, sets: Mapping[str, RatedSet], *, device: str = "auto", keep: Path | None = None
    ) -> None:
        self.folder, self.sets, self.device, self.keep = folder, sets, device, keep
        self._found: dict[tuple[tuple[str, ...], int], dict[str, Floats]] = {}

    def scores(self, tested: str, seed: int = 0) -> Floats:
        """Scores of the tested set's items."""
        fold = tuple(name for name in self.sets if name == tested or name in KNOWN[tested].kin)
        if (fold, seed) not in self._found:
            self._found[fold, seed] = self._kept(fold, seed)
        return self._found[fold, seed][tested]

    @cached_property
    def scorer(self) -> RelevanceScorer:
        """The scorer that training starts from; its network is the one that is tuned."""
        return RelevanceScorer.load(self.folder, device=self.device)

    @cached_property
    def _start(self) -> dict[str, torch.Tensor]:
        return {name: tensor.clone() for name, tensor in self.scorer.network.state_dict().items()}

    def _kept(self, fold: Sequence[str], seed: int) -> dict[str, Floats]:
        """Scores of a training's tested sets, from an earlier run if it was the same."""
        path = self.keep / f"tuned-{self._id(fold, seed)}.npz" if self.keep else None
        if path and path.exists():
            with np.load(path, allow_pickle=False) as stored:
                return {name: stored[name] for name in fold}
        found = self._tuned(fold, seed)
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
            np.savez(path, allow_pickle=False, **found)
        return found

    def _id(self, fold: Sequence[str], seed: int) -> str:
        """Id of all that a training depends on."""
        model = file_fingerprint(scorer_folder(self.folder) / FACTS)
        data = [text for name in [*fold, *self._learned(fold)] for text in _content(self.sets[name])]
        return fingerprint(model, full_spec(SETTINGS), full_spec(TUNING), str(seed), *fold, *data)

    def _learned(self, fold: Sequence[str]) -> list[str]:
        """Sets that a training learns from: rated replies, not dialogues."""
        return [name for name, own in self.sets.items() if name not in fold and own.samples[0].ratings]

    def _tuned(self, fold: Sequence[str], seed: int) -> dict[str, Floats]:
        begun, start = time.monotonic(), self._start
        self.scorer.network.load_state_dict(start)
        task = self._task(fold, seed)
        training = replace(TUNING, seed=seed, checkpoint_minutes=math.inf)
        with TemporaryDirectory() as work:
            curve = fit(task, training, work, job="", device=self.device)
        head, found = task.head, {}
        for name in fold:
            own = self.sets[name]
            found[name] = own.by_item(np.clip(head(self.scorer.states(*texts_of(own.samples))), LOWEST, HIGHEST))
        losses = ", ".join(f"{epoch['dev_loss']:.4f}" for epoch in curve)
        seconds = time.monotonic() - begun
        print(f"tuned without {' and '.join(fold)}, seed {seed}: dev {losses}; {seconds:.0f} s", file=sys.stderr)
        return found

    def _task(self, fold: Sequence[str], seed: int) -> TuneTask:
        tested = {context_of(sample) for name in fold for sample in self.sets[name].samples}
        rated = Rated.of_sets([(name, _without(self.sets[name].samples, tested)) for name in self._learned(fold)])
        settings = replace(SETTINGS, seed=seed)
        replies = RatedReplies.of(rated, self.scorer, settings, lambda line: print(line, file=sys.stderr))
        return TuneTask(self.scorer.network, replies, settings, self.scorer.subwords)


def _without(samples: Sequence[Sample], contexts: set[tuple[str, ...]]) -> Iterator[Sample]:
    return (sample for sample in samples if context_of(sample) not in contexts)


def _content(own: RatedSet) -> Iterator[str]:
    """Texts and ratings of a set, one by one."""
    for sample in own.samples:
        yield from ("\0", *(turn.text for turn in sample.context), sample.response)
        yield from (repr((rating.aspect, rating.value)) for rating in sample.ratings)
