"""Training `relevance` on exchanges, beside Hugging Face's Trainer: exchanges per second, in one run.

    python benchmarks/training.py                         # on the CPU: a small network and a few steps
    python benchmarks/training.py --device cuda           # MiniLM's shape, on a GPU, in about a minute
    python benchmarks/training.py --device cuda --compile --adapt --profile

The same exchanges are learned from by the Trainer (bf16, padded to the longest row of a batch) and by the loop of
`learn/fit.py`; rates are of the second half of the steps, when everything is warm. `padded` is the loop with padded
rows, without CUDA graphs. `--profile` shows where the time of a step goes, `--check` runs `training_checks.py` first.

`--examples FOLDER` takes tokenised exchanges that `interloq train relevance --examples` has kept, instead of made ones.
"""

from __future__ import annotations

import argparse
import inspect
import math
import platform
import sys
import tempfile
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
import transformers
from training_checks import (
    MINILM,
    SMALL,
    WAYS,
    adaptation,
    checked,
    made_encoder,
    made_exchanges,
    padded,
    relevance,
    said,
)

from interloq.learn import fit as loop
from interloq.models.token_rows import Rows
from interloq.scorers.relevance.examples import Exchanges
from interloq.scorers.relevance.settings import TRAINING

PROFILED, TOP = 30, 16


# ---- measuring -------------------------------------------------------------------------------------------------------


