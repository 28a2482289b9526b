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
resamples of dialogues; models are trained with each seed, and figures are means over seeds. `--statistics` prints Table
3 alone, and needs no network. The exit code is 0, or 2 if data or predictions are missing.

What decides **003/50** (the task beats metrics without references) and **003/51** (personal models beat the private
majority) is accuracy on BYU chit-chat, the only log here with valid ends and users with 30 conversations, as in the
paper; the best metric is chosen on the test part itself, in favour of the metrics. The other logs decide nothing.
`dcp_frozen.py` decides 003/52 and 003/57, and `dcp_profiles.py` 003/53.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from dcp_baselines import AM, AM_FM, FAREWELL, FED, FM, Networks, add_networks, scores, without_farewell
from dcp_data import CONTINUITY, RATED, SYSTEMS, label, prepare_continuity, prepare_rated
from human_system import ja_networks, rated_arms, rated_tables
from interlocutor_arms import DATA, Arm, Floats, Plan, arguments, exit_code, run_stages
from interlocutor_figures import Basis, Ints, dialogue_of, numbered, plain_finding, share
from rated_sets import data_folder
from results import Cell, Finding, PublishedTable, report_measured

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
DECIDING = "byu"  # the log whose findings decide
PRIVATE = "private_majority"
STATISTICS = {  # Table 3: fact, and the published figures of train, dev and test
    "turns per dialogue": ("turns_per_dialogue", (3.4, 3.4, 3.3)),
    "characters per turn": ("characters_per_turn", (31.0, 31.1, 30.6)),
    "characters per dialogue": ("characters_per_dialogue", (106.5, 106.8, 101.2)),
    "replied": ("replied", (1_779_895, 100_899, 1_088_970)),
    "not replied": ("not_replied", (1_244_530, 70_135, 832_377)),
}
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
    """Print the tables and findings of each log, and write results.json."""
    path = Path(args.out) / "results.json"
    results: dict[str, Any] = read_json(path) if path.exists() else {}
    findings: list[Finding] = []
    published: list[PublishedTable] = []
    figures: dict[str, dict[str, list[Cell]]] = {}
    for name in args.only:
        own = [arm for arm in rows if arm.samples == name]
        if name == RATED:
            rated = rated_tables(args, plan, own)
            results[name] = rated.plain
            findings += rated.findings
            published.append(rated.table)
        else:
            log = log_tables(name, plan, own, networks_of(name, args), args.resamples)
            results[name] = log.plain
            findings += log.findings
            figures[name] = log.cells
        write_json(path, results | {name: results[name] | {"trainings": plan.facts(own)}})
        results = read_json(path)
    if figures:
        published.append(table_4(figures))
    report_measured(args.measured, findings, published, args.started)


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


@dataclass(frozen=True, slots=True)
class LogTables:
    """What is printed and kept about one log."""

    plain: dict[str, Any]  # for results.json
    findings: Sequence[Finding]
    cells: dict[str, list[Cell]]  # row of Table 4 → accuracy and macro-F1


def log_tables(name: str, plan: Plan, rows: Sequence[Arm], networks: Networks, resamples: int) -> LogTables:
    """Print Table 4 for one log."""
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
    findings = make_findings(name, correct, numbered(map(dialogue_of, parts["test"])), resamples)
    plain = {
        "log": log.title,
        "deviation": log.deviation,
        "warning": warning,
        "rows": {title: _plain(own) for title, own in by_title.items()}
        | {title: {"not available": why} for title, why in networks.missing().items()},
        "groups": [_group(group) for group in table.groups],
        "findings": [plain_finding(finding) for finding in findings],
    }
    return LogTables(plain, findings, {title: _cells(title, own) for title, own in by_title.items()})


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


def _cells(title: str, rows: Sequence[ContinuityRow]) -> list[Cell]:
    """Return accuracy and macro-F1 as cells of Table 4."""
    cells = []
    for measure, published in zip(MEASURES[:2], PUBLISHED.get(title, (None, None)), strict=True):
        found = _mean(rows, measure)
        known = not np.isnan(found["value"])
        ci = (found["low"], found["high"])
        cells.append(Cell(published=published, ours=found["value"] if known else None, ci=ci if known else None))
    return cells


