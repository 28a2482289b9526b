"""Models that several test files use; none changes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scorers.interlocutor.made_models import small_model


@pytest.fixture(scope="session")
def dcp_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Whether ann and bob answer, with a token each."""
    return small_model(tmp_path_factory.mktemp("dcp"), epochs=12, learning_rate=3e-3)


@pytest.fixture(scope="session")
def score_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """How they rate replies, with tokens and profiles."""
    return small_model(tmp_path_factory.mktemp("score"), aspect="overall", personal="both")
