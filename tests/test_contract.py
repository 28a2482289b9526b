"""The contract of every registered metric and tokenizer; a new one is held to it as soon as it is registered.

A metric adds itself to METRICS with its range and some variants; the rest follows.
"""

from __future__ import annotations

import dataclasses
import math
import re
import shlex
import shutil
import time
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path
from random import Random
from string import ascii_letters
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interloq import Rating, Reference, Result, Sample, create, evaluate, registry, spec, write
from interloq.cli.main import main
from interloq.data.embedded import embedded_log_path, embedded_path
from interloq.data.files import write_json
from interloq.data.jsonl import read
from interloq.data.tokenize import Tokenizer, train_sentencepiece
from interloq.learn.job import train
from interloq.learn.settings import Training
from interloq.metrics import evaluate as evaluating
from interloq.metrics.context_reply import NO_CONTEXT
from interloq.metrics.metric import NO_REFERENCES, FittedMetric, SetMetric, best_reference, is_mean
from interloq.models import loaded
from interloq.models.mlm import BOUNDS
from interloq.needs import METRICS as NEEDS
from interloq.records import Pair
from interloq.registry import full_spec
from interloq.retrieve.index import create_index
from interloq.scorers.bert_ruber.job import BertRuberJob
from interloq.scorers.bert_ruber.settings import BertRuberSettings
from interloq.scorers.relevance.settings import VALID
from interloq.vectors.word_vectors import WordVectors
from interloq.version import __version__
from tests.conftest import by_id
from tests.interlocutor.made_logs import log
from tests.interlocutor.made_models import judged, small_model
from tests.made_judge import small_judge
from tests.made_lm import tiny_bert, tiny_lm
from tests.made_relevance import small_scorer
from tests.made_ruber import random_scorer, topic_pairs

