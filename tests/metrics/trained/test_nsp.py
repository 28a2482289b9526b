"""BERT-NSP against transformers, one pair at a time, on small BERTs with random weights."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import Sample, create, evaluate, spec
from interloq.metrics.trained.nsp import Nsp
from interloq.models.nsp import NextSentence
from tests.conftest import by_id
from tests.made_lm import chat, literal, tiny_bert
from tests.metrics.made_contracts import UNIT, Contract

CONTRACTS = {
    "nsp": Contract(UNIT, required="model='bert'"),
}


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("bert"))


def test_the_order_of_the_two_texts_matters(bert: Path) -> None:
    first, second = NextSentence(str(bert), device="cpu").scores(["how", "day"], ["day", "how"])
    assert first == pytest.approx(literal(bert, "how", "day"), abs=1e-5)
    assert second == pytest.approx(literal(bert, "day", "how"), abs=1e-5)
    assert first != pytest.approx(second, abs=1e-4)


def test_odd_samples(bert: Path) -> None:
    samples = [
        Sample("alone", (), "it was"),
        Sample("blank", ["hi", " \n"], "it was"),
        Sample("empty", ["how was it ?"], "\u3000"),
        Sample("long", ["how was it ? " * 90], "day " * 500),
        Sample("unknown", ["日"], "🙂🙂"),
    ]
    result = evaluate(Nsp(str(bert)), samples)
    assert by_id(result.reasons) == {"alone": "no context", "blank": "no context"}
    assert by_id(result.by_sample)["empty"] == 0
    assert all(0 < by_id(result.by_sample)[id] < 1 for id in ("long", "unknown"))


def test_the_signature_names_the_weights(bert: Path, tmp_path: Path) -> None:
    other = tiny_bert(tmp_path, seed=1)
    first, second = (evaluate(Nsp(str(folder)), chat()) for folder in (bert, other))
    assert first.signature.parts["built-with"].startswith("bert-")
    assert first.signature.parts["built-with"] != second.signature.parts["built-with"]
    assert create(spec(Nsp("x"))) == Nsp("x")
