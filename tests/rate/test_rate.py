"""The modules of `interloq.rate`: ensemble, learning, settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from interloq import Reference, Sample, SpecError, create, spec
from interloq.errors import InputError
from interloq.rate.ensemble import Ensemble
from interloq.rate.gru_model import RaterNetwork, RaterTask
from interloq.rate.learning import dev_logits
from interloq.rate.pairs import PARTS
from interloq.rate.parrots import Parrots, copy_utterance
from interloq.rate.rater import Rater
from interloq.rate.settings import TRAINABLE
from interloq.records import Pair
from interloq.registry import full_spec
from interloq.signature import Signature, signature
from tests.made_rater import SMALL_BATCHES, TINY, made_examples
from tests.rate.made_log import content, log, make

SAMPLE = Sample("1", ["hello"], "hi", ["gold", Reference("other", source="retrieved:1")])


@dataclass(frozen=True)
class Fixed(Rater):
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


def test_an_encoder_trains_another_kind_of_rater() -> None:
    assert TRAINABLE.instead is not None
    option, other = TRAINABLE.instead
    names = [{name for _, name in job.options()} for job in (TRAINABLE, other)]
    assert option == "encoder"
    assert {"hidden", "vocabulary"} <= names[0] - names[1]
    assert {"encoder", "batch", "epochs"} <= names[0] & names[1]


def test_the_result_warns_of_a_rater_that_learned_nothing() -> None:
    curve = [{"epoch": 1, "dev_loss": 0.7}, {"epoch": 2, "dev_loss": 0.69}]
    text = TRAINABLE.result({"temperature": 1.25}, curve)
    assert "epochs: 2, dev loss 0.6900" in text
    assert "temperature 1.25" in text
    assert "note:" in text
    assert "note:" not in TRAINABLE.result({"temperature": 1.0}, [{"epoch": 1, "dev_loss": 0.2}])


def test_logits_of_the_dev_part_are_those_of_first_triplets(tmp_path: Path) -> None:
    pairs, _ = made_examples(tmp_path, 40)
    task = RaterTask(RaterNetwork(pairs.facts["vocabulary"], TINY), pairs, SMALL_BATCHES, seed=5)
    logits, labels = dev_logits(task)
    assert len(logits) == len(labels) == len(pairs.labels["dev"])
    assert set(labels.tolist()) <= {0, 1}
    expected = []
    for examples in task.batches("dev", 0):
        for example in examples:
            batch = task.prepare("dev", np.array([example]))
            with torch.inference_mode():
                negative, positive = task.logits(batch)[0].double().tolist()
            expected.append(positive - negative)
    assert np.allclose(logits, expected, atol=1e-5)
    assert not task.network.training


# ---- copies of the utterance -----------------------------------------------------------------------------------------


def test_a_share_of_the_negatives_repeats_the_utterance_and_nothing_else_changes(tmp_path: Path) -> None:
    plain, data = make(log(3), tmp_path / "plain"), make(log(3), tmp_path / "made", parrots=Parrots(0.2))
    for part in PARTS:
        (rows, labels), (before, labels_before) = data.examples(part), plain.examples(part)
        changed = np.flatnonzero((rows != before).any(axis=1))
        assert labels.tolist() == labels_before.tolist()
        assert len(changed) == data.facts[part]["parrots"] == round(0.2 * np.sum(labels == 0))
        assert not labels[changed].any()
        assert (rows[:, :3] == before[:, :3]).all()
        for utterance, _, _, copied in rows[changed]:
            kept = iter(data.texts[utterance].tolist())
            assert all(token in kept for token in data.texts[copied].tolist()), "in the same order"
            assert len(data.texts[copied]) >= 2 / 3 * len(data.texts[utterance])


def test_without_parrots_nothing_changes(tmp_path: Path) -> None:
    plain = content(make(log(3), tmp_path / "plain").folder)
    assert content(make(log(3), tmp_path / "made", parrots=Parrots(0)).folder) == plain
    assert Parrots().parts == {}


def test_utterances_that_were_answered_with_themselves_are_not_copied(tmp_path: Path) -> None:
    same = [Pair("", f"hello {i}", text) for i in range(40) for text in (f"hello {i}", f"oh {i}")]
    data = make(same, tmp_path / "made", parrots=Parrots(0.5))
    assert [data.facts[part]["parrots"] for part in PARTS] == [0, 0]


def test_copies_of_several_turns_are_copies_of_one() -> None:
    rng, tokens = np.random.default_rng(0), np.array([1, 2, 9, 3, 4])
    copies = {tuple(copy_utterance(tokens, rng, between=9).tolist()) for _ in range(50)}
    assert copies == {(1, 2), (3, 4)}


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_the_share_is_checked(share: Any) -> None:
    with pytest.raises(InputError, match="parrots must"):
        Parrots(share)
