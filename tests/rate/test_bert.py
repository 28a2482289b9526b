"""Weights from the chances of a BERT rater."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import pytest

from interloq import Reference, Sample, create, spec
from interloq.errors import InputError
from interloq.rate.bert import Bert
from interloq.rate.bert_model import BertRaterModel
from interloq.rate.gru import Gru
from tests.rate.made_bert_rater import literal

GOLD = Reference("i like tea", 0.5)
PARROT = Reference("tea ?", 0.3, "parrot")
FOUND = Reference("so much tea", 0.1, "retrieved:1")
OTHER = Reference("the rain", 1.0, "retrieved:2")
SAMPLE = Sample("1", ["rain today", " tea ? "], "yes tea", [GOLD, PARROT, FOUND, OTHER])


def test_raters_of_the_other_kind_are_refused(small_bert: Path, small: Path) -> None:
    with pytest.raises(InputError, match="the folder contains a 'rater', not a 'bert_rater'; use a bert_rater"):
        Bert(str(small)).rate([SAMPLE])
    with pytest.raises(InputError, match="the folder contains a 'bert_rater', not a 'rater'; use a rater"):
        Gru(str(small_bert)).rate([SAMPLE])


@pytest.mark.parametrize("calibrated", [False, True])
@pytest.mark.parametrize("mode", ["linear", "signed_max"])
def test_weights_come_from_the_chances(learned_bert: Path, mode: Any, calibrated: bool) -> None:
    model = BertRaterModel.load(learned_bert)
    temperature = model.facts["temperature"] if calibrated else 1.0
    p = [literal(model, ("tea ?", GOLD.text, r.text), temperature) for r in SAMPLE.references]
    weights = [2 * x - 1 if mode == "linear" else (x if x > 0.5 else x - 1) for x in p]
    (rated,) = Bert(str(learned_bert), mode=mode, gold="rated", calibrated=calibrated).rate([SAMPLE])
    assert [r.weight for r in rated.references] == pytest.approx(weights, abs=1e-5)
    (rated,) = Bert(str(learned_bert), mode=mode, calibrated=calibrated).rate([SAMPLE])
    assert [r.weight for r in rated.references] == pytest.approx([1.0, *weights[1:]], abs=1e-5)
    assert weights[2] > weights[3]


def test_without_gold_reply_or_context_nothing_weighs(small_bert: Path) -> None:
    no_gold = dataclasses.replace(SAMPLE, references=(PARROT, FOUND))
    no_context = dataclasses.replace(SAMPLE, context=())
    rated = Bert(str(small_bert)).rate([no_gold, SAMPLE, no_context])
    assert [[r.weight for r in s.references] for s in (rated[0], rated[2])] == [[0, 0], [0] * 4]
    alone = Bert(str(small_bert)).rate([SAMPLE])[0]
    assert [r.weight for r in rated[1].references] == pytest.approx([r.weight for r in alone.references], abs=1e-5)
    assert Bert(str(small_bert)).rate([]) == []


def test_spec_and_signature(small_bert: Path, learned_bert: Path, tmp_path: Path) -> None:
    rater = create(f"bert(model={str(small_bert)!r},mode='signed_max',gold='rated',calibrated=True)", kind="rater")
    assert create(spec(rater), kind="rater") == rater
    assert str(small_bert) not in str(rater.signature())
    copy = shutil.copytree(small_bert, tmp_path / "elsewhere")
    assert dataclasses.replace(rater, model=str(copy)).signature() == rater.signature()
    others = [
        dataclasses.replace(rater, **change)
        for change in ({"model": str(learned_bert)}, {"mode": "linear"}, {"gold": "one"}, {"calibrated": False})
    ]
    assert len({rater.signature(), *(other.signature() for other in others)}) == 5


def test_a_model_that_was_trained_again_is_loaded_again(copied_bert: Path, learned_bert: Path) -> None:
    rater = Bert(str(copied_bert))
    before = rater.rate([SAMPLE])
    for path in learned_bert.iterdir():
        shutil.copyfile(path, copied_bert / path.name)
    assert rater.rate([SAMPLE]) == Bert(str(learned_bert)).rate([SAMPLE]) != before
