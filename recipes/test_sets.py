"""Test sets of first utterances with several real replies, in English and Japanese, from public logs.

    python recipes/test_sets.py --data FOLDER --out OUT        # or INTERLOQ_DATA=FOLDER; --only ubuntu_irc,ja; --json

As in Tsuta et al. (2020 and 2023, section 5.2): one reply is the gold reference, another the system HUMAN. Each log
gives OUT/NAME/testset (`interloq corpus testset`, drawn with --draw and --seed) and OUT/NAME/train.jsonl.zst, the pairs
to learn from, without the test set (`interloq corpus pairs --without`). The script checks that they share no text.

- `reddit_posts`, `ubuntu_irc`: replies to one first post, one of which begins a dialogue of two users with three posts.
- `reddit_pairs` does not name posts. Utterances with the same text are one; it is a first utterance if it is no reply
  in the log, and a reply that was itself answered begins a dialogue of three posts (whose users are not known). Test
  utterances are from April 2015, and pairs to learn from are older.
- `reddit_multiref`: contexts of one turn. How their dialogues continued is not known.
- `ja`: in Japanese Daily Dialogue and RealPersonaChat, every dialogue has one reply to its opening, but openings recur:
  different people were asked "do you have any pets?". Greetings at the beginning of a dialogue are skipped, since any
  greeting answers them; the next turn is the opening, and dialogues with the same opening, up to punctuation, are one
  item. The replies are real, but come from people with different lives.
- `kokorochat_ja` is only counted: its openings are formulas of counsellors who wait for a session to begin.

Licences of the logs apply to the test sets; Japanese Daily Dialogue allows no derived works to be distributed.
The exit code is 2 if data are missing.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson
from corpus_statistics import LOGS, find
from rated_sets import data_folder

from interloq import Dialogue, InterloqError, Turn, load, write
from interloq.data.corpus.build import build
from interloq.data.corpus.dialogues import merge_turns
from interloq.data.corpus.settings import BuildOptions
from interloq.data.corpus.split import Split
from interloq.data.files.archives import read_files, text_lines
from interloq.data.files.opening import lines
from interloq.data.sets.registry import locate, read_parts
from interloq.errors import InputError
from interloq.records import Pair
from interloq.retrieve.corpus_pairs import EVERY_PAIR, PairOptions, pairs_file
from interloq.retrieve.leaks import normalise_text
from interloq.retrieve.testset import UtteranceSelection, write_testset

SPLIT = "2015-04-01"  # of reddit_pairs
JAPANESE = ("japanese_daily_dialogue", "real_persona_chat")
COUNTED = "kokorochat_ja"
POSTS = UtteranceSelection()
SHORTEST = 5  # characters, as in the papers
_POLITE = re.compile("よろしく|宜しく|お?願い|こちらこそ|お世話に|お疲れ|はじめまして|初めまして")
_GREETING = re.compile("こんに?ち[はわ]|こんばん[はわ]|今晩は|おはよう(ございます)?|どうも|です|[ーっ〜]")


@dataclass(frozen=True, slots=True)
class TestLog:
    """A log prepared for both verbs: the input of `corpus testset` and of `corpus pairs`."""

    __test__ = False  # not a test of pytest

    log: Path
    pairs: Path
    selection: UtteranceSelection = POSTS
    training: PairOptions = EVERY_PAIR


def built(name: str) -> Callable[[Path, Path], TestLog]:
    """A corpus built from posts."""

    def prepare(data: Path, work: Path) -> TestLog:
        names, settings = LOGS[name]
        whole = replace(settings, shape=replace(settings.shape, pairs="all"), split=Split(shares=()))
        build([find(str(data), names)], work / name, replace(whole, compression="none"), BuildOptions(workers=1))
        return TestLog(work / name, work / name / "pairs.jsonl")

    return prepare


def reddit_pairs(data: Path, work: Path) -> TestLog:
    """Each first utterance with a reply, and an answer to this reply if there is one."""
    rows = [orjson.loads(line) for _, line in lines(find(str(data), ["reddit_pairs.jsonl.xz", "reddit_pairs.jsonl"]))]
    pairs, answers = [], dict[str, str]()
    replies = {normalise_text(row["response"]) for row in rows}
    for i, row in enumerate(rows):
        pairs.append(Pair(f"pair{i}", row["utterance"], row["response"], time=row["date"]))
        answers.setdefault(normalise_text(row["utterance"]), row["response"])
    dialogues = []
    for pair in pairs:
        if normalise_text(pair.utterance) not in replies:
            turns = [Turn(pair.utterance), Turn(pair.response, time=pair.time)]
            if answer := answers.get(normalise_text(pair.response)):
                turns.append(Turn(answer))
            dialogues.append(Dialogue(pair.id, turns))
    write(work / "dialogues.jsonl", dialogues, kind="dialogues")
    write(work / "pairs.jsonl", pairs, kind="pairs")
    selection = UtteranceSelection(same="text", since=SPLIT)
    return TestLog(work / "dialogues.jsonl", work / "pairs.jsonl", selection, PairOptions(until=SPLIT))


def reddit_multiref(data: Path, work: Path) -> TestLog:
    """The contexts of one turn."""
    path = find(str(data), ["reddit_multiref", "reddit_multiref.tar.gz"])
    seen = dict[tuple[str, str], None]()
    for file in read_files(path, ["test/*.tsv"]):
        for line in text_lines(file):
            context, _, reply = line.partition("\t")
            if " EOS " not in context:
                seen[context, reply] = None
    pairs = [Pair(f"pair{i}", utterance, reply) for i, (utterance, reply) in enumerate(seen)]
    write(work / "multiref.jsonl", pairs, kind="pairs")
    selection = UtteranceSelection(same="text", min_posts=2)
    return TestLog(work / "multiref.jsonl", work / "multiref.jsonl", selection)


# ---- Japanese --------------------------------------------------------------------------------------------------------


def ja(data: Path, work: Path) -> TestLog:
    """Dialogues from what follows their greetings."""
    dialogues = []
    for name in JAPANESE:
        for dialogue in japanese_dialogues(data, name):
            rest = without_greetings(dialogue)
            if len(rest.turns) > 1:
                dialogues.append(rest)
    write(work / "ja.jsonl", dialogues, kind="dialogues")
    return TestLog(work / "ja.jsonl", work / "ja.jsonl", UtteranceSelection(same="text"))


def japanese_dialogues(data: Path, name: str) -> Iterator[Dialogue]:
    """Dialogues between people."""
    if name == COUNTED:
        for _, line in lines(find(str(data / "logs"), [f"{name}.jsonl.xz"])):
            talk = orjson.loads(line)
            turns = [Turn(turn["text"], turn["speaker"]) for turn in talk["turns"]]
            yield Dialogue(f"{name}/{talk['id']}", turns)
        return
    for part, dialogue in read_parts(name, locate(name, data)):
        if part != "system":
            turns = [Turn(turn.text, turn.speaker) for turn in dialogue.turns]
            yield Dialogue(f"{name}/{dialogue.id}", turns)


def without_greetings(dialogue: Dialogue) -> Dialogue:
    """The dialogue from its first turn that is more than a greeting; turns of one person in a row are joined."""
    turns = list(dialogue.turns)
    while turns and is_greeting(turns[0].text):
        turns.pop(0)
    return replace(dialogue, turns=tuple(merge_turns(turns)))


def is_greeting(text: str) -> bool:
    """Whether a turn says less than SHORTEST characters beside a greeting, or is a polite formula."""
    form = normalise_text(text)
    return bool(_POLITE.search(form)) or len(_GREETING.sub("", form)) < SHORTEST


def count_openings(dialogues: Iterable[Dialogue]) -> dict[str, int]:
    """Numbers of openings, distinct ones, and those with two different replies or more."""
    replies: defaultdict[str, set[str]] = defaultdict(set)
    n = 0
    for dialogue in dialogues:
        if len(dialogue.turns) > 1:
            n += 1
            replies[normalise_text(dialogue.turns[0].text)].add(normalise_text(dialogue.turns[1].text))
    several = [found for found in replies.values() if len(found) > 1]
    return {
        "openings": n,
        "distinct": len(replies),
        "with two replies": len(several),
        "replies to these": sum(map(len, several)),
    }


# ---- all logs --------------------------------------------------------------------------------------------------------

SETS: Mapping[str, Callable[[Path, Path], TestLog]] = {
    "reddit_posts": built("reddit_posts"),
    "ubuntu_irc": built("ubuntu_irc"),
    "reddit_pairs": reddit_pairs,
    "reddit_multiref": reddit_multiref,
    "ja": ja,
}


def make_set(name: str, data: Path, folder: Path, draw: int, seed: int) -> dict[str, Any]:
    """Write the test set and the training pairs of one log; return the counts. If it has fewer, all are used."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as place:
        log = SETS[name](data, Path(place))
        target, train = folder / "testset", folder / "train.jsonl.zst"
        facts = write_testset(log.log, target, replace(log.selection, seed=seed))
        usable = facts["samples"]
        further = facts["candidates"]
        if usable > draw:
            facts = write_testset(log.log, target, replace(log.selection, draw=draw, seed=seed))
        training = pairs_file(log.pairs, train, replace(log.training, without=(target,)))
    check_no_leak(target, train)
    return {
        "usable utterances": usable,
        "replies per utterance": round(2 + further / usable, 2),
        "drawn": facts["samples"],
        "candidates": facts["candidates"],
        "training pairs": training["pairs"],
        "excluded as overlapping": sum(training["overlapping"].values()),
        **{name.replace("_", " "): n for name, n in facts["dropped"].items()},
    }


