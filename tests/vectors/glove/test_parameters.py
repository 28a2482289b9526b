"""Parameters of GloVe and the vector of unknown words."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.vectors.glove.made_glove import changed, trained_on


def test_unknown_is_the_mean_of_the_hundred_rarest_words(tmp_path: Path) -> None:
    texts = [f"{w} x{i}" for i in range(150) for w in ("a", "b", "c")]
    trained = trained_on([*texts, "x0 x1 a"], tmp_path / "out", changed(epochs=2))
    rare = trained.matrix[-101:-1]
    assert len(trained) == 154
    np.testing.assert_allclose(trained.vector("<unk>"), rare.mean(axis=0), atol=1e-6)
    kept = trained_on(["<unk> a b", "a <unk> c"], tmp_path / "own", changed(epochs=2))
    assert list(kept.words).count("<unk>") == 1
