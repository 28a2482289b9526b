"""Made exchanges, networks and ways to train for `training.py`, and checks that all ways learn the same.

    python benchmarks/training_checks.py              # needs a GPU

Packed rows give the logits and gradients of padded ones, CUDA graphs change nothing, and a job that was killed ends as
one that was not.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
import transformers

from interloq.learn import fit as loop
from interloq.learn.adapt.settings import Adaptation
from interloq.learn.adapt.task import AdaptTask
from interloq.learn.devices import Learner
from interloq.learn.pair_tokens import PairTokens
from interloq.learn.settings import Training
from interloq.learn.start import Start
from interloq.models.cross_encoder import CrossEncoder
from interloq.models.pretrained import Subwords
from interloq.models.token_predictor import SpecialTokens, TokenPredictor
from interloq.scorers.relevance.examples import NONE, Exchanges
from interloq.scorers.relevance.job import RelevanceTask
from interloq.scorers.relevance.settings import TRAINING, RelevanceSettings

MINILM = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536}
SMALL = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
SMOLLM = {"hidden_size": 576, "intermediate_size": 1536, "num_attention_heads": 9, "num_key_value_heads": 3}
VOCABULARY, TURNS, PROFILED, TOP = 30_522, 4, 30, 16
LISTWISE = RelevanceSettings(loss="listwise")


# ---- data and networks -----------------------------------------------------------------------------------------------


def made_exchanges(n: int, seed: int = 0) -> Exchanges:
    """Lengths of turns as in public logs: median 13 tokens, a long tail; every dialogue has eight exchanges."""
    rng = np.random.default_rng(seed)
    lengths = rng.lognormal(2.6, 0.75, size=n + TURNS).clip(1, 128).astype(np.uint16)
    tokens = (1000 + rng.zipf(1.2, size=int(lengths.sum())) % (VOCABULARY - 1000)).astype(np.uint16)
    texts = np.arange(n + TURNS, dtype=np.int32)
    contexts = np.stack([texts[i : i + n] for i in range(TURNS)], axis=1)
    known = rng.integers(1, TURNS + 1, size=n)  # some contexts are shorter
    contexts[np.arange(TURNS) < TURNS - known[:, None]] = NONE
    facts = {"dev": max(16, n // 200), "exchanges": n}
    nothing, similar = np.zeros(n + 1, np.int32), rng.integers(TURNS, n, size=(n, 4)).astype(np.int32)
    talks, origins = texts[:n] // 8, np.zeros(n, np.uint8)
    none = np.zeros(0, np.int32)
    return Exchanges(tokens, lengths, texts, contexts, texts[TURNS:], talks, origins, similar, nothing, none, facts)


def made_encoder(folder: Path, shape: dict[str, int]) -> Path:
    """A BERT with random weights and a vocabulary of made words."""
    folder.mkdir()
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", ",", "?"]
    words += [f"{'##' if i % 4 == 3 else ''}w{i}" for i in range(VOCABULARY - len(words))]
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in words))
    transformers.BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    transformers.BertModel(transformers.BertConfig(vocab_size=VOCABULARY, **shape)).save_pretrained(folder)
    return folder


class Limited(RelevanceTask):
    """As many batches as are asked for, the same in every epoch."""

    steps = 0

    def batches(self, part: Any, epoch: int) -> Any:
        return super().batches(part, min(epoch, 1))[: self.steps if part == "train" else 2]


class LimitedPairs(AdaptTask):
    """The same for pairs."""

    steps = 0

    def batches(self, part: Any, epoch: int) -> Any:
        return super().batches(part, min(epoch, 1))[: self.steps if part == "train" else 2]


def relevance(args: argparse.Namespace, steps: int, folder: Path | None = None) -> Limited:
    folder = folder or args.encoder
    task = Limited(
        Start.of(folder).network(1, seed=0), args.exchanges, replace(LISTWISE, batch=args.batch), Subwords(folder)
    )
    task.steps = steps
    return task


def adaptation(args: argparse.Namespace, steps: int, goal: Any) -> LimitedPairs:
    """Last turn and reply of each exchange, for a BERT or a LLaMA with random weights, on a GPU of SmolLM2's shape."""
    stored: Exchanges = args.exchanges
    pairs = np.stack([stored.contexts[:, -1], stored.replies], axis=1)
    tokens = PairTokens(
        stored.tokens.astype(np.int32), stored.texts.ends[:-1], stored.lengths.astype(np.int32), pairs, 256, 0
    )
    torch.manual_seed(0)
    if goal == "mlm":
        made: Any = transformers.BertForMaskedLM(transformers.BertConfig(vocab_size=VOCABULARY, **args.shape))
    else:
        shape = {**SMOLLM, "num_hidden_layers": 30} if args.device == "cuda" else args.shape
        config = transformers.LlamaConfig(vocab_size=VOCABULARY, **shape)
        made = transformers.LlamaForCausalLM(config)
    marks = SpecialTokens(2 if goal == "mlm" else None, 3, 0, (0, 1, 2, 3, 4), mask=4, size=VOCABULARY)
    task = LimitedPairs(TokenPredictor(made, []), tokens, Adaptation(batch=args.batch), goal, marks)
    task.steps = steps
    return task


