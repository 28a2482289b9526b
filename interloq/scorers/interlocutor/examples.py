# SPDX-License-Identifier: Apache-2.0
"""Samples to learn from: each with its judge, the value to predict, and its part; and their tokens on disk.

The dev part is another file, or else a tenth of the dialogues, chosen by the hash of their ids; samples of one dialogue
stay together. The order of the files does not matter.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from interloq.data.batched import batched
from interloq.data.files.durable import atomic_path
from interloq.data.files.opening import read_json, reading_saved, write_json
from interloq.data.text.token_texts import Texts
from interloq.errors import InputError, count
from interloq.learn.fit import Part
from interloq.records import Sample
from interloq.retrieve.training_log import TrainingLog
from interloq.scorers.interlocutor.continuity_labels import judge_of
from interloq.scorers.interlocutor.reader import SampleReader
from interloq.scorers.interlocutor.settings import DCP, Target
from interloq.signature import fingerprint

SHARE = 10  # without a dev file, one in SHARE dialogues is held out
Ints = NDArray[np.int64]
BATCH = 1024  # samples tokenised at a time
TOKENS, ARRAYS, FACTS = "tokens.i32", "examples.npz", "examples.json"


class LabelledSample(NamedTuple):
    """A sample, the user who judges it (empty if unknown), the value to predict, and whether it is in the dev part."""

    sample: Sample
    judge: str
    value: float
    dev: bool


@dataclass
class Survey:
    """Counts over all samples."""

    samples: Counter[bool] = field(default_factory=Counter)  # by part: True is dev
    values: dict[bool, set[float]] = field(default_factory=lambda: defaultdict(set))
    judges: set[str] = field(default_factory=set)  # users of both parts
    users: Counter[str] = field(default_factory=Counter)  # training samples of each user
    by_user: dict[str, set[float]] = field(default_factory=lambda: defaultdict(set))
    omitted: Counter[str] = field(default_factory=Counter)
    aspects: set[str] = field(default_factory=set)

    def with_tokens(self, least: int, known: Container[str] = ()) -> dict[str, int]:
        """Return new users with at least this many training samples, sorted by name → their training samples."""
        with_enough, most = {}, 0
        for user, n in sorted(self.users.items()):
            if user not in known:
                most = max(most, n)
                if n >= least:
                    with_enough[user] = n
        if not with_enough:
            who = "new user" if known else "user"
            hint = f"no sample names a {who} as its judge; --personal none needs no users"
            if most:
                hint = f"the most active one has {most:,}; lower --user-samples"
            raise InputError(f"no {who} has {count(least, 'training sample')}", hint=hint)
        return with_enough


@dataclass(frozen=True)
class LabelledSamples:
    """The samples of a log's files, and of a dev file, that have ratings of the target.

    With `split`, there must be a dev part, and different values in both parts.
    """

    log: TrainingLog
    dev: str | None
    target: Target
    split: bool = True

    def __iter__(self) -> Iterator[LabelledSample]:
        for sample, dev in self._all():
            value = value_of(sample, self.target)
            if value is not None and sample.response.strip():
                yield LabelledSample(sample, judge_of(sample), value, dev)

    @cached_property
    def survey(self) -> Survey:
        """Counts over all samples; samples that cannot be learned from are refused."""
        survey = Survey()
        for sample, dev in self._all():
            value = value_of(sample, self.target)
            survey.aspects.update(rating.aspect for rating in sample.ratings)
            if value is None:
                survey.omitted["without a rating"] += 1
                continue
            if not sample.response.strip():
                survey.omitted["without a reply"] += 1
                continue
            survey.samples[dev] += 1
            survey.values[dev].add(value)
            if judge := judge_of(sample):
                survey.judges.add(judge)
            if judge and not dev:
                survey.users[judge] += 1
                survey.by_user[judge].add(value)
        self._check(survey)
        return survey

    def _check(self, survey: Survey) -> None:
        """Refuse samples that cannot be learned from."""
        target = self.target
        if not survey.samples:
            hint = _MADE[target.kind]
            if survey.aspects:
                hint = f"the samples have ratings of {', '.join(sorted(survey.aspects))}"
            raise InputError(f"no sample has a rating of {target.aspect!r} by the {target.role}", hint=hint)
        if self.split:
            self._check_values(survey.values[False], "training")
        if self.split and target.kind == DCP:
            self._check_values(survey.values[True], "dev")
        if target.kind == DCP and (odd := (survey.values[False] | survey.values[True]) - {0.0, 1.0}):
            raise InputError(f"continuity labels must be 0 or 1, got {min(odd):g}", hint=_MADE[DCP])

    @staticmethod
    def _check_values(values: set[float], part: str) -> None:
        if len(values) < 2:
            seen = "there is none"
            if values:
                seen = f"{min(values):g}"
            raise InputError(f"all ratings of the {part} part are the same: {seen}", hint="use more samples")

    def _all(self) -> Iterator[tuple[Sample, bool]]:
        """Yield every sample, and whether it belongs to the dev part."""
        held_out = self._held_out
        for path in self.log.files:
            for sample in self.log.rated_samples(path):
                yield sample, dialogue_of(sample) in held_out
        if self.dev:
            for sample in self.log.rated_samples(self.dev):
                yield sample, True

    @cached_property
    def _held_out(self) -> frozenset[str]:
        if self.dev or not self.split:
            return frozenset()
        every = {dialogue_of(sample) for path in self.log.files for sample in self.log.rated_samples(path)}
        return frozenset(sorted(every, key=lambda name: (fingerprint(name), name))[: max(1, round(len(every) / SHARE))])


_MADE = {
    DCP: "make continuity samples of dialogues: interloq corpus continuity DIALOGUES -o FOLDER",
    "interlocutor": "make rated samples: interloq corpus ratings FILE -o FOLDER",
}


def value_of(sample: Sample, target: Target) -> float | None:
    """Return the mean of the ratings of the aspect by people in the role; None if there are none."""
    values = [
        rating.value
        for rating in sample.ratings
        if rating.aspect == target.aspect and rating.role == target.role and rating.value is not None
    ]
    return fmean(values) if values else None


def dialogue_of(sample: Sample) -> str:
    """Return the name of a sample's dialogue, or its id if it names none."""
    return sample.dialogue or sample.id


