"""How many replies per second `relevance(model='ready')` scores on a processor, beside transformers used plainly.

Contexts have one to four turns; turns and replies are texts of the embedded log. The plain loop reads one pair of
context and reply at a time with the same merged weights; the batched one reads 64 pairs, padded to the longest, in the
order in which they come. All three run in this process, after a small first run. Rates are per second of the clock, and
per second of the processor, which a busy machine changes less. The largest difference of their scores is printed with
them. `--model FOLDER` measures another scorer, `--json` is for machines.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from _figures import Figure, add_json_option, report

from interloq import InterloqError, Sample, load
from interloq.data.embedded import embedded_log_path
from interloq.learn.ready import READY
from interloq.metrics.trained.relevance import Relevance
from interloq.models.pretrained import load_tokenizer
from interloq.scorers.relevance.model import RelevanceScorer

BATCH = 64  # pairs that the batched loop reads at a time
FIRST = 32  # samples of the first run


def made(n: int) -> list[Sample]:
    """Samples of texts that do not belong together, all of them different."""
    rng = np.random.default_rng(0)
    texts = sorted(
        {text for pair in load(embedded_log_path("en"), kind="pairs") for text in (pair.utterance, pair.response)}
    )
    found: dict[tuple[str, ...], Sample] = {}
    while len(found) < n:
        *context, reply = (texts[i] for i in rng.integers(len(texts), size=rng.integers(2, 6)))
        found.setdefault((*context, reply), Sample(str(len(found)), context, reply))
    return list(found.values())


class Plain:
    """Context and reply through the tokenizer and the network, as one would write it by hand."""

    def __init__(self, scorer: RelevanceScorer) -> None:
        self.network, self.facts = scorer.network, scorer.facts
        self.tokenizer = load_tokenizer(scorer.subwords.folder)

    def ids(self, sample: Sample) -> tuple[list[int], list[int]]:
        """Token ids and types of one pair."""
        config, end = self.facts["config"], self.tokenizer.sep_token_id
        turns = [self._tokens(turn.text) for turn in sample.context[-config["turns"] :]]
        context = [token for turn in turns for token in (*turn, end)][:-1][-config["context"] :]
        reply = self._tokens(sample.response)[: config["reply"]]
        ids = [self.tokenizer.cls_token_id, *context, end, *reply, end]
        return ids, [int(i > len(context) + 1) for i in range(len(ids))]

    def _tokens(self, text: str) -> list[int]:
        found: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return found

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def scores(self, samples: Sequence[Sample], size: int) -> list[float]:
        """Scores of all samples, `size` of them at a time."""
        found: list[float] = []
        for start in range(0, len(samples), size):
            rows = [self.ids(sample) for sample in samples[start : start + size]]
            found += self._batch(rows).tolist()
        return found

    def _batch(self, rows: Sequence[tuple[list[int], list[int]]]) -> torch.Tensor:
        width = max(len(ids) for ids, _ in rows)
        padded = [[part + [0] * (width - len(part)) for part in (ids, kinds, [1] * len(ids))] for ids, kinds in rows]
        ids, kinds, mask = torch.tensor(padded).unbind(1)
        states = self.network.encoder(input_ids=ids, token_type_ids=kinds, attention_mask=mask).last_hidden_state
        logits: torch.Tensor = self.network.head(states[:, 0])[:, 0] / self.facts["temperature"]
        return torch.sigmoid(logits)


def measured(score: Callable[[Sequence[Sample]], Sequence[float]], samples: Sequence[Sample]) -> dict[str, Any]:
    score(samples[:FIRST])
    clock, processor = time.perf_counter(), time.process_time()
    values = score(samples)
    seconds = {"clock": time.perf_counter() - clock, "processor": time.process_time() - processor}
    return {"values": values, "rates": {name: len(samples) / taken for name, taken in seconds.items()}}


def run(model: str, replies: int) -> dict[str, Any]:
    metric = Relevance(model)
    samples, plain = made(replies), Plain(RelevanceScorer.load(model, device="cpu"))

    def through_the_metric(some: Sequence[Sample]) -> list[float]:
        return list(metric.value(metric.stats(some)).tolist())

    ways = {
        f"relevance(model={model!r})": through_the_metric,
        "transformers, one pair at a time": lambda some: plain.scores(some, 1),
        f"transformers, {BATCH} pairs at a time": lambda some: plain.scores(some, BATCH),
    }
    found = {name: measured(score, samples) for name, score in ways.items()}
    first, *others = (np.array(row.pop("values")) for row in found.values())
    return {
        "tokens_per_reply": float(np.mean([len(plain.ids(sample)[0]) for sample in samples])),
        "rates": {name: row["rates"] for name, row in found.items()},
        "largest_difference": max(float(np.abs(first - other).max()) for other in others),
    }


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", default=READY, metavar="NAME", help=f"the scorer ({READY})")
    parser.add_argument("--replies", type=int, default=2000, metavar="N", help="(2000)")
    add_json_option(parser)
    args = parser.parse_args(argv)
    try:
        found = run(args.model, args.replies)
    except InterloqError as error:
        print(f"relevance_ready: {error}", file=sys.stderr)
        return 2
    ours, *others = found["rates"].items()
    figures = [
        Figure(f"replies, beside {name}", ours[1]["processor"], "/s", rates["processor"], peer=name)
        for name, rates in others
    ]
    figures += [Figure(f"replies by the clock, {name}", rates["clock"], "/s") for name, rates in found["rates"].items()]
    figures.append(Figure("largest difference of scores", found["largest_difference"]))
    length = f"{found['tokens_per_reply']:.0f} tokens with context"
    report(f"{args.replies:,} replies of {length}, {torch.get_num_threads()} thread(s)", figures, args.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