# ---- ways to train ---------------------------------------------------------------------------------------------------


@contextmanager
def padded() -> Iterator[None]:
    """The loop as it was: padded rows, every kernel started on its own, several kernels to step the optimizer."""

    def optimizer(network: torch.nn.Module, training: Training, _: torch.device) -> torch.optim.Optimizer:
        options = {"lr": training.learning_rate, "weight_decay": training.weight_decay}
        return torch.optim.AdamW(network.parameters(), **options)

    with patch.object(loop, "pack_rows", lambda *_: nullcontext(False)), patch.object(loop, "_optimizer", optimizer):
        yield


@contextmanager
def without_graphs() -> Iterator[None]:
    def eager(*given: Any, graphs: bool) -> Learner:  # noqa: ARG001
        return Learner(*given, graphs=False)

    with patch.object(loop, "Learner", eager):
        yield


WAYS: dict[str, tuple[Callable[[], Any], bool]] = {
    "padded": (padded, False),
    "packed, no graphs": (without_graphs, False),
    "packed": (nullcontext, False),
    "padded, compiled": (padded, True),
    "packed, compiled": (nullcontext, True),
}


# ---- checks on a GPU -------------------------------------------------------------------------------------------------


def gradients(network: CrossEncoder, rows: Any, *, amp: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits and all gradients, one after another."""
    network.zero_grad(set_to_none=True)
    with torch.autocast("cuda", dtype=torch.bfloat16, enabled=amp):
        logits = network(rows).float()
    (logits[:, 0] * torch.linspace(-1, 1, len(logits), device="cuda")).sum().backward()
    found = torch.cat([p.grad.flatten() for p in network.parameters() if p.grad is not None])
    return logits.detach(), found


def difference(a: torch.Tensor, b: torch.Tensor) -> float:
    return float((a - b).norm() / b.norm())


def check_packed(args: argparse.Namespace) -> bool:
    """Packed against padded, relative to the size of what is compared."""
    torch.manual_seed(0)
    llama = {**SMOLLM, "num_hidden_layers": 4}
    gpt2 = {"n_embd": 384, "n_layer": 4, "n_head": 6}
    networks = {
        "BERT": Start.of(args.encoder).network(1, seed=0),
        "LLaMA": CrossEncoder(transformers.LlamaModel(transformers.LlamaConfig(vocab_size=VOCABULARY, **llama)), 1),
        "GPT-2": CrossEncoder(transformers.GPT2Model(transformers.GPT2Config(vocab_size=VOCABULARY, **gpt2)), 1),
    }
    task, good = relevance(args, 1), True
    rows: Any = task.prepare("train", task.batches("train", 1)[0][:32]).rows
    for name, network in networks.items():
        network.to("cuda").eval()
        exact, wide = gradients(network, rows, amp=False), gradients(network, rows, amp=True)
        with network.packing.enable(torch.device("cuda")) as works:
            packed = network.packing.arrange(rows)
            narrow = gradients(network, packed, amp=True)
            masked = gradients(network, packed, amp=False)
        pairs = {"float32": masked, "bf16": narrow, "padded bf16": wide}
        off = {kind: [difference(a, b) for a, b in zip(found, exact, strict=True)] for kind, found in pairs.items()}
        fine = (
            works
            and max(off["float32"]) < 1e-4
            and all(a < 2 * b + 1e-3 for a, b in zip(off["bf16"], off["padded bf16"], strict=True))
        )
        differences = "; ".join(f"{kind}: logits {a:.1e}, gradients {b:.1e}" for kind, (a, b) in off.items())
        print(f"  {name:<8}{'equal' if fine else 'DIFFERENT'} {network.packing.reason}; from float32: {differences}")
        good &= fine
    return good


def print_report(line: str) -> None:
    """What the loop reports, other than the end of an epoch."""
    if not line.startswith("epoch"):
        print(f"    {line}")


def losses(args: argparse.Namespace, how: Callable[[], Any], folder: str, *, stop: int | None = None) -> list[float]:
    """Train and dev loss of a short job; with `stop` it is killed after that many steps and then resumed."""
    training = replace(TRAINING, epochs=2, checkpoint_minutes=0.0 if stop else 10.0)
    step, done = loop._Fit._step, 0

    def killed(own: Any, group: Any) -> Any:
        nonlocal done
        done += 1
        if done > (stop or 0):
            raise RuntimeError("killed")
        return step(own, group)

    if stop:
        with how(), patch.object(loop._Fit, "_step", killed):
            try:
                loop.fit(relevance(args, 12), training, folder, job="", device=args.device, report=print_report)
            except RuntimeError as error:
                if str(error) != "killed":
                    raise
    with how():
        curve = loop.fit(relevance(args, 12), training, folder, job="", device=args.device, report=print_report)
    return [epoch[name] for epoch in curve for name in ("train_loss", "dev_loss")]


def check_resumed(args: argparse.Namespace) -> bool:
    """Graphs are used in the second epoch, whose batches have shapes of the first where lengths are alike."""
    with ExitStack() as stack:
        folders = [stack.enter_context(tempfile.TemporaryDirectory()) for _ in range(5)]
        found = {
            "packed": losses(args, nullcontext, folders[0]),
            "again": losses(args, nullcontext, folders[1]),
            "killed and resumed": losses(args, nullcontext, folders[2], stop=16),
            "without graphs": losses(args, without_graphs, folders[3]),
            "padded": losses(args, padded, folders[4]),
        }
    for name, values in found.items():
        print(f"  {name:<20}" + "  ".join(f"{value:.7f}" for value in values))

    def off(name: str) -> float:
        return float(np.abs(np.subtract(found["packed"], found[name])).max())

    spread, resumed, eager = map(off, ("again", "killed and resumed", "without graphs"))
    print(
        f"  a GPU adds in varying order: two equal jobs differ by {spread:.1e}, a resumed one by {resumed:.1e}, ",
        end="",
    )
    print(f"one without graphs by {eager:.1e}")
    return max(resumed, eager) <= max(3 * spread, 1e-6) and bool(
        np.allclose(found["packed"], found["padded"], rtol=0.05)
    )


def checked(args: argparse.Namespace) -> bool:
    """All checks; prints what they find. A check that fails with an error does not keep the others from running."""
    good = True
    titles = {
        "packed rows against padded ones": check_packed,
        "losses of short jobs (train and dev, two epochs)": check_resumed,
    }
    for title, check in titles.items():
        print(f"\n{title}")
        try:
            good &= check(args)
        except Exception:
            traceback.print_exc(file=sys.stdout)
            good = False
    return good


def main() -> None:
    if not torch.cuda.is_available():
        print("no GPU here: nothing to check")
        return
    with tempfile.TemporaryDirectory() as folder:
        encoder = made_encoder(Path(folder) / "encoder", MINILM)
        args = argparse.Namespace(device="cuda", encoder=encoder, batch=64, exchanges=made_exchanges(10_000))
        sys.exit(0 if checked(args) else 1)


if __name__ == "__main__":
    main()
