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
