# SPDX-License-Identifier: Apache-2.0
"""Trained models that judge replies as the interlocutor: P(the interlocutor answers), or the rating they would give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch

from interloq.data.batched import batched
from interloq.data.files.opening import reading_saved
from interloq.data.records.profiles import NAME as PROFILES
from interloq.data.records.profiles import read_profiles
from interloq.errors import InputError, short_repr
from interloq.learn.calibrate import probabilities
from interloq.learn.start import files_of, load_trained_network, weights_of
from interloq.learn.store import check_counts, check_shapes, check_temperature, foreign, load_model
from interloq.models.cross_encoder import TOKENS, row_outputs
from interloq.models.pretrained import Subwords
from interloq.models.processes import pick_device
from interloq.records import Sample
from interloq.scorers.interlocutor.continuity_labels import judge_of
from interloq.scorers.interlocutor.reader import SampleReader, number_users
from interloq.scorers.interlocutor.settings import DCP
from interloq.scorers.interlocutor.task import Floats, OutputScale, SpeakerEncoder
from interloq.signature import fingerprint

CHUNK = 1024  # samples in memory as tokens
SPEAKERS = ("sides", "users")  # tensors of the speakers' tokens


class InterlocutorModel:
    """Judges samples, in float32: batching changes a score by less than 1e-5."""

    def __init__(self, network: SpeakerEncoder, reader: SampleReader, facts: dict[str, Any], device: str) -> None:
        self.device = pick_device(device)
        self.network = network.to(self.device).eval()
        self.reader, self.facts, self.tokens = reader, facts, TOKENS[self.device.type]
        self.scale = scale_of(facts)

    @classmethod
    def load(cls, folder: str | Path, *, kind: str, profiles: str | None = None, device: str = "auto") -> Self:
        """Load a model of this kind; `profiles` is a file to use instead of the profiles saved with it."""
        folder = Path(folder)
        facts, tensors = load_model(folder, kind=kind)
        reader = load_reader(folder, facts, profiles)
        return cls(load_network(folder, facts, tensors), reader, facts, device)

    @cached_property
    def _signature(self) -> str:
        reader, facts = self.reader, self.facts
        profiles = fingerprint(*(f"{user}\0{text}" for user, text in sorted(reader.profiles.items())))
        parts = (weights_of(facts), str(facts["subwords"]), repr(facts.get("temperature")), repr(facts["config"]))
        return f"{facts['kind']}-{fingerprint(*parts, *facts['users'], profiles)}"

    def signature(self) -> str:
        return self._signature

    def knows(self, user: str) -> bool:
        """Return whether the model has a token or a profile of a user."""
        return user in self.reader.users or user in self.reader.profiles

    def unknown_judges(self, samples: Sequence[Sample]) -> int:
        """Return the number of samples with a judge that the model does not know; 0 if it knows nobody."""
        if not (self.reader.users or self.reader.profiles):
            return 0
        return sum(not self.knows(judge_of(sample)) for sample in samples)

    def check_user(self, user: str) -> None:
        """Refuse a user that the model does not know, if it knows any."""
        if user and not self.knows(user):
            known = list(dict.fromkeys([*self.reader.users, *self.reader.profiles]))
            names = "no users"
            if known:
                names = f"{len(known):,} users, such as {', '.join(map(repr, known[:3]))}"
            hint = f"it knows {names}; ids may be hashed. user='' is anyone, and train --add-to adds users"
            raise InputError(f"the model does not know the user {user!r}", hint=hint)

    def scores(self, samples: Sequence[Sample], user: str | None = None) -> Floats:
        """Return the score of each sample, judged by `user` ("": by anyone; None: by each sample's own judge)."""
        chunks = [np.zeros(0)]
        for chunk in batched(samples, CHUNK):
            judges = [user] * len(chunk) if user is not None else list(map(judge_of, chunk))
            read = self.reader.read(chunk, judges)
            chunks.append(row_outputs(self, read, self.reader.subwords, lambda batch: self.network(batch), 1)[:, 0])
        outputs = self.scale.mean + self.scale.spread * (np.concatenate(chunks) + self.scale.shift)
        if self.facts["kind"] == DCP:
            return probabilities(outputs, self.facts["temperature"])
        return outputs


def scale_of(facts: Mapping[str, Any]) -> OutputScale:
    """Return the scale of a model's outputs."""
    return OutputScale(**{item.name: facts["config"][item.name] for item in fields(OutputScale)})


def load_reader(folder: Path, facts: Mapping[str, Any], profiles: str | None = None) -> SampleReader:
    """Return the reader of a trained model; `profiles` is a file to use instead of its own."""
    with reading_saved(folder):
        _check(facts)
        config, files = facts["config"], files_of(folder, facts)
        subwords = Subwords(files, longest=config["tokens_of_text"])
        if subwords.signature() != facts["subwords"]:
            raise foreign("the tokenizer", folder, "model")
        vocabulary, users = int(config["vocabulary"]), number_users(facts["users"])
    known: dict[str, str] = {}
    if facts["config"]["personal"] in ("profile", "both"):
        known = read_profiles(profiles or folder / PROFILES)
    elif profiles:
        raise InputError("the model reads no profiles", hint="omit `profiles`, or train with --personal profile")
    return SampleReader(subwords, config["tokens"], config["profile_tokens"], vocabulary, users, known)


def load_network(
    folder: Path, facts: Mapping[str, Any], tensors: Mapping[str, torch.Tensor], *, added: int = 0
) -> SpeakerEncoder:
    """Return the network of a trained model, with room for `added` users."""
    stored = {name: tensors[name] for name in SPEAKERS if name in tensors}
    base = load_trained_network(folder, facts, {k: v for k, v in tensors.items() if k not in stored}, outputs=1)
    with torch.random.fork_rng(devices=[]):
        network = SpeakerEncoder(base, len(facts["users"]), added=added)
    speakers = {}
    for name in SPEAKERS:
        part = getattr(network, name)
        if part is not None:
            speakers[name] = part
    check_shapes(speakers, stored, folder)
    if network.vocabulary != facts["config"]["vocabulary"]:
        raise foreign("the configuration", folder, "model")
    with torch.no_grad():
        for name, part in speakers.items():
            part.copy_(stored[name])
    return network


def _check(facts: Mapping[str, Any]) -> None:
    config = facts["config"]
    check_counts(config, "tokens", "tokens_of_text", "profile_tokens", "vocabulary")
    numbers = [config[item.name] for item in fields(OutputScale)]
    for number in numbers:
        if not (isinstance(number, int | float) and np.isfinite(number)):
            raise ValueError(f"the scale is {short_repr(numbers)}")
    for user in facts["users"]:
        if not isinstance(user, str):
            raise ValueError("ids of users must be texts")
    if facts["kind"] == DCP:
        check_temperature(facts)
