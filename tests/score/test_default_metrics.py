"""Metrics for users who name none."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from interloq import InputError, MissingDependencyError, Rating, Reference, Sample
from interloq.registry import create
from interloq.score import default_metrics as module
from interloq.score.default_metrics import (
    BERTSCORE,
    DIALOGUE_JUDGE,
    JUDGE,
    default_metrics,
    is_english,
    length_metric,
    next_steps,
    require_judge,
)

ENGLISH = ["What do you like to do in your free time?"]
GERMAN = ["Was machst du gern, wenn du am Wochenende frei hast?"]
JAPANESE = ["休みの日には何をするのが好きですか。"]


class Loads:
    """A metric whose network can be loaded."""

    def built_with(self) -> str:
        return "network"


class Lacks:
    """A metric whose network needs a package that is not installed."""

    def built_with(self) -> str:
        raise MissingDependencyError("metric 'judge'", "torch", "ready")


@pytest.fixture(autouse=True)
def networks(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    found: dict[str, Any] = {"metric": Loads()}
    monkeypatch.setattr(module, "create", lambda _: found["metric"])
    return found


def samples(context: list[str], references: list[str] = []) -> list[Sample]:  # noqa: B006
    return [Sample(str(i), context, context[0] if context else "yes", references) for i in range(4)]


def test_with_references_replies_are_compared_with_them() -> None:
    found = default_metrics(samples(ENGLISH, ["I like to read."]))
    assert found.metrics == (JUDGE, BERTSCORE, "chrf", "rouge_l", "bleu(order=2)", "length")
    assert found.left_out == ()
    every = default_metrics(samples(ENGLISH, ["I like to read."]), every=True)
    assert every.metrics == (*found.metrics[:-1], "distinct", "length")


def test_without_references_the_context_is_read() -> None:
    assert default_metrics(samples(ENGLISH)).metrics == (JUDGE, "distinct", "length")
    alone = default_metrics(samples([]))
    assert alone.metrics == ("distinct", "length")
    assert alone.left_out == (f"{JUDGE}: most samples have no context",)


def test_a_missing_extra_is_named_with_its_command(networks: dict[str, Any]) -> None:
    networks["metric"] = Lacks()
    found = default_metrics(samples(ENGLISH))
    assert found.metrics == ("distinct", "length")
    assert "pip install 'interloq[ready]'" in found.left_out[0]


def test_other_languages_are_not_read_by_english_networks() -> None:
    german = default_metrics(samples(GERMAN, GERMAN))
    assert german.metrics == ("chrf", "rouge_l", "bleu(order=2)", "length")
    assert "it knows English only" in german.left_out[0]
    japanese = default_metrics(samples(JAPANESE, JAPANESE))
    char = "tokenizer='char'"
    assert japanese.metrics == ("chrf", f"rouge_l({char})", f"bleu(order=2,{char})", f"length({char})")
    assert length_metric(samples(JAPANESE)) == f"length({char})"


def test_the_judge_is_required_where_no_metric_is_named(networks: dict[str, Any]) -> None:
    assert require_judge(samples(ENGLISH), "compare samples") == JUDGE
    assert require_judge(samples(ENGLISH), "rank", of_dialogues=True) == DIALOGUE_JUDGE
    for replies, why in ((samples([]), "no context"), (samples(GERMAN), "English only")):
        with pytest.raises(InputError, match=rf"no metric to rank by; judge.*{why}"):
            require_judge(replies, "rank")
    networks["metric"] = Lacks()
    with pytest.raises(InputError, match="pip install 'interloq"):
        require_judge(samples(ENGLISH), "rank")


@pytest.mark.parametrize(
    ("text", "english"),
    [
        (ENGLISH[0], True),
        (GERMAN[0], False),
        ("Wat doe je graag in het weekend, als je vrij bent?", False),
        ("¿Qué te gusta hacer en tu tiempo libre?", False),
        ("Qu'est-ce que tu aimes faire pendant ton temps libre ?", False),
        ("", False),
    ],
)
def test_english_is_told_from_its_neighbours(text: str, english: bool) -> None:
    assert is_english([Sample("1", (), text)]) is english


def test_references_with_weights_are_weighed() -> None:
    weighed = [Sample("1", ENGLISH, "yes", [Reference("no", -1.0), Reference("yes")])]
    assert default_metrics(weighed).metrics == (
        *(JUDGE, BERTSCORE, "delta_bleu(order=2)"),
        *("chrf", "rouge_l", "bleu(order=2)", "length"),
    )


def test_next_steps_are_those_the_samples_allow() -> None:
    trust, extend = next_steps("my file.jsonl", samples(ENGLISH), "chrf")
    assert trust.endswith("interloq choose RATED")
    assert "interloq extend 'my file.jsonl'" in extend
    rated = [Sample(f"{i}", "c", "r", ["a", "b"], ("one bot", "two")[i % 2], [Rating(1.0)]) for i in range(20)]
    choose, compare = next_steps("f.jsonl", rated, "bleu(order=2)")
    assert choose.endswith("interloq choose f.jsonl")
    assert compare.endswith("f.jsonl f.jsonl --old-system 'one bot' --new-system two -m 'bleu(order=2)'")
    assert "interloq meta scores.jsonl --samples f.jsonl" in next(next_steps("f.jsonl", rated[:3], "chrf"))
    english = [Sample(f"{i}", ENGLISH, "I like to read.", ["a", "b"], ratings=[Rating(1.0)]) for i in range(50)]
    _, learn = next_steps("my file.jsonl", english, "chrf")
    assert learn.endswith("interloq train judge 'my file.jsonl' -o mine")
    *_, compare = next_steps("f.jsonl", rated, JUDGE)
    assert shlex.split(compare)[-1] == 'judge(model="ready")'
    assert create(shlex.split(compare)[-1]) == create(JUDGE)