UNIT, POSITIVE, COSINE = (0.0, 1.0), (0.0, math.inf), (-1.0, 1.0)
# name → the range of its values, and specs beside the defaults
METRICS: dict[str, tuple[tuple[float, float], list[str]]] = {
    "am_fm": (POSITIVE, ["am_fm(am=deep_am(model='bert',mode='referenced'),fm=deep_fm(model='lm',mode='referenced'))"]),
    "bert_ruber": (UNIT, []),
    "bertscore": (
        COSINE,
        [
            "bertscore(model='bert',idf=True,layer=1,part='r')",
            "bertscore(model='bert',weights='outside')",
            "bertscore(model='bert',weights='inside',part='p')",
        ],
    ),
    "blend": (
        (-math.inf, math.inf),
        [
            "blend(metrics=(bleu(order=2),rouge_l(tokenizer='char')),weights=(1.5,0.5),means=(0.1,0.2),scales=(0.2,0.9))",
            "blend(metrics=(nist,chrf))",
        ],
    ),
    "bleu": (UNIT, ["bleu(order=2,level='sentence')", "bleu(smoothing='add-k',k=0.5)", "bleu(smoothing='tiny')"]),
    "bleu_star": (UNIT, ["bleu_star(order=2,smoothing='none')"]),
    "chrf": (UNIT, ["chrf(word_order=2)", "chrf(char_order=3,beta=1,lowercase=True,whitespace=True)"]),
    "dcp": (UNIT, ["dcp(model='answers',user='ann')", "dcp(model='answers',user='')"]),
    "deep_am": (COSINE, ["deep_am(model='bert',layer=1)", "deep_am(model='bert',mode='referenced')"]),
    "deep_fm": ((-math.inf, 1.0), ["deep_fm(model='lm',mode='referenced')"]),
    "delta_bleu": (UNIT, ["delta_bleu(mode='corpus',order=4)", "delta_bleu(mode='paper',order=1)"]),
    "distinct": (UNIT, ["distinct(n=1)", "distinct(n=3,per='token')"]),
    "embedding_average": (COSINE, ["embedding_average(vectors='letters',unknown='mean')"]),
    "fed": (
        (-math.inf, math.inf),
        [
            "fed(model='lm',dimension='relevant',mode='whole')",
            "fed(model='lm',dimension='fluent',sets='negative_only',over='sum',prior='context',layout='lines')",
        ],
    ),
    "full": (POSITIVE, ["full(model='lm',mode='perplexity',follow_ups='ja')"]),
    "greedy_matching": (COSINE, ["greedy_matching(vectors='letters',unknown='mean')"]),
    "interlocutor_score": ((-math.inf, math.inf), ["interlocutor_score(model='ratings',user='bob')"]),
    "judge": (COSINE, ["judge(model='rated',aspect='natural')"]),
    "length": (POSITIVE, []),
    "llm_judge": ((1.0, 5.0), []),
    "meteor": (UNIT, ["meteor(stages=('exact',))", "meteor(level='corpus',alpha=0.5,gamma=1,lowercase=False)"]),
    "mlm": ((-math.inf, math.inf), ["mlm(model='masked',mode='surprise')"]),
    "nist": (POSITIVE, ["nist(order=2)"]),
    "nsp": (UNIT, []),
    "perplexity": ((1.0, math.inf), ["perplexity(model='lm',context=False,layout='lines',log=True)"]),
    "pmi": ((-math.inf, math.inf), ["pmi(model='lm',over='sum',turns=1,layout='lines')"]),
    "relevance": (UNIT, []),
    "rouge_l": (UNIT, ["rouge_l(beta=1,multiple='best')"]),
    "ruber": (
        UNIT,
        [
            "ruber(referenced=nist,unreferenced=length(tokenizer='char'),blend='min')",
            "ruber(referenced=bleu,unreferenced=length,blend='max')",
        ],
    ),
    "ruber_referenced": (COSINE, ["ruber_referenced(vectors='letters',unknown='mean')"]),
    "ruber_unreferenced": (UNIT, []),
    "usl_h": (
        UNIT,
        ["usl_h(valid=valid(model='form'),next=nsp(model='bert'),mlm=length,weights=(3,2,1),bounds=(0,20))"],
    ),
    "valid": (UNIT, []),
    "vbertscore": (
        COSINE,
        [
            "vbertscore(index='replies',rater=human(ratings='ratings.jsonl'),model='bert',weigh=True,weights='inside',idf=True,k=3)",
            "vbertscore(index='replies',rater=by(valid(model='form')),model='bert',best=2,weigh=False)",
        ],
    ),
    "vbleu": (
        UNIT,
        [
            "vbleu(index='replies',rater=human(ratings='ratings.jsonl'),mode='paper',k=3)",
            "vbleu(index='replies',rater=human(ratings='ratings.jsonl'),mode='corpus',order=4,parrot=False,turns=2)",
            "vbleu(index='replies',rater=by(valid(model='form')),parrot=False,best=3)",
        ],
    ),
    "vector_extrema": (COSINE, ["vector_extrema(vectors='letters',unknown='mean')"]),
}
# metrics with a field that has no default
WITH_VECTORS = ["embedding_average", "greedy_matching", "ruber_referenced", "vector_extrema"]
REQUIRED = dict.fromkeys(WITH_VECTORS, "vectors='letters'") | {
    "am_fm": "am=deep_am(model='bert'),fm=deep_fm(model='lm')",
    "bert_ruber": "model='bert_scorer'",
    "bertscore": "model='bert'",
    "blend": "metrics=(chrf,rouge_l)",
    "dcp": "model='answers'",
    "deep_am": "model='bert'",
    "deep_fm": "model='lm'",
    "fed": "model='lm'",
    "full": "model='lm'",
    "interlocutor_score": "model='ratings'",
    "judge": "model='rated'",
    "llm_judge": "model='lm',rubric='short.json',layout='lines',longest=200",
    "mlm": "model='masked'",
    "nsp": "model='bert'",
    "perplexity": "model='lm'",
    "pmi": "model='lm'",
    "relevance": "model='judge'",
    "ruber": "referenced=chrf,unreferenced=length",
    "ruber_unreferenced": "model='scorer'",
    "usl_h": "valid=valid(model='form'),next=relevance(model='judge'),mlm=mlm(model='masked')",
    "valid": "model='form'",
    "vbertscore": "index='replies',rater=human(ratings='ratings.jsonl'),model='bert'",
    "vbleu": "index='replies',rater=human(ratings='ratings.jsonl')",
}
DEFAULTS = {name: f"{name}({REQUIRED[name]})" if name in REQUIRED else name for name in METRICS}
SPECS = [text for name, (_, variants) in METRICS.items() for text in (DEFAULTS[name], *variants)]
# these score replies that have none
FREE = (
    "am_fm",
    "bert_ruber",
    "dcp",
    "deep_am",
    "deep_fm",
    "distinct",
    "fed",
    "full",
    "interlocutor_score",
    "judge",
    "length",
    "llm_judge",
    "mlm",
    "nsp",
    "perplexity",
    "pmi",
    "relevance",
    "ruber_unreferenced",
    "usl_h",
    "valid",
)
REFERENCED = [text for text in SPECS if text.split("(")[0] not in FREE or "referenced'" in text]
BEST_REFERENCE = [
    *(text for text in SPECS if text.split("(")[0] in ("bleu_star", "meteor", *WITH_VECTORS)),
    DEFAULTS["bertscore"],
    "deep_am(model='bert',mode='referenced')",
    "rouge_l(beta=1,multiple='best')",
]
# in float32: what else is in a batch may change the last digits
NETWORKS = ("'answers'", "'bert", "'form'", "'judge'", "'lm'", "'masked'", "'rated'", "'ratings'")
TOKENIZERS = registry.names("tokenizer")
CARDS = Path(__file__).parents[1] / "docs" / "metrics"