def check_no_leak(testset: Path, train: Path) -> None:
    """Stop if a training pair has the utterance or the gold reply of a test sample."""
    utterances, golds = set(), set()
    for sample in load(testset / "samples.jsonl"):
        utterances.add(normalise_text(sample.context[0].text))
        golds.add(normalise_text(sample.references[0].text))
    for pair in load(train, kind="pairs"):
        if normalise_text(pair.utterance) in utterances or normalise_text(pair.response) in golds:
            raise SystemExit(f"the training pair {pair.id} is in the test set")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Test sets of utterances with several real replies.")
    parser.add_argument("--data", metavar="FOLDER", help="the logs (default: $INTERLOQ_DATA)")
    parser.add_argument("--out", required=True, metavar="FOLDER", help="test sets and training pairs")
    parser.add_argument("--only", metavar="NAME,…", default=",".join(SETS), help=f"({','.join(SETS)})")
    parser.add_argument("--draw", type=int, default=100, help="utterances per test set (100, as in the papers)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    args = parser.parse_args(argv)
    try:
        names = args.only.split(",")
        if unknown := [name for name in names if name not in SETS]:
            raise InputError(f"no log {unknown[0]!r}", hint=f"choose among {', '.join(SETS)}")
        data = data_folder(args.data)
        results = {name: make_set(name, data, Path(args.out) / name, args.draw, args.seed) for name in names}
        openings = {}
        for name in (*JAPANESE, COUNTED) if "ja" in names else ():
            dialogues = list(japanese_dialogues(data, name))
            openings[name] = count_openings(replace(d, turns=tuple(merge_turns(d.turns))) for d in dialogues)
            openings[f"{name}, after greetings"] = count_openings(map(without_greetings, dialogues))
    except InterloqError as error:
        print(f"test_sets: {error}", file=sys.stderr)
        return 2
    if args.json:
        print(json.dumps({"sets": results, "openings": openings}, indent=2))
        return 0
    for title, rows in (("test set", results), ("Japanese openings", openings)):
        for name, row in rows.items():
            print(f"{title} {name}: " + ", ".join(f"{what} {n:,}" for what, n in row.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
