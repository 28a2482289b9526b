"""Do references from logs, rated by a network, agree with people better than gold replies? Every claim, set by set.

Tsuta, Yoshinaga and Toyoda (2020, 2023) extend one reference with replies from logs and weigh them by a rater: υBLEU
and vBERTScore, alone and joined with a scorer without references (RUBER). Their 300 Japanese replies and 16 million
Twitter pairs are not public. Here the replies are those of GRADE, USR and Gupta et al., the pool is that of
reference_pool.py, and the rater is made from `relevance`. As in the papers, the original reply is the only gold reply.

    python recipes/vbleu_tables.py --data FOLDER --work FOLDER --rated --measured recipes/measured/vbleu_tables.json

The tables: correlations of BLEU-2 and BERTScore with gold replies alone, with 15 random and with 15 retrieved replies,
weighted or not, all or the best n, with and without the utterance itself (the parrot); each claim; the variant that
would be chosen for each set on the other sets; SCARCE's references on Gupta's replies; how often gold replies alone
decide the score; and whether the rater prefers good replies in DailyDialog++ (`--rated` skips its 16,000 replies).

The finding that decides a claim was chosen before any of these figures was seen: the mean difference of Spearman's ρ
over all six sets with the whole pool, contexts resampled within each set, in the papers' own form (the parrot kept, all
15 replies, weights outside). All sets count alike because none was chosen for its manner, and the pool is whole because
a user does not know which of their logs suit a test. The claim of 2020 about the lowest annotator is decided on the two
sets of USR, the only ones whose ratings name their annotators. `--manner` searches only logs of each set's own manner
instead; its findings decide nothing.

`--rater` and `--scorer` take any rater and any reference-free metric, such as `gru(model='rater')` and
`ruber_unreferenced(model='ruber')`. Pool, index and scores are kept in the work folder, and the same command resumes.
`--vectors` names GloVe vectors for the row of RUBER's referenced scorer in Table 4. The exit code is 0, or 2 if data or
models are missing.

    python recipes/vbleu_tables.py --data FOLDER --work FOLDER --as-published --vectors glove \
        --rater "gru(model='rater',mode='signed_max')" --scorer "ruber_unreferenced(model='ruber')"

prints the papers' tables with the papers' parts instead: GloVe and the Bi-GRU, RUBER's scorers, ΔBLEU rated by people,
and the highest and lowest correlation with a single annotator (see vbleu_published.py).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rated_sets import RatedSet, data_folder
from reference_claims import (
    EIGHT,
    EXTENDED,
    FIVE,
    MEAN,
    PAPER,
    RATED,
    UNRATED,
    VARIANTS,
    Choice,
    Claim,
    Verdict,
    agreed,
    choices,
    verdicts,
)
from reference_pool import (
    GUPTA,
    MANNER,
    pairs_of,
    pool,
    pool_index,
    rated_references,
    sets_with_one_reference,
    sets_with_references,
    with_random,
    with_scarce,
)
from relevance import ENCODER, KINDS, Floats, Row, auc_of, cell, correlations, plusplus, scorers
from results import Finding, PublishedTable, add_measured_option, report_measured
from vbleu_annotators import lowest_annotator, table_4
from vbleu_published import (
    GOLD_BERTSCORE,
    GOLD_BLEU,
    REFERENCED,
    V_BERTSCORE,
    V_BLEU,
    Published,
    print_published,
    published_tables,
)

from interloq import InputError, InterloqError, Reference, Sample
from interloq.metrics.combined.ruber import normalise
from interloq.models.vector_cache import VARIABLE as VECTORS
from interloq.rate.rater import select
from interloq.registry import create
from interloq.signature import fingerprint
from interloq.terminal.console import print_json

BLEU, BERTSCORE = "BLEU-2", "BERTScore"
BLEU_4, PRECISION = "BLEU-4", "BERTScore precision"  # as SCARCE is measured
TOKENIZER = "tokenizer='13a(lowercase=True)'"
V_BLEU_SPEC = f"delta_bleu(order=2,{TOKENIZER})"
# most replies share no four words with a reference
PEER_BLEU = f"bleu(order=4,smoothing='add-k',k=1,{TOKENIZER})"
GOLD, RANDOM, SCARCE = "gold", "15 random", "SCARCE"


def claims(scorer: str) -> Iterator[Claim]:
    """Findings of the papers, and ours: retrieved > random, best five > all, the default of `vbertscore`.

    Published differences are those of Tables 3 and 4 of 2023, averaged judgments, with the same retrieval on both
    sides: BM25 on the utterance for extended references, GloVe for υBLEU, BERT for vBERTScore.
    """
    bleu, bertscore, paper, extended = f"{BLEU}, {GOLD}", f"{BERTSCORE}, {GOLD}", f", {PAPER}", f", {EXTENDED}"
    yield Claim("extended > gold", BLEU + extended, bleu, ("000/73",), 0.083, True)
    yield Claim("extended > gold, no parrot", f"{BLEU}, {UNRATED}", bleu, ("000/73",))
    yield Claim("extended > gold", BERTSCORE + extended, bertscore, ("000/73",))
    yield Claim("rated > gold", BLEU + paper, bleu, ("000/77",), 0.181, True)
    yield Claim("rated > gold", BERTSCORE + paper, bertscore, ("000/77", "000/80", "000/81"), 0.146, True)
    yield Claim("rated > unrated", BLEU + paper, BLEU + extended, ("000/78",), 0.037, True)
    yield Claim("rated > unrated", BERTSCORE + paper, BERTSCORE + extended, ("000/78",))
    yield Claim("vBERTScore > υBLEU", BERTSCORE + paper, BLEU + paper, ("000/80",), 0.069, True)
    yield Claim("default vBERTScore > gold", f"{BERTSCORE}, {EIGHT}", bertscore, ("000/81",))
    yield Claim("default > the papers' vBERTScore", f"{BERTSCORE}, {EIGHT}", BERTSCORE + paper, ("000/78",))
    for name in (BLEU, BERTSCORE):
        yield Claim("control: retrieved > random", f"{name}, {UNRATED}", f"{name}, {RANDOM}", ("000/73",))
        yield Claim("control: random > gold", f"{name}, {RANDOM}", f"{name}, {GOLD}", ("000/73",))
        yield Claim("weighted > unweighted, no parrot", f"{name}, {RATED}", f"{name}, {UNRATED}")
        yield Claim("best five > all, unweighted", f"{name}, {FIVE}", f"{name}, {UNRATED}")
        yield Claim("joined > without scorer", f"{scorer} & {name}, {RATED}", f"{name}, {RATED}")
        yield Claim("joined > scorer", f"{scorer} & {name}, {RATED}", scorer)


def published(scorer: str) -> dict[str, float]:
    """Spearman in the paper (with its own scorer, RUBER's), and SCARCE's on Gupta's replies."""
    paper = {
        f"{BLEU}, {GOLD}": 0.153,
        f"{BLEU}, {PAPER}": 0.334,
        f"{BLEU}, {EXTENDED}": 0.236,
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
    manner: bool = False  # search only logs of the manner of each set

    @classmethod
    def of(
        cls, data: Path, work: Path, scorer: str, rater: str = "", encoder: str = ENCODER, *, manner: bool = False
    ) -> Parts:
        """With the pool in the work folder, which is made if missing; caches are there too."""
        os.environ.setdefault("INTERLOQ_CACHE", str(work / "cache"))
        os.environ.setdefault(VECTORS, str(work / "vectors.sqlite"))
        return cls(scorer, rater or f"by({scorer})", encoder, pool(data, work), manner)

    @property
    def name(self) -> str:
        """The scorer's name in the tables."""
        return self.scorer.partition("(")[0]

    @property
    def where(self) -> str:
        """What is searched, for findings."""
        return "logs of the tested manner" if self.manner else "whole pool"

    @property
    def work(self) -> Path:
        """The work folder."""
        return self.pairs.parent

    def log(self, name: str) -> Path:
        """The pairs that are searched for a set."""
        return pairs_of(self.pairs, MANNER[name]) if self.manner else self.pairs

    def bertscore(self, part: str = "f") -> str:
        """The spec of BERTScore that reads weights."""
        return f"bertscore(model={self.encoder!r},weights='outside',part={part!r})"


def all_scores(data: Path, sets: Mapping[str, RatedSet], parts: Parts) -> dict[str, dict[str, Floats]]:
    """Scores of every row of each set; only Gupta's replies have SCARCE's references."""
    random, found = random_replies(sets, parts), dict[str, dict[str, Floats]]()
    for name, own in sets.items():
        print(name, file=sys.stderr)
        given = {GOLD: own.samples, RANDOM: random[name]} | variants(own.samples, parts.log(name), parts.rater)
        scores = scored(own.samples, {parts.name: parts.scorer}, parts.work / "scores")
        scores |= {f"{BLEU}, {label}": row for label, row in bleu_scores(given).items()}
        matched = best_matches(given, parts.bertscore(), parts.work / "similarities")
        scores |= {f"{BERTSCORE}, {label}": row for label, row in matched.items()}
        if name == GUPTA:
            scores |= peer_scores(data, parts)
        found[name] = scores | joined(parts.name, scores)
    return found


def random_replies(sets: Mapping[str, RatedSet], parts: Parts) -> dict[str, Sequence[Sample]]:
    """Samples of each set with random replies from the pairs that are searched for it."""
    logs = {name: parts.log(name) for name in sets}
    found: dict[str, Sequence[Sample]] = {}
    for log in dict.fromkeys(logs.values()):
        found |= with_random({name: own for name, own in sets.items() if logs[name] == log}, log)
    return found


def peer_scores(data: Path, parts: Parts) -> dict[str, Floats]:
    """Gupta's replies with their four gold replies, with ours besides, and with SCARCE's; BLEU-4 ignores weights."""
    four = sets_with_references(data)[GUPTA].samples
    rated = variants(four, parts.log(GUPTA), parts.rater)
    given = {"4 gold": four, SCARCE: with_scarce(data, four)}
    given |= {f"4 gold and {label}": rated[label] for label in map(str, (UNRATED, EIGHT))}
    keep = parts.work / "similarities"
    rows = {BLEU: bleu_scores(given), BLEU_4: bleu_scores(given, PEER_BLEU)}
    rows |= {BERTSCORE: best_matches(given, parts.bertscore(), keep)}
    rows |= {PRECISION: best_matches(given, parts.bertscore("p"), keep)}
    return {f"{metric}, {label}": row for metric, found in rows.items() for label, row in found.items()}


def default_bertscore(data: Path, parts: Parts) -> dict[str, Floats]:
    """Scores of the sets with references by `vbertscore` with its default fields."""
    found = {}
    for name, own in sets_with_references(data).items():
        given = {str(EIGHT): variants(own.samples, parts.log(name), parts.rater)[str(EIGHT)]}
        found[name] = best_matches(given, parts.bertscore(), parts.work / "similarities")[str(EIGHT)]
    return found


def variants(samples: Sequence[Sample], log: Path, rater: str) -> dict[str, Sequence[Sample]]:
    """The samples with the references of each variant."""
    rated = rated_references(samples, pool_index(log), rater)
    return {str(v): [select(s, best=v.best, weigh=v.weigh) for s in rated[v.parrot]] for v in VARIANTS}


def scored(samples: Sequence[Sample], metrics: Mapping[str, str], keep: Path | None = None) -> dict[str, Floats]:
    """Scores by name; those of metrics that read no references may be kept for the next run."""
    return {name: score(samples) for name, score in scorers(metrics, keep=keep).items()}


def bleu_scores(given: Mapping[str, Sequence[Sample]], spec: str = V_BLEU_SPEC) -> dict[str, Floats]:
    """Scores by BLEU with each kind of references."""
    return {label: scored(samples, {label: spec})[label] for label, samples in given.items()}


def best_matches(given: Mapping[str, Sequence[Sample]], spec: str, keep: Path) -> dict[str, Floats]:
    """Scores by BERTScore with each kind of references; a reply is compared with each text once, which takes long."""
    texts_of: dict[str, dict[str, None]] = {}
    for samples in given.values():
        for sample in samples:
            texts_of.setdefault(sample.response, {}).update(dict.fromkeys(r.text for r in sample.references))
    similarity = _similarities(texts_of, spec, keep)
    found = {}
    for label, samples in given.items():
        found[label] = np.array([_best_match(sample, similarity[sample.response]) for sample in samples])
    return found


def _similarities(texts_of: Mapping[str, Mapping[str, None]], spec: str, keep: Path) -> dict[str, dict[str, float]]:
    """The score of each reply against each of its texts, kept for the next run."""
    pairs = [Sample(str(i), ["-"], reply, list(texts)) for i, (reply, texts) in enumerate(texts_of.items())]
    flat = [text for reply, texts in texts_of.items() for text in (reply, *texts, "\0")]
    path = keep / f"{fingerprint(spec, *flat)}.npy"
    if not path.exists():
        keep.mkdir(parents=True, exist_ok=True)
        np.save(path, create(spec).by_reference(pairs))
    values = iter(np.load(path).tolist())
    return {reply: {text: next(values) for text in texts} for reply, texts in texts_of.items()}


def _best_match(sample: Sample, similarity: Mapping[str, float]) -> float:
    """What `bertscore` with weights gives: NaN without a positive weight."""
    if max(reference.weight for reference in sample.references) <= 0:
        return float("nan")
    return max(reference.weight * similarity[reference.text] for reference in sample.references)


def joined(scorer: str, scores: Mapping[str, Floats]) -> dict[str, Floats]:
    """The scorer and metrics with references joined as `ruber` does: means of scores scaled to 0…1."""
    rows = [f"{metric}, {label}" for metric in (BLEU, BERTSCORE) for label in (GOLD, PAPER, RATED, FIVE, EIGHT)]
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
    """Everything that is printed, and the findings with the papers' Table 4."""

    rows: list[Row]
    verdicts: list[Verdict]
    choices: list[Choice]
    gold_shares: dict[str, dict[str, float]]
    rater: list[Row]
    findings: list[Finding]
    published: list[PublishedTable]


def run(data: Path, parts: Parts, resamples: int, *, rated: bool = False, vectors: str = "") -> Tables:
    """Score every set and judge the claims; without DailyDialog++ if `rated`."""
    sets = sets_with_one_reference(data)
    scores = all_scores(data, sets, parts)
    rows = [row for name, own in sets.items() for row in correlations(name, own, scores[name], 0)]
    judged = [v for claim in claims(parts.name) for v in verdicts(claim, sets, scores, resamples)]
    found = [choice for metric in (BLEU, BERTSCORE) for choice in choices(metric, sets, scores)]
    preferred = [] if rated else list(rater_preferences(plusplus(data), parts.rater, resamples))
    shares = {name: gold_shares(own) for name, own in scores.items()}
    findings = find_verdicts(judged, parts)
    findings.append(lowest_annotator(sets, scores, (f"{BLEU}, {PAPER}", f"{BLEU}, {EXTENDED}"), resamples, parts.where))
    if not parts.manner:
        findings[-1] = replace(findings[-1], decides=True)
    tables = [table_4(sets, papers_rows(sets, scores, vectors), resamples, parts.where)]
    return Tables(rows, judged, found, shares, preferred, findings, tables)


def find_verdicts(judged: Sequence[Verdict], parts: Parts) -> list[Finding]:
    """One finding for each verdict and row of docs/papers.md; only the mean of all sets with the whole pool decides."""
    findings = []
    for verdict in judged:
        decides = verdict.claim.decides and verdict.set == MEAN and not parts.manner
        data = f"{verdict.set} of six sets" if verdict.set == MEAN else verdict.set
        where = f"{data}, {parts.where}"
        findings += [verdict.finding(item, where, decides=decides) for item in verdict.claim.items]
    return findings


def papers_rows(
    sets: Mapping[str, RatedSet], scores: Mapping[str, Mapping[str, Floats]], vectors: str
) -> dict[str, dict[str, Floats]]:
    """The rows of the papers' Table 4 that there are, under their names there."""
    rows = {
        GOLD_BLEU: f"{BLEU}, {GOLD}",
        GOLD_BERTSCORE: f"{BERTSCORE}, {GOLD}",
        V_BLEU: f"{BLEU}, {PAPER}",
        V_BERTSCORE: f"{BERTSCORE}, {PAPER}",
    }
    found = {name: {title: scores[name][row] for title, row in rows.items()} for name in sets}
    if vectors:
        for name, own in sets.items():
            found[name] |= scored(own.samples, {REFERENCED: f"ruber_referenced(vectors={vectors!r})"})
    return found


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
    parser.add_argument("--manner", action="store_true", help="search only logs of the manner of each set")
    parser.add_argument("--vectors", default="", metavar="FOLDER", help="GloVe vectors, for RUBER and --as-published")
    parser.add_argument("--retriever", default="", metavar="SPEC", help="for --as-published (dense on the vectors)")
    parser.add_argument("--bert-rater", default="", metavar="SPEC", help="rater of vBERTScore, for --as-published")
    parser.add_argument("--references-ratings", default="", metavar="FILE", help="people's ratings, for ΔBLEU")
    parser.add_argument("--resamples", type=int, default=1000, metavar="N", help="for intervals (1000)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    add_measured_option(parser)
    args, started = parser.parse_args(argv), time.monotonic()
    try:
        data = data_folder(args.data)
        if args.as_published:
            published = published_tables(data, Path(args.work), published_parts(args), args.resamples)
            show = print_json if args.json else print_published
            show(published)
            return 0
        parts = Parts.of(data, Path(args.work), args.scorer, args.rater, args.encoder, manner=args.manner)
        tables = run(data, parts, args.resamples, rated=args.rated, vectors=args.vectors)
    except InterloqError as error:
        print(f"vbleu_tables: {error}", file=sys.stderr)
        return 2
    if args.json:
        print_json(tables)
        return 0
    _print(tables, parts.name)
    report_measured(args.measured, tables.findings, tables.published, started)
    return 0


if __name__ == "__main__":
    sys.exit(main())
