"""A step: its verb, its call, and texts in specs that the shell quotes."""

from __future__ import annotations

import shlex

from interloq.data.progress import silent
from interloq.demo.step import DemoStep, delta_bleu, quoted
from interloq.registry import create


def test_a_step_calls_its_function_with_the_progress() -> None:
    step = DemoStep("to see", ["score", "samples.jsonl"], lambda progress: progress)
    assert (step.verb, step.run(), step.run(print)) == ("score", silent, print)  # type: ignore[arg-type]


def test_quoted_texts_need_no_escapes_in_the_shell() -> None:
    assert quoted("it's") == '"it\'s"'
    assert shlex.join([delta_bleu("ja")]) == """'delta_bleu(order=2,tokenizer="char")'"""
    assert create(delta_bleu("zh"), kind="metric").order == 2
