# SPDX-License-Identifier: Apache-2.0
"""Systems reply to fixed contexts: prompts in, samples out, one row per prompt, system and repeat.

The rows have the ids, references, dialogues and further fields of the prompts. A seed depends on the run's seed, the id
and the repeat, not on the system or the batch. Replies are kept in a journal, so an interrupted run resumes. A missing
reply is left out and counted; the same command asks for it again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from interloq.data.files.appended import check_run
from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.progress import Progress, silent
from interloq.data.records.jsonl import header, read
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.errors import InputError
from interloq.play.bot import Bot, BotLike, as_bot
from interloq.play.journal import Journal, journal_path
from interloq.play.partners import drop_version
from interloq.play.play_options import ReplyOptions
from interloq.play.prompts import Prompt, count_repeated_contexts, prompts_fingerprint, read_prompts, repeat_prompts
from interloq.play.run import try_out
from interloq.play.samples import CARRIED
from interloq.play.schedule import BotMatch, check_name, reply_match, seed_of
from interloq.play.talk import PlayTally
from interloq.play.talk_task import TalkTask, journal_of, play_into
from interloq.records import Dialogue, Sample
from interloq.registry import spec
from interloq.servers.spending import check_processes, current
from interloq.shards.shard_options import ONE_PROCESS, ShardOptions
from interloq.signature import Signature

GIVEN = "given"  # the system of kept replies that name none
DEFAULTS = ReplyOptions()


@dataclass(slots=True)
class Replied:
    """Counts of a run of `reply`."""

    prompts: int = 0
    rows: int = 0
    kept: int = 0  # of the rows, replies of the input
    repeated_contexts: int = 0  # prompts with the context of an earlier one
    missing: dict[str, int] = field(default_factory=dict)  # by system
    tally: PlayTally = field(default_factory=PlayTally)

    def facts(self) -> dict[str, Any]:
        """Return the counts for JSON."""
        names = ("prompts", "rows", "kept", "repeated_contexts", "missing")
        played = self.tally.facts()
        return {name: getattr(self, name) for name in names} | {name: played[name] for name in ("resumed", "bots")}


def reply_file(
    prompts: str | Path,
    output: str | Path,
    systems: Mapping[str, BotLike],
    options: ReplyOptions = DEFAULTS,
    *,
    shards: ShardOptions = ONE_PROCESS,
    reading: ReadOptions = READ_DEFAULTS,
    progress: Progress = silent,
) -> Replied:
    """Let systems reply to the contexts of a file, and write their replies as samples.

    If the output exists, it must be from the same prompts, systems and seed; then only missing replies are asked for.
    `shards` says which processes ask for what.
    """
    refuse_overwriting([output, journal_path(output)], [prompts])
    if not systems:
        raise InputError("no system is given", hint="name one, for example --system mine=eliza")
    for name in systems:
        check_name(name)
    before = {} if str(prompts) == "-" else header(prompts)
    found = read_prompts(prompts, reading=reading)
    bots = {name: as_bot(bot) for name, bot in systems.items()}
    check_processes(bots.values(), shards, current())
    kept = _collect_kept(found, bots) if options.keep else {}
    run: dict[str, Any] = {
        "prompts": prompts_fingerprint(found),
        "seed": options.seed,
        "bots": {name: drop_version(bot.signature()) for name, bot in sorted(bots.items())},
    }
    n = max(options.n, _stored_repeats(Path(output), run))
    rows = repeat_prompts(found, n)
    replied = Replied(len(found), repeated_contexts=count_repeated_contexts(found), tally=options.tally or PlayTally())
    task = TalkTask(bots, options.batch, patience=options.patience)
    with Journal(journal_of(output, shards), run) as journal:
        _take_over(Path(output), bots, journal)
        with progress("replying", len(rows) * len(bots)) as step:
            matches = _choose_matches(rows, bots, journal, options.seed)
            replied.missing = _count_missing(
                play_into(journal, task, matches, shards, output=output, tally=replied.tally, progress=step)
            )
        signature = Signature.of("reply", {"prompts": run["prompts"], "seed": options.seed})
        facts = {"signature": signature, **run, "n": n, "specs": {name: spec(bot) for name, bot in bots.items()}}
        facts["bots"] = _kept_bots(before, kept) | run["bots"]
        carried = {name: value for name, value in before.items() if name not in ("kind", "schema", *CARRIED)}
        replied.kept = sum(map(len, kept.values()))
        if not replied.kept and sum(replied.missing.values()) == len(rows) * len(bots):
            journal.discard()  # a file without samples could not be read
            return replied
        records = _join_replies(rows, bots, kept, journal)
        replied.rows = journal.finish(output, records, kind="samples", **{**carried, **facts})
    return replied


def _choose_matches(rows: Sequence[Sample], bots: Mapping[str, Bot], journal: Journal, seed: int) -> list[BotMatch]:
    """Return one match per reply, after each bot that still has something to reply to was tried out."""
    matches = []
    for row in rows:
        seed_of_row = seed_of(seed, row.id)
        matches += [reply_match(_place(row.id, name), name, row.context, seed_of_row) for name in bots]
    journal.forget_unanswered()
    try_out(bots, _first_contexts([match for match in matches if match.id not in journal]))
    return matches


def _count_missing(dialogues: Iterable[Dialogue]) -> dict[str, int]:
    """Return the number of missing replies by system."""
    missing: Counter[str] = Counter()
    for dialogue in dialogues:
        if not dialogue.turns:
            missing.update(dialogue.systems.values())
    return dict(sorted(missing.items()))


def _first_contexts(matches: Sequence[BotMatch]) -> dict[str, Any]:
    """Return one context for each bot that still has something to reply to."""
    first: dict[str, Any] = {}
    for match in matches:
        first.setdefault(match.target, match.context)
    return first


def _place(id: str, system: str) -> str:
    """Return the id of a reply in the journal; no system's name contains a tilde."""
    return f"{id}~{system}"


