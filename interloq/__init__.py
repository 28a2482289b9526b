# SPDX-License-Identifier: Apache-2.0
"""Interloq evaluates open-domain dialogue systems. The names here are the public API."""

from interloq.data.records.columns import from_columns
from interloq.data.records.jsonl import load, read, write
from interloq.earlier_paths import install as _install_earlier_paths
from interloq.errors import InputError, InterloqError, MissingDependencyError, RejectedWarning, SpecError
from interloq.metrics.function import metric
from interloq.records import Dialogue, Rating, Reference, Result, Sample, Score, Turn
from interloq.registry import create, spec
from interloq.score.evaluate import evaluate, evaluate_all
from interloq.signature import Signature, signature
from interloq.version import __version__

_install_earlier_paths()

__all__ = [
    "Dialogue",
    "InputError",
    "InterloqError",
    "MissingDependencyError",
    "Rating",
    "Reference",
    "RejectedWarning",
    "Result",
    "Sample",
    "Score",
    "Signature",
    "SpecError",
    "Turn",
    "__version__",
    "create",
    "evaluate",
    "evaluate_all",
    "from_columns",
    "load",
    "metric",
    "read",
    "signature",
    "spec",
    "write",
]
