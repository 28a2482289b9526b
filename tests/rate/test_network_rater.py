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

from interloq import InputError, Reference, Sample, create, spec
from interloq.data.corpus.dialogues import pairs_of_dialogue
from interloq.learn.calibrate import CALIBRATION
from interloq.learn.learning_curve import read_curve
from interloq.rate.bert_model import BertRaterModel
from interloq.rate.gru_model import RaterModel
from interloq.rate.network_rater import BETWEEN, Bert, Gru, weights, with_contexts
from interloq.records import Dialogue, Pair, Turn
from tests.made_rater import new_triplets
from tests.rate.made_bert_rater import literal as literal_bert
from tests.rate.made_gru_rater import FIRST, PARROT, SAMPLE, SECOND, literal

GOLD = SAMPLE.references[0]
BOTH = pytest.mark.parametrize("kind", ["gru", "bert"])
MODELS: dict[str, Any] = {"gru": RaterModel, "bert": BertRaterModel}
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


@BOTH
@pytest.mark.parametrize("calibrated", [False, True])
def test_chances_are_those_of_one_triplet_at_a_time(kind: str, folders: tuple[Path, Path], calibrated: bool) -> None:
    model = MODELS[kind].load(folders[1])
    assert model.facts["temperature"] != 1
    temperature = model.facts["temperature"] if calibrated else 1.0
    if kind == "gru":
        expected = [literal(model, *triplet, temperature) for triplet in TRIPLETS]
    else:
        expected = [literal_bert(model, triplet, temperature) for triplet in TRIPLETS]
    assert model.chances(TRIPLETS, calibrated=calibrated) == pytest.approx(expected, abs=1e-5)
    assert model.chances([]).shape == (0,)


def chances_of(folder: Path, sample: Sample, *, calibrated: bool = False) -> dict[str, float]:
    """P of every reference, literally: the mean over gold replies."""
    model = RaterModel.load(folder)
    temperature = model.facts["temperature"] if calibrated else 1.0
    golds = [r.text for r in sample.references if r.source not in ("parrot",) and "retrieved" not in r.source]
    utterance = sample.context[-1].text.strip()
    return {
        r.text: sum(literal(model, utterance, gold, r.text, temperature) for gold in golds) / len(golds)
        for r in sample.references
    }


def weights_of(folder: Path, sample: Sample, **fields: Any) -> list[float]:
    (rated,) = Gru(str(folder), **fields).rate([sample])
    assert dataclasses.replace(rated, references=sample.references) == sample
    assert [(r.text, r.source) for r in rated.references] == [(r.text, r.source) for r in sample.references]
    return [r.weight for r in rated.references]


@pytest.mark.parametrize("calibrated", [False, True])
def test_linear_is_twice_p_minus_one(learned: Path, calibrated: bool) -> None:
    p = chances_of(learned, SAMPLE, calibrated=calibrated)
    expected = [1.0, *(2 * p[r.text] - 1 for r in (PARROT, FIRST, SECOND))]
    assert weights_of(learned, SAMPLE, calibrated=calibrated) == pytest.approx(expected, abs=1e-6)
    assert expected[2] > 0 > expected[3]


def test_signed_max_is_the_surer_label_with_its_sign(learned: Path) -> None:
    p = chances_of(learned, SAMPLE)
    expected = [1.0, *(max(p[r.text], 1 - p[r.text]) * (1 if p[r.text] > 0.5 else -1) for r in (PARROT, FIRST, SECOND))]
    found = weights_of(learned, SAMPLE, mode="signed_max")
    assert found == pytest.approx(expected, abs=1e-6)
    assert all(abs(weight) >= 0.5 for weight in found)


def test_weights_at_the_border() -> None:
    chances = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    assert weights(chances, "linear").tolist() == [-1, -0.5, 0, 0.5, 1]
    assert weights(chances, "signed_max").tolist() == [-1, -0.75, -0.5, 0.75, 1]


def test_a_rated_gold_reply_is_rated_like_the_rest(learned: Path) -> None:
    p = chances_of(learned, SAMPLE)
    expected = [2 * p[r.text] - 1 for r in SAMPLE.references]
    assert weights_of(learned, SAMPLE, gold="rated") == pytest.approx(expected, abs=1e-6)


