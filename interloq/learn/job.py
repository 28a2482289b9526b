# SPDX-License-Identifier: Apache-2.0
"""Train any network, from settings to a folder with the trained model.

A job provides settings, examples and a task; `train` does the rest. It claims the folder, lets the first process
prepare the examples in `<folder>/work`, trains, saves the model and removes the temporary files. If run again, it
resumes after the last completed stage or checkpoint. The facts file is written last: it marks the model as complete.

`train` calls a job's methods in the order in which they are defined below: `prepare`, `task`, `facts` and `save`. Only
the first of several processes prepares, measures and saves. docs/a-run.md follows a network through the modules.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import torch

from interloq.data.files.opening import write_json
from interloq.data.progress import Progress, silent
from interloq.errors import InputError
from interloq.learn.calibrate import CALIBRATION
from interloq.learn.checkpoint import Checkpoint
from interloq.learn.claim import WORK, claim, clear_work
from interloq.learn.devices import fix_threads
from interloq.learn.fit import Task, fit
from interloq.learn.learning_curve import best_epoch, write_curve
from interloq.learn.low_rank import round_as_stored, select_stored_tensors
from interloq.learn.settings import Training
from interloq.learn.store import FACTS, read_facts, save_model
from interloq.models.processes import Processes
from interloq.registry import Component, full_spec
from interloq.signature import fingerprint
from interloq.signature import signature as signed

Report = Callable[[str], None]
Curve = list[dict[str, Any]]
AnyTask = TypeVar("AnyTask", bound=Task)


@dataclass(frozen=True, slots=True)
class Run:
    """Where a job runs and how it reports progress; nothing here affects the result."""

    name: str  # id of the job
    work: Path  # folder for temporary files
    processes: Processes
    device: str
    progress: Progress
    report: Report


@dataclass(frozen=True, kw_only=True)
class Job(ABC, Generic[AnyTask]):
    """A network to be trained. `source` identifies the data: a folder with a job on other data is refused."""

    settings: Component
    training: Training
    source: str = ""

    others: ClassVar[str] = "other settings or other pairs"  # for the error if the folder contains another job
    smaller: ClassVar[str] = "use a smaller batch, or a machine with more memory"
    facts_file: ClassVar[str] = FACTS

    @property
    @abstractmethod
    def kind(self) -> str:
        """Kind of model in the trained folder."""

    @abstractmethod
    def prepare(self, run: Run) -> None:
        """Write the examples and report on them. Called in the first process; finished files are kept."""

    @abstractmethod
    def task(self, run: Run) -> AnyTask:
        """Return the untrained network with its examples."""

    @abstractmethod
    def facts(self, task: AnyTask, run: Run, curve: Curve) -> dict[str, Any]:
        """Return facts about the trained network; a "calibration" among them is saved in its own file."""

    def dependencies(self) -> Sequence[str]:
        """Return ids of what affects the result besides settings and source: models, tokenizers."""
        return ()

    def started(self, work: Path) -> bool:
        """Return whether the work is worth keeping if another job wants the folder."""
        return Checkpoint(work, "").found() is not None

    def matches(self, facts: dict[str, Any]) -> bool:
        """Return whether the facts of a trained folder are from this job."""
        return facts.get("job") == self.name

    def fit_task(self, run: Run) -> tuple[AnyTask, Curve]:
        """Make the task and train its network."""
        task = self.task(run)
        try:
            return task, self.fit(task, run)
        except torch.OutOfMemoryError as error:
            raise InputError(
                f"not enough memory for a batch on {run.processes.description}", hint=self.smaller
            ) from error

    def save_extras(self, folder: Path, run: Run) -> None:
        """Write files of the trained folder other than weights, facts and learning curve."""

    def save(self, folder: Path, task: AnyTask, run: Run, facts: dict[str, Any], curve: Curve) -> None:
        """Write the trained network, its facts and its learning curve to the folder."""
        self.save_extras(folder, run)
        write_curve(folder, facts["signature"], curve)
        save_model(folder, select_stored_tensors(task.network), facts)

    def verdict(self, facts: dict[str, Any]) -> str:  # noqa: ARG002
        """Return a note for the user about the result; may be empty."""
        return ""

    def read(self, folder: Path) -> dict[str, Any]:
        """Return facts of a trained folder."""
        return read_facts(folder, kind=self.kind)

    @property
    def name(self) -> str:
        """Id of everything that affects the result."""
        return fingerprint(*self.parts)

    @property
    def parts(self) -> list[str]:
        """Everything that affects the result; the checkpoint interval does not."""
        loop = replace(self.training, checkpoint_minutes=Training().checkpoint_minutes)
        return [full_spec(self.settings), full_spec(loop), *self.dependencies(), self.source]

    def fit(self, task: AnyTask, run: Run) -> Curve:
        """Train the task's network, then round its weights as they are stored."""
        curve = fit(
            task, self.training, run.work, job=run.name, device=run.device, progress=run.progress, report=run.report
        )
        round_as_stored(task.network)
        return curve

    def base_facts(self, curve: Curve, **dependencies: str) -> dict[str, Any]:
        """Return the kind, signature and best epoch."""
        devices = "+".join(dict.fromkeys(epoch["device"] for epoch in curve))
        parts = {"training": full_spec(self.training), **dependencies, "source": self.source, "device": devices}
        return {"kind": self.kind, "signature": str(signed(self.settings, **parts)), "best": best_epoch(curve)}


def _report_nothing(_: str) -> None:
    pass


def train(
    job: Job[Any],
    folder: str | Path,
    *,
    device: str = "auto",
    progress: Progress = silent,
    report: Report = _report_nothing,
) -> dict[str, Any]:
    """Train and save to `folder`; an interrupted job resumes. Return the facts."""
    folder = Path(folder).resolve()
    with Processes.join(device) as processes, fix_threads(job.training.threads, processes.device):
        if not processes.first:
            report = _report_nothing
        run = Run(job.name, folder / WORK, processes, device, progress, report)
        with _claim(job, folder, run) if processes.first else nullcontext(True) as done:
            if not done:
                job.prepare(run)
            processes.wait()
            if (folder / job.facts_file).exists():
                report(f"{folder.name} is already trained")
                return job.read(folder)
            task, curve = job.fit_task(run)
            processes.wait()
            if processes.first:
                _save(job, folder, task, run, curve)
            processes.wait()
    return job.read(folder)


def _claim(job: Job[Any], folder: Path, run: Run) -> AbstractContextManager[bool]:
    return claim(
        folder,
        run.name,
        started=job.started,
        facts=job.facts_file,
        others=job.others,
        same=lambda: job.matches(job.read(folder)),
    )


def _save(job: Job[Any], folder: Path, task: Any, run: Run, curve: Curve) -> None:
    facts = {"job": run.name, "source": job.source, **job.facts(task, run, curve)}
    if calibrated := facts.pop("calibration", None):
        write_json(folder / CALIBRATION, calibrated)
        facts["temperature"] = calibrated["temperature"]
    job.save(folder, task, run, facts, curve)
    clear_work(folder)
    if verdict := job.verdict(facts):
        run.report(verdict)
