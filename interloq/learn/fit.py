# SPDX-License-Identifier: Apache-2.0
"""The training loop of all networks.

A task has a network and defines batches and their loss. `fit` does the rest: mixed precision on a GPU, gradient
accumulation and clipping, early stopping on the dev loss, and checkpoints from which a killed job resumes with exactly
the losses it would have had.

If started by `torchrun`, several processes share each batch: gradients are summed, so the result is the same as with
one process.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from interloq.data.batched import batched
from interloq.data.progress import Progress, format_duration, silent
from interloq.errors import InputError, count
from interloq.learn.checkpoint import Checkpoint, State
from interloq.learn.devices import Learner, compile_layers, map_tensors, pack_rows, use_own_stream, uses_mixed_precision
from interloq.learn.settings import Training
from interloq.models.processes import Processes

Part = Literal["train", "dev"]
Examples = NDArray[np.int64]
AHEAD = 4  # batches prepared in advance


class Task(Protocol):
    """A network with its data."""

    network: torch.nn.Module

    def batches(self, part: Part, epoch: int) -> Sequence[Examples]:
        """Return the examples of each batch; the same for the same part and epoch. The order of dev never changes."""

    def prepare(self, part: Part, examples: Examples) -> Any:
        """Return the input of `loss`, on the CPU.

        It is called in advance in another thread, so it must not touch the network.
        """

    def loss(self, prepared: Any) -> torch.Tensor:
        """Return the sum of the losses of a batch's examples."""


@torch.inference_mode()  # type: ignore[untyped-decorator]
def dev_outputs(task: Task, read: Callable[[Any], torch.Tensor]) -> Iterator[tuple[Examples, Any, NDArray[np.float64]]]:
    """Yield the examples of each dev batch, the prepared batch, and what `read` computes from it."""
    task.network.eval()
    for examples in task.batches("dev", 0):
        prepared = task.prepare("dev", examples)
        yield examples, prepared, read(prepared).double().cpu().numpy()


