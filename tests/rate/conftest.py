"""Fixtures that several files of this folder use."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interloq.learn.job import train
from tests.made_bert import bert_job, small_bert_rater
from tests.made_rater import rater_job, small_rater
from tests.pipeline_fixtures import files, here, made

__all__ = ["files", "here", "made"]

Made = Callable[[str, Callable[[Path], object]], Path]


@pytest.fixture(scope="session")
def learned_bert(made_once: Made) -> Path:
    """A folder with a rater that has learned its log."""
    quiet: dict[str, Any] = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}

    def fill(folder: Path) -> None:
        train(bert_job(folder, **quiet), folder / "rater", device="cpu")

    return made_once("learned_bert", fill) / "rater"


@pytest.fixture(scope="session")
def small_bert(made_once: Made) -> Path:
    return made_once("small_bert", small_bert_rater) / "rater"


@pytest.fixture
def copied_bert(small_bert: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(small_bert, tmp_path / "rater"))


@pytest.fixture(scope="session")
def learned(made_once: Made) -> Path:
    """A folder with a rater that has learned its log."""
    return made_once("learned", lambda folder: train(rater_job(folder), folder / "rater", device="cpu")) / "rater"


@pytest.fixture(scope="session")
def small(made_once: Made) -> Path:
    return made_once("small", small_rater) / "rater"


@pytest.fixture
def copied(small: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(small, tmp_path / "rater"))
