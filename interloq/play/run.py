# SPDX-License-Identifier: Apache-2.0
"""A run from end to end: plan the matches, skip those already played, play, and write the file.

The header of the file has everything the dialogues depend on: scheme, partner set, openings, exchanges, seed and every
bot's signature. An interrupted run resumes from its journal; a finished file is extended by a longer schedule.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from interloq.data.files.appended import check_run
from interloq.data.records.jsonl import header, read
from interloq.errors import InputError, InterloqError
from interloq.play.bot import Bot, BotLike, as_bot
from interloq.play.endings import EndRules
from interloq.play.journal import Journal
from interloq.play.openings import Opening, openings_fingerprint
from interloq.play.partners import PartnerSet, drop_version, partner_set
from interloq.play.play_options import REPEATS, SCHEMES, PlanOptions, PlayOptions
from interloq.play.schedule import BotMatch, all_play_all, apart, bipartite, check_name, draw_openings, self_play
from interloq.play.talk import NO_RULES, PlayTally, sameness
from interloq.play.talk_task import TalkTask, journal_of, play_into
from interloq.records import Dialogue, Turn
from interloq.registry import spec
from interloq.servers.spending import check_processes, current
from interloq.shards.shard_options import ONE_PROCESS, ShardOptions
from interloq.signature import Signature

Hear = Callable[[Dialogue], None]
DEFAULTS = PlayOptions()


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that the dialogues of a run depend on."""

    matches: tuple[BotMatch, ...]
    bots: Mapping[str, Bot]
    run: Mapping[str, Any]
    repeats: int = REPEATS
    stop_repeating: bool = False
    endings: EndRules = NO_RULES
    specs: Mapping[str, str] = field(default_factory=dict)
    tried: set[Any] = field(default_factory=set)  # the bots that were tried out

    def facts(self) -> dict[str, Any]:
        """Return the facts for the header."""
        signed = {name: self.run[name] for name in ("scheme", "partners", "openings", "exchanges", "seed")}
        signature = Signature.of("play", signed)
        return {"signature": signature, **self.run, "specs": dict(self.specs)}


def plan(
    targets: Mapping[str, BotLike],
    openings: Sequence[Opening],
    options: PlanOptions,
    *,
    exchanges: int,
    partners: Mapping[str, BotLike] | None = None,
    known: PartnerSet | None = None,
) -> Plan:
    """Return the matches of a scheme with their bots. `known` is the partner set that `partners` were loaded from."""
    scheme, seed = options.scheme, options.seed
    if scheme == "bipartite" and not partners:
        others = " or ".join(name for name in SCHEMES if name != scheme)
        raise InputError(
            "bipartite play needs partners for the targets to talk to",
            hint=f"name some with --partner NAME=BOT or --partners FILE, or choose --scheme {others}",
        )
    if partners and scheme != "bipartite":
        raise InputError(f"{scheme} uses no partners", hint="leave them out, or choose --scheme bipartite")
    for name in targets:
        check_name(name)
    names = apart(partners or {}, targets)
    bots = {name: as_bot(bot) for name, bot in targets.items()}
    for name, bot in (partners or {}).items():
        bots[names[name]] = as_bot(bot)
    used = draw_openings(openings, options.limit, seed)
    counts = {"exchanges": exchanges, "repeats": options.repeats, "seed": seed}
    if scheme == "bipartite":
        matches, against = bipartite(targets, names.values(), used, **counts), partners or {}
    elif scheme == "all-play-all":
        matches, against = all_play_all(targets, used, **counts), targets
    else:
        matches, against = self_play(targets, used, **counts), {}
    endings = EndRules(tuple(options.end), options.end_mark)
    against_set = known or partner_set(against, openings, exchanges=exchanges)
    signed = {names.get(partner.name, partner.name): partner.signature for partner in against_set.partners}
    run = {
        "scheme": scheme,
        "partners": against_set.hash,
        "openings": openings_fingerprint(openings),
        "exchanges": exchanges,
        "seed": seed,
        "rules": {"repeats": options.same, "stop_repeating": options.stop_repeating, **endings.facts()},
        # signing reads all weights, so it is done once per bot
        "bots": {name: signed.get(name) or drop_version(bot.signature()) for name, bot in sorted(bots.items())},
    }
    specs = {name: spec(bot) for name, bot in bots.items()}
    for partner in known.partners if known else ():  # without the location of the set
        specs[names.get(partner.name, partner.name)] = partner.spec
    return Plan(tuple(matches), bots, run, options.same, options.stop_repeating, endings, specs)


