"""The unreferenced scorers of RUBER and BERT-RUBER."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch

from interloq import InputError, Sample, create, evaluate, spec
from interloq.data.text.token_texts import Texts
from interloq.learn.job import train
from interloq.learn.settings import Training
from interloq.metrics.trained.ruber_unreferenced import BertRuber, RuberUnreferenced
from interloq.scorers.bert_ruber.model import BertRuberScorer
from interloq.scorers.bert_ruber.settings import BertRuberSettings
from interloq.scorers.ruber import model as scoring
from interloq.scorers.ruber.model import PIECES, RuberScorer
from tests.conftest import by_id
from tests.made_lm import tiny_bert
from tests.made_ruber import FILLERS, TOPICS, random_scorer, topic_pairs, topic_pieces
from tests.metrics.made_contracts import UNIT, Contract
from tests.scorers.bert_ruber.conftest import bert
from tests.scorers.bert_ruber.made_scorer import job

__all__ = ["bert"]  # a fixture

CONTRACTS = {
    "bert_ruber": Contract(UNIT, required="model='bert_scorer'"),
    "ruber_unreferenced": Contract(UNIT, required="model='scorer'"),
}


def chat(n: int = 30) -> list[Sample]:
    random = Random(1)
    words = ["i", "we", "like", "tea", "rain", "cats", "really", "so", "about", "the", "trains", "猫", "?", "é"]

    def text() -> str:
        return " ".join(random.choices(words, k=random.randint(1, 9)))

    return [Sample(f"{i:03}", [text(), text()], text(), [text()]) for i in range(n)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return random_scorer(tmp_path_factory.mktemp("scorers") / "random")


def test_the_last_turn_and_the_reply_are_scored(model: Path) -> None:
    samples = chat()
    scorer = RuberScorer.load(model)
    result = evaluate(RuberUnreferenced(str(model)), samples)
    for sample in samples:
        alone = scorer.scores([sample.context[-1].text], [sample.response])
        assert by_id(result.by_sample)[sample.id] == alone[0]
    earlier = [dataclasses.replace(s, context=(*chat(1)[0].context[:1], s.context[-1])) for s in samples]
    assert dict(evaluate(RuberUnreferenced(str(model)), earlier).by_sample) == dict(result.by_sample)
    assert len(set(result.by_sample.values())) > 20
    assert all(0 < value < 1 for value in result.by_sample.values())
    assert result.value == pytest.approx(np.mean(list(result.by_sample.values())))


def test_batches_change_no_score(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = chat(60)
    whole = RuberUnreferenced(str(model)).stats(samples)
    monkeypatch.setattr(scoring, "BATCH", 7)
    monkeypatch.setattr(scoring, "TOKENS", 16)
    assert (RuberUnreferenced(str(model)).stats(samples) == whole).all()
    assert (RuberUnreferenced(str(model)).stats(samples[::-1]) == whole[::-1]).all()


def test_each_distinct_text_is_read_once(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = RuberScorer.load(model)
    read: list[str] = []
    texts = scorer.pieces.texts

    def noted(some: Sequence[str]) -> Texts:
        read.extend(some)
        return texts(some)

    monkeypatch.setattr(scorer.pieces, "texts", noted)
    scorer.scores(["tea ?"] * 3 + ["rain ?"], ["tea", "so", "tea", "so"])
    assert sorted(read) == ["rain ?", "so", "tea", "tea ?"]


def test_the_signature_names_the_weights(model: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(model, tmp_path / "copy"))
    other = random_scorer(tmp_path / "other", seed=1)
    weights = json.loads((model / "model.json").read_text())["weights"]
    signatures = [evaluate(RuberUnreferenced(str(path)), chat(3)).signature for path in (model, copy, other)]
    assert [weights in str(signature) for signature in signatures] == [True, True, False]
    blended = evaluate(create(f"ruber(referenced=bleu,unreferenced=ruber_unreferenced(model={str(model)!r}))"), chat(3))
    assert weights in str(blended.signature)
    assert blended.n == 3


def test_another_tokenizer_is_refused(model: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(model, tmp_path / "copy"))
    topic_pieces(copy / PIECES, 50)
    with pytest.raises(InputError, match="not the one the scorer was trained with"):
        RuberScorer.load(copy)
    (copy / PIECES).unlink()
    with pytest.raises(InputError, match="missing"):
        RuberScorer.load(copy)


def test_scores_are_those_of_the_network_in_single_precision(model: Path) -> None:
    """The scorer calculates with doubles; the network that was trained used floats."""
    scorer = RuberScorer.load(model)
    network = scorer.network.float()
    samples = chat(12)
    for sample in samples:
        tokens = [scorer.pieces.texts([text]) for text in (sample.context[-1].text, sample.response)]
        with torch.inference_mode():
            query, reply = (
                gru(torch.from_numpy(t.tokens).long(), torch.from_numpy(t.lengths))
                for gru, t in zip((network.query, network.reply), tokens, strict=True)
            )
            single = float(network(query, reply))
        expected = RuberUnreferenced(str(model)).stats([sample])[0, 0]
        assert single == pytest.approx(expected, abs=1e-5)


@pytest.fixture(scope="module")
def bert_model(bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "model"
    loop = Training(epochs=2, learning_rate=2e-3)
    train(job(bert, 200, BertRuberSettings(), loop), folder, device="cpu")
    return folder


def topic_chat(n: int = 12) -> list[Sample]:
    pairs = topic_pairs(n, seed=5)
    return [Sample(f"{i:02}", ["not read", pair.utterance], pair.response) for i, pair in enumerate(pairs)]


def test_scores_are_those_of_the_bert_ruber_scorer(bert_model: Path) -> None:
    samples = topic_chat()
    found = list(evaluate(BertRuber(str(bert_model)), samples).by_sample.values())
    scorer = BertRuberScorer.load(bert_model, device="cpu")
    for sample, score in zip(samples, found, strict=True):
        (alone,) = scorer.scores([sample.context[-1].text], [sample.response])
        assert score == pytest.approx(alone, abs=1e-6)
    assert len(set(found)) > 6
    assert all(0 < score < 1 for score in found)


def test_the_signature_names_scorer_and_encoder(bert_model: Path) -> None:
    scorer = BertRuberScorer.load(bert_model, device="cpu")
    signature = evaluate(BertRuber(str(bert_model)), topic_chat()).signature
    assert signature.parts["built-with"] == f"bert_ruber-{scorer.facts['weights']}-{scorer.encoder.signature()}"
    metric = BertRuber(str(bert_model), encoder="elsewhere")
    assert create(spec(metric)) == metric


def test_another_encoder_is_refused(bert_model: Path, tmp_path: Path) -> None:
    other = tiny_bert(tmp_path, head="", seed=1, words=[*TOPICS, *FILLERS])
    with pytest.raises(InputError, match=r"is not the encoder that the scorer was trained on, bert-.*train the scorer"):
        evaluate(BertRuber(str(bert_model), encoder=str(other)), topic_chat())


def test_an_encoder_that_has_moved_can_be_named(tmp_path: Path) -> None:
    bert = tiny_bert(tmp_path / "bert", head="", words=[*TOPICS, *FILLERS])
    train(job(bert, 60, BertRuberSettings()), tmp_path / "model", device="cpu")
    before = evaluate(BertRuber(str(tmp_path / "model")), topic_chat())
    shutil.move(bert, tmp_path / "moved")
    shutil.copytree(tmp_path / "model", tmp_path / "copy")
    with pytest.raises(InputError, match=r"the model folder .* does not exist"):
        evaluate(BertRuber(str(tmp_path / "copy")), topic_chat())
    after = evaluate(BertRuber(str(tmp_path / "copy"), encoder=str(tmp_path / "moved")), topic_chat())
    assert dict(after.by_sample) == dict(before.by_sample)
