"""VUP: whether a reply is well formed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from interloq import InputError, Sample, evaluate
from interloq.metrics.trained.valid import Valid
from interloq.scorers.relevance.model import ValidScorer
from interloq.scorers.relevance.settings import VALID
from tests.made_relevance import small_scorer
from tests.metrics.made_usl_h import REPLIES, chat, scores


@pytest.fixture(scope="module")
def form(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(small_scorer(tmp_path_factory.mktemp("form"), settings=replace(VALID, batch=32, reply=12)))


@pytest.fixture(scope="module")
def follows(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(small_scorer(tmp_path_factory.mktemp("follows")))


def test_valid_reads_the_reply_alone(form: str) -> None:
    alone = [Sample(sample.id, (), sample.response) for sample in chat()]
    found = scores(Valid(form), chat())
    assert found == pytest.approx(ValidScorer.load(form, device="cpu").of(REPLIES), abs=1e-6)
    assert found == scores(Valid(form), alone)
    assert all(0 < score < 1 for score in found)
    assert found[1] == found[4]
    assert evaluate(Valid(form), chat()).signature.parts["built-with"].startswith("valid-")


def test_an_empty_reply_is_not_valid(form: str) -> None:
    result = evaluate(Valid(form), chat(["", " \u3000", "ξψ", "day " * 500]))
    assert list(result.by_sample.values())[:2] == [0, 0]
    assert all(0 < score < 1 for score in list(result.by_sample.values())[2:])
    assert not any(result.reasons.values())


def test_valid_needs_its_own_kind_of_folder(follows: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="contains a 'relevance', not a 'valid'"):
        evaluate(Valid(follows), chat())
    with pytest.raises(InputError, match="no model in the folder"):
        evaluate(Valid(str(tmp_path)), chat())
