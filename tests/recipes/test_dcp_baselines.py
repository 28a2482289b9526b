"""Baselines whose networks are first pretrained further on the log."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import dcp_baselines as recipe
import numpy as np
import pytest
from dcp_baselines import AM, AM_FM, FED, FM, RUBER, Networks
from interlocutor_arms import DATA, MODELS, samples_of

from interloq import Sample, write
from interloq.learn.store import FACTS
from interloq.metrics.combined.am_fm import SHARE, normalise
from interloq.records import Pair
from interloq.score.evaluate import evaluate
from tests.made_bert import tiny_bert
from tests.made_lm import tiny_lm
from tests.made_rater import topic_log


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("out")
    pairs = [Pair(str(i), pair.utterance, pair.response) for i, pair in enumerate(topic_log(60))]
    data = folder / DATA / "byu"
    write(data / "pairs.jsonl.zst", pairs, kind="pairs")
    for part, some in (("dev", pairs[:8]), ("test", pairs[8:20])):
        samples = [Sample(pair.id, [pair.utterance], pair.response) for pair in some]
        write(data / f"{part}.jsonl.zst", samples, kind="samples")
    return folder


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> Networks:
    folder = tmp_path_factory.mktemp("networks")
    return Networks(str(tiny_bert(folder / "encoder")), lm=str(tiny_lm(folder / "lm", positions=256)), device="cpu")


def test_adapted_networks_score_instead_of_the_given_ones(out: Path, networks: Networks) -> None:
    plain = recipe.scores("byu", out, networks)
    adapted = recipe.scores("byu", out, replace(networks, adapt=1))
    assert set(plain) == set(adapted) == {AM, FM, AM_FM, FED, RUBER}
    for title in plain:
        assert np.abs(plain[title]["test"] - adapted[title]["test"]).max() > 1e-6
    folder = out / MODELS / "lm-byu-adapted-1"
    samples = samples_of(out / DATA / "byu", "test")
    found = evaluate(f"deep_fm(model={str(folder)!r})", samples).by_sample
    assert adapted[FM]["test"] == pytest.approx([found[sample.key] for sample in samples])
    cuts = [np.nanquantile(np.concatenate(list(adapted[title].values())), SHARE) for title in (AM, FM)]
    expected = (normalise(adapted[AM]["test"], cuts[0]) + normalise(adapted[FM]["test"], cuts[1])) / 2
    assert adapted[AM_FM]["test"] == pytest.approx(expected)
    assert (out / MODELS / "bert-ruber-byu-adapted-1" / FACTS).exists()


def test_networks_that_are_not_given_are_not_adapted(out: Path, networks: Networks) -> None:
    adapted = recipe.adapted("byu", out, replace(networks, lm="", adapt=1))
    assert adapted.lm == ""
    assert Path(adapted.encoder).name == "encoder-byu-adapted-1"
