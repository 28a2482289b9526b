"""Fixtures that several files of this folder use."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from interloq.learn.job import train
from tests.made_bert import bert_job, small_bert_rater
from tests.made_rater import rater_job, small_rater


@pytest.fixture(scope="module")
def learned_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a rater that has learned its log."""
    folder = tmp_path_factory.mktemp("learned_bert")
    quiet: dict[str, Any] = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    train(bert_job(folder, **quiet), folder / "rater", device="cpu")
    return folder / "rater"


@pytest.fixture(scope="module")
def small_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small_bert")
    small_bert_rater(folder)
    return folder / "rater"


@pytest.fixture
def copied_bert(small_bert: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(small_bert, tmp_path / "rater"))


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a rater that has learned its log."""
    folder = tmp_path_factory.mktemp("learned")
    train(rater_job(folder), folder / "rater", device="cpu")
    return folder / "rater"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    small_rater(folder)
    return folder / "rater"


@pytest.fixture
def copied(small: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(small, tmp_path / "rater"))
