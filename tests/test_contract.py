"""The contract of every registered metric; a new one is held to it as soon as it is registered.

Its test file says what must be known about it in `CONTRACTS`, its range and some variants; the rest follows.
"""

from __future__ import annotations

import dataclasses
import math
import re
import time
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interloq import Reference, Result, Sample, create, evaluate, registry, spec
from interloq.metrics.metric import NO_REFERENCES, FittedMetric, Metric, SetMetric, best_reference
from interloq.metrics.network_metric import NO_CONTEXT
from interloq.models import loaded
from interloq.registry import full_spec
from interloq.score import evaluate as evaluating
from interloq.version import __version__
from tests.conftest import by_id
from tests.made_metrics import (
    DEFAULTS,
    FOREIGN,
    FREE,
    METRICS,
    ODD,
    REPLY,
    SPECS,
    WITH_VECTORS,
    plain_samples,
    write_files,
)
from tests.test_cards import card_of

REFERENCED = [text for text in SPECS if text.split("(")[0] not in FREE or "referenced'" in text]
BEST_REFERENCE = [
    *(text for text in SPECS if text.split("(")[0] in ("bleu_star", "meteor", *WITH_VECTORS)),
    DEFAULTS["bertscore"],
    "deep_am(model='bert',mode='referenced')",
    "rouge_l(beta=1,multiple='best')",
]
# in float32: what else is in a batch may change the last digits
NETWORKS = (
    *("'answers'", "'bert", "'clashing'", "'form'", "'judge'", "'lm'", "'masked'", "'rated'", "'ratings'"),
    "'ready'",
)
CARDS = Path(__file__).parents[1] / "docs" / "metrics"


@cache
def plain_result(text: str) -> Result:
    """Result of the plain samples, computed once for all tests that compare something with it."""
    return evaluate(text, plain_samples())


def facts(result: Result) -> tuple[Any, ...]:
    """Everything in a result, as something that compares equal also where a value is NaN."""
    values = {id: None if math.isnan(value) else value for id, value in result.by_sample.items()}
    return (result.value, result.ci, result.n, result.unscored, result.signature, values, dict(result.reasons))


def alike(text: str, first: Result, second: Result) -> bool:
    """The same result, to the last bit but for networks, and for what was fitted to their scores."""
    if not any(model in text for model in NETWORKS):
        return facts(first) == facts(second)
    exact = [(result.n, result.unscored, dict(result.reasons), list(result.by_sample)) for result in (first, second)]
    a, b = (np.array([result.value, *(result.ci or ()), *result.by_sample.values()]) for result in (first, second))
    return exact[0] == exact[1] and bool(np.allclose(a, b, rtol=1e-5, atol=1e-5, equal_nan=True))


def inside(text: str, value: float) -> bool:
    low, high = METRICS[text.split("(")[0]].range
    return low - 1e-6 <= value <= high + 1e-6


def sound(text: str, result: Result) -> None:
    """Each sample has a value in the range or a reason, and the set has a value where a sample has."""
    for id, value in result.by_sample.items():
        assert math.isnan(value) == bool(result.reasons.get(id)), (id, value, result.reasons)
        assert math.isnan(value) or inside(text, value)
    assert result.n + result.unscored == len(result.by_sample)
    assert inside(text, result.value) if result.n else math.isnan(result.value)


@pytest.fixture(scope="module", autouse=True)
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The files that specs name, in the working directory; all networks stay loaded."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("files"))
        patch.setattr(loaded, "_load_cached", lru_cache(maxsize=40)(loaded._load_cached.__wrapped__))
        patch.setenv("INTERLOQ_CACHE", str(Path("cache").resolve()))
        write_files()
        yield


def test_every_registered_metric_has_a_card() -> None:
    index = (CARDS / "README.md").read_text("utf-8")
    for name in METRICS:
        assert f"[{card_of(name)}]({card_of(name)})" in index
        card = (CARDS / card_of(name)).read_text("utf-8")
        for field in dataclasses.fields(create(DEFAULTS[name])):
            assert not field.init or f"`{field.name}`" in card, f"{name}.md does not explain {field.name}"


@pytest.mark.parametrize("text", SPECS)
def test_metrics_with_references_need_them(text: str) -> None:
    assert (create(text).unscorable(Sample("1", (), "it was good .")) == NO_REFERENCES) == (text in REFERENCED)


