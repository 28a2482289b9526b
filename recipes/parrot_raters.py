"""Do raters trust parrots, and what do parrots among the negative examples change?

    python recipes/parrot_raters.py --data DATA "gru(model='without')" "gru(model='with')"

For each rater, the mean weight of three references of each sample, given the first good reply of people as gold reply:
the utterance itself (the parrot), another good reply, and a reply to another context. The samples are DailyDialog++'s
test contexts, which have several good replies. Each system's reply of the rated sets with references is rated in the
same way, as if it were a reference: the table has Spearman's coefficient of these weights with the mean human rating,
and the difference to the first rater, with 95 % intervals over contexts.

Train the raters with the logs of `rater_logs.py`, once with `--parrots 0` and once with `--parrots 0.1`. The exit code
is 0, or 2 if data or models are missing.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pooled_sets import SPEARMAN, mean_agreement, pool_replies
from rated_sets import RatedSet, data_folder, plusplus_files, rated_sets

from interloq import InterloqError, Reference, Sample
from interloq.data.files.archives import text_lines
from interloq.rate.rater import Rater, as_rater
from interloq.registry import create
from interloq.statistics.resampling import percentile_interval
from interloq.terminal.console import number_with_interval, print_table

FOUND = "retrieved:"  # other references count as gold replies
KINDS = ("parrot", "good", "random")
RESAMPLES = 1000
Floats = NDArray[np.float64]


def plusplus_samples(data: Path, most: int) -> list[Sample]:
    """Return contexts with a gold reply, and references of the three kinds."""
    (file,) = plusplus_files(data, "test.json")
    items = [json.loads(line) for line in text_lines(file) if line.strip()]
    samples = []
    for i, item in enumerate(items[:most]):
        gold, good = item["positive_responses"][:2]
        other = items[(i + len(items) // 2) % len(items)]["positive_responses"][0]
        texts = dict(zip(KINDS, (item["context"][-1], good, other), strict=True))
        references = [Reference(gold), *(Reference(text, source=f"{FOUND}{kind}") for kind, text in texts.items())]
        samples.append(Sample(f"{i}", item["context"], good, references))
    return samples


def mean_weights(rater: Rater, samples: Sequence[Sample]) -> dict[str, float]:
    """Return the mean weight of each kind of reference."""
    rated = rater.rate(samples)
    return {kind: float(np.mean([_weight(sample, kind) for sample in rated])) for kind in KINDS}


def _weight(sample: Sample, source: str) -> float:
    return next(reference.weight for reference in sample.references if reference.source == f"{FOUND}{source}")


def reply_weights(rater: Rater, rated: RatedSet) -> Floats:
    """Return the weight of each reply, rated as a reference beside the gold ones."""
    samples = [_with_reply(sample) for sample in rated.samples]
    return np.array([_weight(sample, "reply") for sample in rater.rate(samples)])


def _with_reply(sample: Sample) -> Sample:
    return replace(sample, references=(*sample.references, Reference(sample.response, source=f"{FOUND}reply")))


def correlate(weights: Sequence[Floats], rated: RatedSet) -> list[str]:
    """Return the correlation of the first rater, then of each other rater with its difference to the first."""
    replies = pool_replies({"": rated})
    every = np.arange(len(replies))
    first, *others = (mean_agreement(replies, of_rater, SPEARMAN, every, RESAMPLES) for of_rater in weights)
    cells = [f"{first.value:.3f}"]
    for other in others:
        interval = percentile_interval(other.resampled - first.resampled)
        cells += [f"{other.value:.3f}", number_with_interval(other.value - first.value, interval)]
    return cells


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("raters", nargs="+", metavar="SPEC", help="raters; others are compared with the first")
    parser.add_argument("--data", metavar="FOLDER", help="the data sets (default: $INTERLOQ_DATA)")
    parser.add_argument("--samples", type=int, default=500, metavar="N", help="contexts of DailyDialog++ (500)")
    args = parser.parse_args(argv)
    try:
        data = data_folder(args.data)
        raters = [as_rater(create(spec, kind="rater")) for spec in args.raters]
        samples = plusplus_samples(data, args.samples)
        sets = rated_sets(data)
        rows = []
        for spec, rater in zip(args.raters, raters, strict=True):
            rows.append([spec, *(f"{weight:.2f}" for weight in mean_weights(rater, samples).values())])
        print_table(f"mean weight, {len(samples)} contexts of DailyDialog++", ["rater", *KINDS], rows)
        rows = []
        for name, rated in sets.items():
            if all(sample.references and sample.context for sample in rated.samples):
                rows.append([name, *correlate([reply_weights(rater, rated) for rater in raters], rated)])
        columns = ["set", args.raters[0]]
        for spec in args.raters[1:]:
            columns += [spec, "difference"]
        print_table("Spearman of replies' weights with people", columns, rows)
    except InterloqError as error:
        print(f"parrot_raters: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
