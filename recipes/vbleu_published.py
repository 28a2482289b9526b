"""Tables 4 and 5 of Tsuta et al. (2023) with the parts of the papers, and what they say about RUBER.

References are retrieved by the cosine of GloVe vectors (`--vectors`, or any `--retriever`) and rated by a Bi-GRU
(`--rater`) for υBLEU; for vBERTScore they are rated by a BERT rater (`--bert-rater`; without one, there are no rows of
vBERTScore) and retrieved by the encoder, or by `--bert-retriever`. RUBER's scorers are `ruber_referenced` with the same
vectors, and `--scorer`. ΔBLEU needs people's ratings of the references: without `--references-ratings` the references
are written to extended.jsonl in the work folder, so that people can rate them (`interloq serve add … --task
references-rating`), and the row is left out.

    interloq train vectors WORK/pairs.jsonl -o glove --dimensions 100 --epochs 15
    interloq train ruber WORK/pairs.jsonl -o ruber
    python recipes/vbleu_published.py --data FOLDER --work WORK --vectors glove --rater "gru(model='rater')" \
        --scorer "ruber_unreferenced(model='ruber')" --measured FILE

Columns are the coefficients with the mean judgment, and the highest and the lowest with a single annotator, which only
USR's ratings name; beside them are the published ones. `Human` is one annotator against another. `vbleu_tables.py
--as-published` prints the same tables. The exit code is 0, or 2 if data or models are missing.

What decides about each claim was chosen before the figures were seen, and is always averaged over all sets:

- *RUBER is below its unreferenced scorer*: Spearman's coefficient, with the mean judgment.
- *The scorer joined with υBLEU beats both parts*: Spearman, above the higher of the two in every resample.
- *The scorer joined with vBERTScore is best*: Spearman, above the best of all other rows in every resample.
- *υBLEU beats RUBER, except for the maximum ρ*: the mean judgment, by ρ and by r together, as only two sets name the
  annotators that maxima and minima need. These are shown, too.
- *RUBER's referenced scorer is below single-reference BLEU*: Spearman, mean judgment.
- *The scorer joined with υBLEU is best* (2020): Spearman, above the best of the other rows of that paper.

One condition was added after the first run: a scorer whose own agreement with people cannot be told from 0 decides none
of these claims, because they are about a scorer that works (ρ .33 in the paper). `--scorer "relevance(model='ready')"`,
which has that strength, takes its place then.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from pooled_sets import (
    PEARSON,
    SPEARMAN,
    Difference,
    Ends,
    PooledReplies,
    agreement_cell,
    agreement_with_interval,
    annotator_agreement,
    human_agreement,
    make_cell,
    measure,
    pool_replies,
)
from rated_sets import Floats, RatedSet, data_folder
from reference_claims import Claim, Verdict, verdicts
from reference_pool import pool, rated_references, sets_with_one_reference
from relevance import ENCODER
from results import Cell, Finding, PublishedTable, add_measured_option, report_measured

from interloq import InterloqError, Sample, Score, evaluate_all, write
from interloq.agree.agreement import meta_evaluate
from interloq.agree.table import MetaTable
from interloq.data.records.jsonl import read
from interloq.metrics.combined.ruber import normalise
from interloq.registry import create
from interloq.retrieve.index import create_index
from interloq.signature import file_fingerprint, fingerprint
from interloq.terminal.console import number_with_interval, print_table

GOLD_BLEU, GOLD_BERTSCORE = "BLEU-2, gold", "BERTScore, gold"
REFERENCED, UNREFERENCED, RUBER = "RUBER referenced", "RUBER unreferenced", "RUBER"
DELTA_BLEU, V_BLEU, V_BERTSCORE, PEOPLE = "ΔBLEU, rated by people", "υBLEU", "vBERTScore", "Human"
JOINED_BLEU, JOINED_BERTSCORE = f"{UNREFERENCED} & {V_BLEU}", f"{UNREFERENCED} & {V_BERTSCORE}"
COEFFICIENTS = (SPEARMAN, PEARSON)
# row → Spearman's ρ and Pearson's r: with the mean judgment, the highest and the lowest with an annotator
PUBLISHED: Mapping[str, tuple[float | None, ...]] = {
    GOLD_BLEU: (0.153, 0.186, 0.091, 0.242, 0.276, 0.190),
    REFERENCED: (0.096, 0.188, 0.071, 0.060, 0.075, 0.016),
    GOLD_BERTSCORE: (0.257, 0.256, 0.155, 0.331, 0.342, 0.230),
    DELTA_BLEU: (0.359, 0.366, 0.300, 0.353, 0.360, 0.294),
    V_BLEU: (0.334, 0.330, 0.281, 0.371, 0.394, 0.332),
    V_BERTSCORE: (0.403, 0.378, 0.280, 0.431, 0.426, 0.316),
    UNREFERENCED: (0.332, 0.342, 0.225, 0.325, 0.336, 0.217),
    RUBER: (0.320, 0.339, 0.206, 0.307, 0.325, 0.193),
    JOINED_BLEU: (0.440, 0.435, 0.323, 0.456, 0.450, 0.338),
    JOINED_BERTSCORE: (0.483, 0.453, 0.327, 0.473, 0.474, 0.336),
    PEOPLE: (None, 0.773, 0.628, None, 0.778, 0.607),
}
CLAIMS = (
    Claim("rated > single", V_BLEU, GOLD_BLEU),
    Claim("rated > single", V_BERTSCORE, GOLD_BERTSCORE),
    Claim("vBERTScore > υBLEU", V_BERTSCORE, V_BLEU),
    Claim("comparable to people's weights", V_BLEU, DELTA_BLEU),
    Claim("single BLEU > RUBER's referenced scorer", GOLD_BLEU, REFERENCED),
    Claim("unreferenced > RUBER", UNREFERENCED, RUBER),
    Claim("joined > unreferenced", JOINED_BLEU, UNREFERENCED),
    Claim("joined > unreferenced", JOINED_BERTSCORE, UNREFERENCED),
    Claim("joined > υBLEU", JOINED_BLEU, V_BLEU),
)
COLUMNS = ("ρ mean", "ρ max", "ρ min", "r mean", "r max", "r min")
TABLE_5 = (UNREFERENCED, RUBER, JOINED_BLEU, JOINED_BERTSCORE)
TABLE_3_OF_2020 = (DELTA_BLEU, V_BLEU, RUBER, REFERENCED, UNREFERENCED, JOINED_BLEU)
RUBER_BELOW, JOINED_ABOVE_PARTS, JOINED_BEST = "000/82", "000/83", "000/84"
OVER_RUBER, REFERENCED_BELOW, BEST_OF_2020 = "001/36", "001/37", "001/38"


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """The parts: specs of a retriever, raters, encoder and scorer, and a file of people's ratings."""

    vectors: str
    rater: str
    unreferenced: str
    encoder: str
    retriever: str
    bert_rater: str = ""
    references_ratings: str = ""
    bert_retriever: str = ""

    def rated(self, samples: Sequence[Sample], pairs: Path) -> dict[str, list[Sample]]:
        """The samples with the references and weights of each row that needs them, with the parrot."""
        index = exact_index(pairs, self.retriever)
        found = {V_BLEU: rated_references(samples, index, self.rater)[True]}
        if self.references_ratings:
            found[DELTA_BLEU] = create(f"human(ratings={self.references_ratings!r})").rate(found[V_BLEU])
        if self.bert_rater:
            index = exact_index(pairs, self.bert_retriever or f"dense(encoder={self.encoder!r})")
            found[V_BERTSCORE] = rated_references(samples, index, self.bert_rater)[True]
        return found

    def metrics(self) -> dict[str, str]:
        """Specs of the rows' metrics; `weights='inside'` is equation 12 of the paper."""
        bleu = "delta_bleu(order=2,tokenizer='13a(lowercase=True)')"
        bertscore = f"bertscore(model={self.encoder!r},weights='inside')"
        rows = {GOLD_BLEU: bleu, GOLD_BERTSCORE: bertscore, V_BLEU: bleu, DELTA_BLEU: bleu, V_BERTSCORE: bertscore}
        return rows | {REFERENCED: f"ruber_referenced(vectors={self.vectors!r})", UNREFERENCED: self.unreferenced}