PLAIN = [Reference("it was a very good day .", 1.0), Reference("we had a fine time there .", 0.5)]
ODD = [
    Sample("empty reply", (), "", PLAIN),
    Sample("reply of white space", (), " \n\t\u3000", PLAIN),
    Sample("one token", (), "good", PLAIN),
    Sample("one token, equal", (), "yes", ["yes"]),
    Sample("no references", (), "it was good ."),
    Sample("empty reference", (), "it was good .", [""]),
    Sample("reference of white space", (), "it was good .", [" \n "]),
    Sample("nothing on either side", (), "", [""]),
    Sample("no weight above 0", (), "it was good .", [Reference("it was good .", 0.0), Reference("no", -1.0)]),
    Sample("punctuation", (), "...?!", ["?"]),
    Sample("markup", (), "<skipped>", ["<skipped>", "&amp;"]),
    Sample("many references", (), "it was good .", [f"it was good {i} ." for i in range(40)]),
    Sample("equal references", (), "it was good .", ["it was fine ."] * 3),
]
FOREIGN = {
    "Japanese": "昨日は友だちと映画を見に行きました。",
    "Chinese": "昨天我和朋友一起去看了电影。",
    "Arabic": "ذهبت أمس مع صديقي إلى السينما.",
    "emoji": "👩‍👩‍👧‍👦 🎉🎉 so happy 🇯🇵 👍🏽",
    "combining marks": "Ame\u0301lie a\u0300 la plage e\u0301te\u0301",
    "mixed": "OK了！ えーっと… نعم",
}


def plain_samples(n: int = 40) -> list[Sample]:
    """Replies that share words with their references, by two systems; one to three references of positive weight."""
    random = Random(0)
    words = ["we", "i", "had", "saw", "a", "the", "very", "good", "bad", "day", "film", "dog", "there", "again"]

    def text() -> str:
        return " ".join([*random.choices(words, k=random.randint(4, 12)), "."])

    return [
        Sample(
            f"{i:03}",
            ["how was it ?"],
            text(),
            [Reference(text(), random.choice([1.0, 0.7, 0.2])) for _ in range(1 + i % 3)],
            ("first", "second")[i % 2],
        )
        for i in range(n)
    ]


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
    (low, high), _ = METRICS[text.split("(")[0]]
    return low - 1e-6 <= value <= high + 1e-6


def sound(text: str, result: Result) -> None:
    """Each sample has a value in the range or a reason, and the set has a value where a sample has."""
    for id, value in result.by_sample.items():
        assert math.isnan(value) == bool(result.reasons.get(id)), (id, value, result.reasons)
        assert math.isnan(value) or inside(text, value)
    assert result.n + result.unscored == len(result.by_sample)
    assert inside(text, result.value) if result.n else math.isnan(result.value)


