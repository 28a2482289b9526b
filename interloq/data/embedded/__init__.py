"""Short conversations written for this project, with four made-up systems. No person gave their ratings."""

from __future__ import annotations

from pathlib import Path


def embedded_path(language: str) -> Path:
    return Path(__file__).with_name(f"{language}.jsonl")
