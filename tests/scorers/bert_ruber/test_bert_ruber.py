"""The modules of `interloq.scorers.bert_ruber`: model, settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from interloq.learn.job import train
from interloq.models.encoder import Encoder
from interloq.scorers.bert_ruber.model import BertRuberNetwork, BertRuberScorer, encode_pooled
from interloq.scorers.bert_ruber.settings import BertRuberSettings
from tests.made_ruber import topic_pairs
from tests.scorers.bert_ruber.made_scorer import job


@pytest.mark.parametrize("pooling", ["max", "mean"])
def test_vectors_are_pooled_and_keep_their_size(encoder: Encoder, pooling: Any) -> None:
    texts = ["tea", "i like the music", "trains"]
    rows = encode_pooled(encoder, texts, pooling)
    for text, row in zip(texts, rows, strict=True):
        (batch,) = encoder.encode([text])
        states = batch.states[0].numpy()
        assert row == pytest.approx(states.max(axis=0) if pooling == "max" else states.mean(axis=0), abs=1e-5)
    assert not np.allclose(np.linalg.norm(rows, axis=1), 1)


def test_the_network_is_the_formula() -> None:
    network = BertRuberNetwork(4).double()
    query, reply = torch.randn(3, 4, dtype=torch.float64), torch.randn(3, 4, dtype=torch.float64)
    with torch.inference_mode():
        found = network(query, reply)
        for q, r, logit in zip(query, reply, found, strict=True):
            values = torch.cat([q, (q @ network.matrix @ r)[None], r])
            for layer in network.layers:
                values = torch.tanh(layer.weight @ values + layer.bias)
            assert float(network.output.weight @ values + network.output.bias) == pytest.approx(float(logit))
    assert [layer.out_features for layer in network.layers] == [256, 512, 128]


def test_scores_are_those_of_the_trained_network(bert: Path, encoder: Encoder, tmp_path: Path) -> None:
    train(job(bert, 60, BertRuberSettings("max", 1)), tmp_path / "model", device="cpu")
    scorer = BertRuberScorer.load(tmp_path / "model", device="cpu")
    cut = Encoder(str(bert), layer=1, device="cpu")
    pairs = topic_pairs(7, seed=3)
    found = scorer.scores([p.utterance for p in pairs], [p.response for p in pairs])
    network = scorer.network.float()
    for pair, score in zip(pairs, found, strict=True):
        query, reply = (torch.from_numpy(encode_pooled(cut, [text], "max")) for text in (pair.utterance, pair.response))
        with torch.inference_mode():
            assert float(torch.sigmoid(network(query, reply))) == pytest.approx(score, abs=1e-5)
    assert scorer.scores([], []).shape == (0,)
