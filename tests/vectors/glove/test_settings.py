"""Settings of GloVe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interloq.errors import InputError
from interloq.vectors.glove.settings import Glove
from tests.vectors.glove.made_glove import changed, trained_on


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"dimensions": 0}, "dimensions must be above 0, got 0"),
        ({"window": -1}, "window must be above 0, got -1"),
        ({"alpha": -0.5}, "alpha must be at least 0, got -0.5"),
    ],
)
def test_settings_are_checked(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Glove(**options)


def test_unknown_is_the_mean_of_the_hundred_rarest_words(tmp_path: Path) -> None:
    texts = [f"{w} x{i}" for i in range(150) for w in ("a", "b", "c")]
    trained = trained_on([*texts, "x0 x1 a"], tmp_path / "out", changed(epochs=2))
    rare = trained.matrix[-101:-1]
    assert len(trained) == 154
    np.testing.assert_allclose(trained.vector("<unk>"), rare.mean(axis=0), atol=1e-6)
    kept = trained_on(["<unk> a b", "a <unk> c"], tmp_path / "own", changed(epochs=2))
    assert list(kept.words).count("<unk>") == 1
