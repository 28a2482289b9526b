"""What `interloq train NAME` trains: which settings it has, which logs it reads and which job comes of them.

Everything here is known without torch: asking for the options costs nothing. Other packages add theirs through the
entry-point group `interloq.components`, as `job.<name>`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Protocol

from interloq.learn.settings import Training
from interloq.records import Pair

if TYPE_CHECKING:
    from interloq.learn.job import Job

Facts = dict[str, Any]
JOBS = {
    "adapt": "interloq.learn.adapt.settings:ADAPT_TRAINABLE",
    "bert-ruber": "interloq.scorers.bert_ruber.settings:TRAINABLE",
    "encoder": "interloq.learn.adapt.settings:ENCODER_TRAINABLE",
    "rater": "interloq.rate.settings:TRAINABLE",
    "relevance": "interloq.scorers.relevance.settings:RELEVANCE_TRAINABLE",
    "ruber": "interloq.scorers.ruber.settings:TRAINABLE",
    "valid": "interloq.scorers.relevance.settings:VALID_TRAINABLE",
}


class Log(Protocol):
    """Files of pairs or dialogues, without what test samples share."""

    files: Sequence[str]
    without: Sequence[str]

    @property
    def fingerprint(self) -> str:
        """Short hash of the files and of what was excluded."""

    def pairs(self) -> Iterable[Pair]:
        """The pairs of all files."""

    def logs(self) -> Sequence[Iterable[Pair]]:
        """The pairs of each file."""


@dataclass(frozen=True)
class Trainable:
    """`settings` are dataclasses with their defaults: fields with a help text become options.

    A field that several of them have, such as `seed`, is one option. `job` names the function `(log, *settings) → Job`
    as "module:function"; it is imported only when something is trained.
    """

    summary: str
    settings: tuple[Any, ...]
    job: str
    result: Callable[[Facts, list[Facts]], str]  # what to say about facts and learning curve
    noun: str = "model"  # what the trained folder is called in JSON
    extra: str = "encoder"  # the extra that installs all it needs
    loop: tuple[str, ...] = ()  # options of the training loop, besides those that all have
    hidden: tuple[str, ...] = ()  # fields that are not offered
    reads: str = "pairs or dialogues"
    needs_files: bool = True
    instead: tuple[str, Trainable] | None = None  # an option, and what is trained when it is given

    def options(self) -> Iterator[tuple[Any, str]]:
        """Each settings object with the name of one of its fields that is an option; every name once."""
        seen = set(self.hidden)
        for part in self.settings:
            for field in fields(part):
                offered = not isinstance(part, Training) or field.name in (*LOOP, *self.loop)
                if "help" in field.metadata and field.name not in seen and offered:
                    seen.add(field.name)
                    yield part, field.name

    def make(self, log: Log, settings: Iterable[Any]) -> Job[Any]:
        """The job itself, with all that it needs imported."""
        made: Job[Any] = _found(self.job)(log, *settings)
        return made


@cache
def job_names() -> dict[str, str]:
    """Every registered job, and where it is."""
    entries = entry_points(group="interloq.components")
    added = {entry.name.removeprefix("job."): entry.value for entry in entries if entry.name.startswith("job.")}
    return dict(sorted((added | JOBS).items()))


def trainable(name: str) -> Trainable:
    """What is registered under one of these names."""
    found: Trainable = _found(job_names()[name])
    return found


def _found(target: str) -> Any:
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


LOOP = ("epochs", "patience", "learning_rate", "checkpoint_minutes", "seed")


def scorer_result(facts: Facts, _: list[Facts]) -> str:
    """Of scorers that tell true replies from random ones."""
    best = facts["best"]
    return (
        f"best dev loss {best['dev_loss']:.4f} after epoch {best['epoch']}; "
        f"{facts['wins']:.1%} of {facts['pairs']['dev']:,} true replies beat a random one"
    )
