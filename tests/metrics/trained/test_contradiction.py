"""Contradiction: which turns count, and which samples are unscored."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from interloq import Sample, Turn, evaluate, write
from interloq.learn.ready import CONTRADICTION, READY
from interloq.metrics.trained.contradiction import NO_OWN_TURN, Contradiction
from interloq.score.explain import explain_file
from interloq.score.score_options import ExplainOptions
from tests.metrics.made_contracts import UNIT, Contract
from tests.scorers.contradiction.conftest import clashing
from tests.scorers.contradiction.made_pairs import statement

__all__ = ["clashing"]

CONTRACTS = {
    "contradiction": Contract(UNIT, required="model='clashing'"),  # `same` needs contexts of two turns
}
LIKES, HATES = statement("tea", never=False), statement("tea", never=True)


def scores(metric: Contradiction, samples: list[Sample]) -> list[float]:
    return list(metric.value(metric.stats(samples)).tolist())


def test_the_worst_turn_decides(clashing: str) -> None:
    metric = Contradiction(clashing)
    true = Sample("a", [LIKES, "so ?", "today ?", "so ?"], LIKES)
    false = replace(true, response=HATES)
    assert scores(metric, [true])[0] > 0.7
    assert scores(metric, [false])[0] < 0.3
    clash = metric.clash(false)
    assert clash is not None
    assert (clash.turn, clash.text, clash.same) == (0, LIKES, True)
    assert 1 - clash.chance == pytest.approx(scores(metric, [false])[0], abs=1e-6)


def test_another_person_may_like_something_else(clashing: str) -> None:
    metric = Contradiction(clashing)
    assert scores(metric, [Sample("a", [LIKES], HATES)])[0] > 0.7
    told = [Turn(LIKES, "ann"), Turn("so ?", "bob"), Turn("today ?", "bob")]
    other = Sample("b", told, HATES)
    mine = Sample("c", [*told[:1], Turn("so ?", "bob")], HATES)
    first, second = scores(metric, [other, mine])
    assert max(first, second) < 0.3  # ann speaks next in both


def test_only_own_turns(clashing: str) -> None:
    metric = Contradiction(clashing, speaker="same")
    alone = Sample("a", [LIKES], HATES)
    assert metric.unscorable(alone) == NO_OWN_TURN
    assert metric.unscorable(Sample("b", [" "], HATES)) == "no context"
    assert math.isnan(scores(metric, [alone])[0])
    assert metric.clash(alone) is None
    assert scores(metric, [Sample("c", [LIKES, "so ?"], HATES)])[0] < 0.3


def test_an_empty_reply_scores_0(clashing: str) -> None:
    metric = Contradiction(clashing)
    empty = Sample("a", [LIKES], " ")
    assert scores(metric, [empty]) == [0]
    assert metric.clash(empty) is None
    assert scores(metric, []) == []


def test_explain_shows_the_turns_that_clash(clashing: str, tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    write(path, [Sample("a", [LIKES, "so ?"], HATES)], kind="samples")
    explained = explain_file("a", path, ExplainOptions(metric=f"contradiction(model={clashing!r})"))
    assert explained.taken_apart
    assert explained.facts()["clash"]["text"] == LIKES
    assert explained.score == pytest.approx(1 - explained.facts()["clash"]["chance"], abs=1e-6)


@pytest.mark.skipif(not CONTRADICTION[READY].is_dir(), reason="the packaged weights are missing")
def test_the_packaged_scorer_sees_plain_contradictions() -> None:
    metric = Contradiction("ready")
    assert metric.language == "English"
    context = ["i have two dogs .", "what do you do for a living ?", "i am a teacher .", "do you like animals ?"]
    replies = {
        "no": "i don't have any dogs .",
        "yes": "yes , my two dogs are great .",
        "job": "i work as a nurse .",
        "same": "i love to teach .",
    }
    samples = [Sample(name, context, reply) for name, reply in replies.items()]
    found = {key[0]: score for key, score in evaluate(metric, samples, n_bootstrap=0).by_sample.items()}
    assert max(found["no"], found["job"]) < 0.5 < min(found["yes"], found["same"])


def test_a_reply_in_another_language_is_unscored_unless_wanted() -> None:
    german = Sample("a", ["How are you?"], "Ich bin sehr müde und gehe jetzt nach Hause.")
    reason = Contradiction("ready").unscorable(german)
    assert reason is not None
    assert "German" in reason
    assert "interloq train" not in reason  # no such command
    assert Contradiction("ready", any_language=True).unscorable(german) is None
    assert Contradiction("ready").unscorable(replace(german, response="I am tired.")) is None
