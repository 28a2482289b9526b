"""Weights from the chances of a trained rater, a Bi-GRU or BERT."""

from __future__ import annotations

import dataclasses
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
import torch

from interloq import InputError, Reference, Sample, create, spec
from interloq.data.corpus.dialogues import pairs_of_dialogue
from interloq.learn.calibrate import CALIBRATION
from interloq.learn.learning_curve import read_curve
from interloq.models.cross_encoder import rows
from interloq.rate.bert_model import BertRaterModel
from interloq.rate.gru_model import RaterModel
from interloq.rate.network_rater import BETWEEN, Bert, Gru, NetworkRater, weights, with_contexts
from interloq.records import Dialogue, Pair, Turn
from tests.made_rater import new_triplets

GOLD = Reference("i like tea", 0.5)
PARROT = Reference("tea ?", 0.3, "parrot")
FIRST, SECOND = Reference("so much tea", 0.1, "retrieved:1"), Reference("the rain", 1.0, "retrieved:2")
SAMPLE = Sample("1", ["rain today", " tea ? "], "yes tea", [GOLD, PARROT, FIRST, SECOND])
BOTH = pytest.mark.parametrize("kind", ["gru", "bert"])
MODELS: dict[str, Any] = {"gru": RaterModel, "bert": BertRaterModel}
RATERS = {"gru": Gru, "bert": Bert}
Triplet = tuple[str, str, str]
TRIPLETS = [("tea ?", "i like tea", "tea then"), ("rain ?", "", "so much rain"), ("昨日は", "🙂", "猫")]
TRIPLETS += [("tea ?", "tea then", "i like tea"), ("tea " * 90, "rain " * 90, "cats " * 90)]


@pytest.fixture
def folders(kind: str, request: pytest.FixtureRequest) -> tuple[Path, Path]:
    """A rater that was hardly trained, and one that learned its log."""
    suffix = {"gru": "", "bert": "_bert"}[kind]
    return request.getfixturevalue(f"small{suffix}"), request.getfixturevalue(f"learned{suffix}")


@BOTH
def test_it_learns_what_a_reply_is(kind: str, folders: tuple[Path, Path]) -> None:
    learned = folders[1]
    best = min(epoch["dev_loss"] for epoch in read_curve(learned))
    assert best < {"gru": 0.6, "bert": 0.8}[kind] * math.log(2)
    facts = orjson.loads((learned / CALIBRATION).read_bytes())
    assert facts["nll"] == pytest.approx(best, abs=0.1)  # of the first triplets, the curve's of both
    model = MODELS[kind].load(learned)
    assert facts["temperature"] == model.facts["temperature"]
    true, wrong = (model.chances(triplets) for triplets in new_triplets())
    assert np.mean(true > wrong) > {"gru": 0.85, "bert": 0.75}[kind]
    assert np.mean(true) > np.mean(wrong) + 0.2


@torch.inference_mode()  # type: ignore[untyped-decorator]
def gru_logits(model: RaterModel, triplet: Triplet) -> torch.Tensor:
    """From the pieces on."""
    texts = [model.pieces.texts([text]).tokens.astype(np.int64) for text in triplet]
    lengths = torch.tensor([len(text) for text in texts])
    return model.network(torch.from_numpy(np.concatenate(texts)), lengths, torch.tensor([[0, 1, 2]]))[0]


@torch.inference_mode()  # type: ignore[untyped-decorator]
def bert_logits(model: BertRaterModel, triplet: Triplet) -> torch.Tensor:
    """From the tokens on."""
    texts = [model.subwords.texts([text]).tokens for text in triplet]
    return model.network(rows([texts], model.subwords, limit=64))[0]


LOGITS: dict[str, Any] = {"gru": gru_logits, "bert": bert_logits}


def literal(kind: str, model: Any, triplet: Triplet, *, calibrated: bool = False) -> float:
    """P of one triplet alone."""
    temperature = model.facts["temperature"] if calibrated else 1.0
    return float(torch.softmax(LOGITS[kind](model, triplet).double() / temperature, dim=0)[1])


@BOTH
@pytest.mark.parametrize("calibrated", [False, True])
def test_chances_are_those_of_one_triplet_at_a_time(kind: str, folders: tuple[Path, Path], calibrated: bool) -> None:
    model = MODELS[kind].load(folders[1])
    assert model.facts["temperature"] != 1
    expected = [literal(kind, model, triplet, calibrated=calibrated) for triplet in TRIPLETS]
    assert model.chances(TRIPLETS, calibrated=calibrated) == pytest.approx(expected, abs=1e-5)
    assert model.chances([]).shape == (0,)


@BOTH
@pytest.mark.parametrize("calibrated", [False, True])
@pytest.mark.parametrize("mode", ["linear", "signed_max"])
def test_weights_come_from_the_chances(kind: str, folders: tuple[Path, Path], mode: Any, calibrated: bool) -> None:
    model = MODELS[kind].load(folders[1])
    triplets = [("tea ?", GOLD.text, reference.text) for reference in SAMPLE.references]
    expected = weights(np.array([literal(kind, model, t, calibrated=calibrated) for t in triplets]), mode).tolist()
    rater = RATERS[kind](str(folders[1]), mode=mode, calibrated=calibrated)
    assert weights_of(rater, SAMPLE) == pytest.approx([1.0, *expected[1:]], abs=1e-5)
    assert weights_of(dataclasses.replace(rater, gold="rated"), SAMPLE) == pytest.approx(expected, abs=1e-5)
    assert expected[2] > expected[3]


