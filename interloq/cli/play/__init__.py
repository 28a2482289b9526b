# SPDX-License-Identifier: Apache-2.0
"""`interloq play`: systems talk to themselves, to each other, or to a fixed set of partners."""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interloq.cli.play import audit as play_audit
from interloq.cli.play import settle as play_settle
from interloq.cli.play.view import print_bots
from interloq.cli.shared import arguments
from interloq.cli.shared.output import add_limits, limit_spending, mark_incomplete, reading
from interloq.data.files.opening import read_small
from interloq.errors import InputError, count, short_repr
from interloq.play.bot import Bot
from interloq.play.play_options import (
    EXCHANGES,
    OPENINGS,
    OpeningOptions,
    PlanOptions,
    PlayOptions,
    SamplesOptions,
    SettleOptions,
)
from interloq.play.schedule import check_name
from interloq.registry import create, spec
from interloq.shards.shard_options import ShardOptions
from interloq.terminal.console import print_json, print_line, print_stderr
from interloq.trust import Trust, check_trust

if TYPE_CHECKING:
    from interloq.play.run import Plan
    from interloq.rank.running_ranking import Running

EXAMPLES = """\
  interloq play run --scheme self-play --target mine=eliza -o dialogues.jsonl
  interloq play partners --partner echo=echo --partner eliza=eliza --openings embedded:en -o partners.json
  interloq play run --scheme bipartite --target "mine=hf(model='my-model')" --partners partners.json -o dialogues.jsonl
  interloq play run --target mine=eliza --partners en-v1 -o dialogues.jsonl
  interloq play run --target "mine=hf(model='my-model')" --partners en-v1 --shard 3/16 --parts parts -o dialogues.jsonl
  interloq play samples dialogues.jsonl -o samples.jsonl"""
PATIENCE = 1_800.0
_NAMED = re.compile(r"([^=(]+)=(.*)", re.DOTALL)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    running = actions.add_parser("run", help="play dialogues; rerun the same command to resume")
    making = actions.add_parser("partners", help="write a partner set that runs can share")
    sampling = actions.add_parser("samples", help="convert dialogues to samples that can be scored")
    add_bots(running, "target", "a system to be judged")
    running.add_argument(
        "--partners", type=arguments.InputPath, metavar="FILE", help="a partner set: en-v1, ja-v1, or a file"
    )
    arguments.add_list(running, "--partner", metavar="NAME=SPEC", help="a partner, instead of --partners")
    for options in (PlanOptions, PlayOptions(patience=PATIENCE), SettleOptions, ShardOptions):
        arguments.add_options(running, options)
    add_bots(making, "partner", "a partner")
    arguments.add_input(sampling, "dialogues", "DIALOGUES", "played or recorded dialogues")
    arguments.add_options(sampling, SamplesOptions)
    for action in (running, making):
        arguments.add_options(action, OpeningOptions)
        arguments.add_json(action)
    for action in (running, making, sampling):
        arguments.add_output(action, "the file to write")
    arguments.add_map(sampling, of="dialogues")
    arguments.add_common(sampling)
    add_limits(running)
    arguments.add_quiet(running)
    play_audit.add_arguments(
        actions.add_parser("audit", help="measure how much a ranking depends on the choice of systems and partners")
    )


def run(args: argparse.Namespace) -> None:
    actions = {"run": _run, "partners": _partners, "samples": _samples, "audit": play_audit.run}
    actions[args.action](args)


def add_bots(parser: argparse.ArgumentParser, what: str, help_text: str) -> None:
    """Add the options that name bots: one by one, or a file of them."""
    arguments.add_list(parser, f"--{what}", metavar="NAME=SPEC", help=help_text)
    parser.add_argument(
        "--bots",
        type=arguments.InputPath,
        metavar="FILE",
        help=f"TOML or JSON file that maps names of {what}s to specs",
    )


def _run(args: argparse.Namespace) -> None:
    from interloq.cli.play.view import watching
    from interloq.play.run import play
    from interloq.play.talk import PlayTally, close_all

    if args.output == "-":
        raise InputError("a run needs an output file, so that it can be resumed", hint="name one with -o")
    settle, settling, settled = arguments.make_options(SettleOptions, args), None, None
    ranking: Callable[[], str] | None = None
    if settle.until_settled:
        metric = create(settle.until_settled, kind="metric")
        settling = play_settle.Settling(args.output, metric, settle, quiet=args.quiet)
        ranking = settling.ranking
    running = _running(settle, quiet=args.quiet)
    if running:
        ranking = running.line
    plan, tally = _make_plan(args), PlayTally()
    shards = arguments.shard_options(args)
    if settling and shards.is_used:
        raise InputError("--until-settled looks at the dialogues one after another", hint="run it in one process")
    try:
        with (
            contextlib.redirect_stdout(sys.stderr),  # a bot that prints must not write into our output
            limit_spending(args),
            watching(
                tally,
                len(plan.matches),
                plan.run["exchanges"] * 2,
                quiet=args.quiet,
                at_most=bool(settling),
                ranking=ranking,
            ) as progress,
        ):
            options = arguments.make_options(PlayOptions, args, tally=tally, progress=progress)
            if settling:
                settled = settling.play(plan, options)
            else:
                play(
                    plan,
                    args.output,
                    options,
                    hear=running.hear if running else None,
                    shards=shards,
                )
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


