# SPDX-License-Identifier: Apache-2.0
"""Pairs of a log: all of them or some drawn at random, from one period, without pairs that overlap test samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from interloq.data.corpus.clean import NO_TIME
from interloq.data.corpus.dialogues import merge_turns, pairs_of_dialogue
from interloq.data.corpus.draw import draw_pairs, read_date
from interloq.data.corpus.times import microseconds
from interloq.data.files.opening import lines
from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.progress import Progress, count_records, lines_ahead, silent
from interloq.data.records.jsonl import read, write_then_head
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.data.text.texts import kind_of
from interloq.errors import InputError
from interloq.options import Options, check_limits, option
from interloq.records import Dialogue, Pair, Sample, Turn
from interloq.retrieve.leaks import exclude_overlap

T = TypeVar("T")
SAMPLES, EXCLUDED = "samples.jsonl", "excluded.txt"  # files of a folder written by `corpus testset`


@dataclass(frozen=True, slots=True, kw_only=True)
class Period(Options):
    """The replies that are used, by their time."""

    since: str = option("", "use only replies from this date on, such as 2019-01-01", flag="--from", metavar="DATE")
    until: str = option("", "use only replies before this date", metavar="DATE")

    def __post_init__(self) -> None:
        check_limits(self)
        since, until = read_date(self.since, "--from"), read_date(self.until, "--until")
        if NO_TIME not in (since, until) and since >= until:
            raise InputError(f"no time is from {self.since} on and before {self.until}", hint="swap the two dates")

    def select(self, items: Iterable[T], dropped: Counter[str], pair_of: Callable[[T], Pair]) -> Iterator[T]:
        """Yield the items whose reply is in the period; count replies without a time, and outside of the period."""
        since, until = read_date(self.since, "--from"), read_date(self.until, "--until")
        if since == until == NO_TIME:
            yield from items
            return
        timed = 0
        for item in items:
            time = _read_time(pair_of(item))
            timed += time != NO_TIME
            if time == NO_TIME:
                dropped["replies_without_time"] += 1
            elif time < since or (until != NO_TIME and time >= until):
                dropped["replies_outside_the_period"] += 1
            else:
                yield item
        if dropped["replies_without_time"] and not timed:
            hint = "name its field, such as --map time=date, or omit --from and --until"
            raise InputError("no reply has a time that can be read", hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairOptions(Period):
    """Which pairs of a log are written."""

    draw: int = option(0, "pairs to draw at random; 0: all", least=0)
    seed: int = option(0, "seed of the draw", least=0)
    first: bool = option(False, "only the first utterance of each dialogue with its reply")
    min_posts: int = option(2, "drop shorter dialogues", least=2)
    without: Sequence[str | Path] = option(
        (), "exclude pairs that overlap these samples, or a folder of `corpus testset`", path=True, metavar="SAMPLES"
    )


EVERY_PAIR = PairOptions()


class Opening(NamedTuple):
    """How a dialogue begins, and how many posts it has."""

    pair: Pair
    first: Turn
    second: Turn
    posts: int


def pairs_file(
    log: str | Path,
    output: str | Path,
    options: PairOptions = EVERY_PAIR,
    *,
    reading: ReadOptions = READ_DEFAULTS,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Write pairs of a file of dialogues or pairs; return how many were written and usable, and what was dropped."""
    refuse_overwriting([output], [log, *options.without])
    samples, ids = read_tested(options.without, strict=reading.strict)
    dropped, overlapping, tally = Counter[str](), Counter[str](), Counter[str]()
    chosen = {name: value for name, value in asdict(options).items() if value != getattr(EVERY_PAIR, name)}
    chosen.pop("without", None)  # paths

    def facts() -> dict[str, Any]:
        about = {"selection": chosen, "dropped": +dropped, "overlapping": +overlapping}
        return {"holds": "pairs", **(about if chosen or options.without else {})}

    with progress("reading the log", lines_ahead(log, progress)) as step:
        pairs = options.select(_read_pairs(log, options, reading, dropped, step), dropped, lambda pair: pair)
        if samples:
            pairs = exclude_overlap(pairs, samples, excluded=ids, dropped=overlapping)
        pairs = _count(pairs, tally, "usable")
        if options.draw:
            pairs = draw_pairs(pairs, options.draw, seed=options.seed)
        write_then_head(output, _count(pairs, tally, "pairs"), facts, kind="pairs")
    return {"pairs": tally["pairs"], "usable": tally["usable"], "dropped": +dropped, "overlapping": +overlapping}


def _count(pairs: Iterable[Pair], tally: Counter[str], name: str) -> Iterator[Pair]:
    for pair in pairs:
        tally[name] += 1
        yield pair


def _read_pairs(
    log: str | Path, options: PairOptions, reading: ReadOptions, dropped: Counter[str], step: Any
) -> Iterator[Pair]:
    if str(log) != "-" and kind_of(log) == "pairs":
        if options.first or options.min_posts > EVERY_PAIR.min_posts:
            hint = "name a file of dialogues, such as the dialogues.jsonl of a corpus"
            raise InputError("a file of pairs does not say how long its dialogues are", hint=hint, where=str(log))
        return count_records(reading.read(log, kind="pairs"), step)
    dialogues = count_records(reading.read(log, kind="dialogues"), step)
    if options.first:
        openings = read_openings(dialogues, dropped)
        return (opening.pair for opening in openings if not _is_short(opening.posts, options, dropped))
    long = (dialogue for dialogue in dialogues if not _is_short(len(dialogue.turns), options, dropped))
    return chain.from_iterable(map(pairs_of_dialogue, long))


def _is_short(posts: int, options: PairOptions, dropped: Counter[str]) -> bool:
    """Return whether a dialogue has too few posts, and count it. A single turn has no pairs, and is not counted."""
    dropped["short_dialogues"] += 1 < posts < options.min_posts
    return posts < options.min_posts


def read_openings(dialogues: Iterable[Dialogue], dropped: Counter[str]) -> Iterator[Opening]:
    """Yield how dialogues begin. Consecutive dialogues that share both posts (branches of a thread) begin once."""
    held: Opening | None = None
    for dialogue in dialogues:
        posts, turns = len(dialogue.turns), list(dialogue.turns)
        if all(turn.speaker for turn in turns):
            turns = merge_turns(turns)
        if len(turns) < 2:
            dropped["dialogues_of_one_speaker"] += 1
            continue
        first, second = turns[:2]
        if held and first.time and (first, second) == (held.first, held.second):
            held = held._replace(posts=max(held.posts, posts))
            continue
        if held:
            yield held
        pair = Pair(f"{dialogue.id}/1", first.text, second.text, f"{dialogue.id}/0", dialogue.id, second.time)
        held = Opening(pair, first, second, posts)
    if held:
        yield held


def read_tested(paths: Iterable[str | Path], *, strict: bool = False) -> tuple[list[Sample], frozenset[str]]:
    """Return the test samples in files, and in folders of `corpus testset`, with the ids that these exclude."""
    samples: list[Sample] = []
    ids = set[str]()
    for path in map(Path, paths):
        if path.is_dir():
            samples += read(path / SAMPLES, strict=strict)
            ids |= {line.decode().strip() for _, line in lines(path / EXCLUDED)}
        else:
            samples += read(path, strict=strict)
    return samples, frozenset(ids - {""})


def _read_time(pair: Pair) -> int:
    """Return the time of a reply; NO_TIME if it has none that can be read."""
    try:
        return microseconds(pair.time)
    except InputError:
        return NO_TIME
