"""Fixtures that several files of this folder use."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from tests.conftest import missing


@pytest.fixture(autouse=True, scope="module")
def numba() -> None:
    if find_spec("numba") is None:
        missing("numba")


@pytest.fixture
def kept_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """The working files stay, so that a test can read the entries trained on."""
    monkeypatch.setattr("interloq.vectors.glove.job.clear_work", lambda _: None)