def tokenizer(name: str, model: Path) -> Tokenizer:
    made: Tokenizer = create(
        f"sentencepiece(model={str(model)!r})" if name == "sentencepiece" else name, kind="tokenizer"
    )
    return made


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny SentencePiece model."""
    texts = [sample.response for sample in plain_samples()] + list(FOREIGN.values())
    return train_sentencepiece(texts, tmp_path_factory.mktemp("model") / "tiny.model", vocabulary=100, coverage=1.0)


@pytest.fixture(scope="module", autouse=True)
def letters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Vectors of single characters, named `letters` in the specs above: they lie in the working directory.

    So do networks with random weights: `scorer` and `bert_scorer` for RUBER, encoders, `bert` and `masked`, a language
    model, `lm`, scorers of relevance and of form, `judge` and `form`, and one learned from ratings, `rated`, models of
    interlocutors, `answers` and `ratings`; an index, `replies`, with ratings of
    what it finds; and a short rubric, `short.json`.
    All numbers of the vectors are positive, so no reply points away from a reference and scores less than an empty one.
    """
    known = sorted({letter for text in FOREIGN.values() for letter in text if not letter.isspace()} | {*ascii_letters})
    matrix = np.random.default_rng(0).random((len(known), 30), dtype=np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("vectors"))
        patch.setattr(loaded, "_cached", lru_cache(maxsize=40)(loaded._cached.__wrapped__))  # all of them at once
        WordVectors.of(known, matrix, tokenizer="char").save("letters")
        random_scorer(Path("scorer"))
        tiny_bert(Path("bert"))
        tiny_lm(Path("lm"), positions=512)
        prompt = "{definition} {dialogue} {lowest} {highest} "
        write_json("short.json", {"scale": [1, 5], "dimensions": {"overall": "good?"}, "single": prompt})
        tiny_bert(Path("masked"), head="MaskedLM", words=[f"w{k}" for k in range(1, 20)])
        Path("masked", BOUNDS).write_text('{"likelihood": [-8, -2]}')
        small_scorer(Path("made")).rename("judge")
        small_scorer(Path("made"), settings=dataclasses.replace(VALID, batch=32, reply=12)).rename("form")
        small_judge(Path("people"), Path("judge")).rename("rated")
        small_model(Path("continuity"), epochs=1).rename("answers")
        small_model(Path("ratings_by_users"), aspect="overall", personal="both", epochs=1).rename("ratings")
        quick, settings = Training(epochs=1), BertRuberSettings()
        job = BertRuberJob(pairs=lambda: topic_pairs(60), encoder="bert", settings=settings, training=quick)
        train(job, "bert_scorer", device="cpu")
        patch.setenv("INTERLOQ_CACHE", str(Path("cache").resolve()))
        index = create_index("replies", "bm25")
        index.add([Pair(f"p{i}", f"how was it {i % 3} ?", f"it was a good day {i}") for i in range(30)], source="made")
        places = [(s.id, place) for s in plain_samples() for place in range(len(s.references), len(s.references) + 9)]
        rated = [Rating(1 + place % 5, item=f"{id}/{place}") for id, place in places]  # not the gold replies
        others = (
            *(sample.id for sample in ODD),
            "one",
            *map(str, range(20)),
            *FOREIGN,
            *(f"{script}, other" for script in FOREIGN),
        )
        rated += [Rating(5, item=f"{id}/0") for id in others]  # weight 1, as a gold reply has without a rating
        write("ratings.jsonl", rated, kind="ratings")
        yield


def test_every_registered_metric_is_listed_here_and_has_a_card() -> None:
    assert sorted(METRICS) == registry.names("metric")
    index = (CARDS / "README.md").read_text("utf-8")
    for name in METRICS:
        assert f"[{name}.md]({name}.md)" in index
        card = (CARDS / f"{name}.md").read_text("utf-8")
        for field in dataclasses.fields(create(DEFAULTS[name])):
            assert not field.init or f"`{field.name}`" in card, f"{name}.md does not explain {field.name}"


@pytest.mark.parametrize("text", SPECS)
def test_metrics_with_references_need_them(text: str) -> None:
    assert (create(text).unscorable(Sample("1", (), "it was good .")) == NO_REFERENCES) == (text in REFERENCED)


@pytest.mark.parametrize("text", SPECS)
def test_a_metric_over_single_references_says_so(text: str) -> None:
    metric = create(text)
    reduction = getattr(metric, "over_references", None)
    assert reduction == ("max" if text in BEST_REFERENCE else None)
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


@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize("lowercase", [False, True])
def test_specs_with_tokenizers_round_trip(name: str, lowercase: bool, model: Path) -> None:
    inner = dataclasses.replace(tokenizer(name, model), lowercase=lowercase)  # type: ignore[type-var]
    assert create(spec(inner), kind="tokenizer") == inner
    for metric in map(create, DEFAULTS.values()):
        if hasattr(metric, "tokenizer"):
            outer = dataclasses.replace(metric, tokenizer=inner)
            assert create(spec(outer)) == outer
            name_, required = registry.name_of(metric), REQUIRED.get(registry.name_of(metric), "")
            assert create(f"{name_}({required}{',' * bool(required)}tokenizer={spec(inner)!r})") == outer


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
        *((DEFAULTS[name], "no context", "no context") for name in ("dcp", "interlocutor_score")),
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
    assert bool(first) == hasattr(metric, "details")
    assert evaluate(metric, []).details == {}


@pytest.mark.parametrize("text", SPECS)
def test_a_metric_says_whether_its_value_of_a_set_is_a_mean(text: str) -> None:
    result = plain_result(text)
    mean = np.nanmean(list(result.by_sample.values()))
    assert is_mean(create(text)) == (result.value == pytest.approx(mean, abs=1e-9))


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


