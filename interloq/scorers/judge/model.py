# SPDX-License-Identifier: Apache-2.0
"""Trained judges: the mean rating that people would give a reply, as a rank from −1 to 1, for each rated aspect.

The folder holds the heads and names the relevance network whose states they read. That is another folder if the
network is frozen (see job.py), or `scorer` in the same folder if it was tuned (see tuned_job.py). A packaged judge may
instead join several judges, its members: it holds the weight of each member's score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from interloq.data.files.folders import inside
from interloq.data.files.opening import reading_saved
from interloq.errors import InputError
from interloq.learn.ready import JUDGES, PACKAGED, judge_folder, packaged_name
from interloq.learn.store import check_texts, load_model, read_facts
from interloq.models.cpu_linear import Precision
from interloq.records import Sample
from interloq.retrieve.leaks import context_of, normalise_text
from interloq.scorers.relevance.model import RelevanceScorer
from interloq.signature import fingerprint

KIND = "judge"
SCORER = "scorer"  # subfolder of a judge with its tuned network
LOWEST, HIGHEST = -1.0, 1.0
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Heads:
    """Weights of each aspect, with hashes of the replies that they were learned from."""

    folder: Path
    facts: dict[str, Any]
    weights: Floats
    offsets: Floats
    pairs: frozenset[int]

    def row(self, aspect: str) -> int:
        """Return the row of an aspect's weights."""
        aspects = [learned["aspect"] for learned in self.facts["aspects"]]
        if aspect not in aspects:
            raise InputError(
                f"the judge has no aspect {aspect!r}", hint=f"it has {', '.join(aspects)}", where=str(self.folder)
            )
        return aspects.index(aspect)

    def scores(self, samples: Sequence[Sample], aspect: str) -> Floats:
        """Return the expected rank of each reply; each distinct reply to a context is read once."""
        return np.asarray(np.clip(self.unlimited_scores(samples, aspect), LOWEST, HIGHEST))

    def unlimited_scores(self, samples: Sequence[Sample], aspect: str) -> Floats:
        """Return scores that may be below the lowest rank or above the highest."""
        raise NotImplementedError

    def trained_on(self, samples: Sequence[Sample]) -> int:
        """Return the number of samples whose context and reply the judge was trained on."""
        return sum(pair_hash(sample) in self.pairs for sample in samples)


@dataclass(frozen=True, eq=False)
class JudgeScorer(Heads):
    """Heads [aspects, dimensions] on the states of a relevance network.

    `error` has the weights and, last, the offset of the head that predicts the absolute error of `overall`; None if the
    judge has no such head.
    """

    error: Floats | None
    place: str
    device: str
    precision: Precision = "float32"
    in_files: bool = False

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        scorer: str | None = None,
        device: str = "auto",
        precision: Precision = "float32",
        in_files: bool = False,
    ) -> JudgeScorer:
        """Load a judge; `scorer` is the current location of its relevance network (None: the location in training).

        See cpu_linear.py for `precision` and `in_files`.
        """
        folder = judge_folder(folder)
        facts, tensors = load_model(folder, kind=KIND)
        with reading_saved(folder):
            weights, offsets, pairs = _read_heads(facts, tensors)
            place, error = _find_network(folder, facts), None
            if "error_weights" in tensors:
                error = torch.cat([tensors["error_weights"], tensors["error_offset"].reshape(1)]).double().numpy()
                if error.shape != (weights.shape[1] + 1,):
                    raise ValueError(f"{len(error) - 1} weights of the error for {weights.shape[1]} dimensions")
        return cls(folder, facts, weights, offsets, pairs, error, scorer or place, device, precision, in_files)

    @cached_property
    def relevance(self) -> RelevanceScorer:
        """The relevance network; any network other than the one in training is refused."""
        scorer = RelevanceScorer.load(self.place, device=self.device, precision=self.precision, in_files=self.in_files)
        wanted = self.facts["scorer"].get("signature")
        if scorer.signature() != wanted or scorer.dimensions != self.weights.shape[1]:
            raise InputError(
                f"{self.place} is {scorer.signature()}, and the judge was trained on {wanted}",
                hint="set `scorer` to the right one, or train the judge again",
                where=str(self.folder),
            )
        return scorer

    def signature(self) -> str:
        return f"{KIND}-{self.facts['weights']}-{self.relevance.signature()}"

    @property
    def origin(self) -> str:
        """The name of this packaged judge; otherwise, its relevance network, before tuning if it was tuned."""
        return packaged_name(self.folder) or str(self.facts["scorer"].get("from", self.place))

    def unlimited_scores(self, samples: Sequence[Sample], aspect: str) -> Floats:
        row = self.row(aspect)
        return np.asarray(self._states(samples) @ self.weights[row] + self.offsets[row])

    def errors(self, samples: Sequence[Sample]) -> Floats | None:
        """Return the expected absolute error of each reply's overall rank; None if it was not learned."""
        if self.error is None:
            return None
        return np.asarray(np.logaddexp(0.0, self._states(samples) @ self.error[:-1] + self.error[-1]))

    def _states(self, samples: Sequence[Sample]) -> Floats:
        return self.relevance.states(*texts_of(samples))


