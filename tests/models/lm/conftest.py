"""Fixtures that several files of this folder use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.made_lm import tiny_lm
from tests.models.lm.made_trees import KINDS


@pytest.fixture(scope="module", params=KINDS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small language model of each kind."""
    return tiny_lm(tmp_path_factory.mktemp(request.param), request.param, positions=128)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_lm(tmp_path_factory.mktemp("plain"), positions=128)
