"""Jobs: folders of earlier versions resume."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from interloq.learn.job import train
from interloq.learn.settings import Training
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


def test_networks_of_our_own_are_trained_without_transformers() -> None:
    """The extra `rater` does not install it."""
    modules = ("interloq.rate.learning", "interloq.scorers.ruber.job", "interloq.rate.gru", "interloq.rate.model")
    command = f"import sys; sys.modules['transformers'] = None\nimport {', '.join(modules)}"
    subprocess.run([sys.executable, "-c", command], check=True)