@dataclass(frozen=True, slots=True)
class PublishedTables:
    """Agreement of each row with people by set, and the papers' claims."""

    parts: Published
    tables: dict[str, MetaTable]
    verdicts: list[Verdict]


def published_tables(data: Path, work: Path, parts: Published, resamples: int) -> PublishedTables:
    """Score all rows on every set that has references, and judge the claims."""
    sets = sets_with_one_reference(data)
    return make_tables(parts, sets, score_sets(sets, pool(data, work), parts), resamples)


def score_sets(sets: Mapping[str, RatedSet], pairs: Path, parts: Published) -> dict[str, dict[str, Floats]]:
    """Return the scores of all rows on each set; the references of υBLEU are written for people who can rate them."""
    scores: dict[str, dict[str, Floats]] = {}
    extended: list[Sample] = []
    for name, own in sets.items():
        print(name, file=sys.stderr)
        rated = parts.rated(own.samples, pairs)
        extended += [_unrated(sample) for sample in rated[V_BLEU]]
        scores[name] = score_rows(own.samples, rated, parts.metrics())
    if not parts.references_ratings:
        write(pairs.parent / "extended.jsonl", extended, kind="samples")
    return scores


def make_tables(
    parts: Published, sets: Mapping[str, RatedSet], scores: Mapping[str, Mapping[str, Floats]], resamples: int
) -> PublishedTables:
    """Return the tables of each set, and each claim on each set."""
    rows = set.intersection(*(set(of_set) for of_set in scores.values()))
    judged = [claim for claim in CLAIMS if {claim.higher, claim.lower} <= rows]
    tables = {name: _agreement(own, scores[name], resamples) for name, own in sets.items()}
    return PublishedTables(parts, tables, [v for claim in judged for v in verdicts(claim, sets, scores, resamples)])


