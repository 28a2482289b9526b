"""Training of sequence-to-sequence bots, beside a plain padded loop: tokens per second, in one run.

    python benchmarks/seq2seq_training.py                      # on the CPU: small networks, a few steps
    python benchmarks/seq2seq_training.py --device cuda        # the default sizes, on a GPU, in about a minute
    python benchmarks/seq2seq_training.py --device cuda --examples FOLDER

The same exchanges are learned from by the loop of `interloq train bot` (`learn/fit.py`) and by a loop as in a tutorial:
batches of a fixed number of exchanges in random order, padded to the longest, prepared between the steps, in float32,
with the loss over all places: batches of `--batch` exchanges, and batches of as many as the other loop has on average.
Tokens are those of contexts and replies, without padding; the second pass over the same batches is timed.

The exchanges have lengths as in public logs; `--examples FOLDER` takes those that `interloq train bot --examples` kept.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from _figures import Figure, add_json_option, report
from torch.nn import functional

from interloq.learn.fit import fit
from interloq.learn.settings import Training
from interloq.models.processes import pick_device
from interloq.play.networks.job import ReplyTask
from interloq.play.networks.model import make_network
from interloq.play.networks.settings import TRAINING, BotNetwork, BotReading
from interloq.scorers.relevance.examples import NONE, Exchanges

KINDS = ("lstm", "conv", "transformer", "vhred")
VOCABULARY, TURNS = 8_000, 6
SIZES: dict[str, dict[str, Any]] = {
    "cpu": {"dimensions": 64, "layers": 1, "tokens": 4_096},
    "cuda": {"dimensions": 256, "tokens": 32_768},
}
STEPS = {"cpu": 12, "cuda": 150}


def make_exchanges(n: int, seed: int = 0) -> Exchanges:
    """Exchanges whose turns have 15 tokens in the median and whose contexts have one to six turns."""
    rng = np.random.default_rng(seed)
    lengths = np.clip(rng.lognormal(np.log(15), 0.7, size=2 * n), 1, 128).astype(np.uint16)
    tokens = rng.integers(3, VOCABULARY, size=int(lengths.sum())).astype(np.uint16)
    contexts = rng.integers(0, 2 * n, size=(n, TURNS)).astype(np.int32)
    contexts[np.arange(TURNS) < rng.integers(0, TURNS, size=(n, 1))] = NONE
    replies = rng.integers(0, 2 * n, size=n).astype(np.int32)
    none = np.zeros(n, dtype=np.int32)
    return Exchanges(
        tokens=tokens,
        lengths=lengths,
        forms=np.arange(2 * n, dtype=np.int32),
        contexts=contexts,
        replies=replies,
        talks=none,
        origins=none.astype(np.uint8),
        similar=none[:, None],
        wrong_ends=np.zeros(n + 1, dtype=np.int32),
        wrong=none[:0],
        facts={"dev": n // 20, "exchanges": n},
    )


class SomeBatches:
    """A task with a number of batches of the training part, the same in each epoch."""

    def __init__(self, task: ReplyTask, steps: int) -> None:
        self.task, self.network, self.steps = task, task.network, steps
        self.prepare, self.loss = task.prepare, task.loss

    def batches(self, part: Any, epoch: int) -> Any:  # noqa: ARG002
        """Return the batches."""
        return self.task.batches(part, 1)[: self.steps if part == "train" else 1]


def count_tokens(task: ReplyTask, batches: Any) -> int:
    """Return the tokens of contexts and replies in some batches."""
    source, target = task.lengths("train")
    return int(sum((source + target)[batch % len(source)].sum() for batch in batches))


def ours(task: ReplyTask, steps: int, device: str) -> float:
    """Return the tokens per second of the package's loop."""
    some = SomeBatches(task, steps)
    training = Training(**{**vars(TRAINING), "epochs": 2, "checkpoint_minutes": float("inf")})
    curve = fit(some, training, "/nonexistent", job="benchmark", device=device)
    return count_tokens(task, some.batches("train", 1)) / float(curve[-1]["seconds"])


def plain(task: ReplyTask, steps: int, device: str, size: int) -> float:
    """Return the tokens per second of the plain loop, with batches of `size` exchanges."""
    chosen = task.batches("train", 1)
    size = size or int(np.mean([len(batch) for batch in chosen]))
    count = task.exchanges.range("train").stop - task.exchanges.range("train").start
    order = np.random.default_rng(0).permutation(count) + count
    batches = [order[i : i + size] for i in range(0, min(count, steps * size), size)]
    network = task.network.to(device).train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3)
    for timed in (False, True):
        start = _now(device)
        for batch in batches:
            optimizer.zero_grad()
            loss = _plain_loss(task, task.prepare("train", batch), len(batch))
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            loss.item()
        if timed:
            return count_tokens(task, batches) / (_now(device) - start)
    raise AssertionError


def _plain_loss(task: ReplyTask, prepared: Any, examples: int) -> torch.Tensor:
    """Return the loss with logits for all places, padding included."""
    network = task.network

    def token_losses(states: torch.Tensor, targets: Any) -> torch.Tensor:
        expected = torch.full_like(targets.tokens, -100, dtype=torch.long).flatten()
        expected[targets.places] = targets.tokens.flatten()[targets.places].long()
        logits = network.logits(states).flatten(0, 1)
        losses = functional.cross_entropy(logits, expected, ignore_index=-100, reduction="none")
        sums: torch.Tensor = losses.view(targets.tokens.shape).sum(1)
        return sums

    with patch.object(network, "token_losses", token_losses):
        return task.loss(prepared) / examples


def _now(device: str) -> float:
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--examples", type=Path, help="tokenised exchanges")
    parser.add_argument("--batch", type=int, default=64, help="exchanges per batch of the plain loop")
    parser.add_argument("--steps", type=int, help="batches of the package's loop")
    parser.add_argument("--kinds", default=",".join(KINDS))
    add_json_option(parser)
    args = parser.parse_args()
    device = pick_device(args.device).type
    stored = Exchanges.load(args.examples) if args.examples else make_exchanges(100_000 if device == "cuda" else 4_000)
    steps = args.steps or STEPS[device]
    name = torch.cuda.get_device_name() if device == "cuda" else f"CPU, {torch.get_num_threads()} thread(s)"
    figures = []
    for kind in args.kinds.split(","):
        settings = BotNetwork(kind=kind, **SIZES[device])
        rates = []
        for measure in (partial(plain, size=args.batch), partial(plain, size=0), ours):
            torch.manual_seed(0)
            network = make_network(VOCABULARY, settings, BotReading())
            rates.append(measure(ReplyTask(network, stored, BotReading(), settings), steps, device))
        for peer, rate in zip(("a plain loop", "a plain loop, batches of equal size"), rates, strict=False):
            figures.append(Figure(f"{kind}, tokens, beside {peer}", rates[2], "/s", rate, peer=peer))
    report(f"{name}, batches of {args.batch} exchanges in the loop", figures, args.json)


if __name__ == "__main__":
    main()
