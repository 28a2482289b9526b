# SPDX-License-Identifier: Apache-2.0
"""Metrics from Python functions, without a package: `interloq.metric(fn)`, or `-m my_metric.py:fn --trust`.

The function takes a sample and returns a number, or None to leave the sample unscored; with `batch=True` it takes a
list of samples and returns a list of such values. A fingerprint of its source, or of its file if the command line names
one, is part of the signature. An exception, or a value that is not a number, leaves the sample unscored, with the error
as the reason; `evaluate` warns of such failures. An exception for a whole batch, or from a metric's class, stops the
run.
"""

from __future__ import annotations

import importlib.util
import inspect
import math
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, cast, overload

import numpy as np

from interloq.errors import InputError, count, short_repr
from interloq.metrics.metric import Array, Direction, Metric, MetricLike, as_metric, score_rows
from interloq.records import Sample
from interloq.registry import Component, name_of, registered_name
from interloq.signature import file_fingerprint, fingerprint

FILE = re.compile(r"(?P<path>.+\.py):(?P<name>[^\W\d]\w*)")
FAILED = "the function failed: "
MODULE = "interloq_file_"  # start of the names of modules made from files
REMEMBERED = 8192  # scores kept between `unscorable` and `stats`: more than the samples that are scored at a time
UNREGISTERED: dict[str, type[Metric]] = {}  # classes of metrics that are only known in this process, by name
Scored = tuple[float, str]  # a score, or NaN and the reason


@dataclass(frozen=True)
class FunctionMetric(Metric):
    """Base class of metrics made from functions; each function has its own subclass, named after it."""

    source: ClassVar[str]  # fingerprint of the source
    reads_references = False  # not known

    def built_with(self) -> str:
        """Identify the function's source, for the signature."""
        return f"python-{self.source}"

    def failure(self, reason: str) -> str:
        """Return the error in the reason of an unscored sample; empty if the function left it unscored on purpose."""
        return reason.removeprefix(FAILED) if reason.startswith(FAILED) else ""


@dataclass(frozen=True)
class SampleFunction(FunctionMetric):
    """A metric that calls a function once per sample."""

    scored: ClassVar[Any]  # from a sample to Scored

    def unscorable(self, sample: Sample) -> str | None:
        return str(self.scored(sample)[1]) or None

    def stats(self, samples: Sequence[Sample]) -> Array:
        return score_rows(np.array([self.scored(sample)[0] for sample in samples], dtype=np.float64))


@dataclass(frozen=True)
class BatchFunction(FunctionMetric):
    """A metric that calls a function with many samples at a time."""

    scored: ClassVar[Any]  # from a tuple of samples to a list of Scored

    def unscorable(self, sample: Sample) -> str | None:  # noqa: ARG002 - known only after the call
        return None

    def stats(self, samples: Sequence[Sample]) -> Array:
        return score_rows(np.array([score for score, _ in self.scored(tuple(samples))], dtype=np.float64))

    def failures(self, samples: Sequence[Sample]) -> list[str]:
        """Return why samples are unscored; empty for the others."""
        return [why for _, why in self.scored(tuple(samples))]


MadeMetric = SampleFunction | BatchFunction


@overload
def metric(
    function: Callable[..., Any], *, name: str = "", direction: Direction = "higher", batch: bool = False
) -> MadeMetric: ...


@overload
def metric(
    function: None = None, *, name: str = "", direction: Direction = "higher", batch: bool = False
) -> Callable[[Callable[..., Any]], MadeMetric]: ...


def metric(
    function: Callable[..., Any] | None = None, *, name: str = "", direction: Direction = "higher", batch: bool = False
) -> MadeMetric | Callable[[Callable[..., Any]], MadeMetric]:
    """Make a metric from a function; also a decorator, `@metric` or `@metric(direction="lower")`."""
    if function is None:
        return lambda decorated: metric(decorated, name=name, direction=direction, batch=batch)
    return _metric(function, name=name, direction=direction, batch=batch, source=_source(function))


def load_metric(text: str, *, trust: bool) -> Metric:
    """Load the metric `FILE.py:NAME`: a function, a metric or its class; the file is executed only if trusted."""
    place = FILE.fullmatch(text)
    if not place:
        raise InputError(f"{text!r} does not name a function of a file", hint="write FILE.py:NAME")
    path = Path(place["path"])
    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r}", hint="write FILE.py:NAME")
    if not trust:
        raise InputError(f"{text} would execute the file as Python code", hint="if you trust its author, add --trust")
    made = _make_metric(_attribute(path, place["name"]), text, file_fingerprint(path))
    object.__setattr__(made, "_file_name", text)
    return made


def pack_metric(metric: Metric) -> Metric | str:
    """Return what another process can make the metric from: the name of a metric in a file, or the metric itself."""
    return getattr(metric, "_file_name", metric)


def unpack_metric(packed: Metric | str) -> Metric:
    """Return a metric sent by `pack_metric`, in a process whose parent trusts its file."""
    return load_metric(packed, trust=True) if isinstance(packed, str) else packed