class Watch:
    """Times the second half of the steps, and profiles some after them."""

    def __init__(self, steps: int, device: str, *, profile: bool) -> None:
        self.steps, self.device, self.done, self.seconds = steps, device, 0, 0.0
        self.examples = self.tokens = self.places = 0
        self.host: dict[str, float] = defaultdict(float)
        self.profiler = None
        if profile:
            kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
            self.profiler = torch.profiler.profile(activities=kinds[: 2 if device == "cuda" else 1])

    @contextmanager
    def watching(self) -> Iterator[None]:
        step, ready = loop._Fit._step, loop._Fit._ready

        def timed_step(own: Any, group: Any) -> Any:
            self.learner = own.learner
            self.before(group)
            began = time.perf_counter()
            found = step(own, group)
            self.host["step"] += time.perf_counter() - began
            self.done += 1
            return found

        def timed_ready(own: Any, part: Any, examples: Any) -> Any:
            began = time.thread_time()
            found = ready(own, part, examples)
            self.host["prepare"] += time.thread_time() - began
            return found

        with patch.object(loop._Fit, "_step", timed_step), patch.object(loop._Fit, "_ready", timed_ready):
            yield

    def before(self, group: Any) -> None:
        if self.done == self.steps // 2:
            self.sync()
            self.host.clear()
            self.seconds = -time.perf_counter()
        if self.done == self.steps:
            self.sync()
            self.seconds += time.perf_counter()
            self.each = {name: 1e3 * took / (self.steps - self.steps // 2) for name, took in self.host.items()}
        if self.steps // 2 <= self.done < self.steps:
            self.examples += sum(n for n, _ in group)
            for _, prepared in group:
                self.count(prepared.rows)
        if self.profiler and self.done == self.steps + 5:
            self.sync()
            self.profiler.start()
            self.began = time.perf_counter()
        if self.profiler and self.done == self.steps + 5 + PROFILED:
            self.sync()
            self.took = time.perf_counter() - self.began
            self.profiler.stop()

    def count(self, rows: Any) -> None:
        self.places += rows.ids.numel()
        self.tokens += int(rows.mask.sum()) if isinstance(rows, Rows) else int(rows.ends[rows.rows])

    def sync(self) -> None:
        if self.device == "cuda":
            torch.cuda.synchronize()

    def busy(self) -> tuple[float, float, dict[str, tuple[float, int]]]:
        """The share of the time in which a kernel ran, kernels per step, and milliseconds and calls by name."""
        assert self.profiler  # noqa: S101
        events = [e for e in self.profiler.events() if e.device_type == torch.autograd.DeviceType.CUDA]
        found = [e for e in events if not e.name.startswith("Optimizer.step")]  # spans kernels, is not one
        ends, total = 0.0, 0.0
        kinds: dict[str, tuple[float, int]] = defaultdict(lambda: (0.0, 0))
        for event in sorted(found, key=lambda e: e.time_range.start):
            first, last = event.time_range.start, event.time_range.end
            total += max(0.0, last - max(first, ends))
            ends = max(ends, last)
            took, calls = kinds[event.name]
            kinds[event.name] = took + (last - first) / 1e3, calls + 1
        return total / 1e6 / self.took, len(found) / PROFILED, kinds


def measured(name: str, make: Callable[[int], Any], args: argparse.Namespace) -> float:
    """Exchanges or pairs per second; prints what a step consists of."""
    how, compiled = WAYS[name]
    steps = args.steps // 4 if how is padded and args.device == "cuda" else args.steps  # no graphs to warm up
    watch = Watch(steps, args.device, profile=args.profile and args.device == "cuda")
    training = replace(TRAINING, epochs=1, compile=compiled)
    if args.device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, how(), watch.watching():
        curve = loop.fit(make(steps + PROFILED + 10), training, folder, job="", device=args.device, say=said)
    rate, seconds = watch.examples / watch.seconds, watch.seconds / (steps - steps // 2)
    memory = f", {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB" if args.device == "cuda" else ""
    print(
        f"  {name:<20}{rate:>10,.0f}/s   {1e3 * seconds:.2f} ms per step, {watch.tokens / watch.seconds:,.0f} tokens/s"
    )
    print(
        f"    {1 - watch.tokens / watch.places:.1%} padding; processor: {watch.each['prepare']:.2f} ms to prepare, "
        f"{watch.each['step']:.2f} ms in the step; loss {curve[0]['train_loss']:.4f}; "
        f"{len(watch.learner._recorded)} graphs; all {time.perf_counter() - began:.0f} s{memory}",
        flush=True,
    )
    if watch.profiler:
        profiled(watch)
    return rate


def profiled(watch: Watch) -> None:
    share, count, kinds = watch.busy()
    per_step = 1e3 * watch.took / PROFILED
    print(f"    profiled: GPU busy {share:.0%} of {per_step:.2f} ms per step, {count:,.0f} kernels per step")
    for name, (took, calls) in sorted(kinds.items(), key=lambda item: -item[1][0])[:TOP]:
        print(f"      {took / PROFILED:7.3f} ms  {calls / PROFILED:6.1f} calls  {name[:110]}")


# ---- Hugging Face ----------------------------------------------------------------------------------------------------


class Peer(torch.nn.Module):  # type: ignore[misc]
    """The same network and loss, as one would write it for the Trainer."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.encoder = transformers.AutoModel.from_pretrained(folder, add_pooling_layer=False)
        self.head = torch.nn.Linear(self.encoder.config.hidden_size, 1)

    def forward(self, labels: torch.Tensor, **rows: torch.Tensor) -> dict[str, torch.Tensor]:
        states = self.encoder(**rows).last_hidden_state[:, 0]
        logits = self.head(states).float().view(len(labels), -1)
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}


def peer_rows(args: argparse.Namespace, steps: int) -> list[dict[str, Any]]:
    """The rows of each exchange, true reply first, as token numbers: preparing them does not count."""
    task, found = relevance(args, steps), []
    for examples in task.batches("train", 1):
        rows: Any = task.prepare("train", examples).rows
        lengths = rows.mask.sum(dim=1).tolist()
        cut = [(a[:n], b[:n]) for a, b, n in zip(rows.ids.long(), rows.kinds.long(), lengths, strict=True)]
        size = len(cut) // len(examples)
        found += [{"rows": cut[i : i + size], "length": max(lengths[i : i + size])} for i in range(0, len(cut), size)]
    return found


def collated(batch: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
    ids, kinds = zip(*[row for example in batch for row in example["rows"]], strict=True)
    pad = partial(torch.nn.utils.rnn.pad_sequence, batch_first=True)
    mask = pad([torch.ones_like(row) for row in ids])
    labels = torch.zeros(len(batch), dtype=torch.long)
    return {"input_ids": pad(ids), "token_type_ids": pad(kinds), "attention_mask": mask, "labels": labels}


def by_length(grouped: bool) -> dict[str, Any]:
    """The option for batches of examples of like length; its name has changed."""
    if "train_sampling_strategy" in inspect.signature(transformers.TrainingArguments).parameters:
        return {"train_sampling_strategy": "group_by_length" if grouped else "random"}
    return {"group_by_length": grouped}


def trainer(rows: list[dict[str, Any]], args: argparse.Namespace, *, grouped: bool) -> float:
    """Exchanges per second of the Trainer in the second half of its steps."""
    steps, clock = len(rows) // args.batch, [0.0, 0.0]

    class Clock(transformers.TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, _: Any, state: Any, *__: Any, **___: Any) -> None:
            if state.global_step in (steps // 2, steps):
                if args.device == "cuda":
                    torch.cuda.synchronize()
                clock[state.global_step == steps] = time.perf_counter()

    with tempfile.TemporaryDirectory() as folder:
        options = transformers.TrainingArguments(
            folder,
            per_device_train_batch_size=args.batch,
            max_steps=steps,
            learning_rate=3e-5,
            weight_decay=0.01,
            warmup_steps=steps // 20,
            bf16=args.device == "cuda",
            use_cpu=args.device == "cpu",
            dataloader_num_workers=4 if args.device == "cuda" else 0,
            **by_length(grouped),
            remove_unused_columns=False,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
        )
        made = transformers.Trainer(
            Peer(args.encoder), options, train_dataset=rows, data_collator=collated, callbacks=[Clock()]
        )
        made.train()
    return float((steps - steps // 2) * args.batch / (clock[1] - clock[0]))


def plain_loop(rows: list[dict[str, Any]], args: argparse.Namespace, *, grouped: bool) -> float:
    """What the Trainer does, for machines without accelerate, which it needs."""
    order = np.random.default_rng(0).permutation(len(rows))
    if grouped:
        order = order[np.argsort([rows[i]["length"] for i in order], kind="stable")]
    network = Peer(args.encoder).to(args.device).train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-5, weight_decay=0.01)
    batches = np.array_split(order, len(rows) // args.batch)
    batches = [batches[i] for i in np.random.default_rng(1).permutation(len(batches))]
    began, done = 0.0, 0
    for i, batch in enumerate(batches):
        if i == len(batches) // 2:
            torch.cuda.synchronize() if args.device == "cuda" else None
            began, done = time.perf_counter(), 0
        parts = {k: v.to(args.device) for k, v in collated([rows[j] for j in batch]).items()}
        with torch.autocast(args.device, dtype=torch.bfloat16, enabled=args.device == "cuda"):
            loss = network(**parts)["loss"]
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        done += len(batch)
    torch.cuda.synchronize() if args.device == "cuda" else None
    return done / (time.perf_counter() - began)


# ---- all of it -------------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--examples", type=Path, help="a folder of tokenised exchanges (default: made ones)")
    parser.add_argument("--encoder", type=Path, help="a folder with an encoder (default: random weights)")
    parser.add_argument("--steps", type=int, help="steps of each way to train (default: 400 on a GPU, 12 on a CPU)")
    parser.add_argument("--batch", type=int, help="exchanges in a batch (default: 64 on a GPU, 8 on a CPU)")
    parser.add_argument("--compile", action="store_true", help="also measure compiled networks")
    parser.add_argument("--adapt", action="store_true", help="also measure adaptation: masked and next tokens")
    parser.add_argument("--profile", action="store_true", help="also print the kernels that take longest")
    parser.add_argument("--check", action="store_true", help="on a GPU, first check that all ways learn the same")
    args = parser.parse_args()
    gpu = args.device == "cuda"
    args.steps, args.batch = args.steps or (400 if gpu else 12), args.batch or (64 if gpu else 8)
    args.shape = MINILM if gpu else SMALL
    transformers.logging.set_verbosity_error()
    with tempfile.TemporaryDirectory() as folder:
        args.encoder = args.encoder or made_encoder(Path(folder) / "encoder", args.shape)
        n = (args.steps + PROFILED + 10) * args.batch * 5
        args.exchanges = Exchanges.load(args.examples) if args.examples else made_exchanges(n)
        on = torch.cuda.get_device_name() if gpu else platform.processor() or platform.machine()
        versions = f"torch {torch.__version__}, transformers {transformers.__version__}"
        print(f"{on}, {versions}, {args.batch} exchanges per batch")
        good = run(args)
    sys.exit(0 if good else 1)


def run(args: argparse.Namespace) -> bool:
    gpu, good = args.device == "cuda", True
    if gpu and args.check:
        good = checked(args)
    print("\ntraining relevance; exchanges per second")
    found = peers(args)
    for name in [name for name, (_, compiled) in WAYS.items() if gpu and (args.compile or not compiled)] or ["padded"]:
        found[name] = attempted(name, partial(relevance, args), args)
    ours = found.get("packed", found["padded"])
    print()
    for name, rate in found.items():
        print(f"  {name:<24}{rate:>10,.0f} exchanges/s   interloq is {ours / rate:.2f} ×")
    for goal in ("mlm", "lm") if args.adapt else ():
        print(f"\nadaptation, {goal}; pairs per second")
        make = partial(adaptation, args, goal=goal)
        rates = [attempted(name, make, args) for name in (["padded", "packed"] if gpu else ["padded"])]
        print(f"  {rates[-1] / rates[0]:.2f} × padded")
    return good and all(map(math.isfinite, found.values()))


def attempted(name: str, make: Callable[[int], Any], args: argparse.Namespace) -> float:
    """The same as `measured`; NaN if it fails, which does not keep the others from being measured."""
    try:
        return measured(name, make, args)
    except Exception:
        traceback.print_exc(file=sys.stdout)
        return math.nan


def peers(args: argparse.Namespace) -> dict[str, float]:
    """The Trainer on the same rows, with random batches and with batches of like length."""
    rows, found = peer_rows(args, max(8, args.steps // 4)), {}
    for label, grouped in (("", False), (", by length", True)):
        name, rate = "Trainer", math.nan
        try:
            rate = trainer(rows, args, grouped=grouped)
        except Exception as error:
            print(f"  the Trainer does not run here ({str(error).strip()[:200]}): a plain loop stands in for it")
            name, rate = "plain loop", plain_loop(rows, args, grouped=grouped)
        found[f"{name}{label}"] = rate
        print(f"  {name + label:<20}{rate:>10,.0f}/s", flush=True)
    return found


if __name__ == "__main__":
    main()