@dataclass(frozen=True, eq=False)
class JudgeEnsemble(Heads):
    """Weights [aspects, members]: the score of an aspect is a weighted sum of the members' unlimited scores."""

    members: Sequence[JudgeScorer]

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "auto", precision: Precision = "float32") -> JudgeEnsemble:
        """Load a judge with its members: packaged judges, or judges in subfolders.

        In float32, their weights stay in their files: two networks would take a gigabyte of memory.
        """
        folder = judge_folder(folder)
        facts, tensors = load_model(folder, kind=KIND)
        with reading_saved(folder):
            weights, offsets, pairs = _read_heads(facts, tensors)
            if weights.shape[1] != len(facts["members"]):
                raise ValueError(f"weights of {weights.shape[1]} members, not {len(facts['members'])}")
        members = []
        for name in facts["members"]:
            member = name if name in JUDGES else inside(folder, name)
            members.append(JudgeScorer.load(member, device=device, precision=precision, in_files=True))
        return cls(folder, facts, weights, offsets, pairs.union(*(member.pairs for member in members)), members)

    def signature(self) -> str:
        return f"{KIND}-{self.facts['weights']}-{fingerprint(*(member.signature() for member in self.members))}"

    @property
    def origin(self) -> str:
        """The name of this packaged judge; otherwise, the first member's origin."""
        return packaged_name(self.folder) or self.members[0].origin

    def unlimited_scores(self, samples: Sequence[Sample], aspect: str) -> Floats:
        row = self.row(aspect)
        scores = np.full(len(samples), self.offsets[row])
        for weight, member in zip(self.weights[row], self.members, strict=True):
            scores += weight * member.unlimited_scores(samples, aspect)
        return scores

    def errors(self, samples: Sequence[Sample]) -> Floats | None:
        """Return the mean of the members' expected errors; None if a member has none."""
        errors = []
        for member in self.members:
            of_member = member.errors(samples)
            if of_member is None:
                return None
            errors.append(of_member)
        return np.asarray(np.mean(errors, axis=0))


def load_judge(
    folder: str | Path, *, scorer: str | None = None, device: str = "auto", precision: Precision = "float32"
) -> JudgeScorer | JudgeEnsemble:
    """Load a judge, with one network or several; `scorer` as in `JudgeScorer.load`."""
    folder = judge_folder(folder)
    if "members" not in read_facts(folder, kind=KIND):
        return JudgeScorer.load(folder, scorer=scorer, device=device, precision=precision)
    if scorer is not None:
        raise InputError("a judge with several networks has no `scorer`", hint="omit it", where=str(folder))
    return JudgeEnsemble.load(folder, device=device, precision=precision)


def _find_network(folder: Path, facts: Mapping[str, Any]) -> str:
    """Return the location of a judge's relevance network, which may be the network of another judge."""
    place = str(facts["scorer"]["place"])
    if facts["scorer"].get("kind") == KIND:
        folder = judge_folder(place)
        place = str(read_facts(folder, kind=KIND)["scorer"]["place"])
    if place in PACKAGED:
        return place
    return str(folder / place)  # a network within the folder moves with it


def _read_heads(facts: Mapping[str, Any], tensors: Mapping[str, torch.Tensor]) -> tuple[Floats, Floats, frozenset[int]]:
    """Return the weights and offsets, and hashes of the replies they were learned from; check names and shapes."""
    weights, offsets = tensors["weights"].double().numpy(), tensors["offsets"].double().numpy()
    for aspect in facts["aspects"]:
        check_texts(aspect, "aspect")
    aspects = len(facts["aspects"])
    if weights.ndim != 2 or len(weights) != aspects or offsets.shape != (aspects,):
        raise ValueError(f"weights of shape {weights.shape} for {aspects} aspects")
    return weights, offsets, frozenset(tensors["pairs"].tolist())


def texts_of(samples: Sequence[Sample]) -> tuple[list[list[str]], list[str]]:
    """Return the contexts and replies."""
    contexts, replies = [], []
    for sample in samples:
        contexts.append([turn.text for turn in sample.context])
        replies.append(sample.response)
    return contexts, replies


def pair_hash(sample: Sample) -> int:
    """Return a hash of the context and reply, as a signed number."""
    digest = bytes.fromhex(fingerprint(*context_of(sample), normalise_text(sample.response)))
    return int.from_bytes(digest, signed=True)
