"""Training `relevance` on exchanges, beside Hugging Face's Trainer: exchanges per second, in one run.

    python benchmarks/training.py                         # on the CPU: a small network and a few steps
    python benchmarks/training.py --device cuda           # MiniLM's shape, on a GPU, in about a minute
    python benchmarks/training.py --device cuda --compile --adapt --profile

The same exchanges are learned from by the Trainer (bf16, padded to the longest row of a batch) and by the loop of
`learn/fit.py`. Rates are of the third pass over the same batches: by then every shape was seen, cuDNN has its plans
and all graphs are recorded; the seconds of all passes are printed. `padded` is the loop with padded rows, without CUDA
graphs. `--profile` shows where the time of a step goes, `--check` runs `training_checks.py` first.

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
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
import transformers
from _figures import Figure, add_json_option, report
from training_checks import (
    MINILM,
    SMALL,
    WAYS,
    adaptation,
    checked,
    made_encoder,
    made_exchanges,
    print_report,
    relevance,
)

from interloq.learn import fit as loop
from interloq.models.token_rows import TokenRows
from interloq.scorers.relevance.examples import Exchanges
from interloq.scorers.relevance.settings import TRAINING

PASSES, PROFILED, TOP = 3, 30, 16


# ---- measuring -------------------------------------------------------------------------------------------------------


def now(device: str) -> float:
    """Seconds; on a CPU those of all threads, which other programs disturb least."""
    return time.perf_counter() if device == "cuda" else time.process_time()


class Watch:
    """Times passes over the same batches, counts what the last of them holds, and profiles some steps after it."""

    def __init__(self, steps: int, device: str, *, profile: bool) -> None:
        self.steps, self.device, self.done, self.clock = steps, device, 0, list[float]()
        self.examples = self.tokens = self.places = 0
        self.preparing, self.stepping = list[float](), list[float]()
        kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        self.profiler = torch.profiler.profile(activities=kinds) if profile else None

    @property
    def passes(self) -> list[float]:
        """Seconds of each pass."""
        return [b - a for a, b in pairwise(self.clock)]

    @contextmanager
    def watching(self) -> Iterator[None]:
        step, ready = loop._Fit._step, loop._Fit._ready

        def timed_step(own: Any, group: Any) -> Any:
            self.learner = own.learner
            self.before(group)
            began = time.perf_counter()
            found = step(own, group)
            self.stepping.append(time.perf_counter() - began)
            self.done += 1
            if self.done == PASSES * self.steps:
                self.tick()
            return found

        def timed_ready(own: Any, part: Any, examples: Any) -> Any:
            began = time.thread_time()
            found = ready(own, part, examples)
            self.preparing.append(time.thread_time() - began)
            return found

        with patch.object(loop._Fit, "_step", timed_step), patch.object(loop._Fit, "_ready", timed_ready):
            yield

    def before(self, group: Any) -> None:
        passes, step = divmod(self.done, self.steps)
        if step == 0 and passes < PASSES:
            self.tick()
            self.stepping.clear()
        if passes == PASSES - 1:
            self.examples += sum(n for n, _ in group)
            for _, prepared in group:
                self.count(prepared.rows)
        if self.profiler and passes == PASSES and step == 5:
            self.sync()
            self.profiler.start()
            self.began = time.perf_counter()
        if self.profiler and passes == PASSES and step == 5 + PROFILED:
            self.sync()
            self.took = time.perf_counter() - self.began
            self.profiler.stop()

    def tick(self) -> None:
        self.sync()
        self.clock.append(now(self.device))

    def count(self, rows: Any) -> None:
        self.places += rows.ids.numel()
        self.tokens += int(rows.mask.sum()) if isinstance(rows, TokenRows) else int(rows.ends[rows.rows])

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
    (how, compiled), gpu = WAYS[name], args.device == "cuda"
    watch = Watch(args.steps, args.device, profile=args.profile and gpu and args.steps > PROFILED + 5)
    training = replace(TRAINING, epochs=PASSES + bool(watch.profiler), patience=PASSES + 1, compile=compiled)
    if gpu:
        torch.cuda.reset_peak_memory_stats()
    with tempfile.TemporaryDirectory() as folder, how(), watch.watching():
        curve = loop.fit(make(args.steps), training, folder, job="", device=args.device, report=print_report)
    seconds = watch.passes[-1]
    rate, tokens = watch.examples / seconds, f"{watch.tokens / seconds:,.0f} tokens/s"
    memory = f", {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB" if gpu else ""
    print(f"  {name:<20}{rate:>10,.0f}/s   {1e3 * seconds / args.steps:.2f} ms per step, {tokens}")
    prepare, step = (1e3 * float(np.mean(each)) for each in (watch.preparing, watch.stepping[: args.steps]))
    print(
        f"    {1 - watch.tokens / watch.places:.1%} padding; processor: {prepare:.2f} ms to prepare, {step:.2f} ms in "
        f"the step; passes {', '.join(f'{took:.1f} s' for took in watch.passes)}; "
        f"{len(watch.learner._recorded)} graphs; loss {curve[-1]['train_loss']:.4f}{memory}",
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
        groups = [cut[i : i + size] for i in range(0, len(cut), size)]
        # the Trainer takes the length of `input_ids` for the length of an example
        found += [{"rows": group, "input_ids": max((ids for ids, _ in group), key=len)} for group in groups]
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
    """Exchanges per second of the Trainer in its last epoch."""
    steps, clock = len(rows) // args.batch, [0.0, 0.0]
    first, last = (PASSES - 1) * steps, PASSES * steps

    class Clock(transformers.TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, _: Any, state: Any, *__: Any, **___: Any) -> None:
            if state.global_step in (first, last):
                if args.device == "cuda":
                    torch.cuda.synchronize()
                clock[state.global_step == last] = now(args.device)

    with tempfile.TemporaryDirectory() as folder:
        options = transformers.TrainingArguments(
            folder,
            per_device_train_batch_size=args.batch,
            max_steps=last,
            dataloader_drop_last=True,
            dataloader_persistent_workers=args.device == "cuda",
            learning_rate=3e-5,
            weight_decay=0.01,
            warmup_steps=last // 20,
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
            args.network(args.encoder), options, train_dataset=rows, data_collator=args.collate, callbacks=[Clock()]
        )
        made.train()
    return float(steps * args.batch / (clock[1] - clock[0]))


def plain_loop(rows: list[dict[str, Any]], args: argparse.Namespace, *, grouped: bool) -> float:
    """What the Trainer does, for machines without accelerate, which it needs."""
    order = np.random.default_rng(0).permutation(len(rows))
    if grouped:
        order = order[np.argsort([len(rows[i]["input_ids"]) for i in order], kind="stable")]
    network = args.network(args.encoder).to(args.device).train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-5, weight_decay=0.01)
    batches = np.array_split(order, len(rows) // args.batch) * PASSES
    began, done = 0.0, 0
    for i, batch in enumerate(batches):
        if i == len(batches) * (PASSES - 1) // PASSES:
            torch.cuda.synchronize() if args.device == "cuda" else None
            began, done = now(args.device), 0
        parts = {k: v.to(args.device) for k, v in args.collate([rows[j] for j in batch]).items()}
        with torch.autocast(args.device, dtype=torch.bfloat16, enabled=args.device == "cuda"):
            loss = network(**parts)["loss"]
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        done += len(batch)
    torch.cuda.synchronize() if args.device == "cuda" else None
    return done / (now(args.device) - began)


# ---- all of it -------------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--examples", type=Path, help="a folder of tokenised exchanges (default: made ones)")
    parser.add_argument("--encoder", type=Path, help="a folder with an encoder (default: random weights)")
    parser.add_argument("--steps", type=int, help="steps of each of three passes (default: 100 on a GPU, 6 on a CPU)")
    parser.add_argument("--batch", type=int, help="exchanges in a batch (default: 64 on a GPU, 8 on a CPU)")
    parser.add_argument("--compile", action="store_true", help="also measure compiled networks")
    parser.add_argument("--adapt", action="store_true", help="also measure adaptation: masked and next tokens")
    parser.add_argument("--profile", action="store_true", help="also print the kernels that take longest")
    parser.add_argument("--check", action="store_true", help="on a GPU, first check that all ways learn the same")
    add_json_option(parser)
    parser.set_defaults(network=Peer, collate=collated)  # what the Trainer trains; interlocutor.py has others
    args = parser.parse_args()
    gpu = args.device == "cuda"
    args.steps, args.batch = args.steps or (100 if gpu else 6), args.batch or (64 if gpu else 8)
    args.shape = MINILM if gpu else SMALL
    transformers.logging.set_verbosity_error()
    with tempfile.TemporaryDirectory() as folder:
        args.encoder = args.encoder or made_encoder(Path(folder) / "encoder", args.shape)
        n = max(2_000, args.steps * args.batch * 5)
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
    rows = peer_rows(args, args.steps)
    found = peer(rows, args, grouped=False)
    for name in [name for name, (_, compiled) in WAYS.items() if gpu and (args.compile or not compiled)] or ["padded"]:
        found[name] = attempted(name, partial(relevance, args), args)
    found |= peer(rows, args, grouped=True)
    figures = compare_rates(found, "exchanges")
    for goal in ("mlm", "lm") if args.adapt else ():
        print(f"\nadaptation, {goal}; pairs per second")
        make = partial(adaptation, args, goal=goal)
        rates = [attempted(name, make, args) for name in (["padded", "packed"] if gpu else ["padded"])]
        figures.append(Figure(f"{goal}, pairs", rates[-1], "/s", rates[0] if gpu else None, peer="padded rows"))
    report(f"training relevance, {args.device}, batches of {args.batch} exchanges", figures, args.json)
    return good and all(map(math.isfinite, found.values()))


def compare_rates(found: dict[str, float], what: str) -> list[Figure]:
    """Return the rate of the best of our ways beside the others and beside other programs."""
    ours = "packed" if "packed" in found else "padded"
    others = [(name, rate) for name, rate in found.items() if name != ours]
    return [Figure(f"{what}, beside {name}", found[ours], "/s", rate, peer=name) for name, rate in others]


def attempted(name: str, make: Callable[[int], Any], args: argparse.Namespace) -> float:
    """The same as `measured`; NaN if it fails, which does not keep the others from being measured."""
    try:
        return measured(name, make, args)
    except Exception:
        traceback.print_exc(file=sys.stdout)
        return math.nan


def peer(rows: list[dict[str, Any]], args: argparse.Namespace, *, grouped: bool) -> dict[str, float]:
    """The Trainer on the same rows, with random batches or with batches of like length."""
    name, label = "Trainer", ", by length" if grouped else ""
    try:
        rate = trainer(rows, args, grouped=grouped)
    except Exception as error:
        print(f"  the Trainer does not run here ({str(error).strip()[:200]}): a plain loop stands in for it")
        name, rate = "plain loop", plain_loop(rows, args, grouped=grouped)
    print(f"  {name + label:<20}{rate:>10,.0f}/s", flush=True)
    return {name + label: rate}


if __name__ == "__main__":
    main()