def test_several_gold_replies_count_alike(learned: Path) -> None:
    golds = [Reference("i like tea"), Reference("the rain", source="human"), Reference("football today")]
    sample = dataclasses.replace(SAMPLE, references=(FIRST, *golds, PARROT))
    model, expected = RaterModel.load(learned), []
    for reference in sample.references:
        chances = [literal("gru", model, ("tea ?", gold.text, reference.text)) for gold in golds]
        expected.append(2 * sum(chances) / len(golds) - 1)
    assert weights_of(Gru(str(learned), gold="rated"), sample) == pytest.approx(expected, abs=1e-6)
    assert weights_of(Gru(str(learned)), sample) == pytest.approx([expected[0], 1, 1, 1, expected[-1]], abs=1e-6)


def weights_of(rater: NetworkRater, sample: Sample) -> list[float]:
    (rated,) = rater.rate([sample])
    assert dataclasses.replace(rated, references=sample.references) == sample
    assert [(r.text, r.source) for r in rated.references] == [(r.text, r.source) for r in sample.references]
    return [r.weight for r in rated.references]


def test_weights_at_the_border() -> None:
    chances = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    assert weights(chances, "linear").tolist() == [-1, -0.5, 0, 0.5, 1]
    assert weights(chances, "signed_max").tolist() == [-1, -0.75, -0.5, 0.75, 1]


@pytest.mark.parametrize("gold", ["one", "rated"])
def test_without_gold_reply_or_context_nothing_weighs(small: Path, gold: Any) -> None:
    no_gold = dataclasses.replace(SAMPLE, references=(PARROT, FIRST))
    no_context = dataclasses.replace(SAMPLE, context=())
    blank = dataclasses.replace(SAMPLE, context=(dataclasses.replace(SAMPLE.context[0], text="  "),))
    bare = dataclasses.replace(SAMPLE, references=())
    rater = Gru(str(small), gold=gold)
    rated = rater.rate([no_gold, SAMPLE, no_context, bare, blank])
    assert [[r.weight for r in s.references] for s in (rated[0], *rated[2:])] == [[0, 0], [0] * 4, [], [0] * 4]
    assert rated[1] == rater.rate([SAMPLE])[0]  # those around it change nothing
    assert rater.rate([]) == []


def test_a_folder_that_is_not_a_rater_is_refused(tmp_path: Path, small_bert: Path, small: Path) -> None:
    for rater, says in (
        (Gru(str(tmp_path)), "use the folder of a rater"),
        (Bert(str(small)), "the folder contains a 'rater', not a 'bert_rater'; use a bert_rater"),
        (Gru(str(small_bert)), "the folder contains a 'bert_rater', not a 'rater'; use a rater"),
    ):
        with pytest.raises(InputError, match=says):
            rater.rate([SAMPLE])


@BOTH
def test_spec_and_signature(kind: str, folders: tuple[Path, Path], tmp_path: Path) -> None:
    small, learned = folders
    rater = create(f"{kind}(model={str(small)!r},mode='signed_max',gold='rated',calibrated=True)", kind="rater")
    assert create(spec(rater), kind="rater") == rater
    assert str(small) not in str(rater.signature())
    copy = shutil.copytree(small, tmp_path / "elsewhere")
    assert dataclasses.replace(rater, model=str(copy)).signature() == rater.signature()
    signatures = {rater.signature()}
    for change in ({"model": str(learned)}, {"mode": "linear"}, {"gold": "one"}, {"calibrated": False}):
        signatures.add(dataclasses.replace(rater, **change).signature())
    assert len(signatures) == 5


@BOTH
def test_a_model_that_was_trained_again_is_loaded_again(kind: str, folders: tuple[Path, Path], tmp_path: Path) -> None:
    small, learned = folders
    rater = RATERS[kind](str(shutil.copytree(small, tmp_path / "rater")))
    before = rater.rate([SAMPLE])
    for path in learned.iterdir():
        shutil.copyfile(path, tmp_path / "rater" / path.name)
    assert rater.rate([SAMPLE]) == RATERS[kind](str(learned)).rate([SAMPLE]) != before


def contexts(pairs: list[Pair], most: int) -> list[list[str]]:
    return [pair.utterance.split(BETWEEN) for pair in with_contexts(pairs, most)]


def test_the_turns_before_an_utterance_are_those_of_its_dialogue_up_to_a_missing_pair() -> None:
    turns = [Turn(text, speaker) for text, speaker in zip("abcd", "xyxy", strict=True)]
    pairs = [pair for name in "12" for pair in pairs_of_dialogue(Dialogue(name, turns))]
    assert contexts(pairs, 2) == [["a"], ["a", "b"], ["b", "c"]] * 2
    assert [pair.response for pair in with_contexts(pairs, 2)] == list("bcdbcd")
    pairs = list(pairs_of_dialogue(Dialogue("1", [Turn(text) for text in "abcd"])))
    assert contexts([pairs[0], pairs[2]], 3) == [["a"], ["c"]]


def test_answers_to_one_post_share_its_context_and_an_empty_utterance_stays_empty() -> None:
    pairs = [Pair("2", "a", "b", "1", "t"), Pair("3", "b", "c", "2", "t"), Pair("4", "b", "d", "2", "t")]
    assert contexts(pairs, 3) == [["a"], ["a", "b"], ["a", "b"]]
    assert contexts([Pair("2", "a", "b", "1"), Pair("3", "b", "c", "2")], 3) == [["a"], ["b"]]  # without threads
    pairs = [Pair("2", "a", "b", "1", "t"), Pair("3", " ", "c", "2", "t")]
    assert [pair.utterance for pair in with_contexts(pairs, 3)] == ["a", " "]
