"""Train and apply the NN-rater, compared with straightforward code: examples per second, in one run.

Training: the same network on the same examples in a plain loop (shuffled batches; each of the six texts of an example
is padded to the longest of its batch), and in the same loop with packed sequences. Rating 17 references of 1,000
samples: compared with a loop over triplets, and with triplets in padded batches. Rating a file: replies of five systems
to the same contexts, ordered by system or by context, beside batches in the order of the file (processor time).

    python benchmarks/rater.py                    # on the CPU: a smaller batch and fewer examples
    python benchmarks/rater.py --device cuda --examples 100000 --batch 1000

`--epoch FOLDER` instead times one full epoch of training with the published sizes, on `--examples` examples drawn from
a folder kept by `interloq train rater --examples`.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from _figures import Figure, add_json_option, report
from numpy.typing import NDArray
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence

from interloq.data.batched import batched
from interloq.data.records.jsonl import write
from interloq.data.text.tokenize import train_sentencepiece
from interloq.learn.fit import Part, fit
from interloq.learn.gru import Pieces
from interloq.learn.settings import Training
from interloq.rate.examples import Examples
from interloq.rate.gru_model import RaterModel, RaterNetwork, RaterTask
from interloq.rate.network_rater import NetworkRater
from interloq.rate.pairs import RaterPairs, write_examples
from interloq.rate.rate_file import rate_chunk, rate_file
from interloq.rate.rate_options import BATCH, RateOptions
from interloq.rate.settings import Batching, Shape
from interloq.records import Pair, Reference, Sample
from interloq.signature import Signature

REFERENCES = 17


def log(utterances: int, rng: np.random.Generator) -> Iterator[Pair]:
    """Words with Zipf frequencies; text lengths as in reddit: median 14 words, a long tail."""
    for u in range(utterances):
        utterance = _text(rng)
        for r in range(2):  # no shared texts, which would favour us; real logs share more
            yield Pair(f"{u}-{r}", utterance, _text(rng))


def _text(rng: np.random.Generator) -> str:
    length = min(100, max(1, int(rng.lognormal(2.65, 0.9))))
    return " ".join(f"w{n}" for n in rng.zipf(1.3, size=length) % 20_000)


# ---- straightforward code --------------------------------------------------------------------------------------------


class Plain:
    """The rater's network on padded batches: three encodings per triplet."""

    def __init__(self, network: RaterNetwork, pairs: RaterPairs, *, packed: bool, device: str) -> None:
        self.network, self.pairs, self.packed, self.device = network, pairs, packed, device

    def encode(self, texts: NDArray[Any]) -> torch.Tensor:
        rows = [torch.from_numpy(self.pairs.texts[i].astype(np.int64)) for i in texts]
        lengths = torch.tensor([len(row) for row in rows])
        vectors = self.network.encoder.embedding(pad_sequence(rows).to(self.device))
        if self.packed:
            vectors = pack_padded_sequence(vectors, lengths, enforce_sorted=False)
        _, last = self.network.encoder.gru(vectors)
        return torch.cat([last[0], last[1]], dim=1)

    def logits(self, u: NDArray[Any], first: NDArray[Any], second: NDArray[Any]) -> torch.Tensor:
        joined = torch.cat([self.encode(u), self.encode(first), self.encode(second)], dim=1)
        logits: torch.Tensor = self.network.judge(joined)
        return logits

    def epoch(self, batch: int, amp: bool) -> float:
        rows, labels = self.pairs.examples("train")
        order = np.random.default_rng(0).permutation(len(rows))
        optimizer = torch.optim.Adam(self.network.parameters(), lr=1e-3)
        start = time.perf_counter()
        for i in range(0, len(order), batch):
            u1, r1, u2, r2 = rows[order[i : i + batch]].T
            truth = torch.from_numpy(labels[order[i : i + batch]].astype(np.int64)).to(self.device)
            optimizer.zero_grad()
            with torch.autocast(torch.device(self.device).type, dtype=torch.bfloat16, enabled=amp):
                both = self.logits(u1, r1, r2), self.logits(u2, r2, r1)
            loss = sum(torch.nn.functional.cross_entropy(part.float(), truth) for part in both)
            loss.backward()
            optimizer.step()
        if self.device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - start


