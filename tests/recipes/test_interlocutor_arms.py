"""Choice of the learning rate, and samples that are missing."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from interloq import InputError
from interloq.scorers.interlocutor.settings import TRAINING, InterlocutorReading, Target

RECIPES = Path(__file__).parents[2] / "recipes"


@pytest.fixture(scope="module")
def recipe() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(RECIPES))
        yield importlib.import_module("interlocutor_arms")


def test_the_rate_with_the_lowest_dev_loss_is_used_for_all_seeds(recipe: ModuleType, tmp_path: Path) -> None:
    arm = recipe.Arm("a", "A", "data", InterlocutorReading(), Target(), TRAINING)
    (tmp_path / "predictions").mkdir()
    for rate, seed, loss in ((1e-4, 0, 0.5), (1e-3, 0, 0.4), (1e-3, 1, 0.9)):
        path = tmp_path / "predictions" / f"a-rate{rate:g}-seed{seed}.npz"
        np.savez(path, dev_loss=np.array(loss), dev=np.zeros(2), test=np.full(3, float(seed)))
    plan = recipe.Plan(tmp_path, seeds=(0, 1), rates=(1e-4, 1e-3))
    assert [(one.rate, one.seed, one.by_part["test"].tolist()) for one in plan.stored(arm)] == [
        (1e-3, 0, [0, 0, 0]),
        (1e-3, 1, [1, 1, 1]),
    ]
    other = recipe.Arm("b", "B", "data", InterlocutorReading(), Target(), TRAINING)
    assert plan.finished([arm, other]) == [arm]
    with pytest.raises(InputError, match="no predictions of 'B'"):
        plan.finished([other])
    with pytest.raises(InputError, match="run with --train first"):
        recipe.Plan(tmp_path, seeds=(0, 2), rates=(1e-4, 1e-3)).stored(arm)
    with pytest.raises(InputError, match="run with --prepare first"):
        plan.samples(arm, "test")