def exact_index(pairs: Path, retriever: str) -> Path:
    """Return the folder of an index of the pool that is searched exactly, built once for each retriever."""
    folder = pairs.parent / (retriever if retriever.isalnum() else f"index-{fingerprint(retriever)}")
    index = create_index(folder, retriever, exact_up_to=10**9)
    index.add(read(pairs, kind="pairs"), source=file_fingerprint(pairs))
    return folder


def _unrated(sample: Sample) -> Sample:
    return replace(sample, references=tuple(replace(reference, weight=1.0) for reference in sample.references))


def score_rows(
    samples: Sequence[Sample], rated: Mapping[str, Sequence[Sample]], metrics: Mapping[str, str]
) -> dict[str, Floats]:
    """Scores of each row; rows without rated references use the gold replies."""
    scores = {}
    for row, spec in metrics.items():
        if row in rated or row not in (V_BLEU, DELTA_BLEU, V_BERTSCORE):
            scores[row] = _score(rated.get(row, samples), spec)
    unreferenced = _scale(scores[UNREFERENCED])
    scores[RUBER] = (unreferenced + _scale(scores[REFERENCED])) / 2
    for row in (V_BLEU, V_BERTSCORE):
        if row in scores:
            scores[f"{UNREFERENCED} & {row}"] = (unreferenced + _scale(scores[row])) / 2
    return {row: scores[row] for row in PUBLISHED if row in scores}


def _score(samples: Sequence[Sample], spec: str) -> Floats:
    (by_system,) = evaluate_all([spec], samples, n_bootstrap=0)
    by_sample = by_system[""].by_sample
    return np.array([np.nan if by_sample[s.key] is None else by_sample[s.key] for s in samples], dtype=np.float64)


def _scale(scores: Floats) -> Floats:
    return normalise(scores, float(np.nanmin(scores)), float(np.nanmax(scores)))


def _agreement(own: RatedSet, scores: Mapping[str, Floats], resamples: int) -> MetaTable:
    given = []
    for row, values in scores.items():
        for sample, value in zip(own.samples, values.tolist(), strict=True):
            missing = bool(np.isnan(value))
            reason = "unscored" if missing else ""
            given.append(Score(sample.id, row, None if missing else value, reason=reason, system=sample.system))
    return meta_evaluate(given, own.samples, aspect="overall", n_bootstrap=resamples, compare=False)


# ---- tables ----------------------------------------------------------------------------------------------------------


