# SPDX-License-Identifier: Apache-2.0
"""Test sets from logs (Tsuta et al., 2020, 5.2; 2023, 5.2): first utterances that people answered in several ways.

One reply is the gold reference; it begins a dialogue of at least three posts. Another is the reply of the system HUMAN.
The rest are further references, or candidates for them, or are dropped. Which utterances are drawn, and which reply
becomes what, depends only on the seed and the texts, and not on the order of the log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from interloq.data.corpus.draw import NUMBERS, random_number
from interloq.data.files.durable import atomic_folder, discard, write_atomically
from interloq.data.files.opening import write_json
from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.progress import Progress, count_records, lines_ahead, silent
from interloq.data.records.jsonl import SCHEMA, to_json, write
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.data.text.texts import TEXT, kind_of
from interloq.errors import InputError, count
from interloq.options import option
from interloq.records import Dialogue, Pair, Reference, Sample
from interloq.retrieve.corpus_pairs import EXCLUDED, SAMPLES, Period, read_openings
from interloq.retrieve.leaks import normalise_text
from interloq.signature import Signature, file_fingerprint, fingerprint

HUMAN = "HUMAN"  # the system whose replies are those of people
CANDIDATES, FACTS = "candidates.jsonl", "testset.json"
HELD, HELD_PER_DRAW = 1_000_000, 20  # replies held in memory, at least and per utterance to draw


@dataclass(frozen=True, slots=True, kw_only=True)
class UtteranceSelection(Period):
    """Which utterances of a log become test samples, and what becomes of their replies."""

    draw: int = option(0, "utterances to draw at random; 0: all", least=0)
    seed: int = option(0, "seed of all random choices", least=0)
    min_posts: int = option(3, "the gold reply must begin a dialogue of at least this many posts", least=2)
    same: Literal["post", "text"] = option(
        "post", "replies belong together if they answer the same post, or posts with the same text"
    )
    rest: Literal["candidates", "references", "drop"] = option(
        "candidates", "further replies to an utterance: write them as candidates, add them as references, or drop them"
    )


class Answer(NamedTuple):
    """A reply to an utterance, and whether it begins a dialogue that is long enough."""

    pair: Pair
    is_long: bool


@dataclass(frozen=True, slots=True)
class Item:
    """A test sample, and the replies to its utterance that it does not contain."""

    sample: Sample
    rest: tuple[Pair, ...]
    ids: frozenset[str]  # of posts and dialogues that contain its utterance


def write_testset(
    log: str | Path,
    output: str | Path,
    selection: UtteranceSelection,
    *,
    reading: ReadOptions = READ_DEFAULTS,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Write a test set from a corpus folder, a file of dialogues or a file of pairs; return its facts.

    The output of an earlier run is replaced.
    """
    refuse_overwriting([output], [log])
    opened, dropped = Log(log, selection, reading, progress), Counter[str]()
    utterances = Utterances(selection)
    for key, answer in opened.answers(dropped):
        utterances.add(key, answer)
    usable = utterances.items(dropped)
    if not usable:
        reasons = ", ".join(f"{name.replace('_', ' ')} {n:,}" for name, n in (+dropped).items())
        raise InputError("no utterance has two usable replies", hint=f"dropped: {reasons}", where=str(log))
    if len(usable) < selection.draw:
        what = f"{selection.draw:,} utterances were asked for, but only {len(usable):,} can be used"
        raise InputError(what, hint="draw fewer, or name a longer period or a larger log", where=str(log))
    items = usable[: selection.draw or None]
    signature = Signature.of("testset", asdict(selection) | {"source": opened.fingerprint()})
    facts = {
        "signature": to_json(signature),
        "samples": len(items),
        "usable_utterances": len(usable),
        "searched": utterances.limit / NUMBERS,  # the share of the log's utterances that was held in memory
        "references": sum(len(item.sample.references) for item in items),
        "candidates": sum(len(item.rest) for item in items),
        "dropped": +dropped,
    }
    _write(Path(output), items, {"kind": "test set", "schema": SCHEMA, "selection": asdict(selection), **facts})
    return facts


