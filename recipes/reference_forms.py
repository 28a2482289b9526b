"""Does each form of retrieval beat one reference, one side both sides, an encoder GloVe? From one large pool.

    python recipes/reference_forms.py --data FOLDER --work WORK --vectors glove --encoder 60000 --measured FILE

Scores, pool, indexes and vectors are those of `retrieval_forms.py`, which tests whether word vectors beat BM25; the
same work folder serves both. What decides was chosen before the figures were seen: the papers' own parts (GloVe trained
on the pool), Spearman's coefficient with the mean judgment, averaged over all six sets, contexts resampled within each.

- *Every extended form beats one reference* (2020): four findings, one for each form, decide together.
- *The utterance alone beats utterance and response*: GloVe, as in the paper; BM25 is shown beside it.
- *BERT retrieves better than GloVe*: a sentence encoder (MiniLM) against GloVe on the utterance, both on the same N
  random pairs of the pool, because encoding all of it takes hours on a processor.

The exit code is 0, or 2 if data are missing.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pooled_sets import SPEARMAN, Difference, measure, pool_replies
from rated_sets import data_folder
from reference_pool import pool, sets_with_one_reference
from results import Finding, add_measured_option, report_measured
from retrieval import SINGLE
from retrieval_forms import (
    BM25,
    BM25_BOTH,
    ENCODER,
    GLOVE,
    GLOVE_BOTH,
    PUBLISHED,
    score_forms,
    score_with_encoder,
    specs,
)

from interloq import InterloqError

FORMS_OF_2020 = (BM25_BOTH, BM25, GLOVE_BOTH, GLOVE)
EVERY_FORM, ONE_SIDE, ENCODER_OVER_GLOVE = "001/32", "000/75", "000/76"
ENDS = {"lowest annotator": min, "highest annotator": max}


def claims() -> Iterator[Difference]:
    """Yield what is tested on the whole pool."""
    for form in FORMS_OF_2020:
        yield _difference(EVERY_FORM, f"{form} over one reference", form, SINGLE, decides=True)
        for name, end in ENDS.items():
            of_end = _difference(EVERY_FORM, f"{form} over one reference, {name}", form, SINGLE)
            place = 2 if end is min else 1
            yield replace(of_end, end=end, published=_published(form, SINGLE, place))
    yield _difference(ONE_SIDE, "GloVe: utterance over utterance and response", GLOVE, GLOVE_BOTH, decides=True)
    yield _difference(ONE_SIDE, "BM25: utterance over utterance and response", BM25, BM25_BOTH)


def encoder_claims() -> Iterator[Difference]:
    """Yield what is tested on a part of the pool."""
    yield _difference(ENCODER_OVER_GLOVE, "encoder over GloVe on a part of the pool", ENCODER, GLOVE, decides=True)


def _difference(item: str, way: str, higher: str, lower: str, *, decides: bool = False) -> Difference:
    return Difference(
        item=item,
        way=way,
        higher=higher,
        lower=(lower,),
        coefficient=SPEARMAN,
        published=_published(higher, lower, 0),
        decides=decides,
    )


def _published(higher: str, lower: str, place: int) -> float | None:
    """Return the published difference; none if the paper's own is not above 0."""
    difference = round(PUBLISHED[higher][place] - PUBLISHED[lower][place], 3)
    return difference if difference > 0 else None


def run(args: argparse.Namespace) -> list[Finding]:
    """Score all forms, and return the findings."""
    data, work = data_folder(args.data), Path(args.work)
    sets, pairs = sets_with_one_reference(data), pool(data, work)
    replies = pool_replies(sets)
    rows = score_forms(sets, pairs, specs(args.vectors, ""))
    findings = []
    for claim in claims():
        measured_sets = f"mean of {len(sets)} sets" if claim.end is None else "mean of USR's two sets"
        findings.append(measure(claim, replies, rows, f"{measured_sets}, whole pool", args.resamples))
    if args.encoder:
        part = score_with_encoder(sets, pairs, args.encoder, args.vectors)
        where = f"mean of {len(sets)} sets, {args.encoder:,} random pairs of the pool"
        findings += [measure(claim, replies, part, where, args.resamples) for claim in encoder_claims()]
    return findings


def main(argv: Sequence[str] | None = None) -> int:
    started = time.monotonic()
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", metavar="FOLDER", help="data folder (default: $INTERLOQ_DATA)")
    parser.add_argument("--work", default="out/vbleu", metavar="FOLDER", help="the pool and its indexes (out/vbleu)")
    parser.add_argument("--vectors", required=True, metavar="FOLDER", help="word vectors trained on the pool")
    parser.add_argument("--encoder", type=int, default=0, metavar="N", help="random pairs for the encoder (0: none)")
    parser.add_argument("--resamples", type=int, default=1000, metavar="N", help="for intervals (1000)")
    add_measured_option(parser)
    args = parser.parse_args(argv)
    try:
        findings = run(args)
    except InterloqError as error:
        print(f"reference_forms: {error}", file=sys.stderr)
        return 2
    report_measured(args.measured, findings, [], started)
    return 0


if __name__ == "__main__":
    sys.exit(main())
