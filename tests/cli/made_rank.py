"""Audits."""

from __future__ import annotations

import argparse

from interloq.cli.play import audit as play_audit

LEVELS = {"low": 0.0, "middle": 1.5, "high": 3.0}


def audit(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    play_audit.add_arguments(parser)
    return play_audit.run(parser.parse_args(arguments))
