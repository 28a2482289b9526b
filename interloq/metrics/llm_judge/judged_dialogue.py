# SPDX-License-Identifier: Apache-2.0
"""Whole dialogues as samples for LLM judges: the context has all turns, the reply is empty (see play/samples.py)."""

from __future__ import annotations

from interloq.metrics.llm_judge.rubrics import transcript_json
from interloq.play.samples import JUDGED
from interloq.records import Sample

NOT_WHOLE = "a single reply, not a dialogue: score a file of dialogues, or write of='reply'"
SILENT = "the judged system says nothing"


def judged_text(sample: Sample) -> str:
    """All that the judged system says in a dialogue."""
    return " ".join(turn.text for turn in sample.context if turn.speaker == JUDGED and turn.text.strip())


def transcript(sample: Sample) -> str:
    """The dialogue as a judge reads it; turns without text are skipped."""
    return transcript_json([(turn.speaker, turn.text) for turn in sample.context if turn.text.strip()])


def unjudgable(sample: Sample, longest: int) -> str | None:
    """Why a sample cannot be judged as a dialogue; None if it can. No turn is dropped to make it shorter."""
    if sample.response:
        return NOT_WHOLE
    if not judged_text(sample):
        return SILENT
    size = len(transcript(sample).encode())
    if size > longest:
        return f"the dialogue has {size:,} bytes, more than longest={longest}"
    return None
