# SPDX-License-Identifier: Apache-2.0
"""`interloq play`: systems talk to themselves, to each other, or to a fixed set of partners."""

from __future__ import annotations

import argparse
import contextlib
import sys
from typing import TYPE_CHECKING, Any

from interloq.cli.play import audit as play_audit
from interloq.cli.play import settle as play_settle
from interloq.cli.play.view import print_bots
from interloq.cli.shared.arguments import add_common, add_list, add_map, add_output, add_trust
from interloq.cli.shared.output import BadLineReporter, mark_incomplete
from interloq.cli.shared.paths import InputPath
from interloq.errors import InputError, count
from interloq.play.schedule import EXCHANGES, SCHEMES
from interloq.terminal.console import print_json, print_line, print_stderr

if TYPE_CHECKING:
    from interloq.rank.running_ranking import Running

EXAMPLES = """\
  interloq play run --scheme self-play --target mine=eliza -o dialogues.jsonl
  interloq play partners --partner echo=echo --partner eliza=eliza --openings embedded:en -o partners.json
  interloq play run --scheme bipartite --target "mine=hf(model='my-model')" --partners partners.json -o dialogues.jsonl
  interloq play samples dialogues.jsonl -o samples.jsonl"""
PATIENCE = 1_800.0
DEFAULT = "embedded:en"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    running = actions.add_parser("run", help="play dialogues; rerun the same command to resume")
    making = actions.add_parser("partners", help="write a partner set that runs can share")
    sampling = actions.add_parser("samples", help="convert dialogues to samples that can be scored")
    _add_run(running)
    _add_bots(making, "partner", "a partner")
    for action in (running, making):
        _add_openings(action)
    _add_samples(sampling)
    for action in (running, making, sampling):
        add_output(action, "the file to write")
    add_map(sampling, of="dialogues")
    add_common(sampling)
    for action in (running, making):
        action.add_argument("--json", action="store_true", help="print JSON instead of a table")
    running.add_argument("--quiet", action="store_true", help="do not show progress on standard error")
    play_audit.add_arguments(
        actions.add_parser("audit", help="measure how much a ranking depends on the choice of systems and partners")
    )


def _add_run(running: argparse.ArgumentParser) -> None:
    running.add_argument(
        "--scheme", choices=SCHEMES, default="bipartite", help="who talks with whom (default bipartite)"
    )
    _add_bots(running, "target", "a system to be judged")
    running.add_argument(
        "--partners", type=InputPath, metavar="FILE", help="a partner set written by `interloq play partners`"
    )
    add_list(running, "--partner", metavar="NAME=SPEC", help="a partner, instead of --partners")
    running.add_argument(
        "--repeats", type=int, default=1, metavar="N", help="dialogues per pair and opening (default 1)"
    )
    running.add_argument("--limit", type=int, metavar="N", help="use only N openings, drawn at random")
    running.add_argument("--seed", type=int, default=0, help="seed of all replies and draws (default 0)")
    running.add_argument(
        "--batch", type=int, metavar="N", help="dialogues a bot answers at once (default: set by the bot)"
    )
    running.add_argument(
        "--same", type=int, default=3, metavar="K", help="note bots that repeat an utterance K times (default 3)"
    )
    running.add_argument("--stop-repeating", action="store_true", help="end a dialogue when a bot repeats itself")
    running.add_argument(
        "--patience",
        type=float,
        default=PATIENCE,
        metavar="S",
        help="seconds a batch may take; 0 for no limit (default 1800)",
    )
    running.add_argument("--again", action="store_true", help="play failed dialogues again")
    running.add_argument("--watch", metavar="SPEC", help="while playing, show the current ranking by this metric")
    play_settle.add_arguments(running)


def _add_openings(action: argparse.ArgumentParser) -> None:
    action.add_argument(
        "--openings",
        type=InputPath,
        metavar="FILE",
        help=f"file of dialogues or lines, or embedded:en, :ja, :zh (default {DEFAULT})",
    )
    action.add_argument("--given", type=int, default=2, metavar="N", help="utterances per opening (default 2)")
    action.add_argument(
        "--exchanges", type=int, metavar="N", help=f"utterances per bot and dialogue (default {EXCHANGES})"
    )
    add_trust(action, "let bots named in a file start programs, import modules and contact servers; they are printed")


def _add_samples(sampling: argparse.ArgumentParser) -> None:
    sampling.add_argument("dialogues", type=InputPath, metavar="DIALOGUES", help="played or recorded dialogues")
    add_list(sampling, "--target", metavar="NAME", help="only this system's utterances")
    sampling.add_argument(
        "--system", default="", metavar="NAME", help="name of the assistant, for chat exports that have none"
    )


def run(args: argparse.Namespace) -> int:
    actions = {"run": _run, "partners": _partners, "samples": _samples, "audit": play_audit.run}
    return actions[args.action](args)


def _add_bots(parser: argparse.ArgumentParser, what: str, help_text: str) -> None:
    add_list(parser, f"--{what}", metavar="NAME=SPEC", help=help_text)
    parser.add_argument(
        "--bots", type=InputPath, metavar="FILE", help=f"TOML or JSON file that maps names of {what}s to specs"
    )


