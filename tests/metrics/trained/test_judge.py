from __future__ import annotations

import math
import shlex
from pathlib import Path

import numpy as np
import pytest

from interloq import InputError, Sample, evaluate
from interloq.cli.main import verb_parser
from interloq.errors import SpecError
from interloq.learn.ready import PACKAGED
from interloq.metrics.trained.judge import Judge
from interloq.score.by import By
from tests.made_judge import rated, small_judge
from tests.made_relevance import small_scorer
from tests.metrics.made_contracts import COSINE, Contract

CONTRACTS = {
    "judge": Contract(
        COSINE,
        variants=[
            "judge(model='rated',aspect='natural')",
            "judge(model='ready')",
            "judge(model='ready',precision='int8')",
        ],
        required="model='rated'",
    ),
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("judge")
    return str(small_judge(folder, small_scorer(folder, epochs=2)))


def scores(metric: Judge, samples: list[Sample]) -> list[float]:
    return list(metric.value(metric.stats(samples)).tolist())


def test_the_score_of_a_set_is_the_mean_of_ranks(model: str) -> None:
    samples = rated(30, seed=9)
    found = scores(Judge(model), samples)
    assert all(-1 < score < 1 for score in found)
    result = evaluate(Judge(model), samples, n_bootstrap=0)
    assert result.value == pytest.approx(float(np.mean(found)))
    assert "built-with" in result.signature.parts
    assert scores(Judge(model, aspect="natural"), samples) == pytest.approx(found)  # the same ratings


def test_empty_replies_and_contexts(model: str) -> None:
    samples = [Sample("a", ["tea ?"], " "), Sample("b", [], "tea ."), Sample("c", ["tea ?", " "], "tea .")]
    metric = Judge(model)
    assert [metric.unscorable(sample) for sample in samples] == [None, "no context", None]
    found = scores(metric, samples)
    assert found[0] == -1
    assert math.isnan(found[1])
    assert found[2] > -1


def test_an_aspect_that_it_lacks_is_refused_even_without_replies(model: str) -> None:
    with pytest.raises(InputError, match=r"no aspect 'fluent'; it has natural, overall"):
        Judge(model, aspect="fluent").built_with()


def test_replies_in_a_language_that_the_network_does_not_know_are_unscored(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = [Sample("1", ["你昨晚睡得好吗？"], "不太好，邻居开派对到三点。"), Sample("2", ["你昨晚睡得好吗？"], "OK")]
    assert evaluate(Judge(model), samples).n == 2
    place = Judge(model).network().place
    monkeypatch.setitem(PACKAGED, place, Path(place))
    result = evaluate(Judge(model), samples)
    assert (result.n, result.unscored) == (1, 1)
    (reason,) = result.reasons.values()
    assert reason.startswith("reply in Chinese, and judge's network knows English only; train your own: interloq train")
    command = reason.partition("your own: ")[2].partition(", see")[0]
    given = verb_parser("train", "judge").parse_args(shlex.split(command)[2:])
    assert (given.scorer, given.output) == ("relevance", "judge"), "it does not start from the English judge"
    (note,) = result.notes
    assert (note.name, note.count) == ("language", 1), "the reply that is too short to tell"
    anyway = evaluate(Judge(model, any_language=True), samples)
    assert anyway.n == 2
    assert anyway.notes[0].count == 2


def test_the_judge_of_the_package() -> None:
    context = ["Hi! What did you do at the weekend?"]
    replies = ["I went hiking with my sister, it was lovely. And you?", "The the of banana is.", "Tax law is dry."]
    samples = [Sample(str(i), context, reply) for i, reply in enumerate(replies)]
    for aspect in ("overall", "relevant", "natural", "engaging", "dialogue"):
        found = scores(Judge("ready", aspect=aspect), samples)
        assert found[0] == max(found)


def test_with_8_bits_scores_are_near_and_do_not_depend_on_the_batch() -> None:
    samples = rated(40, seed=3)
    exact, rounded = (np.array(scores(Judge("ready", precision=name), samples)) for name in ("float32", "int8"))
    assert 0 < np.abs(exact - rounded).max() < 0.1
    assert np.corrcoef(exact, rounded)[0, 1] > 0.99
    singly = [scores(Judge("ready", precision="int8"), [sample])[0] for sample in samples]
    assert singly == pytest.approx(rounded.tolist(), abs=1e-12)
    signatures = [evaluate(Judge("ready", precision=name), samples).signature for name in ("float32", "int8")]
    assert signatures[0] != signatures[1]


def test_replies_it_was_trained_on_are_noted(model: str) -> None:
    known, new = rated(60, seed=1), rated(10, seed=9)
    assert evaluate(Judge(model), new).notes == ()
    (note,) = evaluate(Judge(model), [*known[:4], *new]).notes
    assert (note.name, note.count, note.of) == ("trained on", 4, 14)
    assert note.text.startswith("4 of 14 replies are among those judge learned from")
    assert note.metric == "judge(model='judge')"


def test_as_a_rater_it_needs_a_log(model: str) -> None:
    with pytest.raises(SpecError, match="scores of judge are not probabilities; give a log to calibrate them on"):
        By(Judge(model))
    assert By(Judge(model), pairs="pairs.jsonl").pairs == "pairs.jsonl"
