"""Training of the reliability network; what holds for every job is in the contract of jobs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from interloq import InputError, create
from interloq.learn.job import train
from interloq.learn.settings import Training
from interloq.reliability.job import USELESS, from_log, summarise_sets
from interloq.reliability.labelled_sets import make_sets
from interloq.reliability.labels import metric_id, score_replies
from interloq.reliability.settings import Sources
from interloq.retrieve.training_log import TrainingLog
from tests.made_bert import tiny_bert
from tests.reliability.made_model import SMALL, small_job


def test_facts_compare_errors_with_baselines(tmp_path: Path) -> None:
    lines: list[str] = []
    facts = train(small_job(tmp_path), tmp_path / "out", device="cpu", report=lines.append)
    dev, sets, job = facts["dev"], facts["examples"]["sets"], small_job(tmp_path)
    assert lines[0] == f"{sets['train']} sets of 10 queries for training; {sets['dev']} sets of 2 queries for dev"
    assert sorted(dev["by_size"]) == ["1", "2", "3"]
    assert dev["mse"] == pytest.approx(
        sum(part["mse"] * part["sets"] for part in dev["by_size"].values()) / sets["dev"]
    )
    assert sorted(dev["wins"]) == ["added", "replaced", "without"]
    assert all(0 <= share <= 1 for share in dev["wins"].values())
    assert facts["metric"] == {"spec": "bleu_star", "id": metric_id(create("bleu_star"))}
    assert facts["encoder"]["weights"] == job.start.fingerprint
    simpler = [dev["mse_of_mean"], dev["mse_of_size"], *dev["mse_of_rules"].values()]
    assert any(USELESS in line for line in lines) == (dev["mse"] >= min(simpler))


def test_baselines_are_means_of_training_labels(tmp_path: Path) -> None:
    job = small_job(tmp_path)
    facts = train(job, tmp_path / "out", device="cpu")
    sets = make_sets(score_replies(job.queries, job.metric), job.settings)
    known, held_out = sets.values[sets.rows("train")], sets.values[sets.rows("dev")]
    assert facts["dev"]["mse_of_mean"] == pytest.approx(np.mean((held_out - known.mean()) ** 2))
    sizes = sets.sizes[sets.rows("train")], sets.sizes[sets.rows("dev")]
    means = np.array([known[sizes[0] == size].mean() for size in sizes[1]])
    assert facts["dev"]["mse_of_size"] == pytest.approx(np.mean((held_out - means) ** 2))


def test_another_metric_is_another_job(tmp_path: Path) -> None:
    names = {small_job(tmp_path, metric=metric).name for metric in ("bleu_star", "bleu_star(order=2)")}
    names.add(small_job(tmp_path, replace(SMALL, coefficient="kendall")).name)
    assert len(names) == 3


def test_a_metric_is_its_fields_and_models_not_their_places(tmp_path: Path) -> None:
    folders = tiny_bert(tmp_path / "a"), tiny_bert(tmp_path / "b"), tiny_bert(tmp_path / "c", hidden_size=16)
    first, second, other = (metric_id(create(f"bertscore(model={str(folder)!r})")) for folder in folders)
    assert first == second != other


def test_unsuitable_metrics_are_refused_at_once() -> None:
    with pytest.raises(InputError, match="chrf with these settings is not a maximum or mean"):
        from_log(TrainingLog([]), Sources(metric="chrf"), SMALL, Training())


def test_the_summary_counts_what_was_skipped() -> None:
    facts = {
        "queries": {"train": 1, "dev": 2},
        "sets": {"train": 1, "dev": 2000},
        "skipped_queries": {"constant ratings": 3},
        "undefined_sets": {"constant scores": 4},
    }
    assert summarise_sets(facts) == (
        "1 set of 1 query for training; 2,000 sets of 2 queries for dev; "
        "skipped queries: 3 with constant ratings; undefined sets: 4 with constant scores"
    )