def _run(args: argparse.Namespace) -> int:
    from interloq.cli.play.view import watching
    from interloq.play.run import PlayOptions, play
    from interloq.play.talk import PlayTally, close_all

    if args.output == "-":
        raise InputError("a run needs an output file, so that it can be resumed", hint="name one with -o")
    settling, running = _settling(args), _running(args)
    plan, tally, settled = _planned(args), PlayTally(), None
    ranking = None
    if settling:
        ranking = settling.ranking
    elif running:
        ranking = running.line
    try:
        with (
            contextlib.redirect_stdout(sys.stderr),  # a bot that prints must not write into our output
            watching(
                tally,
                len(plan.matches),
                plan.run["exchanges"] * 2,
                quiet=args.quiet,
                at_most=bool(settling),
                ranking=ranking,
            ) as progress,
        ):
            options = PlayOptions(
                batch=args.batch, patience=args.patience, again=args.again, tally=tally, progress=progress
            )
            if settling:
                settled = settling.play(plan, options)
            else:
                play(plan, args.output, options, hear=running.hear if running else None)
    except KeyboardInterrupt:
        print_stderr(f"\n{count(tally.dialogues, 'dialogue')} kept; rerun the same command to resume")
        raise
    finally:
        close_all(plan.bots.values())
    if settled:
        play_settle.show(args, settled, plan, tally)
    else:
        _show(args, plan, tally)
    mark_incomplete(tally.failed)
    return 0


def _settling(args: argparse.Namespace) -> play_settle.Settling | None:
    from interloq.registry import create

    if args.until_settled and args.watch:
        raise InputError("--until-settled already shows the ranking", hint="omit --watch")
    return play_settle.Settling(args, create(args.until_settled, kind="metric")) if args.until_settled else None


def _running(args: argparse.Namespace) -> Running | None:
    """The ranking to show while playing, or None."""
    from interloq.rank.running_ranking import Running
    from interloq.registry import create

    if not args.watch:
        return None
    ranking = Running(create(args.watch, kind="metric"), lower_is_better=args.lower_is_better)
    return None if args.quiet else ranking


def _planned(args: argparse.Namespace) -> Any:
    from interloq.cli.play.bots import named_bots
    from interloq.play.openings import read_openings
    from interloq.play.partners import check_openings, load_partners, partner_bots
    from interloq.play.run import plan

    if args.partners and args.partner:
        raise InputError("both --partners and --partner are given", hint="give only one of them")
    targets = named_bots(args.target, args.bots, "target", trust=args.trust)
    known = load_partners(args.partners) if args.partners else None
    source = args.openings or (known and known.source) or DEFAULT
    openings = read_openings(source, given=args.given)
    if known:
        check_openings(known, openings, args.partners)
        if args.exchanges not in (None, known.exchanges):
            raise InputError(
                f"the partner set is for {known.exchanges} exchanges, not {args.exchanges}",
                hint="omit --exchanges",
                where=args.partners,
            )
        exchanges, partners = known.exchanges, partner_bots(known, args.partners, trust=args.trust)
    else:
        exchanges = EXCHANGES if args.exchanges is None else args.exchanges
        partners = named_bots(args.partner, None, "partner")
    return plan(
        args.scheme,
        targets,
        openings,
        exchanges=exchanges,
        partners=partners,
        known=known,
        repeats=args.repeats,
        limit=args.limit,
        seed=args.seed,
        same=args.same,
        stop_repeating=args.stop_repeating,
    )


def _partners(args: argparse.Namespace) -> int:
    from interloq.cli.play.bots import named_bots
    from interloq.play.openings import read_openings
    from interloq.play.partners import partner_set, save_partners
    from interloq.play.talk import close_all

    bots = named_bots(args.partner, args.bots, "partner", trust=args.trust)
    if not bots:
        raise InputError("no partner given", hint="name one, for example --partner eliza=eliza")
    source = args.openings or DEFAULT
    openings = read_openings(source, given=args.given)
    try:
        exchanges = EXCHANGES if args.exchanges is None else args.exchanges
        partners = partner_set(bots, openings, exchanges=exchanges, source=source)
    finally:
        close_all(bots.values())
    save_partners(args.output, partners)
    facts = {"hash": partners.hash, "partners": [p.name for p in partners.partners], "openings": len(openings)}
    if args.json:
        print_json({**facts, "exchanges": partners.exchanges})
    elif args.output != "-":
        sizes = [(len(bots), "partner"), (len(openings), "opening"), (partners.exchanges, "exchange")]
        print_line(f"{args.output}: {', '.join(count(n, what) for n, what in sizes)}: {partners.hash}")
    return 0


def _samples(args: argparse.Namespace) -> int:
    from interloq.play.samples import samples_file

    bad = BadLineReporter()
    tally = samples_file(
        args.dialogues,
        args.output,
        targets=args.target,
        system=args.system,
        strict=args.strict,
        on_reject=bad,
        columns=args.columns,
    )
    bad.close()
    mark_incomplete(tally.silent or not tally.samples)
    if args.json:
        names = ("dialogues", "samples", "with_failures", "silent", "unmatched")
        print_json({name: getattr(tally, name) for name in names})
    elif args.output != "-":
        print_line(
            f"samples: {tally.samples:,}; dialogues: {tally.dialogues:,}, {tally.with_failures:,} with a failure"
        )
        if tally.silent:
            print_line(f"dialogues without any utterance to judge: {tally.silent:,}")
    return 0


def _show(args: argparse.Namespace, plan: Any, tally: Any) -> None:
    facts = tally.facts()
    if args.json:
        print_json({"output": args.output, **{k: plan.run[k] for k in ("scheme", "partners", "seed")}, **facts})
        return
    print_bots(facts["bots"])
    resumed = f", {tally.resumed:,} of them from earlier runs" if tally.resumed else ""
    print_line(f"{args.output}: {count(tally.dialogues, 'dialogue')}{resumed}; {tally.short:,} ended early")
    print_line(f"partner set: {plan.run['partners']}")
