"""Metrics from functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import interloq
from interloq import InputError, RejectedWarning, Result, Sample, evaluate, evaluate_all, metric
from interloq.cli.main import main
from interloq.metrics.function import load_metric
from interloq.score.probe import probe
from interloq.score.score_file import score_file
from tests.conftest import by_id

FILE = """
from dataclasses import dataclass
import interloq
from interloq.metrics.overlap.length import Length
from interloq.registry import Component

LIMIT = 3
print("executed")

def words(sample):
    return min(LIMIT, len(sample.response.split()))

@interloq.metric(direction="lower", batch=True)
def letters(samples):
    return [len(sample.response) for sample in samples]

@dataclass(frozen=True)
class Own(Length):
    pass

@dataclass(frozen=True)
class Incomplete(Component):
    other: int
"""


def words(sample: Sample) -> float | None:
    return len(sample.response.split()) if sample.response else None


def scores(result: Result) -> list[float]:
    return list(by_id(result.by_sample).values())


def test_a_function_is_a_metric(samples: list[Sample]) -> None:
    result = evaluate(metric(words), samples)
    assert scores(result) == [len(sample.response.split()) for sample in samples]
    assert result.metric == "words"
    assert result.value == pytest.approx(np.mean(scores(result)))
    assert result.ci is not None
    assert result.notes == ()


def test_none_leaves_a_sample_unscored_with_a_reason(samples: list[Sample]) -> None:
    result = evaluate(metric(words), [*samples, Sample("7", (), "")])
    assert (result.n, result.unscored, by_id(result.reasons)) == (6, 1, {"7": "the function returned None"})
    missing = evaluate(metric(lambda _: math.nan, name="missing"), samples)
    assert set(missing.reasons.values()) == {"the function returned nan"}


def test_failures_leave_samples_unscored_and_are_counted(samples: list[Sample]) -> None:
    def second(sample: Sample) -> int:
        return len(sample.references[1].text)

    bare = [Sample(id, (), "a", system="bot") for id in ("b", "c")]
    given = [*samples, *bare]
    with pytest.warns(
        RejectedWarning, match=rf"second failed on 2 of {len(given)} samples, first on 'b' of 'bot': Ind"
    ):
        result = evaluate(metric(second), given)
    assert by_id(result.reasons) == dict.fromkeys("bc", "the function failed: IndexError: tuple index out of range")


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize(
    ("value", "why"), [(math.inf, "inf"), ("good", "'good', not a number"), (10**400, "1000.*, not a number")]
)
def test_values_that_are_not_numbers_are_failures(value: Any, why: str, batch: bool) -> None:
    odd = metric(lambda given: [value for _ in given] if batch else value, name="odd", batch=batch)
    with pytest.warns(RejectedWarning, match=f"odd failed on 1 of 1 sample, first on '1': it returned {why}"):
        assert evaluate(odd, [Sample("1", (), "a")]).unscored == 1


@pytest.mark.filterwarnings("default::interloq.RejectedWarning")
def test_failures_are_reported_on_the_command_line(
    samples: list[Sample], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    interloq.write("samples.jsonl", [replace(sample, system="") for sample in samples], kind="samples")
    lines = "def late(sample):\n    if sample.id > '3': raise ValueError('too\\nlate')\n    return int(sample.id)\n"
    Path("mine.py").write_text(lines)
    function = ["-m", "mine.py:late", "--trust"]
    assert main(["score", "samples.jsonl", *function, "--quiet"]) == 1
    assert "late failed on 3 of 6 samples, first on '4': ValueError: too late" in capsys.readouterr().err
    both = ["samples.jsonl", "samples.jsonl", *function]
    assert main(["compare", *both]) == 1
    assert "late failed on 6 of 12 samples" in capsys.readouterr().err
    assert main(["gate", *both, "--margin", "1"]) == 2
    assert "not all of the input can be used: late failed on 6 of 12 samples" in capsys.readouterr().err


def test_a_failing_class_is_reported_with_its_line(
    samples: list[Sample], folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("INTERLOQ_DEBUG", raising=False)
    interloq.write("samples.jsonl", samples, kind="samples")
    Path("mine.py").write_text(
        "from interloq.metrics.overlap.length import Length\n\n"
        "class Failing(Length):\n    def stats(self, samples):\n        return super().stats([None])\n"
    )
    assert main(["score", "samples.jsonl", "-m", "mine.py:Failing", "--trust", "--quiet"]) == 2
    failure = "mine.py:5: your metric failed: AttributeError: 'NoneType' object has no attribute"
    assert failure in capsys.readouterr().err


def test_each_sample_is_scored_once(samples: list[Sample]) -> None:
    seen: list[str] = []

    def counting(sample: Sample) -> int:
        seen.append(sample.id)
        return len(seen)

    evaluate(metric(counting), samples)
    assert seen == [sample.id for sample in samples]


def test_the_source_is_part_of_the_signature(samples: list[Sample]) -> None:
    first, same = (evaluate(metric(words), samples).signature for _ in range(2))
    assert first == same
    other = metric(lambda sample: len(sample.response), name="words")
    assert evaluate(other, samples).signature.parts["built-with"] != first.parts["built-with"]
    typed: dict[str, Any] = {}
    exec("def words(sample): return 1\ndef more(sample): return 2", typed)  # noqa: S102 - no source to read
    one, two = (metric(typed[name], name="typed").built_with() for name in ("words", "more"))
    assert one != two


def test_a_function_of_many_samples(samples: list[Sample]) -> None:
    @metric(batch=True, direction="lower")
    def letters(given: Sequence[Sample]) -> list[float]:
        return [float(len(sample.response)) for sample in given]

    assert scores(evaluate(letters, samples)) == [len(sample.response) for sample in samples]
    assert probe(letters).rows[3].verdict == "notices"  # padding
    with pytest.raises(InputError, match="odd gave 1 score for 6 samples"):
        evaluate(metric(lambda _: [1.0], name="odd", batch=True), samples)
    with pytest.raises(InputError, match="odd failed: ZeroDivisionError"):
        evaluate(metric(lambda _: 1 / 0, name="odd", batch=True), samples)


def test_a_function_of_many_samples_may_leave_some_unscored(samples: list[Sample]) -> None:
    calls: list[int] = []

    @metric(batch=True)
    def some(given: Sequence[Sample]) -> list[float | None]:
        calls.append(len(given))
        return [None if sample.id == "2" else 1.0 for sample in given]

    result = evaluate(some, samples)
    assert (result.n, result.value, by_id(result.reasons)) == (5, 1.0, {"2": "the function returned None"})
    assert calls == [6]


def test_names() -> None:
    for name, why in (("", "cannot be the name"), ("Bleu", "already a metric called 'Bleu'")):
        with pytest.raises(InputError, match=why):
            metric(lambda _: 1.0, name=name)


def test_functions_next_to_other_metrics(samples: list[Sample], folder: Path) -> None:
    assert [r[""].metric for r in evaluate_all([metric(words), "bleu"], samples)] == ["words", "bleu"]
    interloq.write("samples.jsonl", samples, kind="samples")
    assert [r[""].metric for r in score_file("samples.jsonl", [metric(words), "bleu"]).results] == ["words", "bleu"]


def test_a_file_is_executed_only_if_trusted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.py").write_text(FILE)
    with pytest.raises(InputError, match=r"mine\.py:words would execute the file as Python code; .*add --trust"):
        load_metric("./mine.py:words", trust=False)
    assert capsys.readouterr().out == ""
    made = [load_metric(f"./mine.py:{name}", trust=True) for name in ("words", "letters", "Own")]
    assert [evaluate(m, [Sample("1", (), "a b c d")]).value for m in made] == [3, 7, 4]
    before = made[0].built_with()
    Path("mine.py").write_text(FILE.replace("LIMIT = 3", "LIMIT = 4"))
    assert load_metric("mine.py:words", trust=True).built_with() != before


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("mine.py:none", "does not define 'none'; it defines: Component, Incomplete, Length, Own, .*words"),
        ("mine.py:LIMIT", "is int, not a function"),
        ("mine.py:Incomplete", "cannot be made without fields"),
        ("broken.py:words", r"broken\.py: it cannot be run: SyntaxError"),
        ("leaves.py:words", r"leaves\.py: it cannot be run: SystemExit: 0"),
        ("absent.py:words", "there is no file"),
        ("words", "does not name a function"),
    ],
)
def test_files_that_cannot_be_used(text: str, why: str, folder: Path) -> None:
    Path("mine.py").write_text(FILE)
    Path("broken.py").write_text("def (")
    Path("leaves.py").write_text("raise SystemExit(0)")
    with pytest.raises(InputError, match=why):
        load_metric(text, trust=True)
