"""Do references from logs, rated by a network, agree with people better than gold replies? Every claim, set by set.

Tsuta, Yoshinaga and Toyoda (2020, 2023) extend one reference with replies from logs and weigh them by a rater: υBLEU
and vBERTScore, alone and joined with a scorer without references (RUBER). Their 300 Japanese replies and 16 million
Twitter pairs are not public. Here the replies are those of GRADE, USR and Gupta et al., the pool is that of
reference_pool.py, and the rater is made from `relevance`; published figures are printed for comparison only.

    python recipes/vbleu_tables.py --data FOLDER --work FOLDER --scorer "relevance(model='ready')"

The tables: correlations of BLEU-2 and BERTScore with gold replies alone, with 15 random and with 15 retrieved replies,
weighted or not, all or the best n, with and without the utterance itself (the parrot); a verdict on each claim; the
variant that would be chosen for each set on the other sets; SCARCE's references on Gupta's replies; how often gold
replies alone decide the score; and whether the rater prefers good replies in DailyDialog++ (`--rated` skips its 16,000
replies).

`--rater` and `--scorer` take any rater and any reference-free metric, such as `gru(model='rater')` and
`ruber_unreferenced(model='ruber')`. Pool, index and scores are kept in the work folder, and the same command resumes.
The exit code is 0, or 2 if data or models are missing.

    python recipes/vbleu_tables.py --data FOLDER --work FOLDER --as-published --vectors glove \
        --rater "gru(model='rater',mode='signed_max')" --scorer "ruber_unreferenced(model='ruber')"

prints the papers' tables with the papers' parts instead: GloVe and the Bi-GRU, RUBER's scorers, ΔBLEU rated by people,
and the highest and lowest correlation with a single annotator (see vbleu_published.py).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rated_sets import RatedSet, data_folder
from reference_claims import (
    EIGHT,
    FIVE,
    MEAN,
    PAPER,
    RATED,
    UNRATED,
    VARIANTS,
    Choice,
    Claim,
    Variant,
    Verdict,
    agreed,
    choices,
    verdicts,
)
from reference_pool import GUPTA, pool, pool_index, rated_references, sets_with_references, with_random, with_scarce
from relevance import ENCODER, KINDS, Floats, Row, auc_of, cell, correlations, plusplus, scorers
from vbleu_published import Published, print_published, published_tables

from interloq import InputError, InterloqError, Reference, Sample
from interloq.metrics.combined.ruber import normalise
from interloq.models.vector_cache import VARIABLE as VECTORS
from interloq.rate.rater import select
from interloq.registry import create
from interloq.signature import file_fingerprint, fingerprint
from interloq.terminal.console import print_json

BLEU, BERTSCORE = "BLEU-2", "BERTScore"
BLEU_4, PRECISION = "BLEU-4", "BERTScore precision"  # as SCARCE is measured
TOKENIZER = "tokenizer='13a(lowercase=True)'"
GOLD, RANDOM, SCARCE = "gold", "15 random", "SCARCE"


def claims(scorer: str) -> Iterator[Claim]:
    """Findings of the papers, and ours: retrieved > random, best five > all, the default of `vbertscore`."""
    for name in (BLEU, BERTSCORE):
        yield Claim("extended > gold", f"{name}, {UNRATED}", f"{name}, {GOLD}")
        yield Claim("retrieved > random", f"{name}, {UNRATED}", f"{name}, {RANDOM}")
        yield Claim("weighted > unweighted", f"{name}, {RATED}", f"{name}, {UNRATED}")
        yield Claim("best five > all, unweighted", f"{name}, {FIVE}", f"{name}, {UNRATED}")
        yield Claim("weighted > gold", f"{name}, {RATED}", f"{name}, {GOLD}")
        yield Claim("joined > without scorer", f"{scorer} & {name}, {RATED}", f"{name}, {RATED}")
        yield Claim("joined > scorer", f"{scorer} & {name}, {RATED}", scorer)
    yield Claim("default > the papers' vBERTScore", f"{BERTSCORE}, {EIGHT}", f"{BERTSCORE}, {PAPER}")
    yield Claim("default vBERTScore > gold", f"{BERTSCORE}, {EIGHT}", f"{BERTSCORE}, {GOLD}")
    yield Claim("vBERTScore > υBLEU", f"{BERTSCORE}, {RATED}", f"{BLEU}, {RATED}")


def published(scorer: str) -> dict[str, float]:
    """Spearman in the paper (with its own scorer, RUBER's), and SCARCE's on Gupta's replies."""
    paper = {
        f"{BLEU}, {GOLD}": 0.153,
        f"{BLEU}, {PAPER}": 0.334,
        f"{BLEU}, {Variant(None, False, True)}": 0.297,
        f"{BERTSCORE}, {GOLD}": 0.257,
        f"{BERTSCORE}, {PAPER}": 0.403,
        scorer: 0.332,
    }
    return paper | {f"{BLEU_4}, {SCARCE}": 0.357, f"{PRECISION}, {SCARCE}": 0.407}


# ---- scores ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Parts:
    """What the rows are made from: specs of a metric without references and of a rater, an encoder, and the pool."""

    scorer: str
    rater: str
    encoder: str
    pairs: Path
    index: Path

    @classmethod
    def of(cls, data: Path, work: Path, scorer: str, rater: str = "", encoder: str = ENCODER) -> Parts:
        """With the pool and index in the work folder, which are made if missing; caches are there too."""
        os.environ.setdefault("INTERLOQ_CACHE", str(work / "cache"))
        os.environ.setdefault(VECTORS, str(work / "vectors.sqlite"))
        pairs = pool(data, work)
        return cls(scorer, rater or f"by({scorer})", encoder, pairs, pool_index(pairs))

    @property
    def name(self) -> str:
        """The scorer's name in the tables."""
        return self.scorer.partition("(")[0]

    def metrics(self) -> dict[str, str]:
        """Specs of the metrics that read references and weights."""
        return {BLEU: f"delta_bleu(order=2,{TOKENIZER})", BERTSCORE: self._bertscore("f")}

    def peers(self) -> dict[str, str]:
        """Specs of the metrics that SCARCE was measured with. Most replies share no four words with a reference."""
        return {BLEU_4: f"bleu(order=4,smoothing='add-k',k=1,{TOKENIZER})", PRECISION: self._bertscore("p")}

    def _bertscore(self, part: str) -> str:
        return f"bertscore(model={self.encoder!r},weights='outside',part={part!r})"


def all_scores(data: Path, sets: Mapping[str, RatedSet], parts: Parts) -> dict[str, dict[str, Floats]]:
    """Scores of every row of each set; only Gupta's replies have SCARCE's references."""
    random, found = with_random(sets, parts.pairs), dict[str, dict[str, Floats]]()
    for name, own in sets.items():
        print(name, file=sys.stderr)
        given = {GOLD: own.samples, RANDOM: random[name]} | variants(own.samples, parts)
        scores = scored({"": own.samples}, {parts.name: parts.scorer}, parts) | scored(given, parts.metrics(), parts)
        if name == GUPTA:
            scores |= peer_scores(with_scarce(data, own.samples), given, parts)
        found[name] = scores | joined(parts.name, scores)
    return found


def peer_scores(scarce: Sequence[Sample], given: Mapping[str, Sequence[Sample]], parts: Parts) -> dict[str, Floats]:
    """Scores with SCARCE's references, and those of its metrics with ours; BLEU-4 ignores weights, so without them."""
    plain = {label: given[label] for label in (GOLD, RANDOM, *(str(v) for v in VARIANTS if not v.weigh))}
    return scored({SCARCE: scarce}, parts.metrics(), parts) | scored(plain | {SCARCE: scarce}, parts.peers(), parts)


def default_bertscore(data: Path, parts: Parts) -> dict[str, Floats]:
    """Scores of the sets with references by `vbertscore` with its default fields."""
    metrics, found = {BERTSCORE: parts.metrics()[BERTSCORE]}, {}
    for name, own in sets_with_references(data).items():
        rated = rated_references(own.samples, parts.index, parts.rater)[EIGHT.parrot]
        given = [select(sample, best=EIGHT.best, weigh=EIGHT.weigh) for sample in rated]
        found[name] = scored({str(EIGHT): given}, metrics, parts)[f"{BERTSCORE}, {EIGHT}"]
    return found


def variants(samples: Sequence[Sample], parts: Parts) -> dict[str, Sequence[Sample]]:
    """The samples with the references of each variant."""
    rated = rated_references(samples, parts.index, parts.rater)
    return {str(v): [select(s, best=v.best, weigh=v.weigh) for s in rated[v.parrot]] for v in VARIANTS}


def scored(given: Mapping[str, Sequence[Sample]], metrics: Mapping[str, str], parts: Parts) -> dict[str, Floats]:
    """Scores of each metric with each kind of references, kept for the next run with the same pool and rater."""
    keep = parts.pairs.parent / "scores" / fingerprint(file_fingerprint(parts.pairs), parts.rater)
    found: dict[str, Floats] = {}
    for label, samples in given.items():
        print(f"  {label}", file=sys.stderr)
        named = {f"{metric}, {label}" if label else metric: spec for metric, spec in metrics.items()}
        found |= {name: score(samples) for name, score in scorers(named, keep=keep).items()}
    return found


def joined(scorer: str, scores: Mapping[str, Floats]) -> dict[str, Floats]:
    """The scorer and metrics with references joined as `ruber` does: means of scores scaled to 0…1."""
    rows = [f"{metric}, {label}" for metric in (BLEU, BERTSCORE) for label in (GOLD, RATED, FIVE, EIGHT)]
    return {f"{scorer} & {row}": (_scaled(scores[scorer]) + _scaled(scores[row])) / 2 for row in rows}


def _scaled(scores: Floats) -> Floats:
    return normalise(scores, float(np.nanmin(scores)), float(np.nanmax(scores)))


def gold_shares(scores: Mapping[str, Floats]) -> dict[str, float]:
    """Share of replies whose BERTScore with more references is that with gold replies alone."""
    gold = scores[f"{BERTSCORE}, {GOLD}"]
    labels = [RANDOM, *map(str, (UNRATED, EIGHT, RATED))]
    return {label: float(np.isclose(scores[f"{BERTSCORE}, {label}"], gold, atol=1e-6).mean()) for label in labels}


# ---- the rater -------------------------------------------------------------------------------------------------------


def rater_preferences(items: Sequence[Mapping[str, Any]], rater: str, resamples: int) -> Iterator[Row]:
    """AUC of the rater on DailyDialog++: good replies against others, given the context and one more good reply."""
    kinds, made = ("positive", *KINDS), create(rater, kind="rater")
    replies = [{kind: item[f"{kind}_responses"][kind == "positive" :] for kind in kinds} for item in items]
    asked = [
        Sample(str(i), item["context"], "-", [item["positive_responses"][0], *map(_candidate, _flat(found))])
        for i, (item, found) in enumerate(zip(items, replies, strict=True))
    ]
    weights = (iter([r.weight for r in sample.references[1:]]) for sample in made.rate(asked))
    rated = [
        {kind: [next(own) for _ in found[kind]] for kind in kinds} for own, found in zip(weights, replies, strict=True)
    ]
    for kind in KINDS:
        yield Row(rater, "DailyDialog++", f"auc {kind}", *auc_of(rated, kind, resamples), len(items))


def _candidate(text: str) -> Reference:
    return Reference(text, source="retrieved:candidate")


def _flat(found: Mapping[str, Sequence[str]]) -> list[str]:
    return [text for texts in found.values() for text in texts]


# ---- the whole -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tables:
    """Everything that is printed."""

    rows: list[Row]
    verdicts: list[Verdict]
    choices: list[Choice]
    gold_shares: dict[str, dict[str, float]]
    rater: list[Row]


def run(data: Path, parts: Parts, resamples: int, *, rated: bool = False) -> Tables:
    """Score every set and judge the claims; without DailyDialog++ if `rated`."""
    sets = sets_with_references(data)
    scores = all_scores(data, sets, parts)
    rows = [row for name, own in sets.items() for row in correlations(name, own, scores[name], resamples)]
    judged = [v for claim in claims(parts.name) for v in verdicts(claim, sets, scores, resamples)]
    found = [choice for metric in (BLEU, BERTSCORE) for choice in choices(metric, sets, scores)]
    preferred = [] if rated else list(rater_preferences(plusplus(data), parts.rater, resamples))
    shares = {name: gold_shares(own) for name, own in scores.items()}
    return Tables(rows, judged, found, shares, preferred)


def _print(tables: Tables, scorer: str) -> None:
    names, rows = list(dict.fromkeys(row.set for row in tables.rows)), dict[str, dict[str, str]]()
    for row in tables.rows:
        if row.measure == "spearman":
            rows.setdefault(row.scorer, {})[row.set] = f"{row.value:.3f}"
    _print_table("Spearman with people", [*names, "published"], _with_published(rows, published(scorer)))
    judged: dict[str, dict[str, str]] = {}
    for v in tables.verdicts:
        shown = f"{v.text} {v.difference:+.3f} [{v.ci[0]:+.3f}, {v.ci[1]:+.3f}]"
        judged.setdefault(f"{v.claim.text}: {v.claim.higher} > {v.claim.lower}", {})[v.set] = shown
    _print_table("Claims", [*names, MEAN], judged)
    for metric in (BLEU, BERTSCORE):
        found = [choice for choice in tables.choices if choice.metric == metric]
        cells = {c.set: {"chosen": str(c.variant), **_figures(c)} for c in found}
        _print_table(f"{metric}: chosen on the other sets", ["chosen", *_figures(found[0])], cells)
        print(f"same in every choice: {agreed(found) or 'nothing'}")
    shares = {name: {k: f"{v:.2f}" for k, v in own.items()} for name, own in tables.gold_shares.items()}
    _print_table("Share of replies with the BERTScore of gold replies alone", list(shares[names[0]]), shares)
    if preferred := {row.measure.replace("_", " "): {"value": cell(row)} for row in tables.rater}:
        _print_table("The rater on DailyDialog++", ["value"], preferred)


def _with_published(rows: Mapping[str, dict[str, str]], known: Mapping[str, float]) -> dict[str, dict[str, str]]:
    return {name: row | ({"published": f"{known[name]:.3f}"} if name in known else {}) for name, row in rows.items()}


def _figures(choice: Choice) -> dict[str, str]:
    return {name: f"{getattr(choice, name):.3f}" for name in ("value", "papers", "highest")}


def _print_table(title: str, columns: Sequence[str], rows: Mapping[str, Mapping[str, str]]) -> None:
    """A Markdown table, as it is in the documentation."""
    print(f"\n{title}\n\n| | {' | '.join(columns)} |\n|{'---|' * (len(columns) + 1)}")
    for name, row in rows.items():
        print(f"| {name} | {' | '.join(row.get(column, '') for column in columns)} |")


def published_parts(args: argparse.Namespace) -> Published:
    """The parts of the papers' tables from the options."""
    if not (args.vectors and args.rater):
        raise InputError("--as-published needs --vectors and --rater", hint="train them: interloq train vectors, rater")
    return Published(
        vectors=args.vectors,
        rater=args.rater,
        unreferenced=args.scorer,
        encoder=args.encoder,
        retriever=args.retriever or f"dense(vectors={args.vectors!r})",
        bert_rater=args.bert_rater,
        references_ratings=args.references_ratings,
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Claims about references from logs, on public rated replies.")
    parser.add_argument("--data", metavar="FOLDER", help="data folder (default: $INTERLOQ_DATA)")
    parser.add_argument("--work", default="out/vbleu", metavar="FOLDER", help="pool, index and scores (out/vbleu)")
    parser.add_argument("--scorer", default="relevance(model='ready')", metavar="SPEC", help="reference-free metric")
    parser.add_argument("--rater", default="", metavar="SPEC", help="rater of references (default: by(SCORER))")
    parser.add_argument("--encoder", default=ENCODER, metavar="NAME", help=f"encoder of BERTScore ({ENCODER})")
    parser.add_argument("--rated", action="store_true", help="skip DailyDialog++")
    parser.add_argument("--as-published", action="store_true", help="the papers' tables with the papers' parts")
    parser.add_argument("--vectors", default="", metavar="FOLDER", help="GloVe vectors, for --as-published")
    parser.add_argument("--retriever", default="", metavar="SPEC", help="for --as-published (dense on the vectors)")
    parser.add_argument("--bert-rater", default="", metavar="SPEC", help="rater of vBERTScore, for --as-published")
    parser.add_argument("--references-ratings", default="", metavar="FILE", help="people's ratings, for ΔBLEU")
    parser.add_argument("--resamples", type=int, default=1000, metavar="N", help="for intervals (1000)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    args = parser.parse_args(argv)
    try:
        data = data_folder(args.data)
        if args.as_published:
            published = published_tables(data, Path(args.work), published_parts(args), args.resamples)
            show = print_json if args.json else print_published
            show(published)
            return 0
        parts = Parts.of(data, Path(args.work), args.scorer, args.rater, args.encoder)
        tables = run(data, parts, args.resamples, rated=args.rated)
    except InterloqError as error:
        print(f"vbleu_tables: {error}", file=sys.stderr)
        return 2
    if args.json:
        print_json(tables)
    else:
        _print(tables, parts.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
