# SPDX-License-Identifier: Apache-2.0
"""A study to try the pages with: embedded samples to rate and to compare, and a chat with small bots."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from interloq.data.embedded import embedded_path
from interloq.web.serve import PORT, ServerAddress, run
from interloq.web.studies.task_file import add_to_study, read_settings

CONSENT = "This is a demonstration: what you enter is deleted when the server ends."
TASKS: dict[str, dict[str, Any]] = {
    "rate": {
        "title": "Which replies make sense?",
        "instructions": "Read the conversation, then rate each reply.",
        "consent": CONSENT,
        "questions": [
            {"aspect": "overall", "text": "How good is this reply?", "labels": ["bad", "good"]},
            {"aspect": "interesting", "text": "How interesting is it?", "control": "slider", "low": 0, "high": 100},
        ],
        "check_every": 3,
        "checks": [
            {
                "context": ["Are you reading carefully?"],
                "response": "Please choose 5 for how good this reply is.",
                "correct": {"overall": [5]},
            }
        ],
    },
    "compare": {
        "title": "Which reply is better?",
        "instructions": "Read the conversation, then choose the reply that you would rather get.",
        "consent": CONSENT,
        "questions": [
            {"aspect": "overall", "text": "Which reply is better?", "control": "choice", "reason": True},
        ],
    },
    "chat": {
        "title": "Talk to a stranger",
        "instructions": "Talk about anything, then rate the conversation.",
        "consent": CONSENT,
        "questions": [{"aspect": "overall", "text": "How good was the conversation?", "labels": ["bad", "good"]}],
        "turns": 5,
        "options": {
            "bots": {"eliza": "eliza", "parrot": "echo"},
            "replies": [],
            "guess": True,
            "which_bot": {"eliza": "It asked about me", "parrot": "It repeated me"},
        },
    },
}


def serve_demo(port: int = PORT, *, say: Callable[[str], None] = print) -> None:
    """Serve a study with made-up samples on this machine until interrupted, then delete it."""
    address = ServerAddress(port=port)
    with tempfile.TemporaryDirectory(prefix="interloq-serve-") as name:
        secret = str(Path(name) / "demo.key")
        run(make_study(Path(name)), address, secret=secret, say=say, invited=tuple(TASKS))


def make_study(folder: Path) -> Path:
    """Write a study with the tasks `rate`, `compare` and `chat` to a folder; returns its file."""
    study = folder / "study.db"
    for kind, settings in TASKS.items():
        records = None if kind == "chat" else embedded_path("en")
        add_to_study(study, records, read_settings(None, kind=kind, name=kind, **settings))
    return study
