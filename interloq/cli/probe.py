# SPDX-License-Identifier: Apache-2.0
"""`interloq probe`: change good replies in known ways, and print which changes a metric notices."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from interloq.cli.shared.arguments import add_common, add_map, add_trust
from interloq.cli.shared.limits import add_limits, limited
from interloq.cli.shared.output import BadLineReporter, mark_incomplete
from interloq.cli.shared.paths import InputPath
from interloq.cli.shared.progress import stage_progress
from interloq.errors import count
from interloq.terminal.console import print_json, print_line, print_notes, print_signatures, print_table

if TYPE_CHECKING:
    from interloq.score.probe import Probe

EXAMPLES = """\
  interloq probe chrf
  interloq probe "bleu(order=2,tokenizer='char')" --language ja
  interloq probe "relevance(model='ready')" samples.jsonl --system human --json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("metric", metavar="METRIC", help="spec of the metric, or FILE.py:NAME with --trust")
    parser.add_argument(
        "samples",
        nargs="?",
        type=InputPath,
        metavar="SAMPLES",
        help="good replies to change: JSONL, CSV or TSV; - for a pipe (default: replies that come with the package)",
    )
    parser.add_argument("--language", choices=("en", "ja", "zh"), help="language of the embedded replies (default en)")
    parser.add_argument("--system", metavar="NAME", help="use only the replies of this system in SAMPLES")
    parser.add_argument(
        "--bootstrap", type=int, default=1000, metavar="N", help="resamples for intervals (default 1000)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the changes and resamples (default 0)")
    add_limits(parser)
    add_trust(parser)
    add_map(parser)
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    from interloq.score.probe import probe_file

    bad = BadLineReporter()
    with limited(args):
        probed = probe_file(
            args.metric,
            args.samples,
            language=args.language,
            system=args.system,
            n_bootstrap=args.bootstrap,
            seed=args.seed,
            trust=args.trust,
            strict=args.strict,
            on_reject=bad,
            columns=args.columns,
            progress=stage_progress(quiet=args.quiet),
        )
    bad.close()
    mark_incomplete(not any(row.n for row in probed.rows))
    print_json(probed.facts()) if args.json else print_probe(probed)
    return 0


def print_probe(probed: Probe) -> None:
    """Print the effect of each perturbation, notes and the signature."""
    from interloq.terminal.result_tables import probe_table

    title = f"{probed.metric}: {count(probed.n, 'reply', 'replies')}, each changed in {len(probed.rows)} ways"
    print_table(title, *probe_table(probed))
    for row in probed.rows:
        if row.unscored:
            print_line(f"unscored: {row.perturbation}: {count(row.unscored, 'reply', 'replies')}")
    print_notes(probed.notes)
    print_signatures(probed.signature)