def _join_replies(
    rows: Sequence[Sample], bots: Mapping[str, Bot], kept: Mapping[str, Sequence[Sample]], journal: Journal
) -> Iterator[Sample]:
    """Yield the kept replies to each prompt, and the replies of the systems."""
    for row in rows:
        yield from kept.get(row.id, ())
        for name in bots:
            place = _place(row.id, name)
            if place in journal and (turns := journal[place].turns):
                yield replace(row, response=turns[0].text, system=name)


def _collect_kept(prompts: Sequence[Prompt], bots: Mapping[str, Bot]) -> dict[str, list[Sample]]:
    """Return the replies of the input by id, each with a system."""
    kept: dict[str, list[Sample]] = {}
    for prompt in prompts:
        for sample in prompt.given:
            named = replace(sample, system=sample.system or GIVEN)
            if named.system in bots:
                raise InputError(
                    f"the input already has replies of {named.system!r}", hint="give the system another name"
                )
            kept.setdefault(sample.id, []).append(named)
    return kept


def _kept_bots(before: Mapping[str, Any], kept: Mapping[str, Sequence[Sample]]) -> dict[str, str]:
    """Return the signatures of kept systems, as far as the input's header has them."""
    names = {sample.system for samples in kept.values() for sample in samples}
    known = before.get("bots")
    return {name: text for name, text in (known if isinstance(known, dict) else {}).items() if name in names}


def _stored_repeats(output: Path, run: Mapping[str, Any]) -> int:
    """Return the number of replies per prompt in an existing output; one of another run is refused."""
    if not output.exists():
        return 1
    stored = header(output)
    if "prompts" not in stored or not isinstance(stored.get("bots"), dict):
        raise InputError(
            "the output exists and was not written by `interloq reply`",
            hint="choose another output",
            where=str(output),
        )
    specs = stored.get("specs")
    asked = specs if isinstance(specs, dict) else {}
    bots = {name: text for name, text in stored["bots"].items() if name in asked}  # without kept systems
    earlier = {name: stored.get(name) for name in run} | {"bots": bots}
    check_run(earlier, orjson.loads(orjson.dumps(dict(run))), output)
    n = stored.get("n")
    return n if isinstance(n, int) and n > 0 else 1


def _take_over(output: Path, bots: Mapping[str, Bot], journal: Journal) -> None:
    """Add the replies of a finished file of this run to the journal."""
    if not output.exists():
        return
    for sample in read(output, strict=True):
        place = _place(sample.id, sample.system)
        if sample.system in bots and place not in journal:
            journal.add(Dialogue(place, [sample.response], {sample.system: sample.system}))
