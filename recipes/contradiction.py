"""Make the ready weights of `contradiction`, and measure them.

    python recipes/contradiction.py pairs --data DATA -o PAIRS.jsonl
    python recipes/contradiction.py train --pairs PAIRS.jsonl -o TRAINED
    python recipes/contradiction.py measure TRAINED --data DATA --pairs PAIRS.jsonl -o FIGURES.json
    python recipes/contradiction.py install TRAINED --figures FIGURES.json

`pairs` makes pairs of an earlier turn and a reply from permissive logs (see contradiction_pairs.py), without dialogues
that share a longer turn with a test set. `train` needs only the pairs and the encoder, so it can run on another
machine: minutes on a GPU, hours without (`--most N` uses some of the pairs). `measure` computes the figures of
the card: held-out pairs, the contradictions of a public robustness test, DailyDialog++, and the false alarms on true
replies of held-out dialogues; `--against SPEC` adds other metrics. `install` writes weights, facts and card to the
package, or to `--to FOLDER`. Nothing is chosen by the measured figures. Finished stages are not repeated.

DATA (or INTERLOQ_DATA) holds `logs/` and the published sets, unpacked or as .tar.gz. The exit code is 0, or 2 when data
or weights are missing or refused.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from contradiction_pairs import LOGS, make_pairs, normalise, read_talks
from contradiction_tests import TestSet
from numpy.typing import NDArray
from rated_sets import data_folder
from ready_logs import PERMISSIVE

from interloq import InputError, InterloqError, Sample
from interloq.data.files.durable import write_atomically
from interloq.data.files.opening import lines, replacing, write_json
from interloq.learn.calibrate import CALIBRATION
from interloq.learn.job import train
from interloq.learn.learning_curve import CURVE
from interloq.learn.ready import CONTRADICTION, READY
from interloq.learn.settings import LowRank
from interloq.learn.start import Start
from interloq.learn.store import FACTS, WEIGHTS, load_model, read_facts
from interloq.metrics.metric import as_metric
from interloq.scorers.contradiction.job import KIND, ContradictionJob, LabelledPair
from interloq.scorers.contradiction.model import ContradictionScorer
from interloq.scorers.contradiction.settings import ENCODER, TRAINING, ContradictionSettings
from interloq.scorers.contradiction.turn_pairs import TurnPair, earlier_turns
from interloq.signature import fingerprint
from interloq.statistics.binary import measure_auc
from interloq.terminal.console import print_stderr

RANK = 40
MOST = 0
SHORT = 45  # words of a pair, if some of the pairs are used
LARGEST = 4_000_000  # bytes of the weights
TEST_PAIRS = 3_000  # held-out pairs that are measured
DIALOGUES, TRUE_REPLIES, CONTEXTS = 400, 800, 100  # samples, and contexts of further sets, that are measured
SPEAKERS = ("any", "same")
Scorer = Callable[[Sequence[Sample]], NDArray[np.float64]]
RESAMPLES = 1_000
CARD = "README.md"
ALARMS, BOUNDS = "true replies", (0.1, 0.25, 0.5)


# ---- pairs -----------------------------------------------------------------------------------------------------------


def pairs(args: argparse.Namespace) -> None:
    from contradiction_tests import test_texts

    output = Path(args.output)
    if output.exists():
        print_stderr(f"{output} is complete")
        return
    data = data_folder(args.data)
    excluded = frozenset(normalise(text) for text in test_texts(data)) - {"-"}
    talks = list(read_talks(data, excluded))
    counts: Counter[tuple[str, int]] = Counter()
    with replacing(output) as file:
        for made in make_pairs(talks, args.seed):
            counts[made.part, made.label] += 1
            file.write(orjson.dumps({**asdict(made.pair), "label": made.label, "kind": made.kind, "part": made.part}))
            file.write(b"\n")
    print_stderr(f"{len(talks):,} dialogues")
    for (part, label), number in sorted(counts.items()):
        print_stderr(f"{part}: {number:,} pairs with label {label}")


def hash_pairs(path: Path, most: int) -> str:
    """Return a hash of the pairs in a file, the same for a compressed one, and of how many are used."""
    source = fingerprint(*(line for _, line in lines(path)))
    return fingerprint(source, str(most)) if most else source


def read_pairs(path: Path, parts: Sequence[str]) -> Iterator[tuple[TurnPair, dict[str, Any]]]:
    """Yield pairs of some parts, each with its label, kind and part."""
    for _, line in lines(path):
        made = json.loads(line)
        if made["part"] in parts:
            facts = {name: made.pop(name) for name in ("label", "kind", "part")}
            yield TurnPair(**made), facts


# ---- training --------------------------------------------------------------------------------------------------------


def trained(args: argparse.Namespace) -> None:
    path = Path(args.pairs)
    if not path.is_file():
        raise InputError("no pairs", hint="make them first: contradiction.py pairs", where=str(path))
    source = hash_pairs(path, args.most)

    def labelled() -> Iterator[LabelledPair]:
        for pair, facts in choose(list(read_pairs(path, ("train", "dev"))), args.most):
            yield LabelledPair(pair, bool(facts["label"]), facts["part"] == "dev")

    job = ContradictionJob(
        encoder=args.encoder,
        pairs=labelled,
        settings=ContradictionSettings(batch=args.batch, seed=args.seed),
        training=replace(
            TRAINING, epochs=args.epochs, learning_rate=args.learning_rate, threads=args.threads, seed=args.seed
        ),
        low_rank=LowRank(low_rank=args.low_rank),
        source=source,
    )
    facts = train(job, args.output, device=args.device, report=print_stderr)
    print_stderr(f"dev loss {facts['best']['dev_loss']:.4f}, temperature {facts['temperature']:.3f}")


def choose(pairs: list[tuple[TurnPair, dict[str, Any]]], most: int) -> list[tuple[TurnPair, dict[str, Any]]]:
    """Return at most this many pairs, drawn at random from the shorter ones; 0 means all."""
    if not most:
        return pairs
    shorter = [made for made in pairs if len(" ".join(made[0].texts()).split()) <= SHORT]
    return random.Random(0).sample(shorter, min(most, len(shorter)))  # noqa: S311


# ---- figures ---------------------------------------------------------------------------------------------------------


def measure(args: argparse.Namespace) -> None:
    from contradiction_tests import (
        changed_replies,
        held_out_talks,
        made_dialogues,
        plusplus_set,
        robustness_set,
        test_texts,
        true_replies,
    )

    data, path = data_folder(args.data), Path(args.output)
    known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    folder = Path(args.trained)
    weights = read_facts(folder, kind=KIND)["weights"]
    excluded = frozenset(normalise(text) for text in test_texts(data)) - {"-"}
    talks = held_out_talks(data, excluded)
    damage = ("contradiction-original", "contradiction-perturbed")
    sets = [
        robustness_set(data, *damage),
        robustness_set(data, *damage, chosen="earlier turn negated"),
        robustness_set(data, *damage, chosen="name or phrase exchanged"),
        made_dialogues(talks, DIALOGUES, args.seed),
        changed_replies(talks, DIALOGUES, args.seed),
        *(plusplus_set(data, kind, CONTEXTS) for kind in ("adversarial_negative", "random_negative")),
        robustness_set(data, "entailment", "nonentailment", most=CONTEXTS),
    ]
    chances = KnownChances(folder)
    scorers: dict[str, Scorer] = {}
    for speaker in SPEAKERS:
        scorers[f"{speaker} {weights}"] = partial(chances.scores, speaker=speaker)
    for spec in args.against:
        scorers[spec] = partial(score, spec)
    for name, scorer in scorers.items():
        rows = known.setdefault(name, {})
        if ALARMS not in rows and name not in args.against:
            rows[ALARMS] = count_alarms(scorer(true_replies(talks, TRUE_REPLIES, args.seed)))
            print_stderr(f"{name}: {ALARMS}: {rows[ALARMS]}")
        for test in sets:
            if test.name not in rows:
                rows[test.name] = measure_set(scorer(test.samples), test)
                print_stderr(f"{name}: {test.name}: {rows[test.name]}")
                write_json(path, known)
    rows = known.setdefault(f"pairs {weights}", {})
    if not rows and args.pairs:
        rows.update(measure_pairs(folder, Path(args.pairs)))
        print_stderr(str(rows))
    write_json(path, known)


class KnownChances:
    """P(contradiction) of pairs, each computed once: sets share replies, and `same` reads turns of `any`."""

    def __init__(self, folder: Path) -> None:
        self.scorer = ContradictionScorer.load(folder)
        self.known: dict[tuple[str, str, str], float] = {}

    def scores(self, samples: Sequence[Sample], speaker: str) -> NDArray[np.float64]:
        """Return what `contradiction(speaker=…)` gives; NaN if unscored."""
        turns = [[pair for _, pair in earlier_turns(sample, same_only=speaker == "same")] for sample in samples]
        new = {pair.texts(): pair for pairs in turns for pair in pairs if pair.texts() not in self.known}
        if new:
            self.known.update(zip(new, self.scorer.chances(list(new.values())).tolist(), strict=True))
        scores = np.full(len(samples), np.nan)
        for i, pairs in enumerate(turns):
            if pairs:
                scores[i] = 1 - max(self.known[pair.texts()] for pair in pairs)
        return scores


def score(spec: str, samples: Sequence[Sample]) -> NDArray[np.float64]:
    """Return the scores of samples by another metric; NaN if unscored."""
    metric = as_metric(spec)
    return np.asarray(metric.value(metric.stats(samples)), dtype=np.float64)


def measure_set(scores: NDArray[np.float64], test: TestSet) -> dict[str, Any]:
    """Return the AUC of good against bad replies with its interval, and how many alarms there are at one half."""
    scored = ~np.isnan(scores)
    bad = np.array(test.bad)[scored]
    clusters = np.unique(np.array(test.clusters)[scored], return_inverse=True)[1]
    estimate = measure_auc(-scores[scored], bad, clusters, RESAMPLES, 0)
    return {
        "auc": estimate.value,
        "ci": estimate.ci,
        "n": int(scored.sum()),
        "unscored": int((~scored).sum()),
        "alarms_bad": float(np.mean(scores[scored][bad] < 0.5)),
        "alarms_good": float(np.mean(scores[scored][~bad] < 0.5)),
    }


def count_alarms(scores: NDArray[np.float64]) -> dict[str, Any]:
    """Return the share of true replies with a score below one half, and below others."""
    scores = scores[~np.isnan(scores)]
    return {"n": len(scores)} | {str(bound): float(np.mean(scores < bound)) for bound in BOUNDS}


def measure_pairs(folder: Path, path: Path) -> dict[str, Any]:
    """Return the share of alarms at one half by kind of held-out pairs, and the AUC over all of them."""
    held_out = list(read_pairs(path, ("test",)))
    made = random.Random(0).sample(held_out, min(TEST_PAIRS, len(held_out)))  # noqa: S311
    chances = ContradictionScorer.load(folder).chances([pair for pair, _ in made])
    labels = np.array([bool(facts["label"]) for _, facts in made])
    kinds = np.array([f"{facts['kind']}, {facts['label']}" for _, facts in made])
    figures: dict[str, Any] = {"auc": measure_auc(chances, labels, np.arange(len(labels)), RESAMPLES, 0).value}
    for kind in sorted(set(kinds.tolist())):
        figures[kind] = {"n": int((kinds == kind).sum()), "alarms": float(np.mean(chances[kinds == kind] > 0.5))}
    return figures


# ---- installation ----------------------------------------------------------------------------------------------------


def install(args: argparse.Namespace) -> None:
    folder, target = Path(args.trained), Path(args.to or CONTRADICTION[READY])
    facts = check_facts(folder, Path(args.pairs), args.most)
    figures = json.loads(Path(args.figures).read_text(encoding="utf-8"))
    text = write_card(facts, figures, count_pairs(Path(args.pairs), args.most), args.most)
    target.mkdir(parents=True, exist_ok=True)
    for name in (CALIBRATION, CURVE, WEIGHTS):
        write_atomically(target / name, (folder / name).read_bytes())
    write_json(target / FACTS, facts)
    write_atomically(target / CARD, text.encode())
    print_stderr(f"installed in {target}")


def check_facts(folder: Path, path: Path, most: int) -> dict[str, Any]:
    """Return the facts of weights that may be in the package, with the encoder named as users have it."""
    facts, _ = load_model(folder, kind=KIND)
    if "base" not in facts:
        raise InputError("the scorer has no low-rank updates", hint="train it with --low-rank", where=str(folder))
    if facts["source"] != hash_pairs(path, most):
        what = "the scorer was not trained on these pairs"
        raise InputError(what, hint="name those it was trained on, and --most as in training", where=str(path))
    base = Start.of(ENCODER).describe()
    for part in ("weights", "config"):
        if facts["base"][part] != base[part]:
            raise InputError(
                f"the scorer's updates belong to an encoder with {part} {facts['base'][part]}, not {base[part]}",
                hint=f"train it from {ENCODER} {base['version']}",
                where=str(folder),
            )
    if (size := (folder / WEIGHTS).stat().st_size) > LARGEST:
        raise InputError(f"{WEIGHTS} has {size:,} bytes", hint=f"lower --low-rank: at most {LARGEST:,} are allowed")
    return facts | {"base": base}


def count_pairs(path: Path, most: int) -> Counter[tuple[str, int]]:
    """Return the number of training pairs of each kind and label."""
    chosen = choose(list(read_pairs(path, ("train", "dev"))), most)
    return Counter((facts["kind"], facts["label"]) for _, facts in chosen if facts["part"] == "train")


def write_card(facts: Mapping[str, Any], figures: Mapping[str, Any], kinds: Counter[tuple[str, int]], most: int) -> str:
    """Return the text with sources, licences, commands, seed, hashes and figures."""
    base, best = facts["base"], facts["best"]
    options = f" --most {most}" if most else ""
    sources = "\n".join(f"| {log} | {PERMISSIVE[log]} |" for log in LOGS)
    made = "\n".join(f"| {kind} | {'yes' if label else 'no'} | {n:,} |" for (kind, label), n in sorted(kinds.items()))
    return f"""# Ready weights of `contradiction`