# ---- measuring -------------------------------------------------------------------------------------------------------


def training(pairs: RaterPairs, vocabulary: int, args: argparse.Namespace) -> list[Figure]:
    n = len(pairs.examples("train")[0])

    def network() -> RaterNetwork:
        torch.manual_seed(0)
        made = RaterNetwork(vocabulary, Shape(hidden=args.hidden, embedding=args.hidden, width=2 * args.hidden))
        return made.to(args.device)  # type: ignore[no-any-return]

    def ours() -> float:
        task = RaterTask(network(), pairs, Batching(batch=args.batch), seed=0)
        with tempfile.TemporaryDirectory() as folder:
            curve = fit(task, Training(epochs=1), Path(folder), job="", device=args.device)
        return float(curve[0]["seconds"])

    amp = args.device == "cuda"
    seconds = {
        "plain loop, padded": lambda: Plain(network(), pairs, packed=False, device=args.device).epoch(args.batch, amp),
        "plain loop, packed": lambda: Plain(network(), pairs, packed=True, device=args.device).epoch(args.batch, amp),
        "interloq": ours,
    }
    if args.device == "cuda":
        ours()  # warm
    found = {name: run() for name, run in seconds.items()}
    ours_rate = n / found.pop("interloq")
    return [Figure(f"training, beside {name}", ours_rate, "/s", n / took, peer=name) for name, took in found.items()]


def rating(pieces: Pieces, args: argparse.Namespace) -> list[Figure]:
    torch.manual_seed(0)
    shape = Shape(hidden=args.hidden, embedding=args.hidden, width=2 * args.hidden)
    model = RaterModel(RaterNetwork(pieces.size, shape), pieces, {"temperature": 1.0}, device=args.device)
    rng = np.random.default_rng(1)
    triplets: list[tuple[str, str, str]] = []
    for _ in range(args.samples):
        utterance, gold = _text(rng), _text(rng)
        triplets += [(utterance, gold, _text(rng)) for _ in range(REFERENCES)]
    few = triplets[: args.loop]
    ways: dict[str, tuple[Callable[[], NDArray[np.float64]], int]] = {
        "one triplet at a time": (lambda: _padded(model, few, 1), len(few)),
        "padded batches of 256": (lambda: _padded(model, triplets, 256), len(triplets)),
        "interloq": (lambda: model.chances(triplets), len(triplets)),
    }
    model.chances(triplets[:64])
    found, values = {}, {}
    for name, (run, n) in ways.items():
        start = time.perf_counter()
        values[name] = run()
        found[name] = n / (time.perf_counter() - start)
    ours = found.pop("interloq")
    off = max(float(np.abs(v - values["interloq"][: len(v)]).max()) for v in values.values())
    figures = [Figure(f"triplets, beside {name}", ours, "/s", rate, peer=name) for name, rate in found.items()]
    return [*figures, Figure("largest difference in probability", off)]


SYSTEMS = 5


