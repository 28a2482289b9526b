# SPDX-License-Identifier: Apache-2.0
"""Registry of what `interloq train NAME` can train: settings, logs to read, and the job.

Nothing here imports torch, so listing the options is fast. Other packages add theirs through the entry-point group
`interloq.components`, as `job.<name>`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from interloq.learn.settings import Training
from interloq.records import Pair
from interloq.registry import JOB, import_target, names, read_catalogue, targets

if TYPE_CHECKING:
    from interloq.learn.job import Job

Facts = dict[str, Any]


class PairLog(Protocol):
    """Files of pairs or dialogues, excluding those that overlap test samples."""

    files: Sequence[str]
    without: Sequence[str]

    @property
    def fingerprint(self) -> str:
        """Short hash of the files and of what was excluded."""

    def pairs(self) -> Iterable[Pair]:
        """Return pairs of all files."""

    def logs(self) -> Sequence[Iterable[Pair]]:
        """Return the pairs of each file."""


@dataclass(frozen=True)
class Trainable:
    """Something that can be trained. `settings` are dataclasses with defaults: fields with a help text become options.

    A field shared by several of them, such as `seed`, is one option. `job` is the function `(log, *settings) → Job` as
    "module:function"; it is imported only for training.
    """

    summary: str
    settings: tuple[Any, ...]
    job: str
    result: Callable[[Facts, list[Facts]], str]  # message about facts and learning curve
    noun: str = "model"  # name of the trained folder in JSON
    extra: str = "encoder"  # package extra that it needs
    loop: tuple[str, ...] = ()  # options of the training loop, besides `LOOP`
    hidden: tuple[str, ...] = ()  # fields that are not options
    reads: str = "pairs or dialogues"
    unit: str = "pair"  # what is excluded if it overlaps test samples
    needs_files: bool = True
    instead: tuple[str, Trainable] | None = None  # an option, and what is trained if it is given
    published: tuple[Any, ...] = ()  # settings of the paper, which replace ours of the same class on `--as-published`
    name: str = ""  # `interloq train NAME`; without one, it is only used in place of another

    registered_kind: ClassVar[str] = JOB

    @property
    def registered_name(self) -> str:
        """The name in the catalogue."""
        return self.name

    def catalogue_facts(self) -> Facts:
        """Return what `interloq train --help` says about it without importing it."""
        return {"summary": self.summary}

    def options(self) -> Iterator[tuple[Any, str]]:
        """Yield pairs of a settings object and the name of a field that is an option; every name once."""
        seen = set(self.hidden)
        for part in self.settings:
            for field in fields(part):
                offered = not isinstance(part, Training) or field.name in (*LOOP, *self.loop)
                if "help" in field.metadata and field.name not in seen and offered:
                    seen.add(field.name)
                    yield part, field.name

    @property
    def instead_flag(self) -> str:
        """Return the flag that chooses what is trained instead, such as --tune or --model network; empty without it."""
        if self.instead is None:
            return ""
        name, other = self.instead
        flag = f"--{name.replace('_', '-')}"
        values = [getattr(part, name) for part in other.settings if hasattr(part, name)]
        if values and isinstance(values[0], str) and values[0]:
            return f"{flag} {values[0]}"
        return flag

    def published_settings(self) -> tuple[Any, ...]:
        """Return the settings with the paper's in place of ours."""
        papers = {type(part): part for part in self.published}
        return tuple(papers.get(type(part), part) for part in self.settings)

    def make(self, log: PairLog, settings: Iterable[Any]) -> Job[Any]:
        """Make the job; imports everything that it needs."""
        made: Job[Any] = import_target(self.job)(log, *settings)
        return made


def job_names() -> list[str]:
    """Return the names of all registered jobs, including plugins."""
    return names(JOB)


def summary_of(name: str) -> str:
    """Return the summary of a job; only jobs of other packages are imported for it."""
    if known := read_catalogue()[JOB].get(name):
        return str(known["summary"])
    return trainable(name).summary


def trainable(name: str) -> Trainable:
    """Return the trainable registered under a name."""
    registered: Trainable = import_target(targets(JOB)[name])
    return registered


LOOP = ("epochs", "patience", "learning_rate", "threads", "checkpoint_minutes", "seed")


def scorer_result(facts: Facts, _: list[Facts]) -> str:
    """Return the message about a scorer that was trained to tell true replies from random ones."""
    best = facts["best"]
    return (
        f"best dev loss {best['dev_loss']:.4f} after epoch {best['epoch']}; "
        f"{facts['wins']:.1%} of {facts['pairs']['dev']:,} true replies beat a random one"
    )
