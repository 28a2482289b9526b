"""Trained reliability networks."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from interloq import InputError, Reference
from interloq.learn.start import Start
from interloq.reliability import model as module
from interloq.reliability.augment import Request, augment
from interloq.reliability.features import encode_pairs, frozen_reader
from interloq.reliability.model import Prediction, Reliability, saved_signature, why_undefined
from tests.made_damage import check_damaged_facts
from tests.reliability.made_model import SMALL, small_model, topic_encoder

QUERY = ("well", "tea ?")
REFERENCES = ["tea milk cup", "dog walk", "we sip tea", "rain"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def model(folder: Path) -> Reliability:
    return Reliability.load(folder, device="cpu")


def same(found: Prediction, expected: Prediction, **tolerance: Any) -> None:
    for name in ("mean", "low", "high"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), **{"atol": 1e-5} | tolerance)


def test_intervals_are_students_and_contain_the_mean(model: Reliability) -> None:
    found = model.predict([QUERY] * 3, [REFERENCES[:n] for n in (1, 2, 4)])
    assert ((found.low < found.mean) & (found.mean < found.high)).all()
    assert ((found.low >= -1) & (found.high <= 1)).all()
    assert len(np.unique(found.mean)) == 3
    members = np.array([[0.1], [0.3], [0.2]])
    found = Prediction.of(members)
    assert found.mean[0] == pytest.approx(0.2)
    assert found.high[0] - 0.2 == pytest.approx(4.302653 * 0.1)  # t of two degrees of freedom, and the deviation


def test_order_copies_blanks_and_the_batch_do_not_matter(model: Reliability, monkeypatch: pytest.MonkeyPatch) -> None:
    mixed = [*REFERENCES, " rain ", "", " ", REFERENCES[0]]
    Random(1).shuffle(mixed)
    same(model.predict([QUERY], [mixed]), model.predict([QUERY], [REFERENCES]), atol=0)
    sets = [REFERENCES[:1], [f"tea {i}" for i in range(30)], REFERENCES]
    together = model.predict([QUERY, ("rain ?",), QUERY], sets)
    for i, (query, some) in enumerate(zip([QUERY, ("rain ?",), QUERY], sets, strict=True)):
        same(model.predict([query], [some]), together[i : i + 1])
    queries, sets = [QUERY] * 20, [[f"tea {j}" for j in range(1 + i % 7)] for i in range(20)]
    whole = model.predict(queries, sets)
    monkeypatch.setattr(module, "NUMBERS", 16 * 3 * 8)
    same(model.predict(queries, sets), whole, atol=1e-12)


def test_undefined_sets_are_nan(model: Reliability) -> None:
    found = model.predict([QUERY, (), ("  ",), QUERY], [[], ["tea"], ["tea"], REFERENCES])
    assert np.isnan(found.mean).tolist() == [True, True, True, False]
    assert np.isnan(found.low).tolist() == np.isnan(found.high).tolist() == [True, True, True, False]
    reasons = [why_undefined(QUERY, [" "]), why_undefined((" ",), ["tea"]), why_undefined(QUERY, ["tea"])]
    assert reasons == ["no references", "no context", ""]
    assert len(model.predict([], []).mean) == 0


def test_leaving_one_out_is_a_difference_of_predictions(model: Reliability) -> None:
    first, second, third = model.leave_one_out([QUERY, ("rain ?",), QUERY], [REFERENCES, ["tea"], []])
    assert first.references == tuple(sorted(REFERENCES))
    whole = model.predict([QUERY], [REFERENCES]).mean[0]
    for reference, effect in zip(first.references, first.effect.mean, strict=True):
        smaller = [other for other in REFERENCES if other != reference]
        assert effect == pytest.approx(whole - model.predict([QUERY], [smaller]).mean[0], abs=1e-5)
    assert ((first.effect.low <= first.effect.mean) & (first.effect.mean <= first.effect.high)).all()
    assert second.references == ("tea",)
    assert np.isnan(second.effect.mean).tolist() == [True]
    assert (third.references, len(third.effect.mean)) == ((), 0)


def test_sets_of_encoded_pairs_give_the_same(model: Reliability) -> None:
    vectors = model.encode([(QUERY, text) for text in REFERENCES])
    found = model.predict_sets(vectors, np.array([[0, 1, 2, 3], [-1, 2, -1, 0], [-1, -1, -1, -1]]))
    same(found[:2], model.predict([QUERY] * 2, [REFERENCES, [REFERENCES[0], REFERENCES[2]]]))
    assert np.isnan(found.mean[2])


def test_a_single_network_has_no_interval(tmp_path: Path) -> None:
    alone = Reliability.load(small_model(tmp_path, replace(SMALL, ensemble=1), epochs=1), device="cpu")
    found = alone.predict([QUERY], [REFERENCES])
    assert np.isfinite(found.mean).all()
    assert np.isnan([found.low, found.high]).all()


def test_a_residual_network_is_loaded_as_such(tmp_path: Path) -> None:
    model = Reliability.load(small_model(tmp_path, replace(SMALL, residual=True, ensemble=1), epochs=1), device="cpu")
    (member,) = model.network.members
    before = model.predict([QUERY], [REFERENCES]).mean
    member.attention.residual = False
    assert not np.allclose(model.predict([QUERY], [REFERENCES]).mean, before)


def test_a_fine_tuned_network_needs_no_other_folder(tmp_path: Path) -> None:
    settings = replace(SMALL, fine_tune=True, ensemble=2)
    encoder = Start.of(str(topic_encoder(tmp_path / "encoder")))
    folder = small_model(tmp_path, settings, epochs=1)
    tuned, pairs = Reliability.load(folder, device="cpu"), [(QUERY, REFERENCES[0])]
    assert not np.allclose(
        tuned.encode(pairs), encode_pairs(frozen_reader(encoder, settings.reading, device="cpu"), pairs)
    )
    found = tuned.predict([QUERY], [REFERENCES])
    shutil.rmtree(tmp_path / "encoder")
    same(Reliability.load(folder, device="cpu").predict([QUERY], [REFERENCES]), found, atol=0)


# ---- refusals --------------------------------------------------------------------------------------------------------


def test_another_metric_is_refused(folder: Path, model: Reliability) -> None:
    assert model.metric == "bleu_star"
    model.check_metric("bleu_star(order=4)")
    with pytest.raises(InputError, match=r"predicts the reliability of bleu_star\(order=4.*not of bleu_star\(order=2"):
        Reliability.load(folder, metric="bleu_star(order=2)", device="cpu")


def test_a_moved_encoder_can_be_named_and_another_is_refused(folder: Path, tmp_path: Path, model: Reliability) -> None:
    other = topic_encoder(tmp_path / "other", seed=1)
    with pytest.raises(InputError, match="other is not the encoder that the network was trained on, encoder: the hash"):
        Reliability.load(folder, encoder=str(other), device="cpu")
    shutil.copytree(folder.parent / "encoder", tmp_path / "moved")
    moved = Reliability.load(folder, encoder=str(tmp_path / "moved"), device="cpu")
    same(moved.predict([QUERY], [REFERENCES]), model.predict([QUERY], [REFERENCES]), atol=0)
    assert moved.signature() == model.signature()


def test_every_damaged_fact_is_refused_or_not_needed(folder: Path, tmp_path: Path) -> None:
    damaged = shutil.copytree(folder, tmp_path / "damaged")

    def use() -> None:
        found = Reliability.load(damaged, device="cpu")
        assert found.metric
        assert found.signature() == saved_signature(damaged)
        found.warning()
        found.predict([QUERY], [REFERENCES])

    unread = ("examples", "best", "job", "source", "signature", "dev")
    assert check_damaged_facts(damaged / "model.json", use, but=unread) > 20
    facts = json.loads((folder / "model.json").read_text())
    for dev in (None, {}, {**facts["dev"], "mse": "x"}, {**facts["dev"], "mse_of_size": None}):
        (damaged / "model.json").write_text(json.dumps({**facts, "dev": dev}))
        with pytest.raises(InputError, match="damaged"):
            Reliability.load(damaged, device="cpu")


def test_a_network_that_is_no_better_than_simple_baselines_warns(model: Reliability) -> None:
    better = {"mse": 0.1, "mse_of_mean": 0.2, "mse_of_size": 0.15}
    rules = {"mse_of_rules": {"longest": 0.12}}
    for dev, warned in (
        ({"mse": 0.1}, ""),
        ({"mse": 0.15}, "no better than the mean of each size (squared error on dev 0.1500 and 0.1500)"),
        ({"mse": 0.11} | rules, ""),
        ({"mse": 0.12} | rules, "no better than the rule longest (squared error on dev 0.1200 and 0.1200)"),
    ):
        made = Reliability(model.network, model.reader, {**model.facts, "dev": better | dev})
        assert warned in made.warning()
        assert bool(made.warning()) == bool(warned)


def test_predictions_while_augmenting_are_those_of_the_sets(model: Reliability) -> None:
    words = ["rain", "tea pot", "sip", "dog bone", "we walk", "milk", "leaf tea", "cup"]
    given = [Request(QUERY, tuple(map(Reference, own)), tuple(map(Reference, words))) for own in (["dog"], ["tea"], [])]
    for request, one in zip(given, augment(model.make_projected(), given, limit=4), strict=True):
        texts = [reference.text for reference in request.references]
        for trial in one.trials:
            tried = [*texts, trial.reference.text]
            assert trial.after == pytest.approx(model.predict([QUERY], [tried]).mean[0], abs=1e-6)
            texts = tried if trial.kept else texts
        assert one.trials
