"""Settings of the reliability network."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from interloq import InputError
from interloq.reliability.settings import TRAINABLE, ReliabilitySettings


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"sizes": "3,x"}, "sizes must be whole numbers from 1, got '3,x'"),
        ({"sizes": "0,2"}, "sizes must be whole numbers from 1"),
        ({"dev": 1.0}, "dev must be between 0 and 1"),
        ({"negatives": -1}, "negatives and margin must not be below 0"),
        ({"margin": -0.1}, "negatives and margin must not be below 0"),
        ({"ensemble": 0}, "ensemble must be above 0"),
        ({"seed": -1}, "seed must not be below 0"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        ReliabilitySettings(**settings)


def test_defaults_are_those_of_the_paper_where_it_gives_them() -> None:
    settings = ReliabilitySettings()
    assert (settings.set_sizes, settings.per_size, settings.hidden, settings.batch) == ((3, 5, 7, 10), 25, 768, 128)
    assert TRAINABLE.settings[2].learning_rate == 5e-4


def test_every_constant_is_an_option() -> None:
    names = {name for _, name in TRAINABLE.options()}
    assert {"metric", "encoder", "negatives", "margin", "weight_decay", "sizes", "per_size", "hidden"} <= names
    assert {"ensemble", "fine_tune", "coefficient", "aspect", "learning_rate", "batch", "seed"} <= names


def test_the_settings_import_nothing_heavy() -> None:
    program = "import sys, interloq.reliability.settings; print(*{'torch','scipy','transformers'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_the_result_is_one_line() -> None:
    dev = {"mse": 0.1, "mse_of_mean": 0.3, "mse_of_size": 0.2, "wins": {"without": 0.6, "added": 0.75}}
    assert TRAINABLE.result({"best": {"dev_loss": 0.5, "epoch": 2}, "dev": dev}, []) == (
        "best dev loss 0.5000 after epoch 2; squared error on dev 0.1000, of the mean label 0.3000, "
        "of the mean label of each size 0.2000; sets score above 60.0% of those without one reference, "
        "75.0% of those with a foreign one added"
    )