def play(
    plan: Plan,
    output: str | Path,
    options: PlayOptions = DEFAULTS,
    *,
    hear: Hear | None = None,
    shards: ShardOptions = ONE_PROCESS,
) -> PlayTally:
    """Play the matches that were not played before, and write all dialogues.

    `hear` is called with each finished dialogue, including the ones played before. `shards` says which processes play
    what.
    """
    tally: PlayTally = options.tally or PlayTally()
    check_processes(plan.bots.values(), shards, current())
    with playing(plan, output, replace(options, tally=tally), shards) as play_matches:
        play_matches(plan.matches, hear)
    return tally


@contextlib.contextmanager
def playing(
    plan: Plan, output: str | Path, options: PlayOptions, shards: ShardOptions = ONE_PROCESS
) -> Iterator[Callable[[Sequence[BotMatch], Hear | None], None]]:
    """Play a run in parts: yield a function that plays some of the plan's matches. The file is written at the end."""
    task = TalkTask(plan.bots, options.batch, plan.repeats, plan.stop_repeating, plan.endings, options.patience)
    with Journal(journal_of(output, shards), plan.run) as journal:
        before = _take_over(Path(output), plan, journal)

        def play_matches(matches: Sequence[BotMatch], hear: Hear | None) -> None:
            ids = [match.id for match in matches]
            if options.again:
                journal.forget_failed(ids)
            _try_out_plan(plan, [match for match in matches if match.id not in journal])
            new_dialogues = play_into(
                journal,
                task,
                matches,
                shards,
                tally=options.tally,
                output=output,
                progress=options.progress or (lambda _: None),
            )
            for dialogue in chain(journal.dialogues(ids) if hear else (), new_dialogues):
                if hear:
                    hear(dialogue)

        yield play_matches
        ids = dict.fromkeys([*(match.id for match in plan.matches), *before])
        journal.finish(output, journal.dialogues(ids), **plan.facts())


def _try_out_plan(plan: Plan, matches: Sequence[BotMatch]) -> None:
    first_turns: dict[str, Sequence[Turn]] = {}
    for match in matches:
        turns = [Turn(text) for text in match.opening]
        first_turns.setdefault(match.target, turns)
        first_turns.setdefault(match.partner, turns)
    try_out(plan.bots, first_turns, plan.tried)


def try_out(bots: Mapping[str, Bot], first_turns: Mapping[str, Sequence[Turn]], tried: set[Any] | None = None) -> None:
    """Try out each bot that has turns to answer, unless it was `tried`.

    So a wrong port or key is reported now, not after thousands of attempts.
    """
    tried = set() if tried is None else tried
    for name, turns in sorted(first_turns.items()):
        bot = bots.get(name)
        if bot is None or sameness(bot) in tried:
            continue
        try:
            bot.try_out(turns)
        except InterloqError as error:
            raise InputError(f"{name!r} cannot answer: {error}") from error
        tried.add(sameness(bot))


def _take_over(output: Path, plan: Plan, journal: Journal) -> list[str]:
    """Add the dialogues of a finished file of this run to the journal, including those outside the schedule."""
    if not output.exists():
        return []
    stored = header(output)
    if "scheme" not in stored:
        raise InputError(
            "the output exists and was not written by a run", hint="choose another output", where=str(output)
        )
    import orjson

    run: dict[str, Any] = orjson.loads(orjson.dumps(dict(plan.run)))  # as it would be read from the file
    check_run({name: stored.get(name) for name in plan.run}, run, output)
    ids = []
    for dialogue in read(output, kind="dialogues", strict=True):
        ids.append(dialogue.id)
        if dialogue.id not in journal:
            journal.add(dialogue)
    return ids
