"""Results of augmentation that survive an interruption."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError
from interloq.reliability import augment_record as module
from interloq.reliability.augment import Augmented, Request, augment
from interloq.reliability.augment_record import AugmentRecord, augment_record
from tests.reliability.made_predictor import MadePredictor
from tests.reliability.test_augment import request, requests

RUN = {"signature": "made"}
OPTIONS = {"limit": 4, "seed": 3}


def results(path: Path, given: list[Request], model: MadePredictor) -> list[Augmented]:
    with augment_record(path, RUN) as record:
        found = record.augmented(model, given, **OPTIONS)
    return [found[one] for one in given]


def interrupted(path: Path, given: list[Request]) -> None:
    record = AugmentRecord(path, RUN)
    record.augmented(MadePredictor(), given, **OPTIONS)
    record.close(finished=False)


def test_results_are_those_of_augment_and_the_file_is_removed(tmp_path: Path) -> None:
    given = [*requests(20), request([], ["tea"]), request(["tea"], ["milk"], (" ",))]
    assert str(results(tmp_path / "part", given, MadePredictor())) == str(augment(MadePredictor(), given, **OPTIONS))
    assert not (tmp_path / "part").exists()


def test_an_interrupted_run_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 4)
    given, path = requests(12), tmp_path / "part"
    expected = str(augment(MadePredictor(), given, **OPTIONS))
    interrupted(path, given[:8])
    with path.open("ab") as file:
        file.write(b'{"request":"incompl')
    rest, model = MadePredictor(), MadePredictor()
    augment(rest, given[8:], **OPTIONS)
    assert str(results(path, given, model)) == expected
    assert model.calls == rest.calls  # nothing is predicted twice


def test_nothing_is_left_if_nothing_was_done(tmp_path: Path) -> None:
    interrupted(tmp_path / "part", [])
    assert not (tmp_path / "part").exists()


def test_files_of_other_runs_and_damaged_files_are_refused(tmp_path: Path) -> None:
    given, path = requests(3), tmp_path / "part"
    interrupted(path, given)
    with pytest.raises(InputError, match=r'from another run: signature was "made", is "other"'):
        augment_record(path, {"signature": "other"}).__enter__()
    header, first, *_ = path.read_bytes().splitlines(keepends=True)
    for line in (b"{}\n", b"tea\n", first.replace(b'"trials":[[', b'"trials":[["?",'), first.replace(b"trials", b"x")):
        path.write_bytes(header + line)
        with pytest.raises(InputError, match="the file is damaged"):
            results(path, given, MadePredictor())
    path.write_text('{"kind":"samples"}\n')
    with pytest.raises(InputError, match="not a record of augmentation"):
        results(path, given, MadePredictor())
