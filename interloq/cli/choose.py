# SPDX-License-Identifier: Apache-2.0
"""`interloq choose`: rated samples or dialogues in, the metric that agrees best with people out."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from interloq.choose.choose_options import ChooseOptions
from interloq.cli.shared.arguments import add_common, add_input, add_map, add_options, add_output, make_options
from interloq.cli.shared.output import add_limits, limit_spending, mark_incomplete, reading, stage_progress
from interloq.errors import count
from interloq.terminal import console

if TYPE_CHECKING:
    from interloq.choose.choice import Candidate, Choice

EXAMPLES = """\
  interloq choose rated.jsonl
  interloq choose rated.jsonl -m chrf -m "judge(model='ready')" -o chosen.json
  interloq choose rated.jsonl --scores scores.jsonl -m chrf
  interloq choose rated_dialogues.jsonl --aspect satisfaction --no-blend
  interloq score replies.jsonl -m @chosen.json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_input(parser, "rated", "RATED", "rated samples or dialogues: JSONL, CSV or TSV; - for a pipe")
    add_output(parser, "file for the chosen metric: interloq score -m @FILE", required=False)
    add_options(parser, ChooseOptions)
    add_limits(parser)
    add_map(parser)
    add_common(parser)


def run(args: argparse.Namespace) -> None:
    from interloq.score.parse_metrics import refuse_functions

    options = make_options(ChooseOptions, args)
    refuse_functions(options.metrics)  # before scipy is imported, which takes seconds from a cold disk
    from interloq.choose.choose_file import choose_file

    with limit_spending(args), reading(args) as read_options:
        choice = choose_file(
            args.rated, args.output, options, reading=read_options, progress=stage_progress(quiet=args.quiet)
        )
    mark_incomplete(choice.excluded)
    if args.json:
        from dataclasses import asdict

        from interloq.choose.choice import paper

        console.print_json({**asdict(choice), "text": paper(choice)})
    elif args.output != "-":
        print_choice(choice, args.output)


def print_choice(choice: Choice, output: str | None) -> None:
    """Print the candidates, what choosing is expected to give, notes and a text for a paper."""
    from interloq.choose.choice import paper

    baselines = list(choice.best.over)
    tests = ["ρ over systems", "p", f"{choice.unit}s to tell"]
    columns = ["candidate", "ρ", *(f"over {name}" for name in baselines), *tests]
    rows = [_row(row, choice, baselines) for row in choice.rows]
    title = (
        f"{choice.aspect}: Spearman's ρ with the mean judgment of {count(choice.samples, choice.unit)} (95 % interval)"
    )
    console.print_table(title, columns, rows)
    for line in choice.summary():
        console.print_line(line)
    for name, why in choice.excluded.items():
        console.print_line(f"not compared: {name}: {why}")
    for note in choice.notes:
        console.print_line(f"note: {note}")
    console.print_line(f"\nchosen: {choice.spec}")
    if output:
        console.print_line(f"run it: interloq score REPLIES -m @{output}")
    else:
        console.print_line("keep it: add -o chosen.json")
    for step in choice.next_steps:
        console.print_line(f"next: {step}")
    console.print_line(f"\nfor a paper: {paper(choice)}\n")
    console.print_signatures(choice.signature)


def _row(row: Candidate, choice: Choice, baselines: list[str]) -> list[str]:
    from interloq.choose.choice import FAR

    mark = ""
    if row.name == choice.chosen:
        mark = "chosen: "
    elif row.kind == "baseline":
        mark = "baseline: "
    elif row.as_good:
        mark = "as good: "
    margins = []
    for name in baselines:
        margin = row.over.get(name)
        margins.append(console.number_with_interval(margin.value, margin.ci) if margin else "")
    needed = ""
    if row.needed:
        needed = f"{row.needed:,}"
    elif row.as_good and row.p:
        needed = f"> {FAR * choice.samples:,}"
    return [
        mark + row.name,
        console.number_with_interval(row.agreement.value, row.agreement.ci),
        *margins,
        console.number(row.by_system.value if row.by_system else None),
        console.p_value(row.p) if row.p is not None else "",
        needed,
    ]
