from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from interloq import InputError, Reference, Sample, load, write
from interloq.data.files.opening import lines
from interloq.data.records.jsonl import header
from interloq.records import Pair
from interloq.reliability.model import Reliability
from interloq.reliability.reliability_file import augment_file, predict_file
from interloq.reliability.reliability_options import AugmentOptions, CandidateOptions, PredictOptions, check_minimum
from interloq.reliability.weak_references import metric_name
from tests.reliability.made_model import small_model
from tests.reliability.made_predictor import MadePredictor, use

WORDS = ["tea", "milk", "cup", "leaf", "pot", "sip"]
PAIRS = [Pair(f"p{i}", "do you like tea ?", text) for i, text in enumerate([*WORDS, "we so", "tea", ""])]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, folder: Path) -> MadePredictor:
    write("pairs.jsonl", PAIRS, kind="pairs")
    return use(monkeypatch)


def samples(n: int = 6) -> list[Sample]:
    return [
        Sample(f"s{i}", [f"do you want tea {i} ?"], "yes", WORDS[: i % 6 + 1], system)
        for i in range(n)
        for system in ("a", "b")
    ]


def saved(given: list[Sample]) -> str:
    write("samples.jsonl", given, kind="samples", dataset="made")
    return "samples.jsonl"


# ---- predict ---------------------------------------------------------------------------------------------------------


def test_predictions_are_scores_with_intervals_and_the_references_that_matter(made: MadePredictor) -> None:
    given = [Sample("s", ["tea ?"], "yes", ["tea", "milk cup", "we so", "we so"])]
    scores, facts = predict_file(saved(given), "scores.jsonl", PredictOptions(model="model"))
    assert load("scores.jsonl", kind="scores") == scores
    (score,) = scores
    assert (score.id, score.metric) == ("s", metric_name("bleu_star"))
    assert score.value == pytest.approx(0.25)
    assert (score.details["low"], score.details["high"]) == pytest.approx((0.15, 0.35))
    assert score.details["references"] == 3
    assert score.details["helps"] == {"text": "milk cup", "effect": pytest.approx(0.2)}
    assert score.details["harms"] == {"text": "we so", "effect": pytest.approx(-0.05)}
    assert "needed" not in score.details
    assert facts["reliability"]["weak"] == 0
    found = header("scores.jsonl")
    assert (found["metric"], found["reliability"]["samples"]) == (score.metric, 1)
    assert found["signature"]["parts"]["model"] == "reliability-made"
    _, others = predict_file(saved(samples()), None, PredictOptions(model="model"))
    assert others["signature"].parts["samples"] != found["signature"]["parts"]["samples"]


def test_weak_samples_say_how_many_references_they_need(made: MadePredictor) -> None:
    scores, facts = predict_file(saved(samples(24)), None, PredictOptions(model="model", minimum=0.35))
    assert [score.details.get("needed") for score in scores[::2]] == [3, 2, 1, None, None, None] * 4
    assert facts["reliability"] | {"mean": 0} == {
        "samples": 48, "mean": 0, "minimum": 0.35, "weak": 24, "needed": 2, "unknown": 0, "why_unknown": {},
        "unpredicted": {},
    }  # fmt: skip
    _, few = predict_file(saved(samples(3)), None, PredictOptions(model="model", minimum=0.35))
    assert (few["reliability"]["weak"], few["reliability"]["needed"], few["reliability"]["unknown"]) == (6, None, 6)


def test_samples_without_a_prediction_have_a_reason(made: MadePredictor) -> None:
    given = [Sample("a", ["tea ?"], "yes"), Sample("b", [" "], "yes", ["tea"]), Sample("c", ["x"], "y", ["", " "])]
    scores, facts = predict_file(saved(given), None, PredictOptions(model="model"))
    assert [(score.value, score.reason) for score in scores] == [
        (None, "no references"), (None, "no context"), (None, "no references"),
    ]  # fmt: skip
    assert facts["reliability"]["unpredicted"] == {"no references": 2, "no context": 1}
    assert facts["reliability"]["mean"] is None


def test_copies_of_one_reference_and_two_hundred_references(made: MadePredictor) -> None:
    given = [Sample("a", ["x"], "y", ["tea"] * 9), Sample("b", ["x"], "y", [f"tea {i}" for i in range(200)])]
    scores, _ = predict_file(saved(given), None, PredictOptions(model="model"))
    assert [score.details["references"] for score in scores] == [1, 200]
    assert not {"helps", "harms"} & scores[0].details.keys()  # nothing to compare the only reference with


