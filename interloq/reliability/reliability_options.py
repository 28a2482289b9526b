# SPDX-License-Identifier: Apache-2.0
"""Options of `interloq reliability`; they import nothing that computes, so that the help is fast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from interloq.errors import InputError
from interloq.options import REQUIRED, Options, check_limits, device_option, option
from interloq.reliability.settings import Coefficient
from interloq.signature import fingerprint

LIMIT = 10  # references per query, as in the paper
GROUPS = ("assisted", "unassisted")  # annotators with predictions, and without


def check_minimum(minimum: float) -> None:
    """Refuse a reliability that no set can have."""
    if not -1 <= minimum <= 1:
        raise InputError(f"the minimum must be from -1 to 1, got {minimum}", hint="reliability is a correlation")


def draw_group(number: int, seed: int) -> str:
    """Return the group of an annotator, numbered from 1: of 1 and 2, 3 and 4, …, one at random is unassisted."""
    pair, place = divmod(number - 1, 2)
    return GROUPS[place ^ int(fingerprint(str(seed), str(pair)), 16) % 2]


def parse_sizes(text: str) -> tuple[int, ...]:
    """Return the whole numbers in a text such as `1,2,3`."""
    sizes = []
    for part in text.split(","):
        if not part.strip().isdecimal():
            raise InputError(f"sizes must be whole numbers, got {text!r}", hint="for example 1,2,3,5")
        sizes.append(int(part))
    return tuple(sizes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions(Options):
    """The model that predicts how reliable references are."""

    model: str | Path = option(REQUIRED, "see interloq train reliability --help", path=True, metavar="FOLDER")
    encoder: str | None = option(None, "the model's encoder, if it has moved", metavar="NAME")
    device: str = device_option()


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictOptions(ModelOptions):
    """How the reliability of samples' references is predicted."""

    minimum: float = option(  # by convention the least correlation that is called small (Cohen, 1988)
        0.1, "references below this are too weak to trust", flag="--min-reliability"
    )
    seed: int = option(0, "seed of the orders in which references are added", shown="")

    def __post_init__(self) -> None:
        check_minimum(self.minimum)


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateOptions:
    """Where candidates come from, an index or a log, and which are excluded: see `retrieve.extend`."""

    log: Sequence[str | Path] = option((), "pairs to search by Jaccard similarity", path=True, metavar="PAIRS")
    index: str | Path | None = option(None, "an index to search instead", path=True, metavar="INDEX")
    llm: str | None = option(
        None, "a bot that writes replies instead, such as endpoint(url='…',model='…')", metavar="BOT"
    )
    origin: Literal["log", "query", "index", "llm"] | None = option(
        None, "with --log, query takes only replies to the same utterance; the others follow from what is named",
        flag="--from",
    )  # fmt: skip
    replies: int = option(10, "with --llm: replies to ask for per query", least=1)
    k: int = option(100, "candidates per query", flag="-k", least=1)  # as in REAM# (Gao et al., 2021)
    turns: int = option(1, "last turns to search for", least=1)
    near: float = option(
        0.0, "drop replies this similar to a gold reply", flag="--near-duplicates", metavar="J", shown=""
    )
    exclude: str | Path | None = option(
        None, "ids of pairs, posts or threads to exclude, one per line", path=True, metavar="FILE"
    )
    own: bool = option(True, "exclude candidates identical to the reply being judged", flag="--drop-own-replies")

    def __post_init__(self) -> None:
        named = [name for name in ("log", "index", "llm") if getattr(self, name)]
        if len(named) != 1:
            what = "candidates come from an index, a log or a language model"
            raise InputError(what, hint="give an index, a log of pairs, or a bot")
        if self.origin is None:
            object.__setattr__(self, "origin", named[0])
        elif self.origin not in (named[0], *(["query"] if self.log else [])):
            raise InputError(f"--from {self.origin} does not go with --{named[0]}", hint="name its source, or omit it")
        check_limits(self)

    @property
    def files(self) -> list[str | Path]:
        """Return all files that are read."""
        return [path for path in (self.index, *self.log, self.exclude) if path]


@dataclass(frozen=True, slots=True, kw_only=True)
class AugmentOptions(ModelOptions):
    """How references are added automatically."""

    limit: int | None = option(None, "references per query (default 10, or no limit with --add-all)", least=1, shown="")
    add_all: bool = option(False, "keep every candidate, whatever is predicted")
    trials: str | Path | None = option(None, "every candidate that was tried", writes=True, metavar="FILE")
    seed: int = option(0, "seed of the order of candidates")

    @property
    def most(self) -> int | None:
        """Return the number of references at which a query is complete; None if there is no limit."""
        return LIMIT if self.limit is None and not self.add_all else self.limit


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotateOptions(ModelOptions):
    """How a person decides on references; of each two annotators with numbers, one works without predictions."""

    model: str | Path = option(
        REQUIRED, "see interloq train reliability --help; ready shows how well references fit instead", path=True,
        metavar="FOLDER",
    )  # fmt: skip
    limit: int = option(10, "references per query", least=1)
    attempts: int = option(3, "edits per candidate", least=0)
    must_rise: bool = option(False, "refuse to keep candidates that do not raise the prediction: edit or abandon them")
    unassisted: bool = option(False, "hide the predictions")
    annotator: int | None = option(
        None, "number of the annotator, from 1: of each two, one drawn at random works without predictions", least=1
    )
    seed: int = option(0, "with --annotator: seed of the groups")

    def __post_init__(self) -> None:
        check_limits(self)
        if self.unassisted and self.annotator:
            raise InputError("--unassisted and --annotator exclude each other", hint="give one of them")

    @property
    def group(self) -> str:
        """Return the annotator's group: assisted by predictions, or unassisted."""
        if self.annotator:
            return draw_group(self.annotator, self.seed)
        return GROUPS[self.unassisted]


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveOptions:
    """How the correlation with people is measured as references are added; defaults as in the paper."""

    sizes: Any = option(  # a sequence of numbers
        tuple(range(1, 11)), "numbers of references (default 1 to 10)", metavar="N,N,…", parse=parse_sizes, shown=""
    )
    own: int = option(5, "own references before foreign ones are added", least=1)
    aspect: str = option("overall", "the rated aspect", metavar="NAME")
    coefficient: Coefficient = option("pearson", "default pearson", shown="")
    draws: int = option(10, "random orders per query", least=1)
    n_bootstrap: int = option(1000, "resamples of queries for intervals", flag="--bootstrap", least=0)
    seed: int = option(0, "seed of orders and resamples")
    without_copies: bool = option(False, "exclude replies that equal a reference of their query")

    def __post_init__(self) -> None:
        check_limits(self)
        if not self.sizes or min(self.sizes) < 1:
            raise InputError(f"sizes must be at least 1, got {list(self.sizes)}")
