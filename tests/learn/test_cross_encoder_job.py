"""What the jobs of all cross-encoders share; each job is trained in `test_jobs_contract.py`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from interloq.learn.cross_encoder_job import PairRows
from interloq.learn.low_rank import has_updates
from interloq.learn.settings import LowRank
from interloq.learn.start import Start
from interloq.models.cross_encoder import rows
from interloq.models.pretrained import Subwords
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
