# SPDX-License-Identifier: Apache-2.0
"""`interloq reliability annotate`: a person decides on candidates in the terminal.

The conversation is on standard error and standard input, one answer per line; the summary is on standard output.
"""

from __future__ import annotations

import argparse
import math
import sys
from typing import TYPE_CHECKING

from interloq.cli.shared.arguments import OutputFile, make_options
from interloq.cli.shared.output import BadLineReporter, add_limits, limit_spending, mark_incomplete
from interloq.data.records.read_options import ReadOptions
from interloq.errors import InputError, count
from interloq.reliability.reliability_options import AnnotateOptions, CandidateOptions
from interloq.terminal.console import number, number_with_interval, print_json, print_line, print_stderr

if TYPE_CHECKING:
    from interloq.reliability.annotate import Offer, ReliabilityEstimate, Session

QUESTION = "[k]eep, [e]dit, [a]bandon, [b]est candidate, [n]ext query or [q]uit?"
UNASSISTED = "[k]eep, [e]dit, [a]bandon, [n]ext query or [q]uit?"


def add_arguments(action: argparse.ArgumentParser) -> None:
    action.add_argument(
        "--record",
        type=OutputFile,
        metavar="FILE",
        help="file for every step, from which the next session resumes (default OUTPUT.record)",
    )
    add_limits(action)


def run(args: argparse.Namespace) -> None:
    from interloq.reliability.annotate_file import annotation

    if "-" in (args.samples, args.output):
        raise InputError("annotation needs files, not a pipe", hint="name the samples and the output")
    source, options = make_options(CandidateOptions, args), make_options(AnnotateOptions, args)
    bad_lines = BadLineReporter()
    read_options = make_options(ReadOptions, args, on_reject=bad_lines)
    record = args.record or f"{args.output}.record"
    with limit_spending(args), annotation(args.samples, record, source, options, reading=read_options) as annotating:
        bad_lines.close()
        if annotating.queries.warning and not annotating.session.unassisted:
            print_stderr(f"warning: {annotating.queries.warning}")
        _talk(annotating.session)
        facts = annotating.write(args.output)
    counts = facts["counts"]
    if not counts["steps"] and counts["finished"] == counts["queries"]:
        print_stderr("nothing to decide: no query lacks references and has candidates")
    mark_incomplete(counts["finished"] < counts["queries"])
    if args.json:
        print_json({"output": args.output, **facts})
        return
    print_line(
        f"{args.output}: {count(counts['added'], 'reference')} added, {counts['edited']} of them edited; "
        f"{counts['finished']:,} of {count(counts['queries'], 'query', 'queries')} finished"
    )


def _talk(session: Session) -> None:
    """Ask until all queries are finished, the person quits or the input ends."""
    while offer := session.offer():
        _show(offer, session)
        answer = sys.stdin.readline()
        if not answer or answer.strip().lower() == "q":
            return
        try:
            _decide(session, offer, answer.strip().lower())
        except InputError as error:
            print_stderr(str(error))


def _decide(session: Session, offer: Offer, answer: str) -> None:
    if answer == "e":
        print_stderr(f"new text ({count(offer.attempts, 'edit')} left):")
        session.edit(sys.stdin.readline())
    elif answer == "b" and not session.unassisted:
        session.choose(offer.best)
    elif answer in ("k", "a", "n"):
        {"k": session.keep, "a": session.abandon, "n": session.next}[answer]()
    else:
        raise InputError(f"unknown answer {answer!r}", hint=UNASSISTED if session.unassisted else QUESTION)


def _show(offer: Offer, session: Session) -> None:
    print_stderr(f"\n{offer.query}: {count(len(offer.references), 'reference')}")
    for turn in offer.turns:
        print_stderr(f"  {turn}")
    for reference in offer.references:
        print_stderr(f"    = {reference}")
    print_stderr(f"candidate: {offer.candidate.text}")
    if session.unassisted:
        print_stderr(f"{count(len(offer.waiting), 'candidate')}\n{UNASSISTED}")
        return
    predicted = getattr(session.model, "predicts", "reliability")
    print_stderr(f"{predicted}: {_estimate(offer.before)} without it, {_estimate(offer.after)} with it")
    best = "this one"
    if offer.best != 0:
        best = f"{offer.waiting[offer.best].text!r}, {_estimate(offer.best_after)}"
    print_stderr(f"best of {count(len(offer.waiting), 'candidate')}: {best}")
    print_stderr(QUESTION)


def _estimate(reliability: ReliabilityEstimate) -> str:
    if math.isnan(reliability.low):
        return number(reliability.mean)
    return number_with_interval(reliability.mean, (reliability.low, reliability.high))
