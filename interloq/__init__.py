# SPDX-License-Identifier: Apache-2.0
"""Interloq evaluates open-domain dialogue systems. The names here are the public API."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from interloq.earlier_paths import install as _install_earlier_paths
from interloq.errors import InputError, InterloqError, MissingDependencyError, RejectedWarning, SpecError
from interloq.records import Dialogue, Rating, Reference, Result, Sample, Score, Turn
from interloq.registry import create, spec
from interloq.signature import Signature, signature
from interloq.version import __version__

if TYPE_CHECKING:
    from interloq.data.records.columns import from_columns
    from interloq.data.records.jsonl import load, read, write
    from interloq.metrics.function import metric
    from interloq.score.evaluate import evaluate, evaluate_all

# names whose modules need numpy or read files: they are imported when used, so that `interloq --help` need not wait
_LATER = {
    "evaluate": "interloq.score.evaluate",
    "evaluate_all": "interloq.score.evaluate",
    "from_columns": "interloq.data.records.columns",
    "load": "interloq.data.records.jsonl",
    "metric": "interloq.metrics.function",
    "read": "interloq.data.records.jsonl",
    "write": "interloq.data.records.jsonl",
}

_install_earlier_paths()


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'interloq' has no attribute {name!r}")
    value = getattr(import_module(_LATER[name]), name)
    globals()[name] = value
    return value


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