def test_results_do_not_depend_on_the_batch(made: MadePredictor, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = predict_file(saved(samples()), None, PredictOptions(model="model", minimum=0.35))
    monkeypatch.setattr("interloq.reliability.reliability_file.BATCH", 1)
    assert predict_file(saved(samples()), None, PredictOptions(model="model", minimum=0.35)) == whole


@pytest.mark.parametrize("minimum", [-1.1, 2, float("nan")])
def test_an_impossible_minimum_is_refused(minimum: float) -> None:
    with pytest.raises(InputError, match="the minimum must be from -1 to 1"):
        check_minimum(minimum)


# ---- augment ---------------------------------------------------------------------------------------------------------

LOG = CandidateOptions(log=["pairs.jsonl"])


def test_augment_adds_what_raises_the_prediction(made: MadePredictor) -> None:
    facts = augment_file(
        saved(samples()), "out.jsonl", LOG, AugmentOptions(model="model", limit=4, trials="trials.jsonl")
    )
    before, after = load("samples.jsonl"), load("out.jsonl")
    for old, new in zip(before, after, strict=True):
        assert new.references[: len(old.references)] == old.references
        added = new.references[len(old.references) :]
        assert len(new.references) == max(4, len(old.references))
        assert all(r.source.startswith("retrieved:p") and r.text in WORDS for r in added)
    counts = facts["counts"]
    assert (counts["samples"], counts["kept"], counts["unchanged"]) == (12, 2 * (3 + 2 + 1), 6)
    assert counts["after"] > counts["before"]
    assert counts["dropped"]["gold"]["samples"] == 12
    found = header("out.jsonl")
    assert found["dataset"] == "made"
    assert found["augmented"][0]["counts"] == counts
    parts = found["augmented"][0]["signature"]["parts"]
    assert (parts["model"], parts["retriever"], parts["limit"]) == ("reliability-made", "jaccard", "4")
    assert len(list(lines("trials.jsonl"))) == 1 + counts["tried"]
    assert header("trials.jsonl")["kind"] == "trials"


def test_results_of_augment_do_not_depend_on_the_batch_or_the_order(
    made: MadePredictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    augment_file(saved(samples()), "whole.jsonl", LOG, AugmentOptions(model="model"))
    monkeypatch.setattr("interloq.reliability.candidates.BATCH", 1)
    augment_file(saved(samples()[::-1]), "single.jsonl", LOG, AugmentOptions(model="model"))
    assert load("whole.jsonl") == load("single.jsonl")[::-1]


def test_augment_keeps_copies_of_the_test_item_out(made: MadePredictor) -> None:
    leaks = [Pair("s0", "do you want tea", "milk"), Pair("p", "do you want tea 0 ?", "cup"), Pair("q", "a tea", "leaf")]
    write("leaks.jsonl", leaks, kind="pairs")
    Path("ids.txt").write_text("q\n")
    given = [Sample("s0", ["do you want tea 0 ?"], "pot", ["tea"])]
    source = CandidateOptions(log=["leaks.jsonl"], exclude="ids.txt")
    facts = augment_file(saved(given), "out.jsonl", source, AugmentOptions(model="model"))
    assert load("out.jsonl") == given
    assert facts["counts"]["dropped"] == {
        "id": {"pairs": 2, "samples": 1}, "utterance": {"pairs": 1, "samples": 1},
    }  # fmt: skip


def test_a_failure_leaves_no_files(made: MadePredictor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made, "encode", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        augment_file(saved(samples()), "out.jsonl", LOG, AugmentOptions(model="model", trials="trials.jsonl"))
    assert not Path("out.jsonl").exists()
    assert not Path("trials.jsonl").exists()


def test_outputs_do_not_replace_inputs(made: MadePredictor) -> None:
    for output in ("samples.jsonl", "pairs.jsonl"):
        with pytest.raises(InputError, match=output):
            augment_file(saved(samples()), output, LOG, AugmentOptions(model="model"))
    with pytest.raises(InputError, match=r"samples\.jsonl"):
        predict_file(saved(samples()), "samples.jsonl", PredictOptions(model="model"))


def test_means_before_and_after_are_of_the_same_samples(made: MadePredictor) -> None:
    given = [Sample("a", ["tea please ?"], "y", ["tea", "milk"]), Sample("b", ["tea please ?"], "y")]
    facts = augment_file(saved(given), "out.jsonl", LOG, AugmentOptions(model="model", limit=2))
    assert facts["counts"]["before"] == facts["counts"]["after"] == pytest.approx(0.2)
    assert facts["counts"]["kept"] == 2  # of the second


# ---- the real network ------------------------------------------------------------------------------------------------


def test_a_trained_network_raises_its_own_prediction(folder: Path) -> None:
    write("pairs.jsonl", PAIRS, kind="pairs")
    model = small_model(folder)
    shutil.rmtree(model / "instead")  # which would be used, because the network loses on its dev queries
    given = [Sample("s", ["do you like milk ?"], "yes", [Reference("we so")])]
    facts = augment_file(saved(given), "out.jsonl", LOG, AugmentOptions(model=model, device="cpu"))
    (score,), _ = predict_file("out.jsonl", None, PredictOptions(model=model, device="cpu"))
    assert facts["counts"]["kept"] > 0
    assert score.value == pytest.approx(facts["counts"]["after"], abs=1e-6)
    loaded = Reliability.load(model, device="cpu")
    alone = loaded.predict([["do you like milk ?"]], [["we so"]]).mean
    assert np.isclose(alone, facts["counts"]["before"], atol=1e-6)
    assert facts["counts"]["after"] > facts["counts"]["before"]
