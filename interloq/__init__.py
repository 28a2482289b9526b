"""Interloq evaluates open-domain dialogue systems. The names here are the public API."""

from os import environ as _environ

from interloq.data.columns import from_columns
from interloq.data.jsonl import load, read, write
from interloq.errors import InputError, InterloqError, MissingDependencyError, RejectedWarning, SpecError
from interloq.metrics.evaluate import evaluate, evaluate_all
from interloq.records import Dialogue, Rating, Reference, Result, Sample, Score, Turn
from interloq.registry import create, spec
from interloq.signature import signature
from interloq.version import __version__

# OpenMP's threads spin while they wait for each other, which costs a training several times its processor time as soon
# as a core is busy elsewhere. torch reads this when it is loaded, and nothing above has loaded it.
_environ.setdefault("OMP_WAIT_POLICY", "passive")

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
    "SpecError",
    "Turn",
    "__version__",
    "create",
    "evaluate",
    "evaluate_all",
    "from_columns",
    "load",
    "read",
    "signature",
    "spec",
    "write",
]