def _write(output: Path, items: list[Item], facts: dict[str, Any]) -> None:
    """Write the folder; replace an earlier one."""
    signature = facts["signature"]
    ids = sorted(frozenset[str]().union(*(item.ids for item in items)))
    with atomic_folder(output) as folder:
        write(folder / SAMPLES, (item.sample for item in items), kind="samples", signature=signature)
        if facts["candidates"]:
            rest = (pair for item in items for pair in item.rest)
            write(folder / CANDIDATES, rest, kind="pairs", holds="pairs", signature=signature)
        write_atomically(folder / EXCLUDED, "".join(f"{id}\n" for id in ids).encode())
        write_json(folder / FACTS, facts)
        names = {path.name for path in output.iterdir()} if output.is_dir() else set[str]()
        if FACTS in names <= {SAMPLES, CANDIDATES, EXCLUDED, FACTS}:
            discard(output)


class Log:
    """The replies of a corpus folder (its part `test` if it has one), a file of dialogues or a file of pairs."""

    def __init__(self, path: str | Path, selection: UtteranceSelection, reading: ReadOptions, progress: Progress):
        if str(path) == "-":
            raise InputError("a test set cannot be made from a pipe", hint="name a file or a corpus folder")
        self.selection, self.reading, self.progress = selection, reading, progress
        self.file, self.dialogues, self.is_corpus = Path(path), None, Path(path).is_dir()
        if self.is_corpus:
            part = self.file / "test" if (self.file / "test").is_dir() else self.file
            self.file = _find(part, "groups" if selection.same == "post" else "pairs")
            if selection.min_posts > 2:
                self.dialogues = _find(part, "dialogues")
        self.kind = kind_of(self.file)
        if self.kind == TEXT:  # reading it says what is wrong
            self.kind = "dialogues"
        if self.kind not in ("pairs", "dialogues"):
            hint = "name a corpus folder, or a file of dialogues or pairs"
            raise InputError(f"the file contains {self.kind}", hint=hint, where=str(self.file))
        if self.kind == "pairs" and not self.is_corpus and selection.min_posts > 2:
            hint = "name the corpus folder or a file of dialogues, or add --min-posts 2"
            raise InputError("a file of pairs does not say how long its dialogues are", hint=hint, where=str(path))

    def fingerprint(self) -> str:
        """Return the hash of the files."""
        files = [self.file, self.dialogues] if self.dialogues else [self.file]
        return fingerprint(*map(file_fingerprint, files))

    def answers(self, dropped: Counter[str]) -> Iterator[tuple[str, Answer]]:
        """Yield all first utterances with a reply, each with the key of its group."""
        with self.progress("reading the log", lines_ahead(self.file, self.progress)) as step:
            records = count_records(self.reading.read(self.file, kind=self.kind), step)
            read_answers = self._of_dialogues if self.kind == "dialogues" else self._of_pairs
            yield from self.selection.select(read_answers(records, dropped), dropped, lambda keyed: keyed[1].pair)

    def _of_dialogues(self, dialogues: Iterator[Dialogue], dropped: Counter[str]) -> Iterator[tuple[str, Answer]]:
        for opening in read_openings(dialogues, dropped):
            first = opening.first
            if self.selection.same == "text":
                key = normalise_text(first.text)
            elif first.time:
                key = "\0".join((first.speaker, first.time, first.text))
            else:
                what = f"the dialogue {opening.pair.thread!r} has no times, which show what begins with the same post"
                raise InputError(what, hint="add --same text to group equal texts", where=str(self.file))
            yield key, Answer(opening.pair, opening.posts >= self.selection.min_posts)

    def _of_pairs(self, pairs: Iterator[Pair], dropped: Counter[str]) -> Iterator[tuple[str, Answer]]:
        long = self._read_long()
        for pair in pairs:
            if self.is_corpus and pair.to != pair.thread:  # a corpus built with pairs = "all"
                dropped["not_first_utterances"] += 1
                continue
            key = normalise_text(pair.utterance) if self.selection.same == "text" else pair.to
            if not key and self.selection.same == "post":
                what = f"the pair {pair.id!r} does not name the post that it answers"
                hint = "name the field (--map to=…), or add --same text to group equal texts"
                raise InputError(what, hint=hint, where=str(self.file))
            is_long = not self.dialogues or hash((pair.utterance, pair.response, pair.time)) in long
            yield key, Answer(pair, is_long)

    def _read_long(self) -> set[int]:
        """Return how the long dialogues of the corpus begin: hashes of both texts and the reply's time."""
        long = set()
        if self.dialogues:
            with self.progress("reading the dialogues", lines_ahead(self.dialogues, self.progress)) as step:
                for dialogue in count_records(self.reading.read_beside([self.dialogues], kind="dialogues"), step):
                    if len(dialogue.turns) >= self.selection.min_posts:
                        first, second = dialogue.turns[:2]
                        long.add(hash((first.text, second.text, second.time)))
        return long


