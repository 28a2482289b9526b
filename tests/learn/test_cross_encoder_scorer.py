"""Loading of trained scorers, of which relevance is the example."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from interloq.errors import InputError
from interloq.learn.cross_encoder_scorer import signature_of
from interloq.learn.ready import suggest_packaged
from interloq.scorers.contradiction.model import ContradictionScorer
from interloq.scorers.judge.model import load_judge
from interloq.scorers.relevance.model import RelevanceScorer, ValidScorer
from tests.made_relevance import small_scorer, tiny_encoder


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_scorer(tmp_path_factory.mktemp("scorer"))


def test_another_tokenizer_is_refused(trained: Path, tmp_path: Path) -> None:
    other = shutil.copytree(trained, tmp_path / "other")
    tiny = tiny_encoder(tmp_path / "tiny")
    text = (tiny / "tokenizer.json").read_text().replace('"tea"', '"tee"')
    (other / "tokenizer.json").write_text(text)
    with pytest.raises(InputError, match="not the one the scorer was trained with"):
        RelevanceScorer.load(other)


def test_a_signature_depends_on_the_kind_the_weights_and_the_temperature(trained: Path) -> None:
    facts = json.loads((trained / "model.json").read_text())
    signature = RelevanceScorer.load(trained, device="cpu").signature()
    assert signature == signature_of(facts)
    assert signature.startswith("relevance-")
    others = [{**facts, part: value} for part, value in (("kind", "valid"), ("weights", "x"), ("temperature", 7.0))]
    assert len({signature, *map(signature_of, others)}) == 4


@pytest.mark.parametrize(("part", "value"), [("longest", 0), ("turns", "4"), ("context", -1)])
def test_damaged_facts_are_refused(trained: Path, tmp_path: Path, part: str, value: object) -> None:
    damaged = shutil.copytree(trained, tmp_path / "damaged")
    facts = json.loads((damaged / "model.json").read_text())
    facts["config"][part] = value
    (damaged / "model.json").write_text(json.dumps(facts))
    with pytest.raises(InputError, match=part):
        RelevanceScorer.load(damaged)


@pytest.mark.parametrize(
    ("load", "name", "meant"),
    [
        (load_judge, "redy", "ready"),
        (load_judge, "ready-lrage", "ready-large"),
        (load_judge, "ready-bth", "ready-both"),
        (RelevanceScorer.load, "raedy", "ready"),
        (RelevanceScorer.load, "ready_large", "ready-large"),
        (ContradictionScorer.load, "redy", "ready"),
    ],
)
def test_a_misspelt_name_is_answered_by_the_packaged_one(load, name: str, meant: str, monkeypatch, tmp_path) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=rf"^{name}: no such folder; use the folder .* did you mean '{meant}'"):
        load(name)


def test_other_names_and_kinds_get_no_suggestion(tmp_path: Path) -> None:
    assert not suggest_packaged("out/mine", "judge")
    assert not suggest_packaged("redy", "rater")
    with pytest.raises(InputError, match=r"no such folder; use the folder of a valid model$"):
        ValidScorer.load(tmp_path / "redy")
