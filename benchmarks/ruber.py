"""Cost of RUBER on one core: training on pairs, scoring replies, and blending.

Texts have 4 to 22 words from a Zipf vocabulary of 5,000; networks have the default sizes. Training is timed after one
step; best of three runs. Times are processor time.
"""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # one core, before numpy is imported

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from _figures import Figure, add_json_option, report
from metric_costs import made_samples

from interloq import Sample, create, evaluate
from interloq.data.text.tokenize import train_sentencepiece
from interloq.learn.gru import Pieces
from interloq.learn.pair_tokens import write_pair_tokens
from interloq.learn.store import save_model
from interloq.records import Pair
from interloq.scorers.ruber.job import RuberTask, start
from interloq.scorers.ruber.model import KIND, PIECES
from interloq.scorers.ruber.settings import Unreferenced
from interloq.signature import file_fingerprint

SETTINGS = Unreferenced()
STEPS = 20


def seconds(work: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        before = time.process_time()
        work()
        times.append(time.process_time() - before)
    return min(times)


def asked(samples: list[Sample]) -> list[Sample]:
    """The sample with its first reference as the utterance."""
    return [Sample(s.id, [s.references[0].text], s.response, s.references[1:]) for s in samples]


def made_task(samples: list[Sample], folder: Path) -> RuberTask:
    pieces = Pieces(train_sentencepiece((s.response for s in samples), folder / PIECES, fewer=True))
    pairs = (Pair(s.id, s.context[-1].text, s.response) for s in samples)
    return RuberTask(
        start(pieces.size, SETTINGS), write_pair_tokens(pairs, folder / "pairs", pieces, dev=100), SETTINGS
    )


def learned(task: RuberTask) -> Callable[[], None]:
    optimizer = torch.optim.Adam(task.network.parameters(), lr=1e-4)
    batches = task.batches("train", 1)[: STEPS + 1]

    def steps(chosen: slice) -> None:
        for batch in batches[chosen]:
            optimizer.zero_grad(set_to_none=True)
            (task.loss(task.prepare("train", batch)) / len(batch)).backward()
            optimizer.step()

    steps(slice(1))
    return lambda: steps(slice(1, None))


def saved(task: RuberTask, folder: Path) -> None:
    config = {"embedding": SETTINGS.embedding, "hidden": SETTINGS.hidden, "longest": SETTINGS.longest}
    facts = {"kind": KIND, "config": config, "pieces": file_fingerprint(folder / PIECES)}
    save_model(folder, task.network.state_dict(), facts)


def measured(replies: int) -> dict[str, float]:
    samples = asked(made_samples(replies))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        task = made_task(samples, folder)
        saved(task, folder)
        scorer = f"ruber_unreferenced(model={name!r})"
        blend = f"ruber(referenced=delta_bleu,unreferenced={scorer})"
        create(scorer).built_with()  # loads it
        return {
            "training pairs per second": STEPS * SETTINGS.batch / seconds(learned(task)),
            "seconds to score, unreferenced": seconds(lambda: evaluate(scorer, samples, n_bootstrap=0)),
            "seconds to score, blended with delta_bleu": seconds(lambda: evaluate(blend, samples, n_bootstrap=0)),
            "seconds of delta_bleu alone": seconds(lambda: evaluate("delta_bleu", samples, n_bootstrap=0)),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replies", type=int, default=10_000)
    add_json_option(parser)
    args = parser.parse_args()
    found = measured(args.replies)
    figures = [Figure(what, value, "/s" if what.endswith("second") else "s") for what, value in found.items()]
    report(f"{args.replies:,} replies, one core, processor time", figures, args.json)


if __name__ == "__main__":
    main()
