# SPDX-License-Identifier: Apache-2.0
"""`interloq explain`: why one reply got its score."""

from __future__ import annotations

import argparse
from itertools import chain
from typing import TYPE_CHECKING, Any

from interloq.cli.shared.arguments import add_common, add_map, add_options, add_samples, make_options
from interloq.cli.shared.output import reading
from interloq.errors import count
from interloq.score.explain import Explained, explain_file, largest_fall
from interloq.score.score_options import ExplainOptions
from interloq.terminal.console import number, print_json, print_line, print_table

if TYPE_CHECKING:
    from interloq.metrics.metric import TurnClash
    from interloq.score.explain import Explanation, Order

EXAMPLES = """\
  interloq explain c17 rated.jsonl --system mine
  interloq explain c17/bot rated.jsonl -m "delta_bleu(order=2,tokenizer='char')"
  interloq explain c17/bot samples.jsonl -m "bleu(level='sentence')" --json"""
TURNS = 6  # last turns of the context that are shown
SCORE_ONLY = (
    "only bleu, delta_bleu (mode 'sentence'), dcp, interlocutor_score and contradiction are explained in detail; "
    "here are the score and its references"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="SAMPLE_ID", help="the sample's id")
    add_samples(parser)
    add_options(parser, ExplainOptions)
    add_map(parser)
    add_common(parser)


def run(args: argparse.Namespace) -> None:
    with reading(args) as read_options:
        explained = explain_file(args.id, args.samples, make_options(ExplainOptions, args), reading=read_options)
    if args.json:
        print_json(explained.facts())
    else:
        print_explained(explained)


def print_explained(explained: Explained) -> None:
    """Print why a sample got its score."""
    sample, explanation = explained.sample, explained.explanation
    name = f"{sample.id} ({sample.system})" if sample.system else sample.id
    score = f"unscored: {explained.reason}" if explained.reason else number(explained.score, 4)
    if explained.error is not None:
        score += f" ± {number(explained.error, 4)} (expected error)"
    print_line(f"{name}: {explained.metric} = {score}\n")
    earlier = len(sample.context) - TURNS
    if earlier > 0:
        print_line(f"         ({count(earlier, 'earlier turn')})")
    for turn in sample.context[-TURNS:]:
        speaker = f"{turn.speaker}: " if turn.speaker else ""
        print_line(f"context  {speaker}{turn.text}")
    print_line(f"reply    {sample.response}\n")
    if not (explained.course or explained.clash):
        _print_references(explained.references())
    if explanation:
        for order in explanation.orders:
            _print_order(order, explanation)
        _print_sum(explanation)
        _print_distrusted(explanation)
    _print_course(explained)
    if explained.clash:
        _print_clash(explained.clash, sample.response)
    if not explained.taken_apart:
        print_line(SCORE_ONLY)


def _print_references(references: list[dict[str, Any]]) -> None:
    """Print the references; the columns of shared n-grams only for metrics that can be explained in detail."""
    orders = max((len(row.get("shared", [])) for row in references), default=0)
    weighted = any("trusted" in row for row in references)
    columns = ["reference", "source", "weight"]
    columns += [f"shared {n}-grams" for n in range(1, orders + 1)]
    if weighted:
        columns.append("trusted")
    rows = []
    for reference in references:
        row = [f"{reference['place']}  {reference['text']}", reference["source"], number(reference["weight"])]
        row += [str(len(grams)) for grams in reference.get("shared", [])]
        if weighted:
            row.append("yes" if reference["trusted"] else "no")
        rows.append(row)
    print_table("", columns, rows)


def _print_order(order: Order, explained: Explanation) -> None:
    columns = [f"{order.n}-gram", "in reply", "counted", "reference"]
    above, below = f"{order.credit:g} counted", str(order.ngrams)
    if explained.weighted:
        columns += ["weight", "credit"]
        above = f"credit {number(order.credit)}"
        below = f"({order.ngrams} n-grams × largest weight {number(explained.largest_weight)})"
    rows = []
    for match in order.matches:
        row = [match.ngram, str(match.in_reply), str(match.counted), str(match.reference)]
        if explained.weighted:
            row += [number(match.weight), number(match.credit)]
        rows.append(row)
    if rows:
        print_table("", columns, rows)
    if order.missed:
        print_line(f"no credit: {'; '.join(order.missed)}")
    precision = order.credit / order.denominator if order.denominator else 0.0
    text = f"p{order.n} = {above} / {below} = {number(precision, 4)}"
    if abs(precision - order.precision) > 1e-12:
        text += f", smoothed {number(order.precision, 4)}"
    if not order.used:
        text += ", not used: longer than the reply"
    print_line(f"{text}\n")


def _print_sum(explained: Explanation) -> None:
    places = ", ".join(map(str, explained.closest))
    which = f"the closest reference ({places})" if places else "the references' mean"
    lengths = f"reply {explained.length}, {which} {explained.reference_length:g}"
    print_line(f"length: {lengths} → brevity penalty {number(explained.brevity_penalty, 4)}")
    used = [order.precision for order in explained.orders if order.used]
    product = " × ".join(number(precision, 4) for precision in used)
    root = f"({product})^(1/{len(used)})" if len(used) > 1 else product
    print_line(f"score = {number(explained.brevity_penalty, 4)} × {root or '0'} = {number(explained.score, 4)}")
    if not any(order.matches for order in explained.orders):
        print_line("the reply shares no n-gram with a reference of positive weight: the score is 0")


def _print_course(explained: Explained) -> None:
    """Print the scores of the dialogue's replies, and where they fell most."""
    if not explained.course:
        return
    rows = [[str(each.turn), each.text, number(each.score, 4)] for each in explained.course]
    print_table("", ["turn", "reply", "score"], rows)
    fall = largest_fall(explained.course)
    if fall:
        print_line(f"fell most at turn {fall[0].turn}, by {number(fall[1], 4)}")
    else:
        print_line("the score never fell")


def _print_clash(clash: TurnClash, reply: str) -> None:
    """Print the two turns that contradict each other most."""
    who = "the same speaker" if clash.same else "the other speaker"
    print_line(f"turn {clash.turn} ({who}) and the reply contradict each other with P = {number(clash.chance, 4)}:")
    print_line(f"  {clash.text}")
    print_line(f"  {reply}")


def _print_distrusted(explained: Explanation) -> None:
    if not explained.distrusted:
        return
    rows = []
    for reference in explained.distrusted:
        grams = "; ".join(chain.from_iterable(reference.shared))
        rows.append([f"{reference.place}  {reference.text}", number(reference.weight), grams])
    print_line("\nshared with references whose weight is not above 0, which gives no credit:")
    print_table("", ["reference", "weight", "n-grams"], rows)
