"""The modules of `interloq.scorers.ruber`: model, settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from interloq.errors import InputError
from interloq.scorers.ruber.model import RuberNetwork, RuberScorer
from interloq.scorers.ruber.settings import Unreferenced


def network(hidden: int = 5) -> RuberNetwork:
    torch.manual_seed(1)
    made = RuberNetwork(vocabulary=11, embedding=4, hidden=hidden)
    torch.nn.init.normal_(made.matrix)
    made.double()
    return made


def test_the_score_is_the_sigmoid_of_the_perceptron() -> None:
    made = network()
    query, reply = torch.randn(7, 10, dtype=torch.float64), torch.randn(7, 10, dtype=torch.float64)
    weights = {name: tensor.numpy() for name, tensor in made.state_dict().items()}
    scores = made(query, reply).detach()
    for row in range(7):
        q, r = query[row].numpy(), reply[row].numpy()
        values = np.concatenate([q, [q @ weights["matrix"] @ r], r])
        for i in range(3):
            values = np.tanh(weights[f"layers.{i}.weight"] @ values + weights[f"layers.{i}.bias"])
        out = float(weights["output.weight"][0] @ values + weights["output.bias"][0])
        assert float(scores[row]) == pytest.approx(1 / (1 + np.exp(-out)), abs=1e-12)


def test_the_layers_have_the_papers_sizes() -> None:
    made = RuberNetwork(vocabulary=11)
    assert [(layer.in_features, layer.out_features) for layer in [*made.layers, made.output]] == [
        (4 * 128 + 1, 256),
        (256, 512),
        (512, 128),
        (128, 1),
    ]
    assert made.matrix.shape == (256, 256)
    assert made.query.embedding.weight.data_ptr() != made.reply.embedding.weight.data_ptr()


def rounded(values: NDArray[np.float64]) -> list[float]:
    return [round(float(value), 9) for value in values]


def test_long_texts_are_cut_and_empty_ones_are_read(learned: Path) -> None:
    scorer = RuberScorer.load(learned, device="cpu")
    long = "tea " * 500
    found = scorer.scores([long, "", "tea ?"], ["tea", "tea", ""])
    assert np.isfinite(found).all()
    assert rounded(found[:1]) == rounded(scorer.scores(["tea " * 400], ["tea"]))


@pytest.mark.parametrize(
    ("field", "value"), [("hidden", 0), ("margin", 0.0), ("batch", -1), ("dev", 0), ("seed", -1), ("longest", 0)]
)
def test_settings_out_of_range_are_refused(field: str, value: float) -> None:
    changes: dict[str, Any] = {field: value}
    with pytest.raises(InputError, match=field):
        Unreferenced(**changes)
