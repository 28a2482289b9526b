"""`interloq report`: scores and samples in, one HTML file out."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interloq.cli.mapping import add_map
from interloq.cli.output import BadLines, add_common, print_json, say
from interloq.cli.paths import InputPath, OutputPath
from interloq.cli.progress import progress
from interloq.cli.rank import add_direction

if TYPE_CHECKING:
    from interloq.meta.dialogue_scores import Extremes
    from interloq.meta.rank import Ranking
    from interloq.meta.table import MetaTable
    from interloq.records import Dialogue, Key, Sample, Score
    from interloq.report.build import Evidence
    from interloq.report.page import Page, Source

EXAMPLES = """\
  interloq report scores.jsonl --samples samples.jsonl -o report.html
  interloq report bleu.jsonl chrf.jsonl --samples samples.jsonl -o report.html --title 'June release'
  interloq report scores.jsonl --samples samples.jsonl -o report.html --aspect engaging --worst 20
  interloq report scores.jsonl --samples rated.jsonl --model rater -o report.html
  interloq report scores.jsonl --samples samples.jsonl --dialogues dialogues.jsonl -o report.html"""
TITLE = "Interloq report"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "scores",
        nargs="+",
        type=InputPath,
        metavar="SCORES",
        help="what `interloq score -o` wrote, one file or several",
    )
    parser.add_argument(
        "--samples",
        required=True,
        type=InputPath,
        metavar="FILE",
        help="the samples that were scored, with their ratings",
    )
    parser.add_argument(
        "-o", "--output", type=OutputPath, required=True, metavar="FILE", help="the HTML file to write; - for a pipe"
    )
    parser.add_argument("--aspect", default="overall", help="the aspect people rated (default overall)")
    parser.add_argument("--title", default=TITLE, help=f"heading of the report (default {TITLE!r})")
    parser.add_argument(
        "--bootstrap",
        type=int,
        default=1000,
        metavar="N",
        help="resamples (default 1000; 0: no intervals, no tests)",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the resamples (default 0)")
    parser.add_argument(
        "--worst", type=int, default=10, metavar="N", help="disagreements to show a metric (default 10)"
    )
    parser.add_argument(
        "--model",
        action="append",
        default=[],
        type=InputPath,
        metavar="FOLDER",
        help="show how this model was trained; repeat for more",
    )
    parser.add_argument(
        "--dialogues",
        action="append",
        default=[],
        type=InputPath,
        metavar="FILE",
        help="the dialogues the samples were made from: adds the ranking and dialogues to read; repeat for more",
    )
    parser.add_argument(
        "--read", type=int, default=2, metavar="N", help="best and worst dialogues of a system to show (default 2)"
    )
    add_direction(parser)
    add_map(parser)
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    from interloq.data.files import replacing
    from interloq.report.build import build
    from interloq.report.render import render

    _check(args)
    with progress("report", quiet=args.quiet):
        evidence = _evidence(args)
        page = build(
            evidence,
            title=args.title,
            aspect=args.aspect,
            command=_command(args),
            sources=_sources(args),
            date=_date(),
        )
        with replacing(args.output) as file:
            file.write(render(page).encode())
    _say(args, evidence, page)
    return 0


def _check(args: argparse.Namespace) -> None:
    from interloq.errors import InputError

    if "-" in (args.samples, *args.scores, *args.dialogues):
        raise InputError("a report cannot be made from a pipe", cure="write the scores and samples to files")
    for name in ("bootstrap", "worst", "read"):
        if getattr(args, name) < 0:
            raise InputError(f"--{name} must not be negative, got {getattr(args, name)}")


def _evidence(args: argparse.Namespace) -> Evidence:
    from interloq.data.jsonl import header
    from interloq.meta.disagreements import disagreements
    from interloq.meta.matrix import spearman_matrix
    from interloq.metrics import metric_names
    from interloq.report.build import Evidence, columns, identified
    from interloq.report.curves import read_model
    from interloq.report.heat_map import PEOPLE
    from interloq.report.scores import read_notes, read_results

    samples: list[Sample] = _read(args, args.samples, "samples")
    scores = identified([score for path in args.scores for score in _read(args, path, "scores")], samples)
    scored, judged = columns(scores), _judgments(samples, args.aspect)
    people = {PEOPLE: judged} if judged else {}
    dialogues, rankings, chosen, unranked = _ranked(args, scores)
    return Evidence(
        samples=samples,
        scores=scores,
        results=[result for path in args.scores for result in read_results(header(path), path)],
        notes=read_notes(map(header, args.scores)),
        judgments=judged,
        table=_table(args, scores, samples) if judged else None,
        matrix=spearman_matrix({**scored, **people}),
        disagreements={
            metric: disagreements(
                column,
                judged,
                worst=args.worst,
                lower_is_better=metric_names.direction(metric, args.lower_is_better) == "lower",
            )
            for metric, column in scored.items()
        },
        models=[read_model(Path(path), name) for path, name in zip(args.model, _names(args)[1], strict=True)],
        rankings=rankings,
        dialogues=dialogues,
        extremes=chosen,
        unranked=unranked,
    )


def _ranked(
    args: argparse.Namespace, scores: Sequence[Score]
) -> tuple[list[Dialogue], list[Ranking], dict[str, dict[str, Extremes]], dict[str, str]]:
    """The dialogues, one ranking per metric, the dialogues to read, and the metrics that nothing can be ranked by."""
    from interloq.data.jsonl import header
    from interloq.meta.dialogue_scores import LARGEST, TOO_LARGE, dialogue_scores, extremes, metrics_of
    from interloq.meta.origin import common_origin
    from interloq.meta.rank import rank
    from interloq.metrics import metric_names

    partners = common_origin({path: header(path) for path in (*args.dialogues, *args.scores)}).get("partners", "")
    if not args.dialogues:
        return [], [], {}, {}
    dialogues: list[Dialogue] = [d for path in args.dialogues for d in _read(args, path, "dialogues")]
    lower, draws = args.lower_is_better, args.bootstrap
    rankings, chosen = [], {}
    unranked = {m: why[0] for m in metrics_of(scores) if (why := metric_names.unrankable(m, lower))}
    unranked |= {score.metric: TOO_LARGE for score in scores if abs(score.value or 0) > LARGEST}
    for metric in [m for m in metrics_of(scores) if m not in unranked]:
        rows = dialogue_scores(scores, dialogues, metric=metric)
        chosen[metric] = extremes(rows, args.read, lower_is_better=lower)
        rankings.append(
            rank(
                rows,
                lower_is_better=lower,
                n_bootstrap=draws,
                n_permutations=None if draws else 0,
                seed=args.seed,
                partner_set=partners,
            )
        )
    return dialogues, rankings, chosen, unranked


def _read(args: argparse.Namespace, path: str, kind: str) -> list[Any]:
    from interloq.data.jsonl import read

    bad = BadLines()
    columns = args.columns if kind == "samples" else None
    records = list(read(path, kind=kind, strict=args.strict, on_reject=bad, columns=columns))
    bad.close(path)
    return records


def _judgments(samples: Sequence[Sample], aspect: str) -> dict[Key, float]:
    """People's mean by sample; none where nobody rated this aspect."""
    from interloq.meta.judgments import collect

    if not any(r.aspect == aspect and r.value is not None for s in samples for r in s.ratings):
        return {}
    judgments = collect(samples, aspect=aspect)
    return {key: float(mean) for key, mean in zip(judgments.keys, judgments.mean(), strict=True) if mean == mean}


