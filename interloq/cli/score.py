"""`interloq score`: replies in, scores with intervals out."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from interloq.cli.mapping import add_map
from interloq.cli.output import (
    BadLines,
    add_common,
    add_drop_own_replies,
    add_without,
    interval,
    left_out,
    number,
    print_json,
    print_table,
    say,
    say_notes,
    say_signatures,
    tell,
)
from interloq.cli.paths import InputPath, OutputPath
from interloq.cli.progress import progress
from interloq.records import Result, Score

EXAMPLES = """\
  interloq score samples.jsonl -m bleu -m 'delta_bleu(order=2)' -o scores.jsonl
  interloq score samples.csv.gz -m "rouge_l(tokenizer='char')" --bootstrap 0
  cat samples.jsonl | interloq score - -m distinct --json
  interloq score replies.csv -m bleu,chrf --map response=reply,system=model
  interloq score samples.jsonl -m "uBLEU=vbleu(index='index',rater=gru(model='rater'))"
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
        help="a metric, with a short label if you like; repeat it or separate several by commas",
    )
    parser.add_argument(
        "-o", "--output", type=OutputPath, metavar="FILE", help="write a score a sample and metric here"
    )
    parser.add_argument(
        "--bootstrap", type=int, default=1000, metavar="N", help="resamples for intervals (default 1000)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the resamples (default 0)")
    parser.add_argument("--list", action="store_true", help="list the metrics with what they need, and the tokenizers")
    add_drop_own_replies(parser)
    add_without(parser)
    add_map(parser)
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    if args.list:
        return _list(args)
    from interloq.data.jsonl import read, write
    from interloq.errors import InputError
    from interloq.metrics.chosen import choose
    from interloq.metrics.evaluate import evaluate_all
    from interloq.metrics.selection import Selection

    if not args.samples or not args.metric:
        raise InputError("name a file and at least one metric", cure="try: interloq score samples.jsonl -m bleu")
    chosen, notes = choose(args.metric)
    for note in notes:
        tell(f"interloq: {note}")
    bad, selection = BadLines(), Selection(drop_own_replies=args.drop_own_replies, without=args.without_system)
    with progress("scoring", quiet=args.quiet) as step:
        samples = read(args.samples, strict=args.strict, on_reject=bad, columns=args.columns)
        results = evaluate_all(
            [one.metric for one in chosen],
            selection.samples(samples),
            n_bootstrap=args.bootstrap,
            seed=args.seed,
            by_system=True,
            progress=step,
        )
    bad.close(args.samples)
    origin = _origin(args.samples)
    signed = {name: origin[name] for name in ("partners",) if name in origin} | selection.facts()
    results = [
        {system: replace(_signed(r, signed), metric=one.name) for system, r in by_system.items()}
        for one, by_system in zip(chosen, results, strict=True)
    ]
    facts = [summary(system, result) for by_system in results for system, result in by_system.items()]
    left_out(any(not by_system[""].n for by_system in results))
    found = [*selection.notes(), *dict.fromkeys(note for by_system in results for note in by_system[""].notes)]
    kept = {"results": facts, "notes": [asdict(note) for note in found]}
    if args.output:
        write(args.output, _scores(results), kind="scores", **kept, **origin)
    if args.json:
        print_json(kept)
    elif args.output != "-":
        _print(results)
        say_notes(found)
        say_signatures(*(by_system[""].signature for by_system in results))
    return 0


def _origin(path: str) -> dict[str, Any]:
    """What samples of dialogues know of their partner set: scores carry it on."""
    from interloq.data.jsonl import header
    from interloq.errors import InputError
    from interloq.play.samples import carried

    try:
        return {} if path == "-" else carried(header(path))
    except InputError:  # a bad first line: reading has named it
        return {}


def _signed(result: Result, facts: dict[str, Any]) -> Result:
    """Scores name the partner set that dialogues were played against, and what was left out: others are not alike."""
    before, _, version = result.signature.rpartition("|version:")
    named = "".join(f"|{name}:{value}" for name, value in facts.items())
    return replace(result, signature=f"{before}{named}|version:{version}")


def summary(system: str, result: Result) -> dict[str, Any]:
    """A result without its samples, as it stands in headers and JSON."""
    from interloq.data.jsonl import to_json

    return {
        "metric": result.metric,
        "system": system,
        "value": to_json(result.value),
        "ci": to_json(result.ci),
        "n": result.n,
        "unscored": result.unscored,
        "signature": result.signature,
    }


def _scores(results: Sequence[dict[str, Result]]) -> Iterator[Score]:
    """Scores metric by metric; each knows its system."""
    for by_system in results:
        yield from by_system[""].scores()


def _print(results: Sequence[dict[str, Result]]) -> None:
    from interloq.metrics.metric_names import labels

    shown = labels([by_system[""].metric for by_system in results])
    systems = list(results[0])
    rows = []
    for by_system in results:
        for system in systems[1:] or [""]:
            result = by_system[system]
            rows.append([shown[result.metric], *_row(result, system)])
    print_table("", ["metric", "system", "value", "95 % interval", "n", "unscored"], rows)
    reasons: dict[str, int] = {}
    for by_system in results:
        for reason in by_system[""].reasons.values():
            key = f"{shown[by_system[''].metric]}: {reason}"
            reasons[key] = reasons.get(key, 0) + 1
    for reason, count in sorted(reasons.items()):
        say(f"unscored: {reason} ({count} samples)")


def _row(result: Result, system: str) -> list[str]:
    return [system, number(result.value, 4), interval(result.ci, 4), str(result.n), str(result.unscored)]


def _list(args: argparse.Namespace) -> int:
    from dataclasses import asdict

    from interloq.needs import METRICS
    from interloq.registry import names

    metrics = {name: METRICS.get(name) for name in names("metric")}  # of a plugin's only the name is known
    if args.json:
        listed = [{"name": name, "needs": asdict(needs) if needs else None} for name, needs in metrics.items()]
        print_json({"metrics": listed, "tokenizers": names("tokenizer")})
        return 0
    width = max(map(len, metrics))
    say(f"{'metric':<{width}}  needs")
    for name, needs in metrics.items():
        say(f"{name:<{width}}  {needs.line() if needs else 'see its package'}")
    say("A metric named without what it needs says how to get it: interloq score FILE -m relevance")
    say(f"\ntokenizers: {', '.join(names('tokenizer'))}")
    return 0
