# SPDX-License-Identifier: Apache-2.0
"""Options of scoring, probing, explaining and checking, in Python and on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from interloq.errors import InputError
from interloq.options import Options, drop_own_replies_option, option, trust_option, without_system_option
from interloq.trust import Trust

Language = Literal["en", "ja", "zh"]


def _resamples() -> int:
    resamples: int = option(1000, "resamples for intervals", flag="--bootstrap", least=0)
    return resamples


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOptions(Options):
    """Options of `score_file`."""

    n_bootstrap: int = _resamples()
    seed: int = option(0, "seed of the resamples")
    min_reliability: float | None = option(
        None, "leave samples unscored if the predicted reliability of their references is below X"
    )
    reliability: str | Path | None = option(
        None, "the model that predicts it, trained for the metric", path=True, metavar="FOLDER"
    )
    drop_own_replies: bool = drop_own_replies_option()
    without: Sequence[str] = without_system_option()
    any_language: bool = option(
        False, "also score replies that are clearly in a language which the metric's network does not know"
    )
    trust: Trust = trust_option()

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if (self.reliability is None) != (self.min_reliability is None):
            raise InputError("a minimum reliability needs a network, and the other way round", hint="give both")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeOptions(Options):
    """Options of `probe_file`."""

    language: Language | None = option(None, "language of the embedded replies (default en)")
    system: str | None = option(None, "use only the replies of this system in SAMPLES", metavar="NAME")
    n_bootstrap: int = _resamples()
    seed: int = option(0, "seed of the changes and resamples")
    trust: Trust = trust_option()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainOptions:
    """Options of `explain_file`."""

    system: str | None = option(
        None, "the sample's system, if several systems have a sample with this id", metavar="NAME"
    )
    metric: str = option("delta_bleu(order=2)", "the metric", short="-m", metavar="SPEC")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions:
    """Options of `check_file`."""

    metrics: Sequence[str] = option(
        (), "also note what this metric cannot handle", short="-m", flag="--metric", metavar="SPEC"
    )
    trust: Trust = trust_option()


SCORE_DEFAULTS, PROBE_DEFAULTS = ScoreOptions(), ProbeOptions()
EXPLAIN_DEFAULTS, CHECK_DEFAULTS = ExplainOptions(), CheckOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreExportOptions(Options):
    """Options of `export_scores`."""

    to: Literal["otel", "langfuse", "langsmith"] = option("otel", "the tool that reads them")
    samples: Sequence[str] = option((), "samples or dialogues that were scored", path=True)
