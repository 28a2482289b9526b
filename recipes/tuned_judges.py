"""Judges tuned from one relevance network, each on all rated sets but those it is tested on.

A judge is tuned as `interloq train judge --tune` does it (see `interloq.scorers.judge.tuned_job`), a tenth of each
set's contexts held out. Scores of every epoch are stored; the one that counts is chosen by the held-out replies (lowest
`loss`, or highest rank correlation, `order`), or is the `last`. A judge learns from no set with ratings of the same
dialogues as the tested one, and from no reply to a context that occurs in it. Sets of the same dialogues are tested by
one training. FED's dialogues are not learned from; a tested one has the mean score of the system's turns in it.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from numpy.typing import NDArray
from rated_sets import KNOWN, RatedSet
from relevance import parts_of

from interloq import Sample
from interloq.learn.fit import fit
from interloq.learn.ready import scorer_folder
from interloq.learn.store import FACTS
from interloq.registry import full_spec
from interloq.retrieve.leaks import context_of
from interloq.scorers.judge.model import texts_of
from interloq.scorers.judge.rated import RatedReplies, RatedSets
from interloq.scorers.judge.settings import TUNING, TuneSettings
from interloq.scorers.judge.tuned_job import TuneTask
from interloq.scorers.relevance.model import RelevanceScorer
from interloq.signature import file_fingerprint, fingerprint
from interloq.statistics.ridge import spearman

Floats = NDArray[np.float64]
SETTINGS = TuneSettings()
LOSS, ORDER, LAST = EPOCHS = ("loss", "order", "last")  # rules by which the epoch that counts is chosen


@dataclass(frozen=True, slots=True)
class Tuning:
    """Networks that are tuned, how often, the epoch that counts, and the rows whose ranks are averaged."""

    names: Sequence[str] = ()
    seeds: int = 1
    epoch: str = LOSS
    means: Sequence[str] = ()

    def rows(self) -> dict[str, tuple[str, int]]:
        """Title of each row with tuned judges, with the network and the seed."""
        return {
            f"tuned {name}" + (f" seed {seed}" if seed else ""): (name, seed)
            for name in self.names
            for seed in range(self.seeds)
        }

    def mean_parts(self, names: Sequence[str]) -> dict[str, list[str]]:
        """Title and parts of each mean of ranks."""
        found = [parts_of("--mean", text, [*names, *self.rows()]) for text in self.means]
        return {f"mean of ranks: {' + '.join(parts)}": parts for parts in found}

    def judge_rows(self) -> dict[str, list[str]]:
        """Rows with tuned judges that replace each frozen one."""
        found: dict[str, list[str]] = {}
        for title, (name, _) in self.rows().items():
            found.setdefault(f"judge {name}", []).append(title)
        return found


@dataclass(frozen=True, slots=True)
class Epochs:
    """After each epoch: loss and rank correlation of held-out replies, and scores [epochs, items] of tested sets."""

    losses: Floats
    orders: Floats
    scores: Mapping[str, Floats]

    def of(self, tested: str, rule: str) -> Floats:
        """Scores of a set in the epoch that a rule chooses."""
        best = {LOSS: int(np.argmin(self.losses)), ORDER: int(np.argmax(self.orders)), LAST: -1}[rule]
        return np.asarray(self.scores[tested][best])


class TunedJudges:
    """Judges tuned from the scorer in one folder, which is loaded once; `keep` stores their scores."""

    def __init__(
        self, folder: str, sets: Mapping[str, RatedSet], *, device: str = "auto", keep: Path | None = None
    ) -> None:
        self.folder, self.sets, self.device, self.keep = folder, sets, device, keep
        self._found: dict[tuple[tuple[str, ...], int], Epochs] = {}

    def scores(self, tested: str, seed: int = 0, rule: str = LOSS) -> Floats:
        """Scores of the tested set's items."""
        fold = tuple(name for name in self.sets if name == tested or name in KNOWN[tested].kin)
        if (fold, seed) not in self._found:
            self._found[fold, seed] = self._kept(fold, seed)
        return self._found[fold, seed].of(tested, rule)

    @cached_property
    def scorer(self) -> RelevanceScorer:
        """The scorer that training starts from; its network is the one that is tuned."""
        return RelevanceScorer.load(self.folder, device=self.device, trainable=True)

    @cached_property
    def _start(self) -> dict[str, torch.Tensor]:
        return {name: tensor.clone() for name, tensor in self.scorer.network.state_dict().items()}

    def _kept(self, fold: Sequence[str], seed: int) -> Epochs:
        """Epochs of a training, from an earlier run if it was the same."""
        path = self.keep / f"tuned-{self._id(fold, seed)}.npz" if self.keep else None
        if path and path.exists():
            with np.load(path, allow_pickle=False) as stored:
                return Epochs(stored["losses"], stored["orders"], {name: stored[name] for name in fold})
        found = self._tuned(fold, seed)
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
            np.savez(path, allow_pickle=False, losses=found.losses, orders=found.orders, **found.scores)
        return found

    def _id(self, fold: Sequence[str], seed: int) -> str:
        """Id of all that a training depends on."""
        model = file_fingerprint(scorer_folder(self.folder) / FACTS)
        data = [text for name in [*fold, *self._learned(fold)] for text in _content(self.sets[name])]
        return fingerprint(model, full_spec(SETTINGS), full_spec(TUNING), str(seed), *fold, *data)

    def _learned(self, fold: Sequence[str]) -> list[str]:
        """Sets that a training learns from: rated replies, not dialogues."""
        return [name for name, own in self.sets.items() if name not in fold and own.samples[0].ratings]

    def _tuned(self, fold: Sequence[str], seed: int) -> Epochs:
        begun, start = time.monotonic(), self._start
        self.scorer.network.load_state_dict(start)
        task = self._task(fold, seed)
        training, weights = replace(TUNING, seed=seed, checkpoint_minutes=math.inf), list[dict[str, torch.Tensor]]()

        def epoch_ended(line: str) -> None:
            if line.startswith("epoch "):  # scored later: while it learns, the network may read packed rows only
                weights.append({name: tensor.clone() for name, tensor in self.scorer.network.state_dict().items()})

        with TemporaryDirectory() as work:
            curve = fit(task, training, work, job="", device=self.device, report=epoch_ended)
        orders, scores = list[float](), list[dict[str, Floats]]()
        for own in weights:
            self.scorer.network.load_state_dict(own)
            orders.append(_order(task))
            scores.append({name: self._scored(self.sets[name]) for name in fold})
        losses = np.array([epoch["dev_loss"] for epoch in curve])
        shown = ", ".join(f"{loss:.4f} ({order:.3f})" for loss, order in zip(losses, orders, strict=True))
        seconds = time.monotonic() - begun
        print(f"tuned without {' and '.join(fold)}, seed {seed}: dev {shown}; {seconds:.0f} s", file=sys.stderr)
        return Epochs(losses, np.array(orders), {name: np.stack([one[name] for one in scores]) for name in fold})

    def _scored(self, own: RatedSet) -> Floats:
        """Logit of each item of a set: scores have the same order."""
        return own.by_item(states_and_logits(self.scorer, *texts_of(own.samples))[1])

    def _task(self, fold: Sequence[str], seed: int) -> TuneTask:
        tested = {context_of(sample) for name in fold for sample in self.sets[name].samples}
        rated = RatedSets.of_sets([(name, _without(self.sets[name].samples, tested)) for name in self._learned(fold)])
        settings = replace(SETTINGS, seed=seed)
        replies = RatedReplies.of(rated, self.scorer, settings, lambda line: print(line, file=sys.stderr))
        return TuneTask(self.scorer.network, replies, settings, self.scorer.subwords)


