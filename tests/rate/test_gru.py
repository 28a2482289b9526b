"""The rater `gru`: its spec, its signature and its folder."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pytest

from interloq import Sample, create, spec
from interloq.errors import InputError
from interloq.rate.gru import Gru
from interloq.rate.model import PIECES
from tests.rate.made_gru_rater import SAMPLE


def test_a_folder_that_is_not_a_rater_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="use the folder of a rater"):
        Gru(str(tmp_path)).rate([Sample("1", ["tea ?"], "yes", ["no"])])


def test_spec_and_signature(small: Path, learned: Path, tmp_path: Path) -> None:
    rater = create(f"gru(model={str(small)!r},mode='signed_max',gold='rated',calibrated=True)", kind="rater")
    assert create(spec(rater), kind="rater") == rater
    assert str(small) not in str(rater.signature())
    copy = shutil.copytree(small, tmp_path / "elsewhere")
    assert dataclasses.replace(rater, model=str(copy)).signature() == rater.signature()
    others = [
        dataclasses.replace(rater, **change)
        for change in ({"model": str(learned)}, {"mode": "linear"}, {"gold": "one"}, {"calibrated": False})
    ]
    assert len({rater.signature(), *(other.signature() for other in others)}) == 5


def test_a_model_that_was_trained_again_is_loaded_again(copied: Path, learned: Path) -> None:
    rater = Gru(str(copied))
    before = rater.rate([SAMPLE])
    for name in ("model.safetensors", PIECES, "model.json"):
        shutil.copyfile(learned / name, copied / name)
    assert rater.rate([SAMPLE]) == Gru(str(learned)).rate([SAMPLE]) != before