@dataclass(frozen=True)
class InterlocutorExamples:
    """Texts 2i and 2i + 1 are the context and the reply of example i; `values` are what is predicted."""

    texts: Texts
    values: NDArray[np.float64]
    dev: NDArray[np.bool_]
    order: Ints  # the examples sorted by a hash of their samples
    facts: dict[str, Any]

    @staticmethod
    def written(folder: Path) -> bool:
        """Return whether a folder is complete: the facts are written last."""
        return (folder / FACTS).exists()

    @classmethod
    def load(cls, folder: Path) -> InterlocutorExamples:
        """Load the examples in a folder."""
        with reading_saved(folder), np.load(folder / ARRAYS, allow_pickle=False) as stored:
            tokens = np.asarray(np.memmap(folder / TOKENS, dtype=np.int32, mode="r"))
            arrays = {name: stored[name] for name in ("values", "dev", "order")}
            return cls(Texts(tokens, stored["ends"]), facts=read_json(folder / FACTS), **arrays)

    def of(self, part: Part) -> Ints:
        """Return the examples of a part, in a fixed order."""
        return np.asarray(self.order[self.dev[self.order] == (part == "dev")])


def write_examples(
    samples: Iterable[LabelledSample],
    folder: Path,
    reader: SampleReader,
    facts: dict[str, Any],
    step: Callable[[int], None],
) -> None:
    """Tokenise samples in batches; the facts, with the number of texts that were cut, are written last."""
    folder.mkdir(parents=True, exist_ok=True)
    lengths, values, dev, hashes = list[int](), list[float](), list[bool](), list[str]()
    with (folder / TOKENS).open("wb") as file:
        for batch in batched(samples, BATCH):
            for row in reader.read([each.sample for each in batch], [each.judge for each in batch]):
                for text in row:
                    text.tofile(file)
                    lengths.append(len(text))
            for sample, _, value, is_dev in batch:
                values.append(value)
                dev.append(is_dev)
                turns = [turn.text for turn in sample.context]
                hashes.append(fingerprint(sample.id, sample.system, sample.response, *turns))
            step(len(batch))
    arrays: dict[str, Any] = {
        "ends": np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]),
        "values": np.array(values),
        "dev": np.array(dev),
        "order": np.argsort(np.array(hashes), kind="stable"),
    }
    with atomic_path(folder / ARRAYS) as path, path.open("wb") as stored:
        np.savez(stored, **arrays)
    write_json(folder / FACTS, {**facts, "cut": dict(reader.cut)})
