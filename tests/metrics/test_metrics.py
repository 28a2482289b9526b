"""Defaults of metrics, and rows of metrics whose score of a set is a mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from interloq import InputError, Sample, create, evaluate, metric
from interloq import metric as function_metric
from interloq.metrics import metric_names
from interloq.metrics.combined.blend import Blend
from interloq.metrics.metric import (
    Array,
    Direction,
    as_metric,
    mean_parts,
    mean_value,
    needs_references,
    score_rows,
)
from interloq.metrics.metric_names import direction, find, labels
from interloq.metrics.network_metric import NO_CONTEXT, ContextReply, needs_context
from interloq.metrics.overlap.bleu import Bleu
from interloq.metrics.traits import Traits, reads_references, traits
from interloq.registry import Component, names


def test_rows_add_up_to_the_mean() -> None:
    rows = score_rows(np.array([0.2, np.nan, 0.6]))
    assert np.isnan(rows[1]).all()
    assert mean_value(rows)[[0, 2]].tolist() == [0.2, 0.6]
    assert mean_value(np.nansum(rows, axis=0)) == pytest.approx(0.4)
    assert np.isnan(mean_value(np.zeros(2))), "the mean of nothing is missing, not 0"


def test_parts_follow_the_score() -> None:
    rows = score_rows(np.array([0.2, 0.6]), np.array([1.0, 3.0]), np.array([0.0, 1.0]))
    assert mean_parts(rows.sum(axis=0), "p", "r") == {"p": 2.0, "r": 0.5}


@dataclass(frozen=True)
class Bare:
    """Only what a metric must have, and a field with the name of an attribute of `Metric`."""

    scale: float = 2.0
    is_mean = False

    def unscorable(self, sample: Sample) -> str | None:
        return needs_references(sample)

    def stats(self, samples: Sequence[Sample]) -> Array:
        return score_rows(np.array([self.scale * len(sample.response) for sample in samples]))

    def value(self, total: Array) -> Array:
        return mean_value(total)


def test_a_class_that_only_satisfies_the_protocol_gets_the_defaults() -> None:
    bare: Any = Bare()
    metric = as_metric(bare)
    assert metric == bare
    assert (metric.direction, metric.of, metric.over_references) == ("higher", "reply", None)
    assert metric.reads_references, "as `unscorable` says"
    assert not metric.is_mean, "what the class says stays"
    assert bare.scale == 2.0, "fields stay"
    assert (metric.details(np.zeros(2)), metric.failures([Sample("1")]), metric.places) == ({}, [""], ())
    assert type(metric).catalogue_facts()["direction"] == "higher"


def test_bare_metrics_are_evaluated_alone_and_as_parts() -> None:
    samples = [Sample("1", (), "abc", ["d"]), Sample("2", (), "abcd", ["d"]), Sample("3", (), "abcd")]
    result = evaluate(Bare(), samples, n_bootstrap=0)
    assert (result.value, result.unscored) == (7.0, 1)
    assert evaluate(Blend((Bare(), Bare(3.0))), samples, n_bootstrap=0).value == pytest.approx(0.5 * (7.0 + 10.5))  # type: ignore[arg-type]


def test_the_spec_of_a_metric_is_a_metric() -> None:
    assert as_metric("bleu(order=2)") == Bleu(order=2)


# ---- directions and labels -------------------------------------------------------------------------------------------


TABLE = Path(__file__).parents[2] / "docs" / "metrics" / "README.md"


def test_the_table_of_metrics_and_the_classes_agree() -> None:
    rows = [[cell.strip() for cell in line.split("|")] for line in TABLE.read_text("utf-8").splitlines()]
    told = {row[1].strip("`"): row[5] for row in rows if len(row) > 6 and row[6].endswith(".md)")}
    assert told == {name: metric_names.direction(name) for name in names("metric")}


def test_a_metric_that_knows_its_direction_keeps_it_and_others_follow_what_is_said() -> None:
    directions = {
        name: [metric_names.direction(name, lower) for lower in (None, True, False)]
        for name in ("perplexity", "bleu", "length", "toxicity", "error_rate", "rating(aspect='overall')", "")
    }
    assert directions == {
        "perplexity": ["lower"] * 3,
        "bleu": ["higher"] * 3,
        "length": ["neither", "lower", "higher"],
        "toxicity": ["neither", "lower", "higher"],
        "error_rate": ["neither", "lower", "higher"],
        "rating(aspect='overall')": ["higher", "lower", "higher"],
        "": ["higher", "lower", "higher"],
    }
    assert metric_names.unknown_directions(directions) == ["toxicity", "error_rate"]
    assert [metric_names.downwards("length", lower) for lower in (True, False)] == [True, False]
    with pytest.raises(InputError, match=r"neither a high nor a low score is better; .* --higher-is-better or --lower"):
        metric_names.downwards("length(tokenizer='char')")


def test_what_a_labelled_name_says() -> None:
    metrics = ["ppl=perplexity(model='a')", "x=bleu", "x=chrf", "length"]
    assert labels(metrics) == {metrics[0]: "ppl", "x=bleu": "x=bleu", "x=chrf": "x=chrf", "length": "length"}
    assert [find(asked, metrics) for asked in ("ppl", "perplexity(model='a')", "bleu", "x", "none")] == [
        metrics[0], metrics[0], "x=bleu", "x", "none",
    ]  # fmt: skip
    assert direction(metrics[0]) == "lower", "a label hides no direction"


def test_a_function_is_known_in_the_process_that_made_it() -> None:
    assert direction("fewer_words_of_this_test") == "neither"
    metric(lambda sample: len(sample.response), name="fewer_words_of_this_test", direction="lower")
    assert direction("fewer_words_of_this_test") == "lower"
    assert direction("mine=fewer_words_of_this_test") == "lower"


@dataclass(frozen=True)
class OwnOfThisTest(Component):
    direction: ClassVar[Direction] = "lower"

    def unscorable(self, sample: Sample) -> None:  # noqa: ARG002
        return None

    def stats(self, samples: Sequence[Sample]) -> Array:
        return np.zeros((len(samples), 2))

    def value(self, total: Array) -> Array:
        return total[..., 0]


def test_a_class_is_known_once_it_has_scored() -> None:
    result = evaluate(OwnOfThisTest(), [Sample("1", (), "a")], n_bootstrap=0)
    assert direction(result.metric) == "lower"


# ---- traits ----------------------------------------------------------------------------------------------------------


def of(spec: str) -> tuple[Traits, ...]:
    return traits(create(spec, kind="metric"))


def test_a_plain_metric_is_one_part() -> None:
    (bleu,) = of("bleu(order=3)")
    assert (bleu.name, bleu.reads_references, bleu.reads_weights, bleu.tokens_needed) == ("bleu", True, False, 3)
    (delta,) = of("delta_bleu")
    assert delta.reads_weights
    assert [trait.reads_references for trait in of("length")] == [False]


def test_whether_references_are_read_may_be_unknown() -> None:
    assert reads_references("label=bleu(order=2)") is True
    assert reads_references(create("length", kind="metric")) is False
    assert reads_references("ruber(referenced=chrf,unreferenced=length)") is True
    judge = "llm_judge(endpoint='http://127.0.0.1:1/v1',model='m')"  # a file may name it, so nothing is called
    for unknown in ("toxicity", "mine.py:words", judge, function_metric(len, name="mine")):
        assert reads_references(unknown) is None


def test_a_metric_made_of_others_is_its_parts() -> None:
    found = of("ruber(referenced=delta_bleu(order=2),unreferenced=length)")
    assert [trait.name for trait in found] == ["delta_bleu", "length"]


@pytest.mark.parametrize(
    ("spec", "sensitive"),
    [("bleu", True), ("bleu(tokenizer='13a(lowercase=True)')", False), ("length", True)],
)
def test_case_matters_unless_texts_are_lowercased(spec: str, sensitive: bool) -> None:
    assert of(spec)[0].case_sensitive == sensitive


# ---- metrics of context and reply ------------------------------------------------------------------------------------


class Asked:
    """Scores a reply by its length, and remembers what it was asked."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    def scores(self, contexts: Sequence[str], replies: Sequence[str]) -> Array:
        self.seen += zip(contexts, replies, strict=True)
        return np.array([len(reply) / 10 for reply in replies])


NETWORK = Asked()


@dataclass(frozen=True)
class Made(ContextReply):
    def network(self) -> Asked:
        return NETWORK


def test_only_replies_with_text_are_asked_about() -> None:
    texts: list[tuple[list[str], str]] = [(["a", "b"], "four"), (["a"], " "), ([], "x"), (["a", ""], "x")]
    given = [Sample(str(i), context, reply) for i, (context, reply) in enumerate(texts)]
    rows = Made("folder").stats(given)
    assert rows[:, 0].tolist() == pytest.approx([0.4, 0.0, np.nan, np.nan], nan_ok=True)
    assert NETWORK.seen == [("b", "four")]
    assert Made("folder").value(rows[:2].sum(axis=0)) == pytest.approx(0.2)


def test_a_sample_without_an_utterance_has_a_reason() -> None:
    assert needs_context(Sample("1", ["a", " "], "x")) == NO_CONTEXT
    assert needs_context(Sample("1", ["a"], "x")) is None
