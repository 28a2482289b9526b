# SPDX-License-Identifier: Apache-2.0
"""Shards in a Ray cluster: actors that load the models once, one per GPU if the job has networks, else one per core.

Ray places actors, starts them again when a process or machine is lost, and repeats the shard that was lost with them
(by default, it would do neither). One shard per actor is outstanding, results are written as they arrive, and actors
are added when machines join. Processors and GPUs, or GPUs of two models, never share a job, because they differ in the
last digits. Ray's usage statistics are off.
"""

from __future__ import annotations

import logging
import os
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interloq.data.corpus.workers import cores
from interloq.errors import InputError, MissingDependencyError, count
from interloq.shards.processes import ATTEMPTS, THREADS, Computer, Message, read_message, report_deaths
from interloq.shards.task import Shard, ShardTask

PAUSE = 5.0  # seconds after which new machines are looked for while no result arrives
START = "ray"  # the address of a cluster that is started here, unless RAY_ADDRESS names another
FOREVER = {"max_restarts": -1, "max_task_retries": -1}


@dataclass(frozen=True)
class RayCluster:
    """An engine; `address` is START, "auto" for a cluster that runs on this machine, HOST:PORT or ray://HOST:PORT."""

    address: str = START
    tell: Callable[[str], None] | None = None

    def run(self, task: ShardTask, shards: Iterable[Shard], deliver: Callable[[Shard, bytes], None]) -> None:
        rest = iter(shards)
        if first := next(rest, None):  # a job whose shards are all finished needs no cluster
            with _connect(self.address) as ray:
                job = _ClusterJob(ray, task, deliver)
                job.compute(first, rest)
            if self.tell:
                job.report(self.tell)


@dataclass(eq=False)
class _Actor:
    handle: Any
    shard: Shard | None = None
    where: str = ""  # address of its machine
    records: int = 0


class _ClusterJob:
    def __init__(self, ray: Any, task: ShardTask, deliver: Callable[[Shard, bytes], None]) -> None:
        self.ray, self.deliver, self.start = ray, deliver, time.monotonic()
        self.uses_gpu = bool(getattr(task, "uses_gpu", False) and ray.cluster_resources().get("GPU"))
        self.actors, self.refused, self.device = list[_Actor](), list[str](), ""
        attempts = ray.remote(_Attempts).options(num_cpus=0, **FOREVER).remote()
        self.common = [ray.put(task), attempts]  # in a list, so that a worker reads the task when it is in its folder

    def compute(self, first: Shard, rest: Iterator[Shard]) -> None:
        waiting, idle, running = deque([first]), list[_Actor](), dict[Any, _Actor]()
        while True:
            size = max(1, int(self.ray.cluster_resources().get("GPU" if self.uses_gpu else "CPU", 0)))
            while len(waiting) < size and (shard := next(rest, None)):
                waiting.append(shard)
            while waiting and idle:
                actor = idle.pop()
                actor.shard = waiting.popleft()
                running[actor.handle.compute.remote(self.common, actor.shard)] = actor
            while idle:  # there is nothing left to do; it makes room for an actor whose machine was lost
                self.ray.kill(idle.pop().handle)
            if not waiting and not any(actor.shard for actor in running.values()):
                return
            opening = sum(actor.shard is None for actor in running.values())
            for _ in range(min(size - len(self.actors) - len(self.refused), len(waiting) - opening)):
                self.actors.append(_Actor(self._start()))
                running[self.actors[-1].handle.compute.remote(self.common, None)] = self.actors[-1]
            if not self.actors:
                raise InputError(f"no worker can compute this: {self.refused[0]}")
            for reference in self.ray.wait(list(running), timeout=PAUSE)[0]:
                actor = running.pop(reference)
                if self._receive(actor, reference):
                    idle.append(actor)

    def _start(self) -> Any:
        variables = dict.fromkeys(THREADS, "1")
        if not self.uses_gpu:
            variables["CUDA_VISIBLE_DEVICES"] = ""
        place = {"num_cpus": float(not self.uses_gpu), "num_gpus": float(self.uses_gpu)}
        actor = self.ray.remote(_ClusterWorker).options(**place, **FOREVER, runtime_env={"env_vars": variables})
        return actor.remote(str(Path.cwd()), self.uses_gpu)  # nothing from the object store: it may be lost

    def _receive(self, actor: _Actor, reference: Any) -> bool:
        """Take what an actor returned; return False for one that is not used."""
        shard, actor.shard = actor.shard, None
        try:
            message, actor.where, device = self.ray.get(reference)
        except self.ray.exceptions.RayError as error:  # it could not start, because a package is missing
            if shard:
                raise
            return self._refuse(actor, str(error).strip().splitlines()[-1])
        self.device = self.device or device
        if device != self.device:
            message = "failed", InputError(f"it has {device}, others {self.device}: results would differ"), []
        if shard is None and message[0] == "failed" and isinstance(message[1], InputError):
            return self._refuse(actor, str(message[1]))
        result = read_message(message)
        if shard:
            actor.records += len(shard.records)
            self.deliver(shard, result)
        return True

    def _refuse(self, actor: _Actor, why: str) -> bool:
        warnings.warn(f"a worker {actor.where and f'on {actor.where} '}is not used: {why}", stacklevel=2)
        self.actors.remove(actor)
        self.refused.append(why)
        self.ray.kill(actor.handle)
        return False

    def report(self, tell: Callable[[str], None]) -> None:
        """Tell the rate of the workers of each machine."""
        seconds = time.monotonic() - self.start
        for where in sorted({actor.where for actor in self.actors if actor.where}):
            there = [actor.records for actor in self.actors if actor.where == where]
            rate = sum(there) / len(there) / seconds
            tell(f"{where}: {count(len(there), 'worker')} ({self.device}), {rate:,.1f} records/s each")