def rating_a_file(pieces: Pieces, args: argparse.Namespace) -> list[Figure]:
    """Rate replies of five systems to the same contexts, ordered by system or by context."""
    torch.manual_seed(0)
    shape = Shape(hidden=args.hidden, embedding=args.hidden, width=2 * args.hidden)
    model = RaterModel(RaterNetwork(pieces.size, shape), pieces, {"temperature": 1.0}, device=args.device)

    class Made(NetworkRater):
        def network(self) -> RaterModel:
            return model

        def signature(self) -> Signature:
            return Signature.of("made", {})

    rater, rng, by_context = Made("made"), np.random.default_rng(2), list[Sample]()
    for i in range(args.samples // SYSTEMS):
        found = [Reference(_text(rng), source=f"retrieved:{k}") for k in range(REFERENCES)]
        context, references = [_text(rng)], [Reference(_text(rng)), *found]
        by_context += [Sample(f"{i}", context, _text(rng), references, f"system {k}") for k in range(SYSTEMS)]
    by_system = sorted(by_context, key=lambda sample: sample.system)
    figures = []
    for name, samples in {"system": by_system, "context": by_context}.items():
        with tempfile.TemporaryDirectory() as folder:
            write(f"{folder}/samples.jsonl", samples, kind="samples")
            start = time.process_time()
            rate_file(f"{folder}/samples.jsonl", f"{folder}/rated.jsonl", RateOptions(rater=rater))
            ours = time.process_time() - start
        start = time.process_time()
        for chunk in batched(samples, BATCH):
            rate_chunk(rater, chunk)
        batches = time.process_time() - start
        figures.append(
            Figure(f"{len(samples):,} samples ordered by {name}", ours, "s", batches, "each batch by itself")
        )
    return figures


def _padded(model: RaterModel, triplets: list[tuple[str, str, str]], batch: int) -> NDArray[np.float64]:
    """Encode the three texts of each triplet separately, padded and packed so that the result is correct."""
    found = []
    with torch.inference_mode():
        for i in range(0, len(triplets), batch):
            parts = []
            for texts in zip(*triplets[i : i + batch], strict=True):
                numbered = model.pieces.texts(list(texts))
                rows = [torch.from_numpy(numbered[j].astype(np.int64)) for j in range(len(texts))]
                vectors = model.network.encoder.embedding(pad_sequence(rows).to(model.device))
                packed = pack_padded_sequence(vectors, torch.from_numpy(numbered.lengths), enforce_sorted=False)
                parts.append(torch.cat(list(model.network.encoder.gru(packed)[1]), dim=1))
            found.append(model.network.judge(torch.cat(parts, dim=1)).softmax(1)[:, 1].double().cpu().numpy())
    return np.concatenate(found)


def epoch(folder: str, examples: int, device: str) -> None:
    pairs = RaterPairs.load(folder)
    which = np.random.default_rng(0).integers(len(pairs.labels["train"]), size=examples)
    parts: dict[Part, NDArray[np.int64]] = {
        "train": which,
        "dev": np.arange(min(200, len(pairs.labels["dev"]))),
    }  # dev is not timed
    drawn = replace(
        pairs,
        rows={part: pairs.rows[part][chosen] for part, chosen in parts.items()},
        labels={part: pairs.labels[part][chosen] for part, chosen in parts.items()},
    )
    task = RaterTask(RaterNetwork(pairs.facts["vocabulary"], Shape()), drawn, Batching(), seed=0)
    with tempfile.TemporaryDirectory() as work:
        (done,) = fit(task, Training(epochs=1), work, job="epoch", device=device)
    rate = examples / done["seconds"]
    print(f"an epoch of {examples:,} examples: {done['seconds']:,.0f} s, {rate:,.0f} examples/s on {done['device']}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--examples", type=int, default=600)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--hidden", type=int, default=128, help="the paper's is 512")
    parser.add_argument("--samples", type=int, default=1_000)
    parser.add_argument("--loop", type=int, default=1_000, help="triplets for the loop over triplets")
    add_json_option(parser)
    parser.add_argument("--epoch", metavar="FOLDER", help="time one epoch of examples drawn from this folder")
    args = parser.parse_args()
    if args.epoch:
        epoch(args.epoch, args.examples, args.device)
        return
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        records = list(log(max(8, args.examples // 2), rng))
        texts = (text for pair in records[:30_000] for text in (pair.utterance, pair.response))
        pieces = Pieces(train_sentencepiece(texts, Path(folder) / "pieces.model", vocabulary=8_000, fewer=True))
        pairs = write_examples([records], Path(folder) / "examples", pieces, Examples(), source="generated")
        lengths = pairs.texts.lengths
        figures = training(pairs, pieces.size, args) + rating(pieces, args)
        figures += rating_a_file(pieces, args)
    name = torch.cuda.get_device_name() if args.device == "cuda" else f"{torch.get_num_threads()} thread(s)"
    data = f"{args.examples:,} examples, batches of {args.batch}, texts of {lengths.mean():.0f} tokens"
    rated = f"{REFERENCES} references of {args.samples:,} samples rated"
    report(f"hidden {args.hidden}, {name}, {data}; {rated}", figures, args.json)


if __name__ == "__main__":
    main()