def remember(metric: MetricLike) -> None:
    """Remember the class of a metric that is not registered, so that its name tells its direction in this process."""
    if not registered_name(name := name_of(metric), kind="metric"):
        UNREGISTERED[name] = type(as_metric(metric))


def is_file_metric(text: str) -> bool:
    """Return whether the name is a function in a file, `FILE.py:NAME`, and not a registered metric."""
    return FILE.fullmatch(text) is not None


def find_failed_line(error: BaseException) -> str:
    """Return the line in code given as FILE.py:NAME that raised the error or called the code that did; else ""."""
    last = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        if str(frame.f_globals.get("__name__")).startswith(MODULE):
            last = f"{frame.f_code.co_filename}:{line}"
    return last


def _metric(function: Callable[..., Any], *, name: str, direction: Direction, batch: bool, source: str) -> MadeMetric:
    name = name or getattr(function, "__name__", type(function).__name__)
    if not name.isidentifier():
        raise InputError(f"{name!r} cannot be the name of a metric", hint="give one: metric(fn, name='my_metric')")
    if registered_name(name, kind="metric"):
        raise InputError(f"there is already a metric called {name!r}", hint="rename the function, or give a name")
    facts = {"source": source, "direction": direction, "__module__": __name__, "__doc__": inspect.getdoc(function)}
    base: type[MadeMetric] = SampleFunction
    scored: Any = lru_cache(REMEMBERED)(lambda sample: _call(function, sample))
    if batch:
        base = BatchFunction
        scored = lru_cache(1)(lambda samples: _call_batch(function, name, samples))
    made: MadeMetric = type(name, (base,), {**facts, "scored": staticmethod(scored)})()
    remember(made)
    return made


def _call(function: Callable[[Sample], Any], sample: Sample) -> Scored:
    try:
        return _read_score(function(sample))
    except (Exception, SystemExit) as error:
        return math.nan, f"{FAILED}{_in_one_line(error)}"


def _call_batch(function: Callable[[list[Sample]], Any], name: str, samples: tuple[Sample, ...]) -> list[Scored]:
    try:
        values = list(function(list(samples))) if samples else []
    except (Exception, SystemExit) as error:
        raise InputError(f"{name} failed: {_in_one_line(error)}") from error
    if len(values) != len(samples):
        what = f"{name} gave {count(len(values), 'score')} for {count(len(samples), 'sample')}"
        raise InputError(what, hint="return a number or None for each")
    return list(map(_read_score, values))


def _in_one_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _read_score(value: Any) -> Scored:
    if value is None:
        return math.nan, "the function returned None"
    try:
        score = float(value)
    except Exception:  # as of a tensor with several elements
        return math.nan, f"{FAILED}it returned {short_repr(value)}, not a number"
    if math.isinf(score):
        return math.nan, f"{FAILED}it returned {score}"
    if math.isnan(score):
        return math.nan, "the function returned nan"
    return score, ""


def _source(function: Any) -> str:
    """Hash the source, or the bytecode if there is no source, as for a function typed at the prompt."""
    inner = inspect.unwrap(function)
    if not inspect.isroutine(inner):
        inner = type(inner)
    try:
        return fingerprint(inspect.getsource(inner))
    except (OSError, TypeError):
        code = getattr(inner, "__code__", None)
        return fingerprint(code.co_code, repr(code.co_consts)) if code else "unknown"


def _attribute(path: Path, name: str) -> Any:
    folder = str(path.resolve().parent)
    spec = importlib.util.spec_from_file_location(f"{MODULE}{path.stem}", path)
    if spec is None or spec.loader is None:
        raise InputError(f"{str(path)!r} cannot be imported", hint="write FILE.py:NAME")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    sys.path.append(folder)  # last, so that nothing in the folder replaces a standard module
    silent, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # stale bytecode would be another source
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise InputError(f"it cannot be run: {_in_one_line(error)}", where=str(path)) from error
    finally:
        sys.dont_write_bytecode = silent
        sys.path.remove(folder)
    if not hasattr(module, name):
        public = ", ".join(sorted(key for key, value in vars(module).items() if callable(value) and key[0] != "_"))
        raise InputError(f"it does not define {name!r}", hint=f"it defines: {public or 'nothing'}", where=str(path))
    return getattr(module, name)


def _make_metric(attribute: Any, text: str, source: str) -> Metric:
    """Return the metric that an attribute of a file is, makes or computes."""
    if isinstance(attribute, MadeMetric):
        type(attribute).source = source
        return attribute
    if isinstance(attribute, type) and issubclass(attribute, Component):
        try:
            return as_metric(cast("MetricLike", attribute()))
        except TypeError as error:
            raise InputError(
                f"{text} cannot be made without fields: {error}", hint="give its fields defaults"
            ) from error
    if not callable(attribute):
        raise InputError(f"{text} is {type(attribute).__name__}, not a function")
    return _metric(attribute, name="", direction="higher", batch=False, source=source)