class _Attempts:
    """Counts how often shards were begun: Ray would repeat one for ever that kills its process."""

    def __init__(self) -> None:
        self.begun = Counter[str]()

    def begin(self, name: str) -> int:
        self.begun[name] += 1
        return self.begun[name]


class _ClusterWorker:
    """What runs in an actor."""

    def __init__(self, folder: str, uses_gpu: bool) -> None:
        if Path(folder).is_dir():  # relative paths mean the same as for the driver
            os.chdir(folder)
        self.uses_gpu = uses_gpu
        self.computer: Computer | None = None

    def compute(self, common: list[Any], shard: Shard | None) -> tuple[Message, str, str]:
        """Return a message, this machine and its device; without a shard, only load the models."""
        import ray

        task, attempts = common
        self.computer = self.computer or Computer(ray.get(task))
        device = "cpu"
        if shard and ray.get(attempts.begin.remote(shard.name)) > ATTEMPTS:
            message: Message = "failed", report_deaths(shard), []
        else:
            message = self.computer.answer(shard.records if shard else None)
        if self.uses_gpu:
            import torch

            device = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
        return message, ray.util.get_node_ip_address(), device


@contextmanager
def _connect(address: str) -> Iterator[Any]:
    """Yield the module `ray`, connected to a cluster; one that was started here ends with this."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    address = os.environ.get("RAY_ADDRESS", address) if address == START else address
    local: dict[str, Any] = {}
    if address == START:
        address, local = "local", {"num_cpus": cores(), "include_dashboard": False}
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # Ray would not stay on 127.0.0.1
    try:
        import ray
    except ImportError as error:
        raise MissingDependencyError("--workers ray", error.name or "ray", "ray") from error
    try:
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR, **local)
    except (ConnectionError, ImportError, RuntimeError, ValueError) as error:
        what = str(error).strip().splitlines()[0]
        raise InputError(f"no Ray cluster: {what}", hint="check --workers", where=address) from error
    try:
        yield ray
    finally:
        ray.shutdown()
