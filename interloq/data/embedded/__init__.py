# SPDX-License-Identifier: Apache-2.0
"""Short texts written for this project: samples of four invented systems, logs for retrieval, and openings.

The samples' ratings were not given by people, and the logs contain no real conversations. The first pairs of a log were
written one by one; the others, which are the majority, are generated from patterns and words of a topic, so that a
small rater can learn which replies fit. Openings are two utterances each, which bots continue. Each reply of the system
`attentive` has a paraphrase, to probe metrics with.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from interloq.data.files.opening import read_json


def embedded_path(language: str) -> Path:
    """Return the samples of a language."""
    return Path(__file__).with_name(f"{language}.jsonl")


def embedded_log_path(language: str) -> Path:
    """Return the pairs of a language: several replies to each utterance, on the topics of the samples."""
    return Path(__file__).with_name(f"log_{language}.jsonl.zst")


def embedded_openings_path(language: str) -> Path:
    """Return openings of dialogues in a language: two utterances each."""
    return Path(__file__).with_name(f"openings_{language}.jsonl")


@cache
def embedded_paraphrases() -> dict[str, str]:
    """Return paraphrases of embedded replies in all languages, by the reply."""
    return read_json(Path(__file__).with_name("paraphrases.json"))
