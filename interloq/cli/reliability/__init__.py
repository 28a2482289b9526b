# SPDX-License-Identifier: Apache-2.0
"""`interloq reliability`: how reliable references are, and how to make them better."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from interloq.cli.extend import REASONS
from interloq.cli.reliability import annotate as reliability_annotate
from interloq.cli.shared import arguments
from interloq.cli.shared.output import add_limits, limit_spending, mark_incomplete, reading, stage_progress
from interloq.errors import InputError, count
from interloq.reliability.baselines import describe_baselines
from interloq.reliability.reliability_options import (
    AnnotateOptions,
    AugmentOptions,
    CandidateOptions,
    CurveOptions,
    PredictOptions,
)
from interloq.shards.shard_options import ShardOptions
from interloq.terminal.console import interval, number, print_json, print_line, print_signatures, print_table

if TYPE_CHECKING:
    from interloq.records import Score
    from interloq.reliability.curve import AgreementCurve, AgreementPoint

EXAMPLES = """\
  interloq reliability predict samples.jsonl --model reliability -o predicted.jsonl
  interloq reliability augment samples.jsonl --model reliability --log pairs.jsonl -o augmented.jsonl
  interloq reliability augment samples.jsonl --model reliability --index index --limit 5 --workers 8 -o augmented.jsonl
  interloq reliability augment samples.jsonl --model reliability --from query --log test.jsonl --add-all -o all.jsonl
  interloq reliability annotate samples.jsonl --model reliability --log pairs.jsonl -o annotated.jsonl
  interloq reliability annotate samples.jsonl --model ready --log pairs.jsonl --annotator 2 -o annotated.jsonl
  interloq reliability annotate samples.jsonl --model ready --from query --log candidates.jsonl -o annotated.jsonl
  interloq reliability annotate samples.jsonl --model ready --llm "hf(model='model')" --replies 5 -o annotated.jsonl
  interloq reliability curve samples.jsonl -m bleu_star -m bleu --sizes 1,2,3,4,5"""
LEVELS = {"query": "mean over queries", "all": "over all replies"}
SHOWN = 10  # weakest sets in the table
CUT = 40  # characters of a reference in the table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    predicting = actions.add_parser("predict", help="predict how reliable the references of each sample are")
    augmenting = actions.add_parser("augment", help="add replies from logs that raise the predicted reliability")
    annotating = actions.add_parser("annotate", help="decide on replies from logs one by one, with predictions")
    arguments.add_samples(predicting)
    arguments.add_output(predicting, "score file with the predictions, for meta and report", required=False)
    for action in (augmenting, annotating):
        arguments.add_samples(action)
        arguments.add_output(action, "the samples with further references")
        arguments.add_options(action, CandidateOptions)
    for action in (predicting, augmenting):
        arguments.add_options(action, ShardOptions)
    add_limits(augmenting)
    reliability_annotate.add_arguments(annotating)
    for action, options in ((predicting, PredictOptions), (augmenting, AugmentOptions), (annotating, AnnotateOptions)):
        arguments.add_options(action, options)
        arguments.add_map(action)
        arguments.add_common(action)
    action = actions.add_parser("curve", help="correlation with people as references are added")
    arguments.add_samples(action)
    arguments.add_list(action, "-m", "--metric", metavar="SPEC", help="a metric")
    arguments.add_output(action, "file for the curves, for the report", required=False)
    arguments.add_options(action, CurveOptions)
    arguments.add_map(action)
    arguments.add_common(action)


def run(args: argparse.Namespace) -> None:
    actions = {"predict": _predict, "augment": _augment, "annotate": reliability_annotate.run, "curve": _curve}
    actions[args.action](args)


def _predict(args: argparse.Namespace) -> None:
    from interloq.reliability.reliability_file import predict_file

    options, progress = arguments.make_options(PredictOptions, args), stage_progress(quiet=args.quiet)
    with reading(args) as read_options:
        scores, facts = predict_file(
            args.samples,
            args.output,
            options,
            shards=arguments.shard_options(args),
            reading=read_options,
            progress=progress,
        )
    mark_incomplete(all(score.value is None for score in scores))
    if args.json:
        print_json(facts)
    elif args.output != "-":
        print_predicted(scores, facts)


def print_predicted(scores: Sequence[Score], facts: dict[str, Any]) -> None:
    """Print the weakest samples, and what the weak ones need."""
    from interloq.reliability.weak_references import predicted_metric, weak_note

    known = sorted((s for s in scores if s.value is not None), key=lambda s: (s.value, repr(s.details), s.key))
    sets = [list(some) for _, some in groupby(known, key=lambda s: (s.value, s.details))]
    columns = ["sample", "samples", "references", "reliability", "95 % interval", "needed", "helps most", "harms most"]
    if sets:
        print_table(f"weakest references, {facts['metric']}", columns, [_row(some) for some in sets[:SHOWN]])
    summary = facts["reliability"]
    print_line(f"{count(summary['samples'], 'sample')}, mean predicted reliability {number(summary['mean'])}")
    if summary["weak"]:
        print_line(weak_note(predicted_metric(facts["metric"]), summary))
    for reason, n in summary["unpredicted"].items():
        print_line(f"no prediction: {reason} ({count(n, 'sample')})")
    _print_end(facts)


def _print_end(facts: dict[str, Any]) -> None:
    for line in describe_baselines(facts["baselines"]):
        print_line(line)
    if facts.get("advice"):
        print_line(facts["advice"])
    if facts["warning"]:
        print_line(f"warning: {facts['warning']}")
    print_signatures(facts["signature"])


def _row(some: Sequence[Score]) -> list[str]:
    """Return the row of samples that share a prediction, which may come from several systems."""
    score, prediction = some[0], some[0].details
    ci = None if prediction["low"] is None else (prediction["low"], prediction["high"])
    needed = ""
    if "needed" in prediction:
        needed = "unknown" if prediction["needed"] is None else f"{prediction['needed']} more"
    extremes = [_extreme(prediction.get(name)) for name in ("helps", "harms")]
    counts = [str(len(some)), str(prediction["references"])]
    return [score.id, *counts, number(score.value), interval(ci), needed, *extremes]


def _extreme(reference: dict[str, Any] | None) -> str:
    from interloq.report.text import cut

    if not reference:
        return ""
    return f"{cut(reference['text'], CUT)} ({reference['effect']:+.3f})"


def _augment(args: argparse.Namespace) -> None:
    from interloq.reliability.reliability_file import augment_file

    source, options = arguments.make_options(CandidateOptions, args), arguments.make_options(AugmentOptions, args)
    progress = stage_progress(quiet=args.quiet)
    with reading(args) as read_options, limit_spending(args):
        facts = augment_file(
            args.samples,
            args.output,
            source,
            options,
            shards=arguments.shard_options(args),
            reading=read_options,
            progress=progress,
        )
    if args.json:
        print_json({"output": args.output, **facts})
    elif args.output != "-":
        print_augmented(args.output, facts)


def print_augmented(output: str, facts: dict[str, Any]) -> None:
    """Print how many candidates were tried and kept, and how predictions changed."""
    counts = facts["counts"]
    kept = count(counts["kept"], "reference")
    if facts["resumed"]:
        print_line(f"resumed: {count(facts['resumed'], 'sample')} of an earlier run")
    print_line(f"{output}: {count(counts['samples'], 'sample')}, {kept} added of {count(counts['tried'], 'candidate')}")
    print_line(f"mean predicted reliability: {number(counts['before'])} before, {number(counts['after'])} after")
    if counts["unchanged"]:
        why = (
            "enough references, or no candidates"
            if facts["keep_all"]
            else "enough references, or no candidate that helps"
        )
        print_line(f"{count(counts['unchanged'], 'sample')} unchanged: {why}")
    rows = [[REASONS[r], str(n["pairs"]), str(n["samples"])] for r, n in counts["dropped"].items()]
    if rows:
        print_table("", ["dropped", "pairs", "samples"], rows)
    _print_end(facts)


def _curve(args: argparse.Namespace) -> None:
    from interloq.reliability.curve_file import curve_file

    if not args.metric:
        raise InputError("at least one metric is needed", hint="for example -m bleu_star")
    options, progress = arguments.make_options(CurveOptions, args), stage_progress(quiet=args.quiet)
    with reading(args) as read_options:
        curves = curve_file(args.samples, args.metric, args.output, options, reading=read_options, progress=progress)
    mark_incomplete(any(curve.skipped for curve in curves))
    if args.json:
        print_json(curves)
    elif args.output != "-":
        print_curves(curves)


def print_curves(curves: Sequence[AgreementCurve]) -> None:
    """Print both arms of each metric's curve at both levels."""
    for curve in curves:
        for level, name in LEVELS.items():
            title = f"{curve.metric}: {curve.coefficient.capitalize()} correlation with people, {name} (95 % interval)"
            columns = ["references", "of other queries", "correlation", "interval", "gain", "interval", "queries"]
            print_table(title, columns, [_point_row(point) for point in curve.points if point.level == level])
        print_line(
            f"{count(curve.queries, 'query', 'queries')} with {count(curve.replies, 'rated reply', 'rated replies')}"
        )
        for note in curve.notes():
            print_line(f"note: {note}")
        for reason, n in curve.skipped.items():
            print_line(f"skipped: {count(n, 'query', 'queries')} with {reason}")


def _point_row(point: AgreementPoint) -> list[str]:
    counts = [str(point.references), str(point.foreign)]
    values = [number(point.value), interval(point.ci), number(point.gain), interval(point.gain_ci)]
    return [*counts, *values, str(point.queries)]
