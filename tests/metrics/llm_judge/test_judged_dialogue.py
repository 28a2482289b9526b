"""Whole dialogues as samples for a judge."""

from __future__ import annotations

import json

from interloq import Sample, Turn
from interloq.metrics.llm_judge.judged_dialogue import NOT_WHOLE, SILENT, judged_text, transcript, unjudgable

DIALOGUE = Sample("d", [Turn("hi", "other"), Turn("hello", "judged"), Turn(" ", "other"), Turn("well", "judged")])


def test_the_judge_reads_all_turns_with_text() -> None:
    turns = json.loads(transcript(DIALOGUE))["dialogue"]
    assert [(turn["speaker"], turn["text"]) for turn in turns] == [
        ("other", "hi"),
        ("judged", "hello"),
        ("judged", "well"),
    ]
    assert judged_text(DIALOGUE) == "hello well"


def test_why_a_sample_is_not_judged() -> None:
    size = len(transcript(DIALOGUE))
    assert unjudgable(DIALOGUE, size) is None
    assert unjudgable(DIALOGUE, size - 1) == f"the dialogue has {size} bytes, more than longest={size - 1}"
    assert unjudgable(Sample("d", DIALOGUE.context, "a reply"), size) == NOT_WHOLE
    assert unjudgable(Sample("d", DIALOGUE.context[:1]), size) == SILENT
