"""Weights of tokens by inverse document frequency."""

from __future__ import annotations

import numpy as np
import pytest

from interloq.metrics.contextual.bertscore_idf import Idf
from interloq.metrics.contextual.token_matching import match
from interloq.models.encoder import Encoder
from tests.made_encoder import small_bert
from tests.metrics.made_matching import looped


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    return Encoder(str(small_bert(tmp_path_factory.mktemp("bert"))), device="cpu", longest=512)


def test_idf_counts_references_that_hold_a_token(encoder: Encoder) -> None:
    references = ["yes no", "yes", "yes", "no no maybe"]
    idf = Idf.of(references, encoder)
    ids = [set(encoder.numbered([text]).tokens.tolist()) for text in references]

    def weight(id: int) -> float:
        return float(np.log(5 / (1 + sum(id in held for held in ids))))

    texts = ["yes", "no maybe", "tea yes no"]
    pairs = np.array([(i, j) for i in range(3) for j in range(3)])
    for row, (i, j) in zip(match(encoder, texts, pairs, idf=idf, lowest=True), pairs, strict=True):
        assert row == pytest.approx(looped(encoder, texts[i], texts[j], weight), abs=1e-5)
    assert idf.source == Idf.of(references[::-1], encoder).source != Idf.of(references[1:], encoder).source
