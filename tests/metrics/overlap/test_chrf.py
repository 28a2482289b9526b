"""chrF, against sacrebleu's own scores."""

from __future__ import annotations

from typing import Any

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from interloq import Sample, SpecError, evaluate
from interloq.metrics.overlap.chrf import Chrf
from tests.metrics.made_contracts import UNIT, Contract

CONTRACTS = {
    "chrf": Contract(UNIT, variants=["chrf(word_order=2)", "chrf(char_order=3,beta=1,lowercase=True,whitespace=True)"]),
}

TEXT = st.text(alphabet="abA .,(é日", max_size=12)
PAIRS = st.lists(st.tuples(TEXT, st.lists(TEXT, min_size=1, max_size=3)), min_size=1, max_size=5)
Pairs = list[tuple[str, list[str]]]


def samples_of(pairs: Pairs) -> list[Sample]:
    return [Sample(str(i), (), response, references) for i, (response, references) in enumerate(pairs)]


def streams(pairs: Pairs) -> Any:
    most = max(len(references) for _, references in pairs)
    return [[references[j] if j < len(references) else None for _, references in pairs] for j in range(most)]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"word_order": 2},
        {"char_order": 3, "beta": 1},
        {"beta": 3, "lowercase": True},
        {"whitespace": True, "word_order": 1},
    ],
    ids=str,
)
@given(pairs=PAIRS)
def test_equals_sacrebleu(fields: dict[str, Any], pairs: Pairs) -> None:
    ours, theirs = Chrf(**fields), CHRF(**fields)
    rows = ours.stats(samples_of(pairs))
    by_sample = [theirs.sentence_score(response, references).score / 100 for response, references in pairs]
    assert ours.value(rows) == pytest.approx(by_sample, abs=1e-9)
    of_set = theirs.corpus_score([response for response, _ in pairs], streams(pairs)).score / 100
    assert ours.value(rows.sum(axis=0)) == pytest.approx(of_set, abs=1e-9)


def test_the_signature_names_sacrebleu() -> None:
    result = evaluate("chrf(word_order=2)", [Sample("1", (), "a b", "a b")])
    assert result.signature.name == "chrf(char_order=6,word_order=2,beta=2,lowercase=False,whitespace=False)"
    assert result.signature.parts["built-with"] == f"sacrebleu-{sacrebleu.__version__}"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"char_order": 0}, "char_order"),
        ({"word_order": -1}, "word_order"),
        ({"beta": 0}, "beta"),
        ({"beta": 0.5}, "beta"),
    ],
)
def test_wrong_fields_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        Chrf(**fields)