def states_and_logits(
    scorer: RelevanceScorer, contexts: Sequence[Sequence[str]], replies: Sequence[str]
) -> tuple[Floats, Floats]:
    """States of replies after their contexts, and what the network's head makes from them."""
    states, head = scorer.states(contexts, replies), scorer.network.head
    return states, states @ head.weight.detach().double().cpu().numpy()[0] + head.bias.item()


def tuned_scores(
    sets: Mapping[str, RatedSet], folders: Mapping[str, str], tuning: Tuning, keep: Path | None, device: str
) -> dict[str, dict[str, Floats]]:
    """Scores of each tested set by tuned judges, by title, one network after another."""
    found: dict[str, dict[str, Floats]] = {}
    for name in tuning.names:
        judges = TunedJudges(folders[name], sets, device=device, keep=keep)
        own = {title: seed for title, (network, seed) in tuning.rows().items() if network == name}
        tested = [name for name in sets if name in KNOWN]
        found |= {
            title: {name: judges.scores(name, seed, tuning.epoch) for name in tested} for title, seed in own.items()
        }
    return found


def _order(task: TuneTask) -> float:
    """Rank correlation of the held-out replies' logits with their ratings, the mean over sets."""
    replies, dev = task.replies, np.flatnonzero(task.replies.dev)
    logits = task.pairs.outputs(task.network, dev)
    return spearman(replies.with_states(np.zeros((len(replies.dev), 0)))[replies.dev], logits)


def _without(samples: Sequence[Sample], contexts: set[tuple[str, ...]]) -> Iterator[Sample]:
    return (sample for sample in samples if context_of(sample) not in contexts)


def _content(own: RatedSet) -> Iterator[str]:
    """Texts and ratings of a set, one by one."""
    for sample in own.samples:
        yield from ("\0", *(turn.text for turn in sample.context), sample.response)
        yield from (repr((rating.aspect, rating.value)) for rating in sample.ratings)
