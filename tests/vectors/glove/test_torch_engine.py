"""Epochs in torch against numba."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interloq.errors import InputError
from tests.conftest import missing
from tests.vectors.glove.made_glove import SMALL, changed, cosines, curve_of, topical_texts, trained_on


@pytest.fixture(scope="module")
def torch() -> Any:
    try:
        import torch
    except ImportError:
        missing("torch")
    torch.set_num_threads(1)
    return torch


def test_torch_learns_what_numba_learns(tmp_path: Path, torch: Any) -> None:
    texts = topical_texts(3000, topics=12, each=12)
    ours = trained_on(texts, tmp_path / "numba", SMALL)
    theirs = trained_on(texts, tmp_path / "torch", SMALL, device="torch")
    assert "|device:torch|" in theirs.facts["origin"]
    assert curve_of(tmp_path / "torch")[-1] == pytest.approx(curve_of(tmp_path / "numba")[-1], rel=0.01)
    assert np.corrcoef(cosines(ours.matrix), cosines(theirs.matrix))[0, 1] > 0.9


def test_torch_needs_no_numba(tmp_path: Path, torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.delitem(sys.modules, "interloq.vectors.glove.numba_engine", raising=False)
    trained = trained_on(topical_texts(50), tmp_path / "out", changed(epochs=2), device="torch")
    assert np.isfinite(trained.matrix).all()


def test_cuda_without_a_gpu_is_a_clear_error(tmp_path: Path, torch: Any) -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(InputError, match="torch finds no CUDA device; run without --device cuda"):
        trained_on(topical_texts(20), tmp_path / "out", SMALL, device="cuda")
    assert not list(tmp_path.glob("out/work/tokens*")), "said before any work is done"