def _running(settle: SettleOptions, *, quiet: bool) -> Running | None:
    """Return the ranking to show while playing, or None."""
    from interloq.rank.running_ranking import Running

    if not settle.watch:
        return None
    ranking = Running(create(settle.watch, kind="metric"), lower_is_better=settle.lower_is_better)
    return None if quiet else ranking


def _make_plan(args: argparse.Namespace) -> Plan:
    from interloq.play.openings import read_openings
    from interloq.play.partners import check_openings, load_partners, openings_source, partner_bots
    from interloq.play.run import plan

    if args.partners and args.partner:
        raise InputError("both --partners and --partner are given", hint="give only one of them")
    targets = make_bots(args.target, args.bots, "target", trust=args.trust)
    known = load_partners(args.partners) if args.partners else None
    source = args.openings or (known and openings_source(known, args.partners)) or OPENINGS
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
        partners = make_bots(args.partner, None, "partner")
    options = arguments.make_options(PlanOptions, args)
    return plan(targets, openings, options, exchanges=exchanges, partners=partners, known=known)


def _partners(args: argparse.Namespace) -> None:
    from interloq.play.openings import read_openings
    from interloq.play.partners import partner_set, save_partners
    from interloq.play.talk import close_all

    bots = make_bots(args.partner, args.bots, "partner", trust=args.trust)
    if not bots:
        raise InputError("no partner given", hint="name one, for example --partner eliza=eliza")
    source = args.openings or OPENINGS
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


def _samples(args: argparse.Namespace) -> None:
    from interloq.play.samples import samples_file

    with reading(args) as read_options:
        tally = samples_file(
            args.dialogues, args.output, arguments.make_options(SamplesOptions, args), reading=read_options
        )
    mark_incomplete(tally.silent or not tally.samples)
    if args.json:
        names = ("dialogues", "samples", "with_failures", "silent", "unmatched", "unspoken")
        print_json({name: getattr(tally, name) for name in names})
    elif args.output != "-":
        print_line(
            f"samples: {tally.samples:,}; dialogues: {tally.dialogues:,}, {tally.with_failures:,} with a failure"
        )
        if tally.silent:
            print_line(f"dialogues without any utterance to judge: {tally.silent:,}")
        if tally.unspoken:
            print_line(f"in no sample: {count(tally.unspoken, 'turn')} that nobody said (prompts, calls of tools, …)")


def _show(args: argparse.Namespace, plan: Any, tally: Any) -> None:
    facts = tally.facts()
    if args.json:
        print_json({"output": args.output, **{k: plan.run[k] for k in ("scheme", "partners", "seed")}, **facts})
        return
    print_bots(facts["bots"])
    resumed = f", {tally.resumed:,} of them from earlier runs" if tally.resumed else ""
    print_line(f"{args.output}: {count(tally.dialogues, 'dialogue')}{resumed}; {tally.short:,} ended early")
    for bot, reasons in facts["ended"].items():
        for why, n in reasons.items():
            print_line(f"{bot} {why} in {count(n, 'dialogue')}")
    print_line(f"partner set: {plan.run['partners']}")


def make_bots(options: Sequence[str], file: str | None, what: str, *, trust: Trust = None) -> dict[str, Bot]:
    """Return bots by name. Duplicate names are refused, equal specs share one bot, bots from a file must be trusted."""
    bots: dict[str, Bot] = {}
    same: dict[str, Bot] = {}
    named_specs = [_split_name(text) for text in options]
    if file:
        named_specs += _read_bots(file)
    for name, text in named_specs:
        check_name(name)
        if name in bots:
            raise InputError(f"two {what}s are called {name!r}", hint="give each a different name")
        bot = create(text, kind="bot")
        bots[name] = same.setdefault(spec(bot), bot)
    if file:
        check_trust(dict(list(bots.items())[len(options) :]), file, trust)
    return bots


def _split_name(option: str) -> tuple[str, str]:
    """Split `mine=eliza` into mine and eliza; a spec without a name gets its component's name."""
    if match := _NAMED.fullmatch(option):
        return match[1].strip(), match[2].strip()
    return option.partition("(")[0].strip(), option


def _read_bots(path: str) -> Iterator[tuple[str, str]]:
    """Yield names and specs of a TOML or JSON file."""
    try:
        text = read_small(path).decode("utf-8")
        pairs: Any
        if Path(path).suffix == ".json":
            pairs = json.loads(text, object_pairs_hook=list)  # two bots may have the same name
        else:
            pairs = list(tomllib.loads(text).items())
    except (ValueError, RecursionError) as error:  # both formats' errors are ValueErrors
        raise InputError(
            f"cannot be read: {error}", hint='write lines such as name = "spec" (TOML), or JSON', where=path
        ) from error
    if not isinstance(pairs, list):
        raise InputError(
            f"contains a {type(pairs).__name__}, not names and specs", hint="map names to specs", where=path
        )
    for pair in pairs:
        if not isinstance(pair, tuple) or not isinstance(pair[1], str):
            raise InputError(
                f"{short_repr(pair)} is not a name with a spec as text", hint="map names to specs", where=path
            )
        yield pair