def _find(folder: Path, kind: str) -> Path:
    files = sorted(folder.glob(f"{kind}.jsonl*"))
    if len(files) != 1:
        hint = "name a folder of `corpus build`, or a file of dialogues or pairs"
        raise InputError(f"the folder has {count(len(files), 'file')} {kind}.jsonl*", hint=hint, where=str(folder))
    return files[0]


class Utterances:
    """The replies to each utterance. If they are too many, only a random share of the utterances is kept."""

    def __init__(self, selection: UtteranceSelection) -> None:
        self.selection, self.limit, self.held = selection, NUMBERS, 0
        self.answers: dict[str, list[Answer]] = {}

    def number(self, key: str) -> int:
        """Return the random number of an utterance; those with the smallest are drawn."""
        return random_number(self.selection.seed, key)

    def add(self, key: str, answer: Answer) -> None:
        """Add a reply, unless its utterance will not be drawn."""
        if self.number(key) >= self.limit:
            return
        self.answers.setdefault(key, []).append(answer)
        self.held += 1
        if self.selection.draw and self.held > max(HELD, HELD_PER_DRAW * self.selection.draw):
            self.limit //= 2
            self.answers = {key: found for key, found in self.answers.items() if self.number(key) < self.limit}
            self.held = sum(map(len, self.answers.values()))

    def items(self, dropped: Counter[str]) -> list[Item]:
        """Return the test samples that can be made, in random order; count the utterances that give none."""
        items = []
        for key in sorted(self.answers, key=lambda key: (self.number(key), key)):
            item = make_item(key, self.answers[key], self.selection, dropped)
            if item:
                items.append(item)
        return items


def make_item(key: str, answers: list[Answer], selection: UtteranceSelection, dropped: Counter[str]) -> Item | None:
    """Return the sample of one utterance; None if it has too few replies, which is counted.

    Replies that differ only in case, punctuation or white space are one; a reply that repeats the utterance is none.
    """
    if not answers[0].pair.utterance.strip():
        dropped["empty_utterances"] += 1
        return None
    distinct: dict[str, Pair] = {}
    gold = ""
    for answer in sorted(answers, key=lambda answer: _reply_number(answer.pair, selection.seed)):
        form = normalise_text(answer.pair.response)
        if form in ("", normalise_text(answer.pair.utterance)):
            continue
        if answer.is_long and not gold:
            gold, distinct[form] = form, answer.pair
        distinct.setdefault(form, answer.pair)
    if len(distinct) < 2 or not gold:
        dropped["utterances_with_one_reply" if len(distinct) < 2 else "utterances_without_long_dialogue"] += 1
        return None
    gold_pair = distinct.pop(gold)
    human, *rest = distinct.values()
    references = [Reference(gold_pair.response)]
    if selection.rest == "references":
        references += [Reference(pair.response, source="human") for pair in rest]
    id = gold_pair.to or f"text-{fingerprint(key)}"
    dialogue = (gold_pair.to and gold_pair.thread) or id
    sample = Sample(id, gold_pair.utterance, human.response, references, HUMAN, dialogue=dialogue)
    if selection.rest != "candidates":
        rest = []
    return Item(sample, tuple(replace(pair, to=id) for pair in rest), _find_ids(answers))


def _find_ids(answers: list[Answer]) -> frozenset[str]:
    """Return the ids of an utterance's posts, and of the threads that begin with it: others may be whole forums."""
    ids = set[str]()
    for pair, _ in answers:
        ids.add(pair.to)
        if pair.to == f"{pair.thread}/0":
            ids.add(pair.thread)
    return frozenset(ids - {""})


def _reply_number(pair: Pair, seed: int) -> tuple[int, str]:
    return random_number(seed, pair.utterance, pair.response), pair.id