def table_4(figures: Mapping[str, Mapping[str, Sequence[Cell]]]) -> PublishedTable:
    """Return Table 4 with a pair of columns per log."""
    rows: dict[str, Sequence[Cell]] = {}
    for title in dict.fromkeys(title for own in figures.values() for title in (*own, *PUBLISHED)):
        missing = [Cell(published=value) for value in PUBLISHED.get(title, (None, None))]
        cells: list[Cell] = []
        for own in figures.values():
            cells += own.get(title, missing)
        rows[title] = cells
    titles = [CONTINUITY[name].title for name in figures]
    return PublishedTable(
        item="003/43",
        title="Table 4: who answers",
        data=", ".join(titles),
        columns=[f"{title}, {measure}" for title in titles for measure in ("accuracy", "macro-F1")],
        rows=rows,
        note="Rows without a published figure are ours. BERT-NSP: no BERT with a next-sentence head was at hand.",
    )


def table_3(folder: Path, names: Sequence[str]) -> PublishedTable:
    """Return the statistics of prepared logs (Table 3)."""
    columns: list[str] = []
    rows: dict[str, list[Cell]] = {name: [] for name in STATISTICS}
    for name in names:
        parts = read_json(folder / name / FACTS)["parts"]
        for number, part in enumerate(("train", "dev", "test")):
            columns.append(f"{CONTINUITY[name].title}, {part}")
            for row, (fact, published) in STATISTICS.items():
                rows[row].append(Cell(published=published[number], ours=float(parts[part][fact])))
    return PublishedTable(
        item="003/22",
        title="Table 3: statistics of the parts",
        data=", ".join(CONTINUITY[name].title for name in names),
        columns=columns,
        rows=dict(rows),
        note="The paper's data are Japanese posts on X. Characters are those of the language of the log. Dialogues per "
        "part: those with a labelled reply in it.",
    )


def statistics(args: argparse.Namespace) -> None:
    """Print Table 3; logs that are not prepared yet are prepared first."""
    names = [name for name in args.only if name in CONTINUITY]
    folder = Path(args.out) / DATA
    for name in names:
        if not (folder / name / FACTS).exists():
            prepare_continuity(name, data_folder(args.data), folder)
    table = table_3(folder, names)
    lines = []
    for name, cells in table.rows.items():
        lines.append([name, *(f"{cell.ours:,.1f} ({cell.published:,.1f})" for cell in cells)])
    print_table(f"{table.title}, and the published figures", ["", *table.columns], lines)
    report_measured(args.measured, [], [table], args.started)


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


# ---- findings --------------------------------------------------------------------------------------------------------


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


def make_findings(name: str, correct: Mapping[str, Floats], dialogue: Ints, resamples: int) -> list[Finding]:
    """Return the claims of the paper, and whether models beat the turn index and farewell words.

    The baseline that the model without users must beat is the best of the metrics on the test part itself.
    """
    accuracy = {title: share(own, dialogue, resamples) for title, own in correct.items()}
    metrics = [title for title in accuracy if title not in (*PERSONAL.values(), *BASELINES, FAREWELL)]
    best = max(metrics, key=lambda title: accuracy[title].value)
    basis = Basis(CONTINUITY[name].title, int(dialogue.max()) + 1, "dialogues", "accuracy")
    plain, token, profile, both = PERSONAL.values()
    comparisons = [
        ("003/50", plain, best, PUBLISHED[plain][0] - PUBLISHED["BERT-NSP"][0]),
        ("003/51", token, PRIVATE, PUBLISHED[token][0] - PUBLISHED[PRIVATE][0]),
        ("003/51", both, PRIVATE, PUBLISHED[both][0] - PUBLISHED[PRIVATE][0]),
        ("003/52", token, plain, PUBLISHED[token][0] - PUBLISHED[plain][0]),
        ("003/53", profile, plain, PUBLISHED[profile][0] - PUBLISHED[plain][0]),
        ("003/53", both, plain, PUBLISHED[both][0] - PUBLISHED[plain][0]),
    ]
    findings = []
    for item, one, other, published in comparisons:
        decides = name == DECIDING and (item, one) in (("003/50", plain), ("003/51", token))
        findings.append(basis.above(item, accuracy, one, other, published, decides=decides))
    for simple in ("turn_index", FAREWELL):
        findings += [basis.above("003/50", accuracy, title, simple) for title in PERSONAL.values()]
    return findings


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
    parser.add_argument("--statistics", action="store_true", help="only print Table 3; needs no network")
    args = parser.parse_args(argv)
    if args.statistics:
        return exit_code("dcp", lambda: statistics(args))
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
