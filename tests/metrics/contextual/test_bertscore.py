"""BERTScore against the public `bert_score` on the same weights, and what it has beyond that."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
import torch

from interloq import InputError, Reference, Sample, evaluate, load
from interloq.data.embedded import embedded_log_path, embedded_path
from interloq.metrics.combined.vbertscore import Vbertscore
from interloq.metrics.contextual import bertscore as module
from interloq.metrics.contextual import token_matching as matching
from interloq.metrics.contextual.bertscore import NO_IDF, BertScore
from interloq.metrics.contextual.bertscore_baseline import load_baseline, make_baseline, save_baseline
from interloq.metrics.metric import NO_REFERENCES
from interloq.models.encoder import Encoder
from tests.conftest import by_id, missing
from tests.made_encoder import NAME, small_bert
from tests.metrics.made_contracts import COSINE, Contract

CONTRACTS = {
    "bertscore": Contract(
        COSINE,
        variants=[
            "bertscore(model='bert',idf=True,layer=1,part='r')",
            "bertscore(model='bert',weights='outside')",
            "bertscore(model='bert',precision='bfloat16')",
            "bertscore(model='bert',weights='inside',part='p')",
        ],
        required="model='bert'",
    ),
}

ODD = [
    "",
    "  ",
    "日本語のテキストです。",
    "🙂🙃",
    "ok",
    "a",
    "...",
    "\u200b",
    "word " * 700,
    "Ame\u0301lie",
    "[CLS] hi [SEP]",
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(small_bert(tmp_path_factory.mktemp("bert")))


@pytest.fixture(scope="module")
def varied() -> list[Sample]:
    """150 pairs: replies and references of the embedded samples and log, and odd texts, one to four references."""
    drawn = random.Random(0)
    texts = [
        text for sample in load(embedded_path("en")) for text in (sample.response, *(r.text for r in sample.references))
    ]
    texts += [pair.response for pair in load(embedded_log_path("en"), kind="pairs")]
    texts = [*drawn.sample(texts, 60), *ODD]
    samples: list[Sample] = []
    while sum(len(sample.references) for sample in samples) < 150:
        references = [drawn.choice(texts) for _ in range(drawn.randint(1, 4))]
        samples.append(Sample(str(len(samples)), (), drawn.choice(texts), references))
    return samples


def public_scores(samples: list[Sample], folder: str, layer: int, *, idf: bool) -> Any:
    """P, R and F of bert_score with batches of one: in larger ones its padding changes results."""
    if importlib.util.find_spec("bert_score") is None:
        missing("bert_score")
    bert_score = importlib.import_module("bert_score")
    references = [[reference.text for reference in sample.references] for sample in samples]
    scorer = bert_score.BERTScorer(model_type=folder, num_layers=layer, idf=idf, device="cpu", nthreads=0)
    tokenizer = scorer._tokenizer
    if not hasattr(tokenizer, "build_inputs_with_special_tokens"):  # it needs this for empty texts; newer ones lack it
        tokenizer.build_inputs_with_special_tokens = lambda _: tokenizer("")["input_ids"]
    if idf:
        scorer.compute_idf([text for texts in references for text in texts])
    parts = scorer.score([sample.response for sample in samples], references, batch_size=1)
    return dict(zip(("p", "r", "f"), (part.numpy() for part in parts), strict=True))


def scores(metric: BertScore, samples: list[Sample]) -> Any:
    fitted = metric.fit(samples)
    return fitted.value(fitted.stats(samples))


# ---- equal to the public package -------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")  # of the other package
@pytest.mark.parametrize("idf", [False, True])
@pytest.mark.parametrize("layer", [1, 3])
def test_it_equals_bert_score(model: str, varied: list[Sample], layer: int, idf: bool) -> None:
    expected = public_scores(varied, model, layer, idf=idf)
    for part in ("p", "r", "f"):
        own = scores(BertScore(model, layer=layer, idf=idf, part=part), varied)
        assert np.abs(own - expected[part]).max() < 1e-5


@pytest.mark.filterwarnings("ignore")
def test_it_equals_bert_score_with_a_trained_model(varied: list[Sample]) -> None:
    from interloq.models.pretrained import model_folder

    some = [sample for sample in varied if len(sample.response) < 300][:20]
    expected = public_scores(some, str(model_folder(NAME)), 5, idf=True)
    assert np.abs(scores(BertScore(NAME, layer=5, idf=True), some) - expected["f"]).max() < 1e-5


@pytest.mark.filterwarnings("ignore")
def test_the_public_package_depends_on_its_batches_and_ours_does_not(
    model: str, varied: list[Sample], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = scores(BertScore(model, layer=1), varied)
    alone = [scores(BertScore(model, layer=1), [sample])[0] for sample in varied[:20]]
    assert whole[:20] == pytest.approx(alone, abs=1e-5)
    monkeypatch.setattr(module, "SAMPLES", 3)
    monkeypatch.setattr(matching, "HELD", {"cpu": 2000})
    monkeypatch.setattr(matching, "COMPARED", {"cpu": 2000})
    assert scores(BertScore(model, layer=1), varied[:40]) == pytest.approx(whole[:40], abs=1e-5)


def encoder_of(model: str, layer: int | None = None) -> Encoder:
    return Encoder(model, layer=layer, longest=module.LONGEST)


# ---- rescaling -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def baseline(model: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    texts = (pair.response for pair in load(embedded_log_path("en"), kind="pairs"))
    return str(save_baseline(tmp_path_factory.mktemp("base"), make_baseline(texts, encoder_of(model), pairs=50)))


@pytest.mark.parametrize("part", ["p", "r", "f"])
def test_rescaling_maps_the_baseline_to_0_and_equal_texts_to_1(model: str, baseline: str, part: Any) -> None:
    some = [Sample("1", (), "how are you", ["how are you"]), Sample("2", (), "i see", ["a train", "no way"])]
    plain = scores(BertScore(model, layer=2, part=part), some)
    level = load_baseline(baseline)["layers"]["2"][part]
    own = scores(BertScore(model, layer=2, part=part, rescale=baseline), some)
    assert own == pytest.approx((plain - level) / (1 - level), abs=1e-6)
    assert own[0] == pytest.approx(1, abs=1e-5)


def test_a_baseline_of_something_else_is_refused(
    model: str, baseline: str, samples: list[Sample], tmp_path: Path
) -> None:
    other = str(small_bert(tmp_path / "other", seed=1))
    with pytest.raises(InputError, match="the baseline is for another model: bert-"):
        evaluate(BertScore(other, rescale=baseline), samples)
    with pytest.raises(InputError, match="the baseline is for another idf: False, not True"):
        evaluate(BertScore(model, rescale=baseline, idf=True), samples)
    facts = load_baseline(baseline)
    one = save_baseline(tmp_path / "one.json", {**facts, "layers": {"1": facts["layers"]["1"]}})
    with pytest.raises(InputError, match="the baseline has layers 1, not 2; make one with: interloq train baseline"):
        evaluate(BertScore(model, layer=2, rescale=str(one)), samples)
    flat = save_baseline(tmp_path / "flat.json", {**facts, "layers": {"2": {"p": 1.0, "r": 0.1, "f": 0.1}}})
    with pytest.raises(InputError, match="must be below 1"):
        evaluate(BertScore(model, layer=2, rescale=str(flat)), samples)


def test_the_signature_names_model_and_baseline(model: str, baseline: str, samples: list[Sample]) -> None:
    plain = evaluate(BertScore(model, layer=2), samples).signature
    rescaled = evaluate(BertScore(model, layer=2, rescale=baseline), samples).signature.parts["built-with"]
    assert plain.parts["built-with"] == encoder_of(model, 2).signature()
    assert ",baseline-" in rescaled
    facts = load_baseline(baseline)
    changed = Path(baseline).with_name("changed.json")
    changed.write_bytes(orjson.dumps({**facts, "pairs": 1}))
    other = evaluate(BertScore(model, layer=2, rescale=str(changed)), samples).signature.parts["built-with"]
    assert ",baseline-" in other
    assert other != rescaled


# ---- weights of references -------------------------------------------------------------------------------------------


def literal(encoder: Encoder, sample: Sample, part: str) -> float:
    """Equations 11 and 12 as printed, token by token; the best reference counts."""
    vectors = {}
    for text in (sample.response, *(reference.text for reference in sample.references)):
        (batch,) = encoder.encode([text])
        states = batch.states[0].numpy()
        vectors[text] = states / np.linalg.norm(states, axis=1, keepdims=True)
    values = []
    for reference in sample.references:
        weighed = reference.weight * vectors[sample.response] @ vectors[reference.text].T
        p, r = weighed.max(axis=1)[1:-1].mean(), weighed.max(axis=0)[1:-1].mean()
        values.append({"p": p, "r": r, "f": 2 * p * r / (p + r) if p * r > 0 else 0.0}[part])
    return float(max(values))


@pytest.mark.parametrize("part", ["p", "r", "f"])
def test_weights_inside_are_the_printed_formula(model: str, samples: list[Sample], part: Any) -> None:
    references = [Reference("the food was bad .", -0.5), Reference("no", -1), Reference("a film", 0.2)]
    weighed = [Sample(s.id, (), s.response, references) for s in samples]
    own = scores(BertScore(model, layer=2, part=part, weights="inside"), weighed)
    encoder = encoder_of(model, 2)
    assert own == pytest.approx([literal(encoder, sample, part) for sample in weighed], abs=1e-5)


@pytest.mark.parametrize("part", ["p", "r", "f"])
def test_weights_outside_multiply_the_plain_value(model: str, baseline: str, samples: list[Sample], part: Any) -> None:
    metric = BertScore(model, layer=2, part=part, weights="outside", rescale=baseline)
    column = ["p", "r", "f"].index(part)
    expected = [
        max(row[column] * reference.weight for row, reference in zip(rows, sample.references, strict=True))
        for sample, rows in zip(samples, metric.parts(samples), strict=True)
    ]
    assert scores(metric, samples) == pytest.approx(expected, abs=1e-6)
    inside = BertScore(model, layer=2, part=part, weights="inside", rescale=baseline)
    assert scores(inside, samples) == pytest.approx(expected, abs=1e-6), "the same without weights below 0"
    assert scores(BertScore(model, layer=2, part=part), samples) == pytest.approx(
        [rows[:, column].max() for rows in BertScore(model, layer=2).parts(samples)], abs=1e-6
    )


def test_details_are_precision_and_recall(model: str, samples: list[Sample]) -> None:
    result = evaluate(BertScore(model, layer=2), samples)
    best = np.array([rows.max(axis=0) for rows in BertScore(model, layer=2).parts(samples)]).mean(axis=0)
    assert (result.details["precision"], result.details["recall"], result.value) == pytest.approx(best, abs=1e-6)


def test_fewer_bits_move_scores_a_little(model: str, samples: list[Sample]) -> None:
    if not torch.cpu._is_vnni_supported():
        pytest.skip("the processor has no instructions for 8-bit numbers")
    exact = BertScore(model).stats(samples)[:, 0]
    moved = np.abs(BertScore(model, precision="int8").stats(samples)[:, 0] - exact).max()
    assert 0 < moved < 0.05
    pipeline = Vbertscore(index="index", model=model, precision="int8")
    assert pipeline.metric().precision == "int8"


def test_a_sample_without_a_positive_weight_is_unscored(model: str) -> None:
    bad = Sample("1", (), "yes", [Reference("yes", 0.0), Reference("no", -1.0)])
    for weights in ("outside", "inside"):
        assert by_id(evaluate(BertScore(model, weights=weights), [bad]).reasons) == {"1": "no positive weight"}
    assert evaluate(BertScore(model), [bad]).value == pytest.approx(1, abs=1e-6)
    assert by_id(evaluate(BertScore(model), [Sample("1", (), "yes")]).reasons) == {"1": NO_REFERENCES}


# ---- edges -----------------------------------------------------------------------------------------------------------


def test_tokens_that_every_reference_holds_have_no_idf(model: str) -> None:
    some = [Sample("1", (), "yes", ["yes", "yes no"]), Sample("2", (), "no", ["yes maybe"])]
    result = evaluate(BertScore(model, idf=True, part="p"), some)
    assert (result.n, dict(result.reasons)) == (1, {("1", ""): NO_IDF})
    alone = evaluate(BertScore(model, idf=True), [Sample("1", (), "it was good", ["it was good"])])
    assert np.isnan(alone.value)  # compared with itself, and 0 in the public package
    assert alone.reasons == {("1", ""): NO_IDF}
    with pytest.raises(InputError, match="it has no idf weights"):
        BertScore(model, idf=True).stats(some)