@pytest.mark.parametrize("text", SPECS)
def test_a_metric_over_single_references_says_so(text: str) -> None:
    metric = create(text)
    reduction = metric.over_references
    assert reduction == "max" or text not in BEST_REFERENCE
    if reduction:
        samples = plain_samples(12)
        single = [dataclasses.replace(sample, references=(r,)) for sample in samples for r in sample.references]
        found = metric.by_reference(samples)
        np.testing.assert_allclose(found, metric.value(metric.stats(single)), atol=1e-6)
        np.testing.assert_allclose(best_reference(found, samples), metric.value(metric.stats(samples)), atol=1e-6)


@pytest.mark.parametrize("text", SPECS)
def test_specs_round_trip(text: str) -> None:
    metric = create(text)
    assert create(spec(metric), kind="metric") == metric
    assert create(full_spec(metric), kind="metric") == metric
    assert spec(create(spec(metric))) == spec(metric)
    default = DEFAULTS[registry.name_of(metric)]
    assert (spec(metric) == default) == (metric == create(default))


@pytest.mark.parametrize("text", SPECS)
def test_the_same_again(text: str) -> None:
    first, second = (evaluate(text, plain_samples(10), n_bootstrap=20) for _ in range(2))
    assert facts(first) == facts(second)


@pytest.mark.parametrize("text", SPECS)
def test_neither_batches_nor_order_matter(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = [*plain_samples(10), *ODD]
    whole = evaluate(text, samples, n_bootstrap=20)
    for chunk in (1, 7):
        Random(chunk).shuffle(samples)
        monkeypatch.setattr(evaluating, "CHUNK", chunk)
        assert alike(text, evaluate(text, iter(samples), n_bootstrap=20), whole)


@pytest.mark.parametrize("text", SPECS)
def test_the_order_of_references_does_not_matter(text: str) -> None:
    samples = plain_samples()
    turned = [dataclasses.replace(sample, references=sample.references[::-1]) for sample in samples]
    first, second = plain_result(text), evaluate(text, turned, n_bootstrap=0)
    tolerance = 1e-5 if any(model in text for model in NETWORKS) else 1e-12
    assert list(second.by_sample.values()) == pytest.approx(list(first.by_sample.values()), abs=tolerance)
    assert second.value == pytest.approx(first.value, abs=tolerance)


@pytest.mark.parametrize("text", SPECS)
def test_odd_samples_have_a_value_or_a_reason(text: str) -> None:
    for sample in ODD:
        sound(text, evaluate(text, [sample], n_bootstrap=5))
    among = evaluate(text, [*plain_samples(6), *ODD], n_bootstrap=5)
    sound(text, among)
    assert among.n >= 6
    assert among.ci is not None
    assert all(map(math.isfinite, among.ci))


@pytest.mark.parametrize(
    ("text", "empty", "one"),
    [
        (DEFAULTS["blend"], 0, 1),
        ("bleu", 0, 0),
        ("bleu(effective_order=True)", 0, 1),
        ("bleu_star", 0, (1 * 0.1**3) ** (1 / 4)),
        ("chrf", 0, 1),
        ("delta_bleu", 0, 0),
        ("delta_bleu(order=1)", 0, 1),
        ("distinct", "no 2-grams", "no 2-grams"),
        ("distinct(per='token')", "no tokens", 0),
        *((DEFAULTS[name], 0, 1) for name in WITH_VECTORS),
        ("length", 0, 1),
        ("meteor", 0, 1 - 0.5),
        ("nist", 0, math.log2(8 / 1)),  # once among the eight tokens of all references
        ("rouge_l", 0, 1),
        (DEFAULTS["ruber"], 0, (1 + 1 / 2) / 2),  # the longest reply has two tokens
        (DEFAULTS["ruber_unreferenced"], "no context", "no context"),
        *(
            (DEFAULTS[name], "no context", "no context")
            for name in ("am_fm", "bert_ruber", "deep_am", "deep_fm", "judge", "nsp", "pmi", "relevance", "usl_h")
        ),
        *((DEFAULTS[name], "no context", "no context") for name in ("best", "dcp", "interlocutor_score")),
        (DEFAULTS["bertscore"], 0, 1),
        ("deep_am(model='bert',mode='referenced')", 0, 1),
        ("deep_fm(model='lm',mode='referenced')", 0, 1),
        (DEFAULTS["mlm"], "empty reply", None),
        (DEFAULTS["valid"], 0, None),
        (DEFAULTS["vbertscore"], 0, 1),
        (DEFAULTS["vbleu"], 0, 0),
    ],
)
def test_empty_and_one_token_replies_are_what_the_cards_say(
    text: str, empty: float | str, one: float | str | None
) -> None:
    """None: what a network gives."""
    samples = [
        Sample("empty", (), "", ["no it is not"]),
        Sample("one", (), "yes", ["yes"]),
        Sample("more", (), "a b", ["c d e"]),
    ]
    result = evaluate(text, samples)
    for id, expected in (("empty", empty), ("one", one)):
        if isinstance(expected, str):
            assert by_id(result.reasons)[id] == expected
        elif expected is not None:
            assert by_id(result.by_sample)[id] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("text", SPECS)
def test_a_sample_without_a_score_changes_no_value(text: str) -> None:
    metric = create(text)
    unscored = [sample for sample in ODD if metric.unscorable(sample)]
    if isinstance(metric, FittedMetric):  # what is fitted on references may well change with them
        unscored = [sample for sample in unscored if not sample.references]
    samples = plain_samples()
    with_them = evaluate(metric, [*samples, *unscored], n_bootstrap=0)
    assert with_them.unscored == len(unscored)
    assert with_them.value == evaluate(metric, samples, n_bootstrap=0).value


@pytest.mark.parametrize("text", SPECS)
def test_no_samples_at_all(text: str) -> None:
    result = evaluate(text, [], n_bootstrap=5)
    assert math.isnan(result.value)
    assert (result.ci, result.n, result.unscored, len(result.by_sample)) == (None, 0, 0, 0)


@pytest.mark.parametrize("text", SPECS)
def test_rows_add_up_to_the_value(text: str) -> None:
    metric: Any = create(text)
    samples = plain_samples()
    if isinstance(metric, FittedMetric):
        metric = metric.fit(samples)
    rows, result = metric.stats(samples), evaluate(metric, samples, n_bootstrap=0)
    assert metric.stats([]).shape == (0, rows.shape[1])
    values = by_id(result.by_sample)
    assert metric.value(rows) == pytest.approx([values[sample.id] for sample in samples], abs=1e-12)
    assert metric.value(rows[0]).shape == ()
    if not isinstance(metric, SetMetric):
        assert float(metric.value(rows.sum(axis=0))) == pytest.approx(result.value, abs=1e-12)


@pytest.mark.parametrize("text", SPECS)
def test_details_are_numbers_that_do_not_depend_on_the_order_of_samples(text: str) -> None:
    metric = create(text)
    first, second = plain_result(text).details, evaluate(metric, plain_samples()[::-1], n_bootstrap=0).details
    assert all(isinstance(name, str) and isinstance(value, float) for name, value in first.items())
    assert second == pytest.approx(dict(first), abs=1e-5)
    assert bool(first) == (type(metric).details is not Metric.details)
    assert evaluate(metric, []).details == {}


@pytest.mark.parametrize("text", SPECS)
def test_a_metric_says_whether_its_value_of_a_set_is_a_mean(text: str) -> None:
    result = plain_result(text)
    mean = np.nanmean(list(result.by_sample.values()))
    assert create(text).is_mean == (result.value == pytest.approx(mean, abs=1e-9))


@pytest.mark.parametrize("text", REFERENCED)
def test_a_perfect_reply_scores_at_least_as_much_as_a_worse_one(text: str) -> None:
    right = "we went to the lake and swam until the evening came"
    words = right.split()
    Random(1).shuffle(words)
    replies = {
        "perfect": right,
        "shuffled": " ".join(words),
        "unrelated": "no idea what that might mean sorry",
        "empty": "",
    }
    others = [dataclasses.replace(s, id=s.id) for s in plain_samples(8)]
    samples = [Sample(id, (), reply, [right, "a trip to the water"]) for id, reply in replies.items()]
    scores = by_id(evaluate(text, [*samples, *others]).by_sample)
    assert scores["perfect"] == max(scores[id] for id in replies)
    assert scores["perfect"] > scores["unrelated"]
    assert scores["empty"] == min(scores[id] for id in replies)


@pytest.mark.parametrize("name", ["13a", "char"])
@pytest.mark.parametrize("text", DEFAULTS.values())
def test_every_script_is_scored(text: str, name: str) -> None:
    metric = create(text)
    if hasattr(metric, "tokenizer"):
        metric = dataclasses.replace(metric, tokenizer=create(name, kind="tokenizer"))
    samples = [Sample(script, (), reply, [reply, "no"]) for script, reply in FOREIGN.items()]
    worse = [Sample(f"{script}, other", (), "q" * 9, [reply, "no"]) for script, reply in FOREIGN.items()]
    result = evaluate(metric, [*samples, *worse])
    sound(text, result)
    if text in REFERENCED and name == "char":  # 13a takes a whole Japanese sentence for one word
        assert all(by_id(result.by_sample)[script] > by_id(result.by_sample)[f"{script}, other"] for script in FOREIGN)


@pytest.mark.parametrize("text", SPECS)
def test_the_interval_holds_the_value(text: str) -> None:
    result = plain_result(text)
    assert result.ci is not None
    low, high = result.ci
    assert low <= result.value <= high
    assert low < high


@pytest.mark.parametrize("text", SPECS)
def test_the_signature_holds_what_stands_behind_the_number(text: str) -> None:
    metric, samples = create(text), plain_samples()
    signature = evaluate(metric, samples, n_bootstrap=3, seed=5).signature
    for field in dataclasses.fields(metric):
        assert not field.init or re.search(rf"[(,]{field.name}=", signature.name), field.name
    if hasattr(metric, "tokenizer"):
        assert signature.parts["tokenizer"] == metric.tokenizer.signature()
    assert signature.parts["references"] == "1-3"
    assert {"resamples": "3", "seed": "5", "version": __version__}.items() <= signature.parts.items()
    assert "/" not in signature.name
    other = [dataclasses.replace(samples[0], references=(Reference("else"),)), *samples[1:]]
    assert evaluate(metric, other, n_bootstrap=3, seed=5).signature != signature


@pytest.mark.parametrize("text", [text for text in SPECS if not text.startswith("meteor(")])  # they align alike
def test_a_reply_of_two_thousand_tokens(text: str) -> None:
    rng = np.random.default_rng(0)
    reply, long, short = (" ".join(f"w{k}" for k in rng.zipf(1.4, n) % 5000) for n in (2000, 2000, 200))
    start = time.perf_counter()
    result = evaluate(text, [Sample("long", ["how was it ?"], reply, [long, short]), *plain_samples(3)])
    assert time.perf_counter() - start < 60  # measured: meteor 3 s, the others below 1 s
    sound(text, result)
    assert result.unscored == 0


WEIGHT = st.sampled_from([-1.0, -0.3, 0.0, 0.4, 1.0])
REFERENCES = st.lists(st.builds(Reference, REPLY, WEIGHT), max_size=2)


@pytest.mark.parametrize("text", SPECS)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(pairs=st.lists(st.tuples(REPLY, REFERENCES), min_size=3, max_size=15))
def test_any_text_has_a_value_in_the_range_or_a_reason(text: str, pairs: list[tuple[str, list[Reference]]]) -> None:
    samples = [Sample(str(i), (), reply, references) for i, (reply, references) in enumerate(pairs)]
    sound(text, evaluate(text, samples))


@pytest.mark.parametrize("name", sorted(METRICS))
def test_what_a_metric_needs_is_what_it_asks_for(name: str) -> None:
    """Composites ask for what their parts do."""
    metric = create(DEFAULTS[name])
    needs = metric.needs
    fields = [field for field, _ in registry._fields(type(metric))]
    assert list(needs.fields) == [field.name for field in fields if registry._is_required(field)]
    if not {"rater", "referenced", "am", "valid", "metrics"} & {field.name for field in fields}:
        assert needs.references == (metric.unscorable(Sample("1", ["hello there"], "good")) == NO_REFERENCES)
        assert needs.context == (metric.unscorable(Sample("1", (), "good", ["good"])) == NO_CONTEXT)
