"""PMI: the difference of two likelihoods, each as the metric `perplexity` has it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from interloq import Sample, create, evaluate
from interloq.errors import InputError
from interloq.metrics.likelihood.perplexity import Perplexity
from interloq.metrics.likelihood.pmi import Pmi
from tests.conftest import by_id
from tests.metrics.made_contracts import REAL, Contract

CONTRACTS = {
    "pmi": Contract(REAL, variants=["pmi(model='lm',over='sum',turns=1,layout='lines')"], required="model='lm'"),
}

CHAT = [
    Sample("a", ["hi .", "how was it ?"], "it was a very good day ."),
    Sample("b", ["how was it ?"], "no idea , sorry ."),
    Sample("c", ["one", "two", "three", "hi .", "how was it ?"], "日本語"),
]


@pytest.mark.parametrize("layout", ["eos", "lines"])
def test_it_is_what_the_context_takes_off_the_surprise(lm: Path, layout: str) -> None:
    after, alone = (
        np.log(
            list(
                evaluate(
                    create(f"perplexity(model={str(lm)!r},context={context},layout={layout!r})"), CHAT
                ).by_sample.values()
            )
        )
        for context in (True, False)
    )
    found = evaluate(create(f"pmi(model={str(lm)!r},layout={layout!r},turns=9)"), CHAT)
    assert list(found.by_sample.values()) == pytest.approx(alone - after, abs=1e-5)
    assert found.value == pytest.approx(float(np.mean(alone - after)), abs=1e-5)
    assert np.abs(alone - after).min() > 1e-4, "the context says something"


def test_the_sum_is_of_all_tokens(lm: Path) -> None:
    both = [evaluate(Pmi(str(lm), over), CHAT).by_sample for over in ("mean", "sum")]
    _, tokens = Pmi(str(lm))._log_likelihoods([()] * len(CHAT), [sample.response for sample in CHAT])
    assert [both[1][s.key] for s in CHAT] == pytest.approx(
        [both[0][s.key] * n for s, n in zip(CHAT, tokens, strict=True)]
    )


def test_turns_from_the_end_are_read(lm: Path) -> None:
    short = [Sample(sample.id, sample.context[-2:], sample.response) for sample in CHAT]
    found, expected = evaluate(Pmi(str(lm), turns=2), CHAT).by_sample, evaluate(Pmi(str(lm)), short).by_sample
    assert dict(found) == pytest.approx(dict(expected), abs=1e-6)
    assert found["c", ""] != pytest.approx(by_id(evaluate(Pmi(str(lm)), CHAT).by_sample)["c"], abs=1e-6)


def test_what_cannot_be_scored(lm: Path) -> None:
    samples = [
        Sample("none", [], "hi ."),
        Sample("blank", ["hi .", " "], "so"),
        Sample("empty", ["hi ."], " "),
        CHAT[0],
    ]
    result = evaluate(Pmi(str(lm)), samples)
    assert by_id(result.reasons) == {"none": "no context", "blank": "no context", "empty": "empty reply"}
    assert result.value == pytest.approx(evaluate(Pmi(str(lm)), CHAT[:1]).value, abs=1e-6)
    assert np.isnan(Pmi(str(lm)).stats(samples)[:3]).any(axis=1).all()


def test_bad_fields(lm: Path) -> None:
    with pytest.raises(InputError, match="turns must be at least 1, got 0"):
        create(f"pmi(model={str(lm)!r},turns=0)")


def test_the_signature_names_the_weights(lm: Path) -> None:
    assert (
        evaluate(Pmi(str(lm)), CHAT).signature.parts["built-with"]
        == evaluate(Perplexity(str(lm)), CHAT).signature.parts["built-with"]
    )
    assert lm.name not in str(evaluate(Pmi(str(lm)), CHAT).signature)