def print_published(found: PublishedTables) -> None:
    """Print the tables as Markdown: by set, then the claims."""
    for part, text in asdict(found.parts).items():
        print(f"{part.replace('_', ' ')}: {text or 'none'}")
    columns = " | ".join(f"{symbol} {way}" for symbol in ("ρ", "r") for way in ("mean", "max", "min", "published"))
    for name, table in found.tables.items():
        print(f"\n{name}\n\n| | {columns} |\n|{'---|' * 9}")
        for row, cells in table_rows(table):
            print(f"| {row} | {' | '.join(cells)} |")
    print("\nClaims\n\n| | set | difference | verdict |\n|---|---|---|---|")
    for v in found.verdicts:
        interval = f"{v.difference:+.3f} [{v.ci[0]:+.3f}, {v.ci[1]:+.3f}]"
        print(f"| {v.claim.text}: {v.claim.higher} > {v.claim.lower} | {v.set} | {interval} | {v.text} |")


def table_rows(table: MetaTable) -> Iterator[tuple[str, list[str]]]:
    """Rows with their cells, in the order of the paper; ours with their interval, then the published ones."""
    for row in sorted(table.rows, key=lambda row: list(PUBLISHED).index(row.metric)):
        cells = []
        for i, name in enumerate(COEFFICIENTS):
            estimate, spread = row.with_mean[name], row.with_annotators.get(name)
            mean = _figure(estimate.value)
            if estimate.ci:
                mean += f" [{estimate.ci[0]:.3f}, {estimate.ci[1]:.3f}]"
            ends = [spread.max, spread.min] if spread else [None, None]
            cells += [mean, *map(_figure, ends), _published(row.metric, i)]
        yield row.metric, cells
    cells = []
    for i, name in enumerate(COEFFICIENTS):
        pairs = table.human.pairwise.get(name) if table.human else None
        ends = [pairs.max, pairs.min] if pairs else [None, None]
        cells += ["", *map(_figure, ends), _published(PEOPLE, i)]
    yield PEOPLE, cells


def _figure(value: float | None) -> str:
    return "–" if value is None or np.isnan(value) else f"{value:.3f}"


def _published(row: str, coefficient: int) -> str:
    """The paper's figures of a row: mean (maximum, minimum)."""
    mean, highest, lowest = map(_figure, PUBLISHED[row][3 * coefficient : 3 * coefficient + 3])
    return f"{mean} ({highest}, {lowest})"


# ---- findings --------------------------------------------------------------------------------------------------------


def differences(rows: Sequence[str]) -> Iterator[Difference]:
    """Yield what is tested; rows of vBERTScore exist only with a rater for it."""
    mean = "mean judgment, Spearman"
    yield _claim(RUBER_BELOW, f"scorer over RUBER, {mean}", UNREFERENCED, (RUBER,), decides=True)
    yield _claim(RUBER_BELOW, "scorer over RUBER, mean judgment, Pearson", UNREFERENCED, (RUBER,), PEARSON)
    parts = (UNREFERENCED, V_BLEU)
    yield _claim(JOINED_ABOVE_PARTS, f"scorer & υBLEU over the better part, {mean}", JOINED_BLEU, parts, decides=True)
    for part in parts:
        yield _claim(JOINED_ABOVE_PARTS, f"scorer & υBLEU over {part}, {mean}", JOINED_BLEU, (part,))
    if JOINED_BERTSCORE in rows:
        others = tuple(row for row in PUBLISHED if row in rows and row != JOINED_BERTSCORE)
        yield _claim(JOINED_BEST, f"over the best other row, {mean}", JOINED_BERTSCORE, others, decides=True)
        for other in (JOINED_BLEU, UNREFERENCED, V_BERTSCORE):
            yield _claim(JOINED_BEST, f"over {other}, {mean}", JOINED_BERTSCORE, (other,))
    yield _claim(OVER_RUBER, f"υBLEU over RUBER, {mean}", V_BLEU, (RUBER,), decides=True)
    yield _claim(OVER_RUBER, "υBLEU over RUBER, mean judgment, Pearson", V_BLEU, (RUBER,), PEARSON, decides=True)
    for coefficient in COEFFICIENTS:
        for name, end in (("maximum", max), ("minimum", min)):
            way = f"υBLEU over RUBER, {name} annotator, {coefficient}"
            column = 3 * COEFFICIENTS.index(coefficient) + (1 if end is max else 2)
            difference = round(_figure_of(V_BLEU, column) - _figure_of(RUBER, column), 3)
            yield Difference(
                item=OVER_RUBER,
                way=way,
                higher=V_BLEU,
                lower=(RUBER,),
                coefficient=coefficient,
                end=end,
                published=difference if difference > 0 else None,
                note="" if difference > 0 else f"the exception of the paper: {difference:+.3f} there",
            )
    yield _claim(REFERENCED_BELOW, f"BLEU over the referenced scorer, {mean}", GOLD_BLEU, (REFERENCED,), decides=True)
    yield _claim(
        REFERENCED_BELOW, "BLEU over the referenced scorer, mean judgment, Pearson", GOLD_BLEU, (REFERENCED,), PEARSON
    )
    others = tuple(row for row in (GOLD_BLEU, *TABLE_3_OF_2020) if row in rows and row != JOINED_BLEU)
    yield _claim(BEST_OF_2020, f"scorer & υBLEU over the best other row, {mean}", JOINED_BLEU, others, decides=True)


