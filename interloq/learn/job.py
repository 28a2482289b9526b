"""One way from settings to a trained folder, for every network that `fit` trains.

A job gives its settings, its examples and its task; `train` does the rest. It claims the folder, lets the first process
prepare the examples in `<folder>/work`, fits, saves and removes the working files. Run again, it resumes after the last
stage, or the last checkpoint, that was finished. The file of facts is written last: it says that all is there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import torch

from interloq.data.files import write_json
from interloq.data.progress import Progress, silent
from interloq.errors import InputError
from interloq.learn.calibrate import CALIBRATION
from interloq.learn.checkpoint import Checkpoint
from interloq.learn.claim import WORK, claim, clear_work
from interloq.learn.fit import Task, fit
from interloq.learn.learning_curve import best_epoch, write_curve
from interloq.learn.low_rank import round_as_stored, stored_tensors
from interloq.learn.settings import Training
from interloq.learn.store import FACTS, read_facts, save_model
from interloq.models.processes import Processes
from interloq.registry import Component, full_spec
from interloq.signature import fingerprint
from interloq.signature import signature as signed

Say = Callable[[str], None]
Curve = list[dict[str, Any]]
AnyTask = TypeVar("AnyTask", bound=Task)


@dataclass(frozen=True, slots=True)
class Run:
    """Where a job runs and whom it tells: nothing here changes what is learned."""

    name: str  # of the job
    work: Path  # the folder of working files
    processes: Processes
    device: str
    progress: Progress
    say: Say


@dataclass(frozen=True, kw_only=True)
class Job(ABC, Generic[AnyTask]):
    """One thing to be trained. `source` names the data: a folder with a job on other data is refused."""

    settings: Component
    training: Training
    source: str = ""

    others: ClassVar[str] = "other settings or other pairs"  # what may tell another job in the folder from this one
    smaller: ClassVar[str] = "use a smaller --batch, or a machine with more memory"
    facts_file: ClassVar[str] = FACTS

    # ---- what each job gives -----------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def kind(self) -> str:
        """What the trained folder holds."""

    @abstractmethod
    def prepare(self, run: Run) -> None:
        """Write the examples, and tell what they are. The first process calls it; what is there already is kept."""

    @abstractmethod
    def task(self, run: Run) -> AnyTask:
        """The network as it starts, with its examples."""

    @abstractmethod
    def facts(self, task: AnyTask, run: Run, curve: Curve) -> dict[str, Any]:
        """What is to be known of the trained network; a "calibration" among it gets a file of its own."""

    def made_of(self) -> Sequence[str]:
        """What decides the result apart from settings, loop and source: models, tokenizers."""
        return ()

    def begun(self, work: Path) -> bool:
        """Whether the work is worth keeping when another job asks for the folder."""
        return Checkpoint(work, "").found() is not None

    def is_of(self, facts: dict[str, Any]) -> bool:
        """Whether the facts of a trained folder are this job's."""
        return facts.get("job") == self.name

    def fitted(self, run: Run) -> tuple[AnyTask, Curve]:
        task = self.task(run)
        try:
            return task, self.fit(task, run)
        except torch.OutOfMemoryError as error:
            raise InputError(f"no memory for a batch on {run.processes.description}", hint=self.smaller) from error

    def keep(self, folder: Path, run: Run) -> None:
        """Write what a trained folder holds besides weights, facts and learning curve."""

    def save(self, folder: Path, task: AnyTask, run: Run, facts: dict[str, Any], curve: Curve) -> None:
        """Write the trained network, its facts and its learning curve to the folder."""
        self.keep(folder, run)
        write_curve(folder, facts["signature"], curve)
        save_model(folder, stored_tensors(task.network), facts)

    def verdict(self, facts: dict[str, Any]) -> str:  # noqa: ARG002
        """What to tell the user about the result, if anything."""
        return ""

    def read(self, folder: Path) -> dict[str, Any]:
        """The facts of a trained folder."""
        return read_facts(folder, kind=self.kind)

    # ---- what they share ---------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """One name for all that decides the result."""
        return fingerprint(*self.parts)

    @property
    def parts(self) -> list[str]:
        """All that decides the result; how often it is saved does not."""
        loop = replace(self.training, checkpoint_minutes=Training().checkpoint_minutes)
        return [full_spec(self.settings), full_spec(loop), *self.made_of(), self.source]

    def fit(self, task: AnyTask, run: Run) -> Curve:
        return fit(
            task,
            self.training,
            run.work,
            job=run.name,
            device=run.device,
            progress=run.progress,
            say=run.say,
        )

    def described(self, curve: Curve, **made_of: str) -> dict[str, Any]:
        """Kind, signature and best epoch."""
        devices = "+".join(dict.fromkeys(epoch["device"] for epoch in curve))
        parts = {"training": full_spec(self.training), **made_of, "source": self.source, "device": devices}
        return {"kind": self.kind, "signature": str(signed(self.settings, **parts)), "best": best_epoch(curve)}


def train(
    job: Job[Any],
    folder: str | Path,
    *,
    device: str = "auto",
    progress: Progress = silent,
    say: Say = lambda _: None,
) -> dict[str, Any]:
    """Train and save to `folder`; a job that was cut short resumes where it was. Returns the facts."""
    folder = Path(folder).resolve()
    with Processes.joined(device) as processes:
        say = say if processes.first else lambda _: None
        run = Run(job.name, folder / WORK, processes, device, progress, say)
        if processes.first and not _claimed(job, folder, run):
            job.prepare(run)
        processes.wait()
        if (folder / job.facts_file).exists():
            say(f"{folder.name} is trained already")
            return job.read(folder)
        task, curve = job.fitted(run)
        processes.wait()
        if processes.first:
            _save(job, folder, task, run, curve)
        processes.wait()
    return job.read(folder)


def _claimed(job: Job[Any], folder: Path, run: Run) -> bool:
    return claim(
        folder,
        run.name,
        begun=job.begun(run.work),
        facts=job.facts_file,
        others=job.others,
        same=lambda: job.is_of(job.read(folder)),
    )


def _save(job: Job[Any], folder: Path, task: Task, run: Run, curve: Curve) -> None:
    round_as_stored(task.network)
    facts = {"job": run.name, "source": job.source, **job.facts(task, run, curve)}
    if calibrated := facts.pop("calibration", None):
        write_json(folder / CALIBRATION, calibrated)
        facts["temperature"] = calibrated["temperature"]
    job.save(folder, task, run, facts, curve)
    clear_work(folder)
    if verdict := job.verdict(facts):
        run.say(verdict)
