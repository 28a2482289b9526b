"""Tables 4 and 5 of Tsuta et al. (2023) with the parts of the papers; `vbleu_tables.py --as-published` prints them.

References are retrieved by the cosine of GloVe vectors (`--vectors`, or any `--retriever`) and rated by a Bi-GRU
(`--rater`) for υBLEU; for vBERTScore they are retrieved by the encoder and rated by a BERT rater (`--bert-rater`;
without one, there are no rows of vBERTScore). RUBER's scorers are `ruber_referenced` with the same vectors, and
`--unreferenced`. ΔBLEU needs people's ratings of the references: without `--references-ratings` the references are
written to extended.jsonl in the work folder, so that people can rate them (`interloq serve add … --task
references-rating`), and the row is left out.

Columns are the coefficients with the mean judgment, and the highest and the lowest with a single annotator, which only
USR's ratings name; beside them are the published ones. `Human` is one annotator against another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from rated_sets import Floats, RatedSet
from reference_claims import Claim, Verdict, verdicts
from reference_pool import pool, pool_index, rated_references, sets_with_references

from interloq import Sample, Score, evaluate_all, write
from interloq.agree.agreement import meta_evaluate
from interloq.agree.table import MetaTable
from interloq.metrics.combined.ruber import normalise
from interloq.registry import create

GOLD_BLEU, GOLD_BERTSCORE = "BLEU-2, gold", "BERTScore, gold"
REFERENCED, UNREFERENCED, RUBER = "RUBER referenced", "RUBER unreferenced", "RUBER"
DELTA_BLEU, V_BLEU, V_BERTSCORE, PEOPLE = "ΔBLEU, rated by people", "υBLEU", "vBERTScore", "Human"
COEFFICIENTS = ("spearman", "pearson")
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
    f"{UNREFERENCED} & {V_BLEU}": (0.440, 0.435, 0.323, 0.456, 0.450, 0.338),
    f"{UNREFERENCED} & {V_BERTSCORE}": (0.483, 0.453, 0.327, 0.473, 0.474, 0.336),
    PEOPLE: (None, 0.773, 0.628, None, 0.778, 0.607),
}
CLAIMS = (
    Claim("rated > single", V_BLEU, GOLD_BLEU),
    Claim("rated > single", V_BERTSCORE, GOLD_BERTSCORE),
    Claim("vBERTScore > υBLEU", V_BERTSCORE, V_BLEU),
    Claim("comparable to people's weights", V_BLEU, DELTA_BLEU),
    Claim("single BLEU > RUBER's referenced scorer", GOLD_BLEU, REFERENCED),
    Claim("unreferenced > RUBER", UNREFERENCED, RUBER),
    Claim("joined > unreferenced", f"{UNREFERENCED} & {V_BLEU}", UNREFERENCED),
    Claim("joined > unreferenced", f"{UNREFERENCED} & {V_BERTSCORE}", UNREFERENCED),
    Claim("joined > υBLEU", f"{UNREFERENCED} & {V_BLEU}", V_BLEU),
)


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

    def rated(self, samples: Sequence[Sample], pairs: Path) -> dict[str, list[Sample]]:
        """The samples with the references and weights of each row that needs them, with the parrot."""
        index = pool_index(pairs, self.retriever)
        found = {V_BLEU: rated_references(samples, index, self.rater)[True]}
        if self.references_ratings:
            found[DELTA_BLEU] = create(f"human(ratings={self.references_ratings!r})").rate(found[V_BLEU])
        if self.bert_rater:
            index = pool_index(pairs, f"dense(encoder={self.encoder!r})")
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
    pairs, sets = pool(data, work), sets_with_references(data)
    scores: dict[str, dict[str, Floats]] = {}
    extended: list[Sample] = []
    for name, own in sets.items():
        rated = parts.rated(own.samples, pairs)
        extended += [_unrated(sample) for sample in rated[V_BLEU]]
        scores[name] = score_rows(own.samples, rated, parts.metrics())
    if not parts.references_ratings:
        write(work / "extended.jsonl", extended, kind="samples")
    rows = set.intersection(*map(set, scores.values()))
    judged = [claim for claim in CLAIMS if {claim.higher, claim.lower} <= rows]
    tables = {name: _agreement(own, scores[name], resamples) for name, own in sets.items()}
    return PublishedTables(parts, tables, [v for claim in judged for v in verdicts(claim, sets, scores, resamples)])


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
