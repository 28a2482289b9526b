"""Made continuity and rated samples, and models trained on them in a moment.

Ann answers whatever is said; bob only replies about tea. Both rate replies about tea higher, bob by more.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from interloq import Rating, Sample, write
from interloq.data.records.profiles import write_profiles
from interloq.learn.job import train
from interloq.learn.settings import LowRank
from interloq.records import INTERLOCUTOR, OUTSIDER, Turn
from interloq.retrieve.training_log import TrainingLog
from interloq.scorers.interlocutor.continuity_labels import CONTINUED
from interloq.scorers.interlocutor.job import InterlocutorJob, from_log
from interloq.scorers.interlocutor.settings import TRAINING, InterlocutorReading, InterlocutorSources, Target
from tests.made_relevance import said, tiny_encoder

Personal = Literal["none", "token", "profile", "both"]
JUDGES = ("ann", "bob")
TOPICS = ("tea", "rain", "cats")
READING = InterlocutorReading(tokens=48, user_samples=5)
PROFILES = {"ann": "i like the rain .", "bob": "tea !"}


def judged(n: int, *, seed: int = 0, judges: tuple[str, ...] = JUDGES, aspect: str = CONTINUED) -> list[Sample]:
    """Samples `d<seed>-<i>#1` to `#3` of n dialogues."""
    drawn, found = random.Random(seed), list[Sample]()
    for i in range(n):
        judge = judges[i % len(judges)]
        turns = [Turn(said(drawn.choice(TOPICS), drawn), (judge, "bot")[k % 2]) for k in range(4)]
        for k in (1, 3):
            topic = drawn.choice(TOPICS)
            reply = said(topic, drawn)
            ratings, dialogue = _ratings(judge, topic, aspect), f"d{seed}-{i}"
            found.append(Sample(f"{dialogue}#{k}", turns[:k], reply, (), "bot", ratings, dialogue))
    return found


def _ratings(judge: str, topic: str, aspect: str) -> list[Rating]:
    if aspect == CONTINUED:
        return [Rating(float(judge != "bob" or topic == "tea"), judge, aspect, INTERLOCUTOR)]
    value = 3.0 + (topic == "tea") * (3 if judge == "bob" else 1)
    return [Rating(value, judge, aspect, INTERLOCUTOR), *(Rating(value - k, f"o{k}", aspect, OUTSIDER) for k in (1, 2))]


def write_parts(folder: Path, *, aspect: str = CONTINUED, judges: tuple[str, ...] = JUDGES) -> Path:
    """Train and dev with profiles, and the encoder."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed, (part, n) in enumerate((("train", 60), ("dev", 20))):
        write(folder / f"{part}.jsonl", judged(n, seed=seed, judges=judges, aspect=aspect), kind="samples")
    write_profiles(folder / "profiles.json", PROFILES, users="kept")
    tiny_encoder(folder / "encoder")
    return folder


def made_job(folder: Path, *, aspect: str = CONTINUED, personal: Personal = "token", **options: Any) -> InterlocutorJob:
    """A job on what `write_parts` wrote; `options` are those of the training, the target or the low-rank updates."""
    reading = replace(READING, personal=personal)
    target = Target(aspect=aspect, batch=16, **_own(options, Target))
    training = replace(TRAINING, **{"epochs": 2, "learning_rate": 3e-3, **_own(options, type(TRAINING))})
    given = InterlocutorSources(encoder=str(folder / "encoder"))
    return from_log(TrainingLog([str(folder)]), given, reading, target, training, LowRank(**_own(options, LowRank)))


def _own(options: dict[str, Any], kind: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name in kind.__dataclass_fields__ and name != "seed"}


def small_model(folder: Path, *, aspect: str = CONTINUED, personal: Personal = "token", **options: Any) -> Path:
    """A trained model in `folder`/model."""
    write_parts(folder, aspect=aspect)
    train(made_job(folder, aspect=aspect, personal=personal, **options), folder / "model", device="cpu")
    return folder / "model"
