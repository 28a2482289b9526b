"""BERT-RUBER as a metric: what it scores, what it does not, and which encoder it asks for."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from interloq import InputError, Sample, create, evaluate, spec
from interloq.learn.job import train
from interloq.learn.settings import Training
from interloq.metrics.trained.bert_ruber import BertRuber
from interloq.scorers.bert_ruber.job import BertRuberJob
from interloq.scorers.bert_ruber.model import BertRuberScorer
from interloq.scorers.bert_ruber.settings import BertRuberSettings
from tests.conftest import by_id
from tests.made_lm import tiny_bert
from tests.made_ruber import FILLERS, TOPICS, random_scorer, topic_pairs


def job(encoder: Path, pairs: int, training: Training) -> BertRuberJob:
    settings = BertRuberSettings()
    return BertRuberJob(pairs=lambda: topic_pairs(pairs), encoder=str(encoder), settings=settings, training=training)


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("bert"), head="", words=[*TOPICS, *FILLERS])


@pytest.fixture(scope="module")
def model(bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "model"
    loop = Training(epochs=2, learning_rate=2e-3)
    train(job(bert, 200, loop), folder, device="cpu")
    return folder


def chat(n: int = 12) -> list[Sample]:
    pairs = topic_pairs(n, seed=5)
    return [Sample(f"{i:02}", ["not read", pair.utterance], pair.response) for i, pair in enumerate(pairs)]


def test_scores_are_those_of_the_scorer(model: Path) -> None:
    samples = chat()
    found = list(evaluate(BertRuber(str(model)), samples).by_sample.values())
    scorer = BertRuberScorer.load(model, device="cpu")
    for sample, score in zip(samples, found, strict=True):
        (alone,) = scorer.scores([sample.context[-1].text], [sample.response])
        assert score == pytest.approx(alone, abs=1e-6)
    assert len(set(found)) > 6
    assert all(0 < score < 1 for score in found)


def test_odd_samples(model: Path) -> None:
    samples = [
        Sample("alone", (), "tea"),
        Sample("blank", ["tea", "\t"], "tea"),
        Sample("empty", ["tea ?"], " "),
        Sample("long", ["tea ? " * 400], "rain " * 900),
        Sample("unknown", ["日本"], "🙂"),
    ]
    result = evaluate(BertRuber(str(model)), samples)
    assert by_id(result.reasons) == {"alone": "no context", "blank": "no context"}
    assert by_id(result.by_sample)["empty"] == 0
    assert all(0 < by_id(result.by_sample)[id] < 1 for id in ("long", "unknown"))


def test_the_signature_names_scorer_and_encoder(model: Path) -> None:
    scorer = BertRuberScorer.load(model, device="cpu")
    signature = evaluate(BertRuber(str(model)), chat()).signature
    assert signature.parts["built-with"] == f"bert_ruber-{scorer.facts['weights']}-{scorer.encoder.signature()}"
    metric = BertRuber(str(model), encoder="elsewhere")
    assert create(spec(metric)) == metric


def test_another_encoder_is_refused(model: Path, tmp_path: Path) -> None:
    other = tiny_bert(tmp_path, head="", seed=1, words=[*TOPICS, *FILLERS])
    with pytest.raises(InputError, match=r"is not the encoder that the scorer was trained on, bert-.*train the scorer"):
        evaluate(BertRuber(str(model), encoder=str(other)), chat())


def test_an_encoder_that_has_moved_can_be_named(tmp_path: Path) -> None:
    bert = tiny_bert(tmp_path / "bert", head="", words=[*TOPICS, *FILLERS])
    loop = Training(epochs=1)
    train(job(bert, 60, loop), tmp_path / "model", device="cpu")
    before = evaluate(BertRuber(str(tmp_path / "model")), chat())
    shutil.move(bert, tmp_path / "moved")
    shutil.copytree(tmp_path / "model", tmp_path / "copy")
    with pytest.raises(InputError, match=r"the model folder .* does not exist"):
        evaluate(BertRuber(str(tmp_path / "copy")), chat())
    after = evaluate(BertRuber(str(tmp_path / "copy"), encoder=str(tmp_path / "moved")), chat())
    assert dict(after.by_sample) == dict(before.by_sample)


def test_wrong_folders_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"no model\.json"):
        evaluate(BertRuber(str(tmp_path / "empty")), chat())
    with pytest.raises(InputError, match="contains a 'ruber_unreferenced', not a 'bert_ruber'"):
        evaluate(BertRuber(str(random_scorer(tmp_path / "ruber"))), chat())
