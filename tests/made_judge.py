"""Rated replies on the topics of `made_relevance`: people like replies on the topic of the context, and long ones."""

from __future__ import annotations

import random
from pathlib import Path

from interloq import Rating, Sample, write
from interloq.learn.job import train
from interloq.retrieve.training_log import TrainingLog
from interloq.scorers.judge.job import FrozenJudgeJob, from_log
from interloq.scorers.judge.settings import JudgeSettings, Network
from tests.made_relevance import TOPICS, said


def rated(n: int, *, seed: int = 0, aspects: tuple[str, ...] = ("overall",)) -> list[Sample]:
    """Two replies to every context, rated by two people."""
    drawn, found = random.Random(seed), list[Sample]()
    for i in range(n):
        if i % 2 == 0:
            topic = drawn.choice(TOPICS)
            context = [f"{said(topic, drawn)} {seed} {i}", said(topic, drawn)]
        other = drawn.choice((topic, drawn.choice(TOPICS)))
        reply = said(other, drawn)
        value = 3 * (other == topic) + len(reply) / 20 + drawn.random()
        given = [Rating(value + k / 10, f"rater{k}", aspect) for aspect in aspects for k in range(2)]
        found.append(Sample(f"{seed}-{i}", context, reply, ratings=given))
    return found


def write_sets(folder: Path, *sizes: int, aspects: tuple[str, ...] = ("overall",)) -> list[str]:
    """One file per size."""
    paths = [str(folder / f"rated{seed}.jsonl") for seed in range(len(sizes))]
    for seed, (path, n) in enumerate(zip(paths, sizes, strict=True)):
        write(path, rated(n, seed=seed, aspects=aspects), kind="samples")
    return paths


def judge_job(files: list[str], scorer: Path, settings: JudgeSettings | None = None) -> FrozenJudgeJob:
    """The job of `train judge` on a frozen network."""
    return from_log(TrainingLog(files), Network(str(scorer)), settings or JudgeSettings(least=20))


def small_judge(folder: Path, scorer: Path, *, aspects: tuple[str, ...] = ("natural", "overall")) -> Path:
    """A judge in `folder`/judge, from two sets."""
    folder.mkdir(parents=True, exist_ok=True)
    files = write_sets(folder, 60, 60, aspects=aspects)
    train(judge_job(files, scorer), folder / "judge", device="cpu")
    return folder / "judge"
