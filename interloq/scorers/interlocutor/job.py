# SPDX-License-Identifier: Apache-2.0
"""Training of the models that judge replies as the interlocutor: find the users, tokenise samples, train, calibrate."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from interloq.data.pseudonyms import HASHED, KEPT
from interloq.data.records.jsonl import header
from interloq.data.records.profiles import NAME as PROFILES
from interloq.data.records.profiles import read_profiles, write_profiles
from interloq.errors import InputError, count
from interloq.learn.calibrate import calibration, negative_log_likelihood
from interloq.learn.cross_encoder_job import CrossEncoderJob
from interloq.learn.job import Curve, Run
from interloq.learn.settings import LowRank, Training
from interloq.registry import full_spec
from interloq.retrieve.training_log import TrainingLog
from interloq.scorers.interlocutor.examples import InterlocutorExamples, LabelledSamples, Survey, write_examples
from interloq.scorers.interlocutor.model_users import warning, write_card
from interloq.scorers.interlocutor.reader import SampleReader, number_users
from interloq.scorers.interlocutor.settings import DCP, InterlocutorReading, InterlocutorSources, Target
from interloq.scorers.interlocutor.task import Floats, InterlocutorTask, SpeakerEncoder
from interloq.signature import file_fingerprint, fingerprint
from interloq.statistics.correlation import pearson_rows

CUT = {
    "profiles": ("profile is", "profiles are"),
    "replies": ("reply is", "replies are"),
    "turns": ("turn is", "turns are"),
}
USELESS = "the model predicts no better than {what}; use more samples, or another encoder"


@dataclass(frozen=True, kw_only=True)
class InterlocutorJob(CrossEncoderJob[InterlocutorTask]):
    """Trains on the labelled samples of a log."""

    samples: LabelledSamples
    profiles: str | None
    reading: InterlocutorReading
    settings: Target

    @property
    def kind(self) -> str:
        return self.settings.kind

    @property
    def longest(self) -> int:
        return self.reading.tokens

    @cached_property
    def tokens(self) -> int:
        """Maximum tokens per sample: as requested, or as many as the encoder reads."""
        return min(self.reading.tokens, self._sizes[0] or self.reading.tokens)

    @cached_property
    def _sizes(self) -> tuple[int | None, int]:
        """Longest row that the encoder reads, and the size of its vocabulary."""
        network = self.start.network(1, seed=0)
        return network.positions, network.vocabulary

    def reading_ids(self) -> Sequence[str]:
        return [*super().reading_ids(), full_spec(self.reading)]

    def started(self, work: Path) -> bool:
        return InterlocutorExamples.written(work) or super().started(work)

    def prepare(self, run: Run) -> None:
        if not InterlocutorExamples.written(run.work):
            survey = self.samples.survey
            users: dict[str, int] = {}
            if self.reading.reads_tokens:
                users = survey.with_tokens(self.reading.user_samples)
            profiles = self._profiles(survey)
            reader = SampleReader(
                self.subwords, self.tokens, self.reading.profile_tokens, self._sizes[1], number_users(users), profiles
            )
            facts = {"users": list(users), "user_samples": list(users.values()), "profiles": profiles}
            facts |= {"ids": self._ids(), "counts": counts(survey, users)}
            with run.progress("tokenising samples", survey.samples.total()) as step:
                write_examples(self.samples, run.work, reader, facts, step)
        report_examples(InterlocutorExamples.load(run.work), self.tokens, run)

    def _profiles(self, survey: Survey) -> dict[str, str]:
        """Return the profiles of the users of both parts, if they are read."""
        if not self.reading.reads_profiles:
            return {}
        if self.profiles is None:
            hint = "name it with --profiles, or choose --personal none or token"
            raise InputError("there is no file of profiles beside the training samples", hint=hint)
        known = select_profiles(read_profiles(self.profiles), sorted(survey.judges))
        if not known:
            hint = "name the file that was written with the samples: ids may be hashed in one and not in the other"
            raise InputError("no profile belongs to a user of the samples", hint=hint, where=self.profiles)
        return known

    def _ids(self) -> str:
        """Return HASHED if every file of samples has hashed user ids, else KEPT."""
        for path in self.samples.log.files:
            if header(path).get("users", "") != HASHED:
                return KEPT
        return HASHED if self.samples.log.files else KEPT

    def task(self, run: Run) -> InterlocutorTask:
        examples, network = InterlocutorExamples.load(run.work), self.network()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            speakers = SpeakerEncoder(network, len(examples.facts["users"]))
        return InterlocutorTask(speakers, examples, self.subwords, self.settings)

    def facts(self, task: InterlocutorTask, run: Run, curve: Curve) -> dict[str, Any]:  # noqa: ARG002
        examples, (predicted, values) = task.examples.facts, task.predict("dev")
        about_users = {name: examples[name] for name in ("users", "user_samples", "ids", "counts", "cut")}
        parts = {"encoder": self.start.fingerprint, "reading": full_spec(self.reading), **self.low_rank.parts}
        return self.base_facts(curve, **parts) | {
            **about_users,
            "profiles": len(examples["profiles"]),
            "warning": warning(len(about_users["users"]), len(examples["profiles"])),
            "aspect": self.settings.aspect,
            "role": self.settings.role,
            "config": {
                **asdict(self.reading),
                "tokens": self.tokens,
                "tokens_of_text": self.subwords.longest,
                "vocabulary": task.network.vocabulary,
                **asdict(task.scale),
            },
            **self.low_rank_facts(),
            "subwords": self.subwords.signature(),
            **dev_facts(self.kind, predicted, values, task.examples.values[task.own["train"]]),
        }

    def save_extras(self, folder: Path, run: Run) -> None:
        examples = InterlocutorExamples.load(run.work).facts
        super().save_extras(folder, run)
        write_card(folder, len(examples["users"]), len(examples["profiles"]))
        if examples["profiles"]:
            write_profiles(folder / PROFILES, examples["profiles"], users=examples["ids"])

    def verdict(self, facts: dict[str, Any]) -> str:
        dev = facts["dev"]
        if facts["kind"] == DCP:
            constant, useless = "the share of answered replies", dev["nll"] >= dev["nll_of_rate"]
        else:
            constant, useless = "the mean rating", dev["rmse"] >= dev["rmse_of_mean"]
        return USELESS.format(what=constant) if useless else ""


def select_profiles(profiles: Mapping[str, str], users: Iterable[str]) -> dict[str, str]:
    """Return the profiles of these users that have text."""
    return {user: profiles[user] for user in users if profiles.get(user, "").strip()}


def counts(survey: Survey, users: Mapping[str, int], known: Collection[str] = ()) -> dict[str, Any]:
    """Count users with and without a token, users with one value only, and samples that were omitted."""
    few_samples = 0
    if users:
        few_samples = len(survey.users.keys() - users.keys() - set(known))
    return {
        "users": len(users),
        "omitted": dict(survey.omitted),
        "without_judge": survey.samples[False] - survey.users.total(),
        "one_value": sum(len(survey.by_user[user]) == 1 for user in users),
        "few_samples": few_samples,
    }


def report_examples(examples: InterlocutorExamples, tokens: int, run: Run) -> None:
    """Report the number of samples and users, and what is unusual about them."""
    numbers, cut = examples.facts["counts"], examples.facts["cut"]
    train, dev = len(examples.of("train")), len(examples.of("dev"))
    line = f"{count(train, 'sample')} for training, {dev:,} for dev"
    for reason, n in numbers["omitted"].items():
        line += f", {n:,} omitted {reason}"
    run.report(line)
    if numbers["users"]:
        line = f"{count(numbers['users'], 'user gets', 'users get')} a token"
        if numbers["few_samples"]:
            line += f", {count(numbers['few_samples'], 'has', 'have')} too few samples"
        run.report(line)
    if numbers["without_judge"] and (numbers["users"] or examples.facts["profiles"]):
        run.report(f"{count(numbers['without_judge'], 'training sample')} without a known judge: read as by anyone")
    if numbers["one_value"]:
        users = count(numbers["one_value"], "user has", "users have")
        run.report(f"{users} only one value in training: their tokens can learn nothing else")
    for what, n in cut.items():
        if n:
            long = count(n, *CUT[what])
            run.report(f"{long} too long for a model of {tokens} tokens: only the first tokens are read")


def dev_facts(kind: str, predicted: Floats, values: Floats, training: Floats) -> dict[str, Any]:
    """Return errors on the dev part beside the errors of a constant; for continuity, also the calibration."""
    mean = float(training.mean())
    if kind == DCP:
        calibrated = calibration(predicted, values)
        rate = np.full(len(values), np.log(mean / (1 - mean)))
        dev = {
            "accuracy": float(np.mean((predicted > 0) == values)),
            "majority": float(np.mean((mean > 0.5) == values)),
            "nll": calibrated["scaled"]["nll"],
            "nll_of_rate": error_of(kind, rate, values),
        }
        return {"calibration": calibrated, "dev": dev}
    r = float(pearson_rows(predicted[None], values[None])[0])
    return {
        "dev": {
            "rmse": error_of(kind, predicted, values),
            "rmse_of_mean": error_of(kind, np.full(len(values), mean), values),
            "pearson": None if np.isnan(r) else r,
        }
    }


def error_of(kind: str, predicted: Floats, values: Floats) -> float:
    """Return the negative log-likelihood of continuity given logits, or the root mean squared error of ratings."""
    if kind == DCP:
        return negative_log_likelihood(predicted, values)
    return float(np.sqrt(np.mean((predicted - values) ** 2)))


def from_log(
    log: TrainingLog,
    given: InterlocutorSources,
    reading: InterlocutorReading,
    settings: Target,
    training: Training,
    low_rank: LowRank,
) -> InterlocutorJob:
    """Return the job of `interloq train dcp` and `interloq train interlocutor`."""
    dev, profiles = given.dev or beside(log, "dev.jsonl*"), given.profiles or beside(log, PROFILES)
    return InterlocutorJob(
        samples=LabelledSamples(log, dev, settings),
        encoder=given.encoder,
        profiles=profiles,
        reading=reading,
        settings=settings,
        training=training,
        low_rank=low_rank,
        source=source_of(log, dev, profiles if reading.reads_profiles else None),
    )


def beside(log: TrainingLog, pattern: str) -> str | None:
    """Return the file of this name beside the training samples, if these are one file called train.jsonl*."""
    if len(log.files) != 1 or not Path(log.files[0]).name.startswith("train.jsonl"):
        return None
    for path in sorted(Path(log.files[0]).parent.glob(pattern)):
        if path.is_file():
            return str(path)
    return None


def source_of(log: TrainingLog, *others: str | None) -> str:
    """Return the fingerprint of the training samples and of further files."""
    prints = [log.fingerprint]
    for path in others:
        if not path:
            prints.append("")
        elif Path(path).is_file():
            prints.append(file_fingerprint(Path(path)))
        else:
            raise InputError(f"no file {str(path)!r}")
    return fingerprint(*prints)
