"""The learning curve beside a model."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from interloq import InputError
from interloq.learn.learning_curve import CURVE, TIMES, best_epoch, read_curve, write_curve

EPOCHS = [
    {"epoch": 1, "loss": 0.9, "dev_loss": 0.8, "seconds": 3.5},
    {"epoch": 2, "loss": 0.5, "dev_loss": 0.6, "seconds": 3.1},
    {"epoch": 3, "loss": 0.4, "dev_loss": 0.6, "seconds": 3.2},
]


def test_losses_come_back_and_times_stand_apart(tmp_path: Path) -> None:
    write_curve(tmp_path, "signed", EPOCHS)
    assert [epoch["dev_loss"] for epoch in read_curve(tmp_path)] == [0.8, 0.6, 0.6]
    assert b"seconds" not in (tmp_path / CURVE).read_bytes()
    assert orjson.loads((tmp_path / TIMES).read_bytes())["epochs"][1] == {"epoch": 2, "seconds": 3.1}


def test_the_best_epoch_is_the_first_of_the_lowest_dev_loss() -> None:
    assert best_epoch(EPOCHS) == {"epoch": 2, "loss": 0.5, "dev_loss": 0.6}


@pytest.mark.parametrize("content", ["{}", "[]", "{"])
def test_a_damaged_curve_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / CURVE).write_text(content)
    with pytest.raises(InputError):
        read_curve(tmp_path)


def test_a_model_that_was_not_trained_in_epochs_has_none(tmp_path: Path) -> None:
    assert read_curve(tmp_path) == []
