"""Small pairs, models and tasks for tests of adaptation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from interloq.learn.adapt.job import AdaptJob, Base, Setup
from interloq.learn.adapt.settings import ADAPT, Adaptation
from interloq.learn.adapt.task import AdaptTask
from interloq.learn.job import train
from interloq.learn.pair_tokens import write_pair_tokens
from interloq.models.pretrained import Subwords
from interloq.records import Pair
from tests.made_ruber import topic_pairs

CPU = torch.device("cpu")
SMALL = Adaptation(batch=32, longest=16)
QUICK = replace(ADAPT, epochs=3, learning_rate=3e-3)


def pairs(n: int = 300) -> list[Pair]:
    return topic_pairs(n)


def adapted(folder: Path, model: Path, settings: Adaptation = SMALL, **options: Any) -> dict[str, Any]:
    training = options.pop("training", QUICK)
    job = AdaptJob.of(model, options.pop("pairs", pairs), settings, training, options.pop("source", ""))
    return train(job, folder, device="cpu", **options)


def task_of(folder: Path, work: Path, settings: Adaptation = SMALL) -> AdaptTask:
    setup = Setup.of(Base(folder, "tiny", ""), settings)
    write_pair_tokens(pairs(), work / "pairs", Subwords(folder, longest=setup.longest), dev=settings.dev)
    return setup.task(work)
