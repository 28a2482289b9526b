# SPDX-License-Identifier: Apache-2.0
"""Options of `interloq play`; they import nothing that computes, so that the help is fast."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interloq.errors import InputError, nearest
from interloq.options import REQUIRED, check_limits, direction_option, option, trust_option
from interloq.trust import Trust

SCHEMES = ("self-play", "all-play-all", "bipartite")
EXCHANGES = 5
REPEATS = 3  # equal utterances after which a bot counts as repeating itself
OPENINGS = "embedded:en"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpeningOptions:
    """How dialogues begin, and how long they are."""

    openings: str | Path | None = option(
        None,
        f"file of dialogues or lines, or embedded:en, :ja, :zh (default {OPENINGS})",
        path=True,
        metavar="FILE",
        shown="",
    )
    given: int = option(2, "utterances per opening")
    exchanges: int | None = option(None, f"utterances per bot and dialogue (default {EXCHANGES})", shown="")
    trust: Trust = trust_option(
        "let bots named in a file start programs, import modules and contact servers; they are printed"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """Who talks with whom, how often, and when a bot repeats itself."""

    scheme: str = option("bipartite", "who talks with whom", choices=SCHEMES)
    repeats: int = option(1, "dialogues per pair and opening")
    limit: int | None = option(None, "use only N openings, drawn at random")
    seed: int = option(0, "seed of all replies and draws")
    same: int = option(REPEATS, "note bots that repeat an utterance K times", metavar="K", least=1)
    stop_repeating: bool = option(False, "end a dialogue when a bot repeats itself")
    end: Sequence[str] = option(
        (), "end a dialogue when a speaker says TEXT, or any farewell for `goodbye`", metavar="TEXT"
    )
    end_mark: str = option("", "text by which bots end a dialogue, such as [END]; it is removed", metavar="TEXT")

    def __post_init__(self) -> None:
        if self.scheme not in SCHEMES:
            raise InputError(f"unknown scheme {self.scheme!r}{nearest(self.scheme, SCHEMES)}")
        check_limits(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayOptions:
    """Options of a run that its dialogues do not depend on; see `talk`."""

    batch: int | None = option(None, "dialogues a bot answers at once (default: set by the bot)", shown="")
    patience: float = option(0.0, "seconds a batch may take; 0 for no limit", metavar="S")
    again: bool = option(False, "play failed dialogues again")
    tally: Any = None  # a `PlayTally` that counts
    progress: Callable[[int], None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyOptions:
    """How systems reply to fixed contexts."""

    n: int = option(1, "replies per context and system, with different seeds", least=1)
    keep: bool = option(False, "also write the replies in the input, with their systems")
    seed: int = option(0, "seed of all replies")
    batch: int | None = option(None, "contexts a bot answers at once (default: set by the bot)", shown="")
    patience: float = option(0.0, "seconds a batch may take; 0 for no limit", metavar="S")
    tally: Any = None  # a `PlayTally` that counts

    def __post_init__(self) -> None:
        check_limits(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleOptions:
    """The metric that ranks the targets during a run, and when the ranking is settled."""

    watch: str = option("", "while playing, show the current ranking by this metric", metavar="SPEC")
    until_settled: str = option(
        "", "stop as soon as this metric separates the targets; needs at least two", metavar="SPEC"
    )
    alpha: float = option(0.05, "error probability over all looks")
    margin: float = option(0.0, "differences up to this do not matter")
    lower_is_better: bool | None = direction_option()
    scores: str | Path | None = option(
        None, "write the scores of all judged utterances here", writes=True, metavar="FILE"
    )

    def __post_init__(self) -> None:
        if self.until_settled and self.watch:
            raise InputError("--until-settled already shows the ranking", hint="omit --watch")


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplesOptions:
    """Which utterances of dialogues become samples."""

    targets: Sequence[str] = option((), "only this system's utterances", flag="--target", metavar="NAME")
    system: str = option("", "name of the assistant, for chat exports that have none", metavar="NAME")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions:
    """What changes in a ranking: the systems of an all-play-all, or the partners."""

    dialogues: Sequence[str] = option(REQUIRED, "the dialogues that were scored", path=True, metavar="FILE")
    metric: str = option("", "the metric, if the files have scores of several", short="-m", metavar="SPEC")
    lower_is_better: bool | None = direction_option()
    unfavoured: str = option("", "the system to push down, in an all-play-all ranking", metavar="NAME")
    alike: Sequence[str] = option((), "a system similar to it; give two", metavar="NAME")
    favoured: Sequence[str] = option((), "the system to push up (default: each)", metavar="NAME", shown="")
    in_set: Sequence[str] = option((), "a partner in the set", metavar="NAME")
    pool: Sequence[str] = option((), "a scored partner to add or swap in", metavar="NAME")