def fit(
    task: Task,
    training: Training,
    folder: str | Path,
    *,
    job: str,
    device: str = "auto",
    progress: Progress = silent,
    report: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """Train the task's network, which ends with the weights of its best epoch; return the learning curve.

    `folder` is for checkpoints, and `job` identifies them: checkpoints of another job are refused. The caller saves the
    model (in the first process, if there are several), then removes the folder.
    """
    with Processes.join(device) as processes:
        if not processes.first:
            progress, report = silent, lambda _: None
        task.network.to(processes.device)
        with pack_rows(task.network, training, processes.device, report) as packed, use_own_stream(processes.device):
            return _Fit(task, training, Path(folder), job, processes, progress, report, graphs=packed).run()


class _Fit:
    def __init__(
        self,
        task: Task,
        training: Training,
        folder: Path,
        job: str,
        processes: Processes,
        progress: Progress,
        report: Callable[[str], None],
        *,
        graphs: bool,
    ) -> None:
        self.task, self.training, self.folder, self.job, self.processes = task, training, folder, job, processes
        self.progress, self.report = progress, report
        self.network = task.network
        if training.compile:
            compile_layers(self.network)
        self.optimizer = _optimizer(self.network, training, processes.device)
        self.learner = Learner(self._loss, processes.device, self.report, graphs=graphs)
        torch.manual_seed(training.seed)
        self.state = State()
        self.loss = torch.zeros(
            (), dtype=torch.float64, device=processes.device
        )  # read rarely: reading waits for the GPU
        self.steps_per_epoch = 0
        self.saved = time.monotonic()

    def run(self) -> list[dict[str, Any]]:
        self._restore()
        with _interrupts() as interrupted:
            while self.state.epoch < self.training.epochs and not self._stops_early():
                self._epoch(interrupted)
        if self.state.best:
            self.network.load_state_dict(self.state.best)
        return self.state.curve

    def _stops_early(self) -> bool:
        return 0 < self.training.patience <= self.state.stale

    def _epoch(self, interrupted: Callable[[], bool]) -> None:
        state, epoch = self.state, self.state.epoch + 1
        batches = self.task.batches("train", epoch)
        if not len(batches):
            raise InputError("there are no examples to train on")
        self.steps_per_epoch = math.ceil(len(batches) / self.training.accumulate)
        self.network.train()
        start = time.monotonic() - state.seconds
        left = batches[state.batches :]
        done, total = (sum(map(len, part)) for part in (batches[: state.batches], batches))
        with self.progress(f"epoch {epoch} of {self.training.epochs}", total) as step:
            step(done)
            for group in batched(self._prepare_ahead("train", left), self.training.accumulate):
                self.loss += self._step(group)
                state.batches += len(group)
                state.seconds = time.monotonic() - start
                step(sum(n for n, _ in group))
                if interrupted():
                    self._save()
                    raise KeyboardInterrupt
                if time.monotonic() - self.saved >= 60 * self.training.checkpoint_minutes:
                    self._save()
        self._end_epoch(epoch, total)

    def _end_epoch(self, epoch: int, examples: int) -> None:
        state = self.state
        train_loss, seconds = float(self.loss) / examples, state.seconds
        dev_loss = self.dev_loss()
        if not math.isfinite(train_loss + dev_loss):
            raise InputError(
                f"training diverged: the loss of epoch {epoch} is {train_loss}", hint="lower the learning rate"
            )
        state.curve.append(
            {
                "epoch": epoch,
                "train_loss": train_loss,
                "dev_loss": dev_loss,
                "seconds": seconds,
                "device": self.processes.description,
            }
        )
        state.stale += 1
        if dev_loss < state.best_loss:
            state.best_loss, state.stale = dev_loss, 0
            state.best = {name: t.detach().to("cpu", copy=True) for name, t in self.network.state_dict().items()}
        state.epoch, state.batches, state.seconds = epoch, 0, 0.0
        self.loss.zero_()
        self._save()
        self.report(self._line(examples))

    def _line(self, examples: int) -> str:
        last = self.state.curve[-1]
        left = (self.training.epochs - self.state.epoch) * last["seconds"]
        rate = examples / max(last["seconds"], 1e-9)
        better = "" if self.state.stale else ", best so far"
        return (
            f"epoch {last['epoch']} of {self.training.epochs}: loss {last['train_loss']:.4f}, "
            f"dev {last['dev_loss']:.4f}{better}; {rate:,.0f} examples/s, at most {format_duration(left)} left"
        )

    def _step(self, group: list[tuple[int, Any]]) -> torch.Tensor:
        """Take an optimizer step on the mean loss of some batches; return their summed loss."""
        examples = sum(n for n, _ in group)
        self.optimizer.zero_grad(set_to_none=not self.learner.graphs)
        loss = torch.zeros((), device=self.processes.device)
        for _, prepared in group:
            if prepared is not None:
                loss += self.learner.learn(prepared, examples).float()
        loss = self.processes.add_gradients(self.network, loss)
        if self.training.clip:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.training.clip)
        for settings in self.optimizer.param_groups:
            settings["lr"] = self.training.learning_rate * self._rate()
        self.optimizer.step()
        return loss

    def _loss(self, prepared: Any) -> torch.Tensor:
        device = self.processes.device
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=uses_mixed_precision(self.training, device)):
            return self.task.loss(prepared)

    def _rate(self) -> float:
        """Return the factor of the learning rate at the next step."""
        total = self.training.epochs * self.steps_per_epoch
        step = self.state.epoch * self.steps_per_epoch + self.state.batches // self.training.accumulate
        warm = self.training.warmup * total
        if step < warm:
            return (step + 1) / max(1.0, warm)
        if self.training.schedule == "constant":
            return 1.0
        return (total - step) / max(1.0, total - warm)

    def dev_loss(self) -> float:
        """Return the mean loss of the dev part."""
        batches = self.task.batches("dev", 0)
        if not len(batches):
            raise InputError("the dev part is empty", hint="use more data, or a larger dev part")
        self.network.eval()
        with torch.inference_mode():
            losses = [self._loss(p).double() for _, p in self._prepare_ahead("dev", batches) if p is not None]
        total = torch.stack(losses).sum() if losses else torch.zeros((), dtype=torch.float64)
        return self.processes.sum(float(total)) / sum(map(len, batches))

    def _prepare_ahead(self, part: Part, batches: Sequence[Examples]) -> Iterator[tuple[int, Any]]:
        """Yield this process's share of each batch, prepared in the background, with the size of the whole batch."""
        waiting: list[tuple[int, Any]] = []
        with ThreadPoolExecutor(max_workers=1) as pool:
            for batch in batches:
                share = self.processes.share(batch)
                waiting.append((len(batch), pool.submit(self._ready, part, share) if len(share) else None))
                if len(waiting) > AHEAD:
                    n, ready = waiting.pop(0)
                    yield n, ready.result() if ready else None
            for n, ready in waiting:
                yield n, ready.result() if ready else None

    def _ready(self, part: Part, examples: Examples) -> Any:
        """Return a batch on the CPU; if it goes to a GPU, in memory that the GPU reads while it computes."""
        prepared = self.task.prepare(part, examples)
        if self.processes.device.type != "cuda":
            return prepared
        return map_tensors(prepared, torch.Tensor.pin_memory)

    def _save(self) -> None:
        self.state.loss = float(self.loss)
        if self.processes.first and math.isfinite(self.training.checkpoint_minutes):
            Checkpoint(self.folder, self.job).save(self.state, self.network, self.optimizer)
        self.saved = time.monotonic()

    def _restore(self) -> None:
        checkpoint = Checkpoint(self.folder, self.job)
        if not checkpoint.found():
            return
        self.state = checkpoint.load(self.network, self.optimizer, self.processes.device)
        self.loss.fill_(self.state.loss)
        self.report(f"resuming after {count(self.state.batches, 'batch', 'batches')} of epoch {self.state.epoch + 1}")


def _optimizer(network: torch.nn.Module, training: Training, device: torch.device) -> torch.optim.Optimizer:
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[training.optimizer]
    fused = True if device.type == "cuda" else None  # one kernel for all weights
    return kind(network.parameters(), lr=training.learning_rate, weight_decay=training.weight_decay, fused=fused)


@contextmanager
def _interrupts() -> Iterator[Callable[[], bool]]:
    """Delay Ctrl-C and SIGTERM until a step ends, so that no partial step is saved; a second signal stops at once."""
    seen: list[int] = []

    def handle(number: int, _: Any) -> None:
        seen.append(number)
        if len(seen) > 1:
            raise KeyboardInterrupt

    try:
        before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # not in the main thread, which handles signals itself
        yield lambda: False
        return
    try:
        yield lambda: bool(seen)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