def needs_working_scorer(claim: Difference) -> bool:
    """Return whether a claim is about the scorer without references, alone or joined."""
    rows = (claim.higher, *claim.lower)
    return any(row == RUBER or row.startswith(UNREFERENCED) for row in rows)


def measure_claims(replies: PooledReplies, rows: Mapping[str, Floats], data: str, resamples: int) -> list[Finding]:
    """Return the findings; those about the scorer decide only if it agrees with people at all."""
    value, ci = agreement_with_interval(replies, rows[UNREFERENCED], SPEARMAN, resamples)
    findings: list[Finding] = []
    for claim in differences(list(rows)):
        finding = measure(claim, replies, rows, data, resamples)
        if ci[0] <= 0 and needs_working_scorer(claim):
            note = (
                f"The scorer itself is uninformative (ρ {value:.3f} [{ci[0]:.3f}, {ci[1]:.3f}]), so this cannot decide."
            )
            finding = replace(finding, decides=False, note=" ".join((note, finding.note)).strip())
        findings.append(finding)
    return findings


def _claim(
    item: str, way: str, higher: str, lower: tuple[str, ...], coefficient: str = SPEARMAN, *, decides: bool = False
) -> Difference:
    """Return a claim about the mean judgment with the published difference."""
    column = 3 * COEFFICIENTS.index(coefficient)
    published = round(_figure_of(higher, column) - max(_figure_of(row, column) for row in lower), 3)
    return Difference(
        item=item,
        way=way,
        higher=higher,
        lower=lower,
        coefficient=coefficient,
        published=published,
        decides=decides,
    )


def _figure_of(row: str, column: int) -> float:
    figure = PUBLISHED[row][column]
    if figure is None:
        raise ValueError(f"no figure of {row} is published")
    return figure


def cells_of(replies: PooledReplies, scores: Mapping[str, Floats], resamples: int) -> dict[str, list[Cell]]:
    """Return the six figures of each row, averaged over the sets, next to the published ones."""
    cells: dict[str, list[Cell]] = {}
    for row, published in PUBLISHED.items():
        figures = iter(published)
        cells[row] = []
        for coefficient in COEFFICIENTS:
            mean, highest, lowest = next(figures), next(figures), next(figures)
            if row in scores:
                cells[row].append(agreement_cell(replies, scores[row], coefficient, mean, resamples))
            else:
                cells[row].append(Cell(published=mean))
            for end, figure in ((max, highest), (min, lowest)):
                cells[row].append(make_cell(figure, _agreement_at(replies, row, scores, coefficient, end)))
    return cells


def _agreement_at(replies: PooledReplies, row: str, scores: Mapping[str, Floats], coefficient: str, end: Ends) -> float:
    """Return the highest or lowest agreement of a row with an annotator, or of two annotators; NaN without the row."""
    if row == PEOPLE:
        return human_agreement(replies, coefficient, end)
    if row not in scores:
        return float("nan")
    kept = np.flatnonzero(np.isfinite(scores[row]))
    return annotator_agreement(replies, scores[row], coefficient, end, kept)


