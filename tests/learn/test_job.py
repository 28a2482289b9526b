"""Jobs: folders of earlier versions resume."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import torch

from interloq.learn.job import train
from interloq.learn.settings import Training
from interloq.rate.settings import Shape
from interloq.signature import fingerprint
from tests.made_rater import rater_job, small_rater
from tests.made_relevance import SMALL, scorer_job, small_scorer


def test_raters_named_no_job(tmp_path: Path) -> None:
    small_rater(tmp_path)
    facts = json.loads((tmp_path / "rater" / "model.json").read_text())
    del facts["job"]
    (tmp_path / "rater" / "model.json").write_text(json.dumps(facts))
    lines: list[str] = []
    train(rater_job(tmp_path, 40, training=Training(epochs=1)), tmp_path / "rater", report=lines.append)
    assert lines == ["rater is already trained"]


def test_jobs_of_scorers_named_the_number_of_exchanges(tmp_path: Path) -> None:
    folder = small_scorer(tmp_path)
    facts = json.loads((folder / "model.json").read_text())
    job = scorer_job(tmp_path, SMALL, epochs=1)
    assert facts["job"] == fingerprint(*job.parts)
    facts["job"] = fingerprint(*job.parts, str(facts["examples"]["exchanges"]))
    (folder / "model.json").write_text(json.dumps(facts))
    lines: list[str] = []
    train(job, folder, report=lines.append)
    assert lines == ["relevance is already trained"]


def test_the_number_of_cores_does_not_change_the_weights(tmp_path: Path) -> None:
    """Sums of float32 depend on the number of threads: a job computes with its own, not with the machine's."""
    before, weights = torch.get_num_threads(), []
    job = rater_job(tmp_path, 40, shape=Shape(embedding=8, hidden=8, layers=2, width=1024), training=Training(epochs=1))
    try:
        for cores in (1, 2, 4):
            torch.set_num_threads(cores)
            folder = tmp_path / str(cores)
            train(job, folder, device="cpu")
            assert torch.get_num_threads() == cores
            weights.append((folder / "model.safetensors").read_bytes())
    finally:
        torch.set_num_threads(before)
    assert weights[1:] == weights[:1] * 2
    assert "threads=1" in json.loads((tmp_path / "1" / "model.json").read_text())["signature"]


def test_networks_of_our_own_are_trained_without_transformers() -> None:
    """The extra `rater` does not install it."""
    modules = "interloq.scorers.ruber.job, interloq.rate.learning, interloq.rate.network_rater, interloq.rate.gru_model"
    command = f"import sys; sys.modules['transformers'] = None\nimport {modules}"
    subprocess.run([sys.executable, "-c", command], check=True)