def test_several_gold_replies_count_alike(learned: Path) -> None:
    golds = [Reference("i like tea"), Reference("the rain", source="human"), Reference("football today")]
    sample = dataclasses.replace(SAMPLE, references=(FIRST, *golds, PARROT))
    p = chances_of(learned, sample)
    expected = [2 * p[FIRST.text] - 1, 1, 1, 1, 2 * p[PARROT.text] - 1]
    assert weights_of(learned, sample) == pytest.approx(expected, abs=1e-6)
    rated = [2 * p[r.text] - 1 for r in sample.references]
    assert weights_of(learned, sample, gold="rated") == pytest.approx(rated, abs=1e-6)


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


def test_gold_replies_alone(small: Path) -> None:
    sample = dataclasses.replace(SAMPLE, references=(Reference("i like tea", 0.2),))
    assert weights_of(small, sample) == [1.0]


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
    made = {"gru": Gru, "bert": Bert}[kind]
    rater = made(str(shutil.copytree(small, tmp_path / "rater")))
    before = rater.rate([SAMPLE])
    for path in learned.iterdir():
        shutil.copyfile(path, tmp_path / "rater" / path.name)
    assert rater.rate([SAMPLE]) == made(str(learned)).rate([SAMPLE]) != before


@pytest.mark.parametrize("calibrated", [False, True])
@pytest.mark.parametrize("mode", ["linear", "signed_max"])
def test_weights_come_from_the_chances(learned_bert: Path, mode: Any, calibrated: bool) -> None:
    model = BertRaterModel.load(learned_bert)
    temperature = model.facts["temperature"] if calibrated else 1.0
    p = np.array([literal_bert(model, ("tea ?", GOLD.text, r.text), temperature) for r in SAMPLE.references])
    expected = weights(p, mode).tolist()
    (rated,) = Bert(str(learned_bert), mode=mode, gold="rated", calibrated=calibrated).rate([SAMPLE])
    assert [r.weight for r in rated.references] == pytest.approx(expected, abs=1e-5)
    (rated,) = Bert(str(learned_bert), mode=mode, calibrated=calibrated).rate([SAMPLE])
    assert [r.weight for r in rated.references] == pytest.approx([1.0, *expected[1:]], abs=1e-5)
    assert expected[2] > expected[3]


def contexts(pairs: list[Pair], most: int) -> list[list[str]]:
    return [pair.utterance.split(BETWEEN) for pair in with_contexts(pairs, most)]


def test_the_turns_before_an_utterance_are_those_of_its_dialogue() -> None:
    turns = [Turn(text, speaker) for text, speaker in zip("abcd", "xyxy", strict=True)]
    pairs = [pair for name in "12" for pair in pairs_of_dialogue(Dialogue(name, turns))]
    assert contexts(pairs, 2) == [["a"], ["a", "b"], ["b", "c"]] * 2
    assert [pair.response for pair in with_contexts(pairs, 2)] == list("bcdbcd")


def test_a_missing_pair_ends_the_context() -> None:
    pairs = list(pairs_of_dialogue(Dialogue("1", [Turn(text) for text in "abcd"])))
    assert contexts([pairs[0], pairs[2]], 3) == [["a"], ["c"]]


def test_answers_to_one_post_share_its_context() -> None:
    pairs = [Pair("2", "a", "b", "1", "t"), Pair("3", "b", "c", "2", "t"), Pair("4", "b", "d", "2", "t")]
    assert contexts(pairs, 3) == [["a"], ["a", "b"], ["a", "b"]]
    assert contexts([Pair("2", "a", "b", "1"), Pair("3", "b", "c", "2")], 3) == [["a"], ["b"]]  # without threads


def test_an_utterance_without_text_stays_empty() -> None:
    pairs = [Pair("2", "a", "b", "1", "t"), Pair("3", " ", "c", "2", "t")]
    assert [pair.utterance for pair in with_contexts(pairs, 3)] == ["a", " "]