def _table(args: argparse.Namespace, scores: Sequence[Score], samples: Sequence[Sample]) -> MetaTable:
    from interloq.meta.evaluate import meta_evaluate

    draws, tests = args.bootstrap, None if args.bootstrap else 0
    return meta_evaluate(scores, samples, aspect=args.aspect, n_bootstrap=draws, n_permutations=tests, seed=args.seed)


def _command(args: argparse.Namespace) -> str:
    """What makes this report again in the folder of its files: defaults spelled out, any name for the output."""
    files, models = _names(args)
    scores, samples, dialogues = files[: len(args.scores)], files[len(args.scores)], files[len(args.scores) + 1 :]
    options = [
        "--samples", samples, "-o", "report.html", "--aspect", args.aspect, "--title", args.title,
        "--bootstrap", str(args.bootstrap), "--seed", str(args.seed), "--worst", str(args.worst), *_direction(args),
    ]  # fmt: skip
    shown = [argument for model in models for argument in ("--model", model)]
    read = [argument for path in dialogues for argument in ("--dialogues", path)]
    read += ["--read", str(args.read)] if read else []
    return shlex.join(["interloq", "report", *scores, *options, *read, *shown])


def _direction(args: argparse.Namespace) -> list[str]:
    said = {True: ["--lower-is-better"], False: ["--higher-is-better"]}
    return said.get(args.lower_is_better, [])


def _names(args: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Scores, samples and dialogues, and models, below the folder they share."""
    names = _relative([*args.scores, args.samples, *args.dialogues, *args.model])
    files = len(args.scores) + 1 + len(args.dialogues)
    return names[:files], names[files:]


def _relative(paths: Sequence[str]) -> list[str]:
    """Paths below the folder they share: a report goes to other people, the rest of the path is nobody's business."""
    whole = [Path(path).resolve() for path in paths]
    folder = os.path.commonpath([path.parent for path in whole])
    return [path.relative_to(folder).as_posix() for path in whole]


def _sources(args: argparse.Namespace) -> list[Source]:
    from interloq.report.curves import model_files
    from interloq.report.page import Source
    from interloq.signature import file_fingerprint

    files, models = _names(args)
    paths = [*zip(files, map(Path, [*args.scores, args.samples, *args.dialogues]), strict=True)]
    for name, folder in zip(models, args.model, strict=True):
        paths += [(f"{name}/{path.name}", path) for path in model_files(Path(folder))]
    return [Source(name, file_fingerprint(path)) for name, path in paths]


def _date() -> str:
    """Only where SOURCE_DATE_EPOCH asks for it: the same input gives the same bytes."""
    from datetime import UTC, datetime

    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    return datetime.fromtimestamp(int(epoch), UTC).strftime("%Y-%m-%d") if epoch.isdigit() else ""


def _say(args: argparse.Namespace, evidence: Evidence, page: Page) -> None:
    from interloq.report.text import count

    if args.json:
        judgments = evidence.table.counted.judgments if evidence.table else 0
        counts = {"samples": len(evidence.samples), "metrics": len(page.scores), "judgments": judgments}
        print_json({"report": args.output, **counts, "warnings": [notice.text for notice in page.notices]})
    elif args.output != "-":
        facts = ", ".join(f"{fact.count} {fact.label}" for fact in page.facts)
        say(f"{args.output}: {facts}; {count(len(page.notices), 'warning')}")
