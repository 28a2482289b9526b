"""Two raters as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from interloq import Reference, Sample, SpecError, create, spec
from interloq.rate.ensemble import Ensemble
from interloq.registry import Component, full_spec
from interloq.signature import Signature, signature

SAMPLE = Sample("1", ["hello"], "hi", ["gold", Reference("other", source="retrieved:1")])


@dataclass(frozen=True)
class Fixed(Component):
    """The same weights for every sample."""

    weights: tuple[float, ...] = (1.0, 0.5)

    def rate(self, samples: Sequence[Sample]) -> list[Sample]:
        return [
            replace(s, references=tuple(replace(r, weight=w) for r, w in zip(s.references, self.weights, strict=False)))
            for s in samples
        ]

    def signature(self) -> Signature:
        return signature(self)


@pytest.mark.parametrize(("share", "weight"), [(0.5, -0.15), (0.25, 0.175), (0.9, -0.67)])
def test_weights_are_the_mean_of_both(share: float, weight: float) -> None:
    (rated, bare) = Ensemble(Fixed(), Fixed((1.0, -0.8)), share=share).rate([SAMPLE, Sample("2")])
    assert [r.weight for r in rated.references] == pytest.approx([1.0, weight])
    assert replace(rated, references=SAMPLE.references) == SAMPLE
    assert bare == Sample("2")


def test_three_raters_are_an_ensemble_of_one_and_an_ensemble() -> None:
    three = Ensemble(Fixed((0.0, 0.9)), Ensemble(Fixed((0.0, 0.3)), Fixed((0.0, 0.6))), share=2 / 3)
    assert three.rate([SAMPLE])[0].references[1].weight == pytest.approx(0.6)


def test_the_signature_names_both() -> None:
    first, second = Ensemble(Fixed(), Fixed((0.0, 0.0))), Ensemble(Fixed((0.0, 0.0)), Fixed())
    assert len({first.signature(), second.signature(), replace(first, share=0.1).signature()}) == 3
    assert "weights=(1.0, 0.5)" in first.signature().parts["first"]
    assert "version" not in first.signature().parts["first"]


def test_specs_round_trip_and_mistakes_are_refused() -> None:
    text = "ensemble(bert(model='rater'),by(relevance(model='relevance')),share=0.3)"
    rater = create(text, kind="rater")
    assert create(spec(rater)) == create(full_spec(rater)) == rater
    for bad, said in (
        ("ensemble(gru(model='r'))", "ensemble needs second"),
        ("ensemble(gru(model='r'),gru(model='s'),share=1)", "share must be between 0 and 1, got 1"),
        ("ensemble(gru(model='r'),human(ratings='r.jsonl'))", "human rates only some references"),
        ("ensemble(gru(model='r'),bleu)", "second must be a rater"),
    ):
        with pytest.raises(SpecError, match=said):
            create(bad, kind="rater")
