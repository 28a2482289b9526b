# SPDX-License-Identifier: Apache-2.0
"""Add users to a trained model: only their own vectors are learned, and nothing else in the model changes.

Without a dev file, all samples are for training, as there may be few: the epoch with the lowest training loss is kept.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from interloq.data.records.profiles import NAME as PROFILES
from interloq.data.records.profiles import read_profiles, write_profiles
from interloq.errors import InputError
from interloq.learn.job import Curve, Job, Run
from interloq.learn.learning_curve import CURVE, TIMES, write_curve
from interloq.learn.settings import Training
from interloq.learn.store import FACTS, WEIGHTS, load_model, read_facts, save_model
from interloq.retrieve.training_log import TrainingLog
from interloq.scorers.interlocutor.examples import InterlocutorExamples, LabelledSamples, write_examples
from interloq.scorers.interlocutor.job import beside, counts, error_of, report_examples, select_profiles, source_of
from interloq.scorers.interlocutor.model import load_network, load_reader, scale_of
from interloq.scorers.interlocutor.model_users import CARD, warning, write_card
from interloq.scorers.interlocutor.reader import number_users
from interloq.scorers.interlocutor.settings import Added, InterlocutorSources, Target
from interloq.scorers.interlocutor.task import InterlocutorTask
from interloq.signature import file_fingerprint

OWN = (FACTS, WEIGHTS, CURVE, TIMES, CARD, PROFILES)  # files that differ from the model's


@dataclass(frozen=True, kw_only=True)
class AddUsersJob(Job[InterlocutorTask]):
    """Learns the tokens of users who judge the samples and are not in the model in folder `model`."""

    samples: LabelledSamples
    model: Path
    profiles: str | None
    settings: Added

    others = "other settings, another model or other data"

    @property
    def kind(self) -> str:
        return self.settings.kind

    @cached_property
    def before(self) -> dict[str, Any]:
        """Facts of the model."""
        return read_facts(self.model, kind=self.kind)

    def dependencies(self) -> Sequence[str]:
        return [file_fingerprint(self.model / FACTS)]

    def started(self, work: Path) -> bool:
        return InterlocutorExamples.written(work) or super().started(work)

    def prepare(self, run: Run) -> None:
        if not InterlocutorExamples.written(run.work):
            survey = self.samples.survey
            users = survey.with_tokens(self.settings.user_samples, self.before["users"])
            names = [*self.before["users"], *users]
            reader = load_reader(self.model, self.before)
            profiles = dict(reader.profiles)
            if self.before["profiles"] and self.profiles:
                profiles |= select_profiles(read_profiles(self.profiles), users)
            reader = replace(reader, users=number_users(names), profiles=profiles)
            facts = {
                "users": names,
                "user_samples": [*self.before["user_samples"], *users.values()],
                "profiles": profiles,
                "ids": self.before["ids"],
                "counts": counts(survey, users, self.before["users"]),
            }
            chosen = (each for each in self.samples if each.judge in users)
            with run.progress("tokenising samples", None) as step:
                write_examples(chosen, run.work, reader, facts, step)
        report_examples(InterlocutorExamples.load(run.work), self.before["config"]["tokens"], run)

    def task(self, run: Run) -> InterlocutorTask:
        examples, (facts, tensors) = InterlocutorExamples.load(run.work), load_model(self.model, kind=self.kind)
        new = len(examples.facts["users"]) - len(facts["users"])
        network = load_network(self.model, facts, tensors, added=new)
        network.requires_grad_(False)
        network.added.requires_grad_(True)
        subwords = load_reader(self.model, facts).subwords
        task = InterlocutorTask(network, examples, subwords, self.samples.target, scale_of(facts))
        if not len(task.own["dev"]):
            task.own["dev"] = task.own["train"]
        return task

    def facts(self, task: InterlocutorTask, run: Run, curve: Curve) -> dict[str, Any]:  # noqa: ARG002
        examples, before = task.examples.facts, dict(self.before)
        for name in ("job", "source", "schema"):
            del before[name]
        weights = str(before.pop("weights"))
        error = error_of(self.kind, *task.predict("dev"))
        learned = task.network.added.detach().clone()
        with torch.no_grad():
            task.network.added.zero_()
            as_anyone = error_of(self.kind, *task.predict("dev"))
            task.network.added.copy_(learned)
        return {
            **before,
            **self.base_facts(curve, model=weights),
            "users": examples["users"],
            "user_samples": examples["user_samples"],
            "profiles": len(examples["profiles"]),
            "warning": warning(len(examples["users"]), len(examples["profiles"])),
            "added": {"to": weights, **examples["counts"], "error": error, "error_as_anyone": as_anyone},
        }

    def save(self, folder: Path, task: InterlocutorTask, run: Run, facts: dict[str, Any], curve: Curve) -> None:
        examples, (_, tensors) = InterlocutorExamples.load(run.work).facts, load_model(self.model, kind=self.kind)
        for path in self.model.iterdir():
            if path.is_dir():
                shutil.copytree(path, folder / path.name)
            elif path.name not in OWN:
                shutil.copyfile(path, folder / path.name)
        if examples["profiles"]:
            write_profiles(folder / PROFILES, examples["profiles"], users=examples["ids"])
        write_card(folder, len(facts["users"]), facts["profiles"])
        write_curve(folder, facts["signature"], curve)
        added = task.network.added.detach().cpu().to(tensors["users"].dtype)
        save_model(folder, {**tensors, "users": torch.cat([tensors["users"], added])}, facts)


def from_log(log: TrainingLog, given: InterlocutorSources, settings: Added, training: Training) -> AddUsersJob:
    """Return the job of `interloq train dcp --add-to MODEL` and `interloq train interlocutor --add-to MODEL`."""
    model = Path(given.add_to or "")
    facts = read_facts(model, kind=settings.kind)
    if not facts["users"]:
        hint = "train it with --personal token or both; users of a model with profiles need only a profile"
        raise InputError("users cannot be added to a model without user tokens", hint=hint, where=str(model))
    dev, profiles = given.dev or beside(log, "dev.jsonl*"), given.profiles or beside(log, PROFILES)
    target = Target(facts["aspect"], facts["role"], anyone=0.0, batch=settings.batch, seed=settings.seed)
    return AddUsersJob(
        samples=LabelledSamples(log, dev, target, split=False),
        model=model,
        profiles=profiles,
        settings=settings,
        training=training,
        source=source_of(log, dev, profiles if facts["profiles"] else None),
    )