Low-rank updates and a head for the encoder {base["name"]} {base["version"]} (Apache-2.0), made by
`recipes/contradiction.py`. `contradiction(model='ready')` uses them. What the scorer measures, and when to trust it, is
in docs/metrics/contradiction.md.

- rank of the updates: {facts["low_rank"]["low_rank"]}
- hash of the weights: {facts["weights"]}; of the encoder's: {base["weights"]}
- seed: {facts["signature"].partition("seed=")[2].partition(")")[0]}
- source (hash of the pairs): {facts["source"]}
- temperature: {facts["temperature"]:.3f}; dev loss {best["dev_loss"]:.4f} after epoch {best["epoch"]}; {best["device"]}

## Sources

Only logs whose licences allow it, without dialogues that share a turn of six words or more with a test set:
GRADE, USR, FED, Gupta et al.'s multi-reference DailyDialog, DailyDialog++ (test), Spot the Bot, Predictive Engagement
and the robustness test. The hand-written statements are in recipes/contradiction_facts.py.

| log | licence |
|---|---|
{sources}

| kind of pair | contradiction | training pairs |
|---|---|---|
{made}

The texts themselves are not in the package. The logs are English; so is the scorer.

## Commands

```text
python recipes/contradiction.py pairs --data DATA -o PAIRS.jsonl
python recipes/contradiction.py train --pairs PAIRS.jsonl -o TRAINED{options}
python recipes/contradiction.py measure TRAINED --data DATA --pairs PAIRS.jsonl -o FIGURES.json
python recipes/contradiction.py install TRAINED --pairs PAIRS.jsonl --figures FIGURES.json{options}
```

