"""Scored files."""

from __future__ import annotations

from interloq.cli.main import main


def score(metrics: str, output: str, *options: str) -> None:
    command = ["score", "samples.jsonl", "-m", metrics, "--bootstrap", "5", "-o", output, "--quiet", *options]
    assert main(command) == 0
