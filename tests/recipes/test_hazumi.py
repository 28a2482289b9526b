"""The four rows of Hazumi on made samples: prepared, trained once, and printed again from stored predictions."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import hazumi
import pytest
from interlocutor_arms import Plan

from interloq.data.records.jsonl import write
from tests.data.sets.made_sets import write_hazumi
from tests.made_relevance import tiny_encoder
from tests.scorers.interlocutor.made_models import judged


def test_samples_are_prepared(tmp_path: Path) -> None:
    write_hazumi(tmp_path / "data" / "hazumi1902")
    hazumi.prepare(argparse.Namespace(data=str(tmp_path / "data"), out=str(tmp_path / "out"), quick=False))
    (sample,) = Plan(tmp_path / "out").samples(hazumi.arms()[0], "train")
    assert {rating.aspect for rating in sample.ratings} == {"impression"}
    assert not (tmp_path / "out" / "data" / "hazumi.jsonl").exists()


def test_rows_and_claims(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for seed, (part, n) in enumerate((("train", 40), ("dev", 10), ("test", 20))):
        samples = judged(n, seed=seed, judges=("ann", "bob", "cat"), aspect="impression")
        write(tmp_path / "data" / "hazumi" / f"{part}.jsonl", samples, kind="samples")
    tiny_encoder(tmp_path / "encoder")
    options = ["--out", str(tmp_path), "--encoder", str(tmp_path / "encoder"), "--device", "cpu", "--quick"]
    assert hazumi.main([*options, "--tables"]) == 2
    assert "no predictions of 'outsider'; run with --train first" in capsys.readouterr().err
    assert hazumi.main([*options, "--train"]) == 0
    assert hazumi.main([*options, "--tables", "--resamples", "20"]) == 0
    shown = capsys.readouterr().out
    for words in ("interlocutor, aware above user mean", "within users", "0.496"):
        assert words in shown
    found = json.loads((tmp_path / "results.json").read_text())
    assert {*hazumi.PUBLISHED, "user mean", "outsiders' own mean"} == found["rows"].keys()
    assert found["trainings"]["interlocutor-token"][0]["rate"] == 3e-5
    for model in (tmp_path / "models").iterdir():
        (model / "model.safetensors").unlink()
    assert hazumi.main([*options, "--train"]) == 0, "finished trainings are not repeated"