Settings: `{facts["signature"]}`

## Figures

AUC, with 95 % intervals from {RESAMPLES} resamples. Nothing was chosen by these labels.

{tabulate(figures, str(facts["weights"]))}
"""


def tabulate(figures: Mapping[str, Any], weights: str) -> str:
    """Return the table of AUC by test set, and below it the false alarms and the held-out pairs."""
    columns = [name for name in figures if name.endswith(weights) and not name.startswith("pairs")]
    columns += [name for name in figures if not re.search(r" [0-9a-f]{16}$", name)]
    heads = []
    for name in columns:
        speaker = name.partition(" ")[0]
        heads.append(f"`speaker='{speaker}'`" if speaker in SPEAKERS else f"`{name}`")
    lines_of_table = ["| set | n | " + " | ".join(heads) + " |", "|---" * (2 + len(heads)) + "|"]
    for row in figures[columns[0]]:
        if row == ALARMS:
            continue
        cells = [str(figures[columns[0]][row]["n"])]
        for name in columns:
            found = figures[name].get(row)
            cells.append("–" if found is None else f"{found['auc']:.3f} [{found['ci'][0]:.2f}, {found['ci'][1]:.2f}]")
        lines_of_table.append(f"| {row} | " + " | ".join(cells) + " |")
    text = "\n".join(lines_of_table) + "\n\n| false alarms on true replies of held-out dialogues | n | below .1 | "
    text += "below .25 | below .5 |\n" + "|---" * 5 + "|\n"
    for name, head in zip(columns, heads, strict=True):
        if alarms := figures[name].get(ALARMS):
            shares = " | ".join(f"{alarms[str(bound)]:.1%}" for bound in BOUNDS)
            text += f"| {head} | {alarms['n']:,} | {shares} |\n"
    pairs = figures.get(f"pairs {weights}")
    if pairs:
        text += f"\nAUC on held-out pairs: {pairs['auc']:.3f}. By kind:\n\n"
        text += "| kind | contradiction | n | P > .5 |\n|---|---|---|---|\n"
        for kind, found in pairs.items():
            if kind != "auc":
                name, _, label = kind.rpartition(", ")
                yes = "yes" if label == "1" else "no"
                text += f"| {name} | {yes} | {found['n']:,} | {found['alarms']:.1%} |\n"
    return text.rstrip()


# ---- the command -----------------------------------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    stages = parser.add_subparsers(dest="stage", required=True, metavar="STAGE")
    first = stages.add_parser("pairs", help="make pairs from logs")
    first.add_argument("-o", "--output", required=True, metavar="FILE", help="the file to write")
    first.add_argument("--seed", type=int, default=0, metavar="N", help="(0)")
    second = stages.add_parser("train", help="train on the pairs")
    second.add_argument("-o", "--output", required=True, metavar="FOLDER", help="the folder to write, or to resume in")
    second.add_argument("--encoder", default=ENCODER, metavar="NAME", help=f"({ENCODER})")
    second.add_argument("--low-rank", type=int, default=RANK, metavar="N", help=f"rank of the updates ({RANK})")
    second.add_argument("--epochs", type=int, default=TRAINING.epochs, metavar="N", help=f"({TRAINING.epochs})")
    second.add_argument(
        "--learning-rate", type=float, default=TRAINING.learning_rate, metavar="X", help=f"({TRAINING.learning_rate})"
    )
    batch = ContradictionSettings().batch
    second.add_argument("--batch", type=int, default=batch, metavar="N", help=f"pairs per batch ({batch})")
    second.add_argument("--threads", type=int, default=TRAINING.threads, metavar="N", help=f"({TRAINING.threads})")
    second.add_argument("--seed", type=int, default=0, metavar="N", help="(0)")
    second.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    third = stages.add_parser("measure", help="compute the figures of the card")
    third.add_argument("trained", metavar="TRAINED", help="the folder of the trained scorer")
    third.add_argument("-o", "--output", required=True, metavar="FILE", help="the file of figures; known ones are kept")
    third.add_argument("--pairs", metavar="FILE", help="what the stage `pairs` wrote, for the figures of pairs")
    third.add_argument("--against", action="append", default=[], metavar="SPEC", help="another metric to measure")
    third.add_argument("--seed", type=int, default=0, metavar="N", help="of the made dialogues (0)")
    fourth = stages.add_parser("install", help="put trained weights and their card into the package")
    fourth.add_argument("trained", metavar="TRAINED", help="the folder of the trained scorer")
    fourth.add_argument("--figures", required=True, metavar="FILE", help="what the stage `measure` wrote")
    fourth.add_argument("--to", metavar="FOLDER", help="instead of the package")
    for stage in (first, third):
        stage.add_argument("--data", metavar="FOLDER", help="logs and published sets (default: $INTERLOQ_DATA)")
    for stage in (second, fourth):
        stage.add_argument("--most", type=int, default=MOST, metavar="N", help=f"pairs to use, or 0 for all ({MOST:,})")
        stage.add_argument("--pairs", required=True, metavar="FILE", help="what the stage `pairs` wrote")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(argv)
    try:
        {"pairs": pairs, "train": trained, "measure": measure, "install": install}[args.stage](args)
    except InterloqError as error:
        print(f"contradiction: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
