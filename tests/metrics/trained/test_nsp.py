"""BERT-NSP against transformers, one pair at a time, on small BERTs with random weights."""

from __future__ import annotations

from pathlib import Path

from interloq import evaluate
from interloq.metrics.trained.nsp import Nsp
from tests.made_lm import chat, tiny_bert
from tests.metrics.made_contracts import UNIT, Contract

CONTRACTS = {
    "nsp": Contract(UNIT, required="model='bert'"),
}


def test_the_signature_names_the_weights(tmp_path: Path) -> None:
    folders = [tiny_bert(tmp_path / str(seed), seed=seed) for seed in range(2)]
    first, second = (evaluate(Nsp(str(folder)), chat()) for folder in folders)
    assert first.signature.parts["built-with"].startswith("bert-")
    assert first.signature.parts["built-with"] != second.signature.parts["built-with"]
