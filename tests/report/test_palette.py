"""Systems must look different to everyone.

Colour vision deficiency after Machado, Oliveira and Fernandes (2009), full severity; distances in OKLab
(Ottosson, 2020), where 0.02 is about the smallest difference one sees side by side.
"""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import interloq.report

Matrix = NDArray[np.float64]
VISION: dict[str, list[list[float]]] = {
    "normal": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
TO_CONES = [
    [0.41222147, 0.53633254, 0.05144599],
    [0.21190350, 0.68069955, 0.10739696],
    [0.08830246, 0.28171884, 0.62997870],
]
TO_LAB = [
    [0.21045426, 0.79361779, -0.00407205],
    [1.97799850, -2.42859221, 0.45059371],
    [0.02590404, 0.78277177, -0.80867577],
]
APART = 0.07


def _lab(colour: str, vision: str) -> Matrix:
    channels = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    cones = np.array(TO_CONES) @ np.clip(np.array(VISION[vision]) @ linear, 0, 1)
    return np.asarray(np.array(TO_LAB) @ np.cbrt(cones))


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_any_two_colours_of_systems_stay_apart(scheme: str, vision: str) -> None:
    style = (Path(interloq.report.__file__).parent / "templates" / "style.css").read_text(encoding="utf-8")
    block = style[style.index(f"macro {scheme}()") :]
    labs = [_lab(found[1], vision) for i in range(8) if (found := re.search(rf"--c{i}: (#[0-9a-f]{{6}});", block))]
    assert len(labs) == 8
    assert min(float(np.linalg.norm(a - b)) for a, b in combinations(labs, 2)) > APART