def papers_tables(cells: Mapping[str, Sequence[Cell]], data: str, note: str) -> list[PublishedTable]:
    """Return Table 5 of 2023 and Table 3 of 2020, which has no column of means."""
    of_2020: dict[str, Sequence[Cell]] = {}
    for row in (*TABLE_3_OF_2020, PEOPLE):
        of_2020[row] = [cells[row][i] for i in (1, 2, 4, 5)]
    columns = [COLUMNS[i] for i in (1, 2, 4, 5)]
    of_2023: dict[str, Sequence[Cell]] = {row: cells[row] for row in (*TABLE_5, PEOPLE)}
    title = "Metrics joined with RUBER"
    return [
        PublishedTable(item="000/68", title=title, data=data, columns=COLUMNS, rows=of_2023, note=note),
        PublishedTable(
            item="001/29", title="ΔBLEU, υBLEU, RUBER and people", data=data, columns=columns, rows=of_2020, note=note
        ),
    ]


def join_sets(scores: Mapping[str, Mapping[str, Floats]]) -> dict[str, Floats]:
    """Return the scores of each row on all sets in a row."""
    rows = [row for row in PUBLISHED if all(row in of_set for of_set in scores.values())]
    return {row: np.concatenate([of_set[row] for of_set in scores.values()]) for row in rows}


def run(args: argparse.Namespace) -> tuple[list[Finding], list[PublishedTable]]:
    """Score all rows on every set, print their agreement with people, and return findings and tables."""
    data, work = data_folder(args.data), Path(args.work)
    os.environ.setdefault("INTERLOQ_CACHE", str(work / "cache"))
    parts = Published(
        vectors=args.vectors,
        rater=args.rater,
        unreferenced=args.scorer,
        encoder=args.encoder,
        retriever=args.retriever or f"dense(vectors={args.vectors!r})",
        bert_rater=args.bert_rater,
        references_ratings=args.references_ratings,
        bert_retriever=args.bert_retriever,
    )
    sets = sets_with_one_reference(data)
    scores = score_sets(sets, pool(data, work), parts)
    print_published(make_tables(parts, sets, scores, args.resamples))
    replies, rows = pool_replies(sets), join_sets(scores)
    cells = cells_of(replies, rows, args.resamples)
    lines = []
    for row, figures in cells.items():
        lines.append([row, *(number_with_interval(cell.ours, cell.ci) for cell in figures)])
    print_table("all sets", ["", *COLUMNS], lines)
    name = f"{len(sets)} sets, {len(replies):,} replies"
    return measure_claims(replies, rows, name, args.resamples), papers_tables(cells, name, args.note)


def main(argv: Sequence[str] | None = None) -> int:
    started = time.monotonic()
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", metavar="FOLDER", help="data folder (default: $INTERLOQ_DATA)")
    parser.add_argument("--work", default="out/vbleu", metavar="FOLDER", help="pool, indexes and weights (out/vbleu)")
    parser.add_argument("--vectors", required=True, metavar="FOLDER", help="GloVe vectors")
    parser.add_argument("--scorer", required=True, metavar="SPEC", help="RUBER's unreferenced scorer")
    parser.add_argument("--rater", required=True, metavar="SPEC", help="rater of υBLEU")
    parser.add_argument("--retriever", default="", metavar="SPEC", help="retriever of υBLEU (dense on the vectors)")
    parser.add_argument("--bert-rater", default="", metavar="SPEC", help="rater of vBERTScore (none: no rows of it)")
    parser.add_argument("--bert-retriever", default="", metavar="SPEC", help="retriever of vBERTScore (the encoder)")
    parser.add_argument("--encoder", default=ENCODER, metavar="NAME", help=f"encoder of BERTScore ({ENCODER})")
    parser.add_argument("--references-ratings", default="", metavar="FILE", help="people's ratings, for ΔBLEU")
    parser.add_argument("--note", default="", metavar="TEXT", help="for the tables: what the parts learned from")
    parser.add_argument("--resamples", type=int, default=1000, metavar="N", help="for intervals (1000)")
    add_measured_option(parser)
    args = parser.parse_args(argv)
    try:
        findings, tables = run(args)
    except InterloqError as error:
        print(f"vbleu_published: {error}", file=sys.stderr)
        return 2
    report_measured(args.measured, findings, tables, started)
    return 0


if __name__ == "__main__":
    sys.exit(main())