REPLY = st.text(max_size=25) | st.sampled_from(["", "yes", "i do .", "<skipped>", "a a a a a a", *FOREIGN.values()])
WEIGHT = st.sampled_from([-1.0, -0.3, 0.0, 0.4, 1.0])
REFERENCES = st.lists(st.builds(Reference, REPLY, WEIGHT), max_size=2)


@pytest.mark.parametrize("text", SPECS)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(pairs=st.lists(st.tuples(REPLY, REFERENCES), min_size=3, max_size=15))
def test_any_text_has_a_value_in_the_range_or_a_reason(text: str, pairs: list[tuple[str, list[Reference]]]) -> None:
    samples = [Sample(str(i), (), reply, references) for i, (reply, references) in enumerate(pairs)]
    sound(text, evaluate(text, samples))


@pytest.mark.parametrize("name", TOKENIZERS)
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(REPLY, max_size=3))
def test_tokenizers_keep_their_promises(name: str, model: Path, texts: list[str]) -> None:
    made = tokenizer(name, model)
    for text in texts:
        assert made.tokens(text) == made.tokens(text)
        assert all(isinstance(token, str) for token in made.tokens(text))
    if made.by_word:
        joined = " ".join(texts)
        if "\n" not in joined:
            assert made.tokens(joined) == [token for text in texts for token in made.tokens(text)]
    assert made.tokens("") == made.tokens("  ") == []
    assert registry.name_of(made) in made.signature()
    lower = dataclasses.replace(made, lowercase=True)  # type: ignore[type-var]
    assert lower.signature() != made.signature()
    assert lower.tokens("OH No") == made.tokens("oh no")


def commands(card: str) -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", (CARDS / card).read_text("utf-8"), re.DOTALL)
    return [line for line in "\n".join(blocks).replace("\\\n", " ").splitlines() if line.startswith("interloq ")]


@pytest.fixture(scope="module")
def some_pairs() -> list[Pair]:
    """Pairs of the embedded log that were not composed from patterns, few enough to train on them quickly."""
    return list(islice(read(embedded_log_path("en"), kind="pairs"), 400))


@pytest.fixture(scope="module")
def trained() -> dict[str, Path]:
    """Output of each `train` command: several cards show the same one, which is run once."""
    return {}


def run(command: str, trained: dict[str, Path]) -> int:
    words = shlex.split(command)[1:]
    output = Path(words[words.index("-o") + 1]) if words[0] == "train" else None
    if output is None or command not in trained:
        status = main(words)
        if output is not None:
            trained[command] = output.resolve()
        return status
    (shutil.copytree if trained[command].is_dir() else shutil.copyfile)(trained[command], output)
    return 0


@pytest.mark.parametrize("card", sorted(path.name for path in CARDS.glob("*.md")))
def test_the_commands_of_a_card_run(
    card: str,
    folder: Path,
    some_pairs: list[Pair],
    trained: dict[str, Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for language, name in (("en", "samples"), ("ja", "samples-ja")):
        few = islice(read(embedded_path(language), kind="samples"), 48)  # exit codes are all that is checked
        write(folder / f"{name}.jsonl", few, kind="samples")
    write(folder / "pairs.jsonl", some_pairs, kind="pairs", source="the first pairs of interloq/embedded/log_en")
    write(folder / "dialogues.jsonl", log(60), kind="dialogues")
    rated = [dataclasses.replace(sample, id=f"d{i % 5}#{i}") for i, sample in enumerate(judged(60, aspect="overall"))]
    write(folder / "rated.jsonl", rated, kind="samples")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))  # for the key that hashes ids of users
    torch.set_num_threads(1)  # for networks this small, threads do little but wait for each other
    for command in commands(card):
        assert run(command, trained) == 0, f"{command}: {capsys.readouterr().err}"
    assert commands(card) or card == "rouge_l.md"


@pytest.mark.parametrize("name", sorted(METRICS))
def test_what_a_metric_needs_is_what_it_asks_for(name: str) -> None:
    """Composites ask for what their parts do."""
    needs, metric = NEEDS[name], create(DEFAULTS[name])
    required = [field.name for field, _ in registry._fields(type(metric)) if registry._is_required(field)]
    assert list(needs.fields) == required
    if not {"rater", "referenced", "am", "valid", "metrics"} & set(required):
        assert needs.references == (metric.unscorable(Sample("1", ["hello there"], "good")) == NO_REFERENCES)
        assert needs.context == (metric.unscorable(Sample("1", (), "good", ["good"])) == NO_CONTEXT)
