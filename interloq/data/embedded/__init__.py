"""Short texts written for this project: samples of four made-up systems, logs to find references in, and openings.

No person gave the samples' ratings, and no person's conversation is in the logs. The first pairs of a log were written
one by one; the others, most of them, are composed from patterns and words of a topic, so that a small rater can learn
from them which replies belong together. Openings are two utterances each, for bots to go on from.
"""

from __future__ import annotations

from pathlib import Path


def embedded_path(language: str) -> Path:
    """The samples of a language."""
    return Path(__file__).with_name(f"{language}.jsonl")


def embedded_log_path(language: str) -> Path:
    """The pairs of a language: several replies to each utterance, on the topics of the samples."""
    return Path(__file__).with_name(f"log_{language}.jsonl.zst")


def embedded_openings_path(language: str) -> Path:
    """Openings of dialogues in a language: two utterances each."""
    return Path(__file__).with_name(f"openings_{language}.jsonl")
