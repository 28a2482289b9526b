"""Dialogue continuity prediction: Tables 4 and 5 of Tsuta et al. (2024) on public logs.

    python recipes/dcp.py --data DATA --out OUT --lm FOLDER

Table 4: does the person addressed answer? Models with nothing about the user, a token, a profile, or both; the paper's
baselines; and the turn index and farewell words, which any claim must beat. `dcp_data.py` describes the logs and how
they differ from the paper's; `dcp_baselines.py` the baselines. A probability predicts an answer from .5 on; other
scores from the threshold at which the share of predicted answers in dev is the share of answers, as in the paper.

Table 5 (`human_system.py`): correlation with the interlocutors' own ratings, for human and for system partners.

`--only byu,irc,reddit,rated` selects logs (rated: Table 5). `--train` needs only OUT/data; `--baselines` scores the
baselines, which `--tables` does too if they are missing. With `--adapt EPOCHS`, the baselines' networks are first
pretrained further on each log, as in the paper; give it with `--baselines` and with `--tables`. Intervals are from
resamples of dialogues; models are trained with each seed, and figures are means over seeds. The exit code is 0, or 2 if
data or predictions are missing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from dcp_baselines import AM, AM_FM, FAREWELL, FED, FM, Networks, add_networks, scores, without_farewell
from dcp_data import CONTINUITY, RATED, SYSTEMS, label, prepare_continuity, prepare_rated
from human_system import ja_networks, rated_arms, rated_tables
from interlocutor_arms import DATA, Arm, Floats, Plan, arguments, exit_code, run_stages
from interlocutor_figures import Claim, Ints, above, dialogue_of, numbered, print_claims, share
from rated_sets import data_folder

from interloq import Sample, Score
from interloq.agree.continuity import evaluate_continuity
from interloq.agree.continuity_table import ContinuityRow, ContinuityTable, UserGroup
from interloq.data.files.opening import read_json, write_json
from interloq.scorers.interlocutor.baselines import BASELINES
from interloq.scorers.interlocutor.continuity_labels import CONTINUED
from interloq.scorers.interlocutor.samples_file import FACTS
from interloq.scorers.interlocutor.settings import ENCODER, TRAINING, InterlocutorReading, Target
from interloq.terminal.console import print_line, print_table

TOKENS = {"byu": 256, "irc": 128, "reddit": 256}
PERSONAL = {"none": "DCP", "token": "DCP + user token", "profile": "DCP + profile", "both": "DCP + both"}
USER_SAMPLES = 3
PUBLISHED = {  # accuracy and macro-F1
    "global_majority": (0.564, 0.361),
    "private_majority": (0.683, 0.659),
    "BERT-NSP": (0.548, 0.444),
    "BERT-RUBER": (0.541, 0.488),
    "Deep-AM": (0.507, 0.495),
    "Deep-FM": (0.543, 0.533),
    "Deep-AM-FM": (0.541, 0.531),
    "FED": (0.460, 0.446),
    "DCP": (0.668, 0.653),
    "DCP + user token": (0.751, 0.744),
    "DCP + profile": (0.746, 0.738),
    "DCP + both": (0.751, 0.744),
}
SCORES = (AM, FM, AM_FM, FED)  # not probabilities
MEASURES = ("accuracy", "macro_f1", "auc")


def arms(only: Sequence[str], *, quick: bool = False, all_training: bool = False) -> list[Arm]:
    """Four models per log, and those of Table 5."""
    found = [
        Arm(
            f"{name}-{personal}",
            title,
            name,
            InterlocutorReading(personal=personal, tokens=64 if quick else TOKENS[name], user_samples=USER_SAMPLES),  # type: ignore[arg-type]
            Target(aspect=CONTINUED, balance=all_training),
            TRAINING,
        )
        for name in only
        if name in CONTINUITY
        for personal, title in PERSONAL.items()
    ]
    return found + (rated_arms(quick=quick) if RATED in only else [])


def prepare(args: argparse.Namespace) -> None:
    """Write the samples of all logs."""
    data, folder = data_folder(args.data), Path(args.out) / DATA
    for name in args.only:
        if name == RATED:
            prepare_rated(data, folder, quick=args.quick)
        else:
            prepare_continuity(name, data, folder, quick=args.quick, all_training=args.all_training)


def tables(args: argparse.Namespace, plan: Plan, rows: Sequence[Arm]) -> None:
    """Print the tables and verdicts of each log, and write results.json."""
    path = Path(args.out) / "results.json"
    results: dict[str, Any] = read_json(path) if path.exists() else {}
    for name in args.only:
        own = [arm for arm in rows if arm.samples == name]
        if name == RATED:
            results[name] = rated_tables(args, plan, own)
        else:
            results[name] = log_tables(name, plan, own, networks_of(name, args), args.resamples)
        write_json(path, results | {name: results[name] | {"trainings": plan.facts(own)}})
        results = read_json(path)


def networks_of(name: str, args: argparse.Namespace) -> Networks:
    """Networks of the baselines of a log."""
    if name == RATED:
        return ja_networks(args)
    own = (args.baseline_encoder, args.nsp, args.relevance, args.lm)
    return Networks(*own, adapt=args.adapt, device=args.device)


def baselines(args: argparse.Namespace) -> None:
    """Score all baselines, so that tables need no network."""
    for name in args.only:
        parts = ("dev", "test", SYSTEMS) if name == RATED else ("dev", "test")
        scores(name, Path(args.out), networks_of(name, args), parts)


def log_tables(name: str, plan: Plan, rows: Sequence[Arm], networks: Networks, resamples: int) -> dict[str, Any]:
    """Table 4 on one log."""
    parts = {part: plan.samples(rows[0], part) for part in ("train", "dev", "test")}
    predicted = {arm.title: [found.by_part for found in plan.stored(arm)] for arm in rows}
    predicted |= {title: [own] for title, own in scores(name, plan.out, networks).items()}
    predicted[FAREWELL] = [{part: without_farewell(parts[part]) for part in ("dev", "test")}]
    table = evaluate_continuity(
        _scores(predicted, parts),
        parts["test"],
        train=parts["train"],
        dev=parts["dev"],
        lower_is_better=False,
        n_bootstrap=resamples,
    )
    by_title = _by_title(table)
    log = CONTINUITY[name]
    print_line(f"{log.title}: {log.deviation}")
    if warning := read_json(plan.out / DATA / name / FACTS)["cut_ends"]:
        print_line(f"warning: {warning}: these ends are not valid labels")
    print_rows(f"{len(parts['test']):,} replies, {table.replied:,} answered", by_title, networks.missing())
    print_groups(table)
    correct = correctness(by_title, predicted, parts)
    claims = claims_of(correct, numbered(map(dialogue_of, parts["test"])), resamples)
    print_claims(f"Claims on {log.title} (accuracy)", claims)
    return {
        "log": log.title,
        "deviation": log.deviation,
        "warning": warning,
        "rows": {title: _plain(own) for title, own in by_title.items()}
        | {title: {"not available": why} for title, why in networks.missing().items()},
        "groups": [_group(group) for group in table.groups],
        "claims": [claim.plain() for claim in claims],
    }


def _scores(
    predicted: Mapping[str, Sequence[Mapping[str, Floats]]], parts: Mapping[str, list[Sample]]
) -> Iterator[Score]:
    """Scores of all models and baselines; seeds are numbered in the name."""
    for title, models in predicted.items():
        for seed, by_part in enumerate(models):
            for part in ("dev", "test"):
                for sample, value in zip(parts[part], by_part[part], strict=True):
                    known = None if np.isnan(value) else float(value)
                    yield Score(sample.id, f"{title}#{seed}", known, "unscored" if known is None else "", sample.system)


def _by_title(table: ContinuityTable) -> dict[str, list[ContinuityRow]]:
    """Title → one row per seed, models last; scores that are not probabilities are cut by the reply ratio."""
    found: dict[str, dict[str, ContinuityRow]] = {}
    for row in table.rows:
        own = found.setdefault(row.metric.partition("#")[0], {})
        wanted = "reply-ratio" if row.metric.partition("#")[0] in SCORES else "half"
        if row.metric not in own or row.threshold == wanted:
            own[row.metric] = row
    order = [
        *BASELINES,
        *(title for title in found if title not in (*BASELINES, *PERSONAL.values())),
        *PERSONAL.values(),
    ]
    return {title: list(found[title].values()) for title in order if title in found}


def print_rows(title: str, rows: Mapping[str, Sequence[ContinuityRow]], missing: Mapping[str, str]) -> None:
    """Print one row per model or baseline: means over seeds, with the mean ends of their intervals."""
    table = []
    for name, own in rows.items():
        table.append([name, *(_shown(own, measure) for measure in MEASURES), _published(name)])
    table += [[name, "not available", "", "", _published(name)] for name in missing]
    print_table(title, ["", "accuracy", "macro-F1", "AUC", "published"], table)
    for name, reason in missing.items():
        print_line(f"{name} is not available: {reason}")
    print_line()


def _shown(rows: Sequence[ContinuityRow], measure: str) -> str:
    found = _mean(rows, measure)
    return "n/a" if np.isnan(found["value"]) else f"{found['value']:.3f} [{found['low']:.3f}, {found['high']:.3f}]"


def _mean(rows: Sequence[ContinuityRow], measure: str) -> dict[str, float]:
    nothing = (float("nan"), float("nan"))
    found = [(row.measures[measure].value, *(row.measures[measure].ci or nothing)) for row in rows]
    return dict(zip(("value", "low", "high"), map(float, np.mean(found, axis=0)), strict=True))


def _published(title: str) -> str:
    return " / ".join(f"{value:.3f}" for value in PUBLISHED.get(title, ()))


def print_groups(table: ContinuityTable) -> None:
    """Print accuracy by groups of users with few, some and many training samples (Figure 3)."""
    if not table.groups:
        return
    names = [f"{group.smallest}–{group.largest} ({group.users} users)" for group in table.groups]
    by_group = [_by_title(replace(table, rows=group.rows)) for group in table.groups]
    titles = [*PERSONAL.values(), "private_majority", "turn_index"]
    rows = []
    for title in titles:
        accuracies = [_mean(group[title], "accuracy")["value"] for group in by_group]
        rows.append([title, *(f"{accuracy:.3f}" for accuracy in accuracies)])
    print_table("accuracy by the users' number of training samples", ["", *names], rows)
    print_line()


def _plain(rows: Sequence[ContinuityRow]) -> dict[str, Any]:
    return {measure: _mean(rows, measure) for measure in MEASURES} | {
        "threshold": rows[0].threshold,
        "seeds": len(rows),
    }


def _group(group: UserGroup) -> dict[str, Any]:
    facts = {name: getattr(group, name) for name in ("users", "smallest", "largest", "mean", "samples")}
    found: dict[str, list[float]] = {}
    for row in group.rows:
        found.setdefault(f"{row.metric.partition('#')[0]} ({row.threshold})", []).append(row.measures["accuracy"].value)
    return facts | {"accuracy": {title: float(np.mean(values)) for title, values in found.items()}}


# ---- claims ----------------------------------------------------------------------------------------------------------


def correctness(
    rows: Mapping[str, Sequence[ContinuityRow]],
    predicted: Mapping[str, Sequence[Mapping[str, Floats]]],
    parts: Mapping[str, Sequence[Sample]],
) -> dict[str, Floats]:
    """Share of the seeds whose decision on each test sample is right."""
    labels = np.array([label(sample) == 1 for sample in parts["test"]])
    right = {}
    for title, models in predicted.items():
        by_seed = []
        for row, model in zip(rows[title], models, strict=True):
            by_seed.append((model["test"] >= row.cut) == labels)
        right[title] = np.mean(by_seed, axis=0)
    for name, baseline in BASELINES.items():
        scores = np.array([score.value for score in baseline(parts["train"], parts["test"])])
        right[name] = ((scores >= rows[name][0].cut) == labels).astype(np.float64)
    return right


def claims_of(correct: Mapping[str, Floats], dialogue: Ints, resamples: int) -> list[Claim]:
    """The claims of the paper, and that models beat the turn index and farewell words.

    The baseline that the model without users must beat is the best of the metrics on the test part itself.
    """
    accuracy = {title: share(own, dialogue, resamples) for title, own in correct.items()}
    metrics = [title for title in accuracy if title not in (*PERSONAL.values(), *BASELINES, FAREWELL)]
    best = max(metrics, key=lambda title: accuracy[title].value)
    plain, token, profile, both = PERSONAL.values()
    pairs = [(plain, best, PUBLISHED[plain][0] - PUBLISHED["BERT-NSP"][0])]
    pairs += [(own, plain, PUBLISHED[own][0] - PUBLISHED[plain][0]) for own in (token, profile, both)]
    pairs += [(own, "private_majority", PUBLISHED[own][0] - PUBLISHED["private_majority"][0]) for own in (token, both)]
    ours = [above(accuracy, own, simple) for simple in ("turn_index", FAREWELL) for own in PERSONAL.values()]
    return [*(above(accuracy, *pair) for pair in pairs), *ours]


def main(argv: Sequence[str] | None = None) -> int:
    parser = arguments("Dialogue continuity prediction on public logs (Tsuta et al., 2024, Tables 4 and 5).", ENCODER)
    every = (*CONTINUITY, RATED)
    parser.add_argument("--only", type=_names(every), default=every, metavar="NAME,…", help=f"({','.join(every)})")
    parser.add_argument(
        "--ja-encoder", default="ja_relevance", metavar="FOLDER", help="Japanese network to start from (ja_relevance)"
    )
    parser.add_argument(
        "--baseline-encoder", default=ENCODER, metavar="FOLDER", help=f"for Deep-AM and BERT-RUBER ({ENCODER})"
    )
    add_networks(parser)
    parser.add_argument(
        "--all-training", action="store_true", help="train on every reply, with balanced losses: use another --out"
    )
    parser.add_argument("--baselines", action="store_true", help="only score the baselines")
    args = parser.parse_args(argv)
    if args.baselines:
        return exit_code("dcp", lambda: baselines(args))
    return run_stages("dcp", args, arms(args.only, quick=args.quick, all_training=args.all_training), prepare, tables)


def _names(known: Sequence[str]) -> Callable[[str], list[str]]:
    def names(text: str) -> list[str]:
        if unknown := set(text.split(",")) - set(known):
            raise argparse.ArgumentTypeError(f"unknown {', '.join(sorted(unknown))}; known: {', '.join(known)}")
        return text.split(",")

    return names


if __name__ == "__main__":
    sys.exit(main())
