# SPDX-License-Identifier: Apache-2.0
"""Interloq evaluates open-domain dialogue systems. The names here are the public API."""

from interloq.data.columns import from_columns
from interloq.data.jsonl import load, read, write
from interloq.errors import InputError, InterloqError, MissingDependencyError, RejectedWarning, SpecError
from interloq.metrics.evaluate import evaluate, evaluate_all
from interloq.metrics.function import metric
from interloq.records import Dialogue, Rating, Reference, Result, Sample, Score, Turn
from interloq.registry import create, spec
from interloq.signature import Signature, signature
from interloq.version import __version__

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
