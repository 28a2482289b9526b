"""Training `dcp` on continuity samples, beside Hugging Face's Trainer: samples and tokens per second, in one run.

    python benchmarks/interlocutor.py                     # on the CPU: a small network and a few steps
    python benchmarks/interlocutor.py --device cuda       # MiniLM's shape, on a GPU

The same samples are learned from by the Trainer, with the speakers' tokens added to its vocabulary, and by the loop of
`learn/fit.py`, as in `training.py`: rates are of the third pass over the same batches. Contexts have 1 to 20 turns, and
rows at most 512 tokens.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from _figures import add_json_option, report
from training import attempted, compare_rates, peer
from training_checks import MINILM, SMALL, VOCABULARY, made_encoder

from interloq.data.text.token_texts import Texts
from interloq.learn.start import Start
from interloq.models.pretrained import Subwords
from interloq.scorers.interlocutor.continuity_labels import CONTINUED
from interloq.scorers.interlocutor.examples import InterlocutorExamples
from interloq.scorers.interlocutor.reader import REPLIER, USERS
from interloq.scorers.interlocutor.settings import Target
from interloq.scorers.interlocutor.task import InterlocutorTask, SpeakerEncoder

PEOPLE, TURNS, TOKENS = 40, 20, 512


def made_examples(n: int, seed: int = 0) -> InterlocutorExamples:
    """Turns of median 13 tokens with a long tail; 40 users are judges, and every fifth reply is not answered."""
    rng = np.random.default_rng(seed)
    texts: list[Any] = []
    for user in rng.integers(PEOPLE, size=n):
        lengths = rng.lognormal(2.6, 0.75, size=rng.integers(2, TURNS + 2)).clip(1, 100).astype(int)
        turns = [1000 + rng.zipf(1.2, size=size) % (VOCABULARY - 1000) for size in lengths]
        speakers = [VOCABULARY + (REPLIER, USERS + user)[i % 2] for i in range(len(turns))]  # from the reply backwards
        *context, reply = [[speaker, *turn] for speaker, turn in zip(reversed(speakers), turns, strict=True)]
        last = [token for turn in context for token in turn][-(TOKENS - 4 - len(reply)) :]
        texts += [[VOCABULARY + USERS + user, *last], reply]
    values, dev = (np.arange(n) % 5 > 0).astype(float), np.arange(n) < max(16, n // 200)
    return InterlocutorExamples(Texts.of(texts), values, dev, np.arange(n), {})


class Limited(InterlocutorTask):
    """As many batches as are asked for, the same in every epoch."""

    steps = 0

    def batches(self, part: Any, epoch: int) -> Any:
        return super().batches(part, min(epoch, 1))[: self.steps if part == "train" else 2]


def continuity(args: argparse.Namespace, steps: int) -> Limited:
    torch.manual_seed(0)
    network = SpeakerEncoder(Start.of(args.encoder).network(1, seed=0), PEOPLE)
    target = Target(CONTINUED, anyone=0.0, batch=args.batch)
    task = Limited(network, args.examples, Subwords(args.encoder, longest=TOKENS), target)
    task.steps = steps
    return task


class Peer(torch.nn.Module):  # type: ignore[misc]
    """The same network and loss, as one would write it for the Trainer."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.encoder = transformers.AutoModel.from_pretrained(folder, add_pooling_layer=False)
        self.encoder.resize_token_embeddings(VOCABULARY + USERS + PEOPLE, mean_resizing=False)
        self.head = torch.nn.Linear(self.encoder.config.hidden_size, 1)

    def forward(self, labels: torch.Tensor, **rows: torch.Tensor) -> dict[str, torch.Tensor]:
        logits = self.head(self.encoder(**rows).last_hidden_state[:, 0]).float()[:, 0]
        return {"loss": torch.nn.functional.binary_cross_entropy_with_logits(logits, labels), "logits": logits}


def peer_rows(args: argparse.Namespace) -> list[dict[str, Any]]:
    """The row and the label of each sample, as token numbers: preparing them does not count."""
    task, found = continuity(args, args.steps), []
    for examples in task.batches("train", 1):
        prepared: Any = task.prepare("train", examples)
        lengths = prepared.rows.mask.sum(dim=1).tolist()
        for i, n in enumerate(lengths):
            ids, kinds = prepared.rows.ids[i, :n].long(), prepared.rows.kinds[i, :n].long()
            found.append({"input_ids": ids, "kinds": kinds, "label": prepared.targets[i]})
    return found


def collated(batch: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
    pad = partial(torch.nn.utils.rnn.pad_sequence, batch_first=True)
    ids = [example["input_ids"] for example in batch]
    return {
        "input_ids": pad(ids),
        "token_type_ids": pad([example["kinds"] for example in batch]),
        "attention_mask": pad([torch.ones_like(row) for row in ids]),
        "labels": torch.stack([example["label"] for example in batch]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--encoder", type=Path, help="a folder with a BERT of its usual vocabulary (default: random)")
    parser.add_argument("--steps", type=int, help="steps of each of three passes (default: 100 on a GPU, 6 on a CPU)")
    parser.add_argument("--batch", type=int, help="samples in a batch (default: 64 on a GPU, 8 on a CPU)")
    add_json_option(parser)
    parser.set_defaults(profile=False, network=Peer, collate=collated)
    args = parser.parse_args()
    gpu = args.device == "cuda"
    args.steps, args.batch = args.steps or (100 if gpu else 6), args.batch or (64 if gpu else 8)
    args.examples = made_examples(args.steps * args.batch * 2)
    transformers.logging.set_verbosity_error()
    with tempfile.TemporaryDirectory() as folder:
        args.encoder = args.encoder or made_encoder(Path(folder) / "encoder", MINILM if gpu else SMALL)
        sys.exit(0 if run(args) else 1)


def run(args: argparse.Namespace) -> bool:
    rows = peer_rows(args)
    tokens = float(np.mean([len(row["input_ids"]) for row in rows]))
    found = peer(rows, args, grouped=False)
    for name in ("padded", "packed") if args.device == "cuda" else ("padded",):
        found[name] = attempted(name, partial(continuity, args), args)
    found |= peer(rows, args, grouped=True)
    facts = f"training dcp, {args.device}, batches of {args.batch} samples, {tokens:.0f} tokens per sample"
    report(facts, compare_rates(found, "samples"), args.json)
    return all(map(math.isfinite, found.values()))


if __name__ == "__main__":
    main()
