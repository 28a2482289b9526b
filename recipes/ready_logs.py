"""The logs behind the ready weights of `relevance`, and the test samples that they must not overlap.

The data folder holds `logs/NAME.jsonl.xz` (one dialogue per line) and the published sets. The weights in the
package come from PERMISSIVE logs only; ENGLISH names all logs, to measure what that costs.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from rated_sets import PLUSPLUS, plusplus_files
from spot_the_bot import read_dialogues

from interloq import Dialogue, InputError, Reference, Sample
from interloq.data.corpus.build import build
from interloq.data.corpus.clean import Cleaning
from interloq.data.corpus.dialogues import DialogueShape
from interloq.data.corpus.settings import BuildOptions, CorpusSettings
from interloq.data.corpus.split import Split
from interloq.data.corpus.threads import Joining
from interloq.data.files.archives import text_lines
from interloq.data.files.opening import lines, replacing
from interloq.data.records.jsonl import read
from interloq.data.sets.registry import locate, read_dataset

REDDIT_POSTS, REDDIT_PAIRS, DAILYDIALOG = "reddit_posts", "reddit_pairs", "dailydialog"
# log → its licence
PERMISSIVE: Mapping[str, str] = {
    "self_dialogue": "BSD-3",
    "byu_chitchat": "MIT",
    "personachat": "CC BY",
    "synthetic_persona_chat": "CC BY",
    "topical_chat": "CDLA-Sharing",
    "casino": "CC BY",
    "persuasion": "Apache",
    REDDIT_POSTS: "Apache-2.0",
}
# without convai_human_bot: most of its dialogues do not say which side is a bot, and bots' replies are not true ones
ENGLISH = (
    *PERMISSIVE,
    *("empathetic", "mutual", "movie_pairs", "spolin", "dream", "commonsense_dialogues", "swda", "meld", "emorynlp"),
    *("dialogre", "samsum", "dialogsum", "esconv", "inspired"),
    *(DAILYDIALOG, PLUSPLUS, REDDIT_PAIRS),
)
WRITTEN = "written"  # the folder of files with wrong replies that people wrote
PAIRS = 110_000  # of reddit's pairs, drawn at random


@dataclass(frozen=True, slots=True)
class Logs:
    """Files of dialogues or pairs, and files of contexts with written replies."""

    files: tuple[str, ...]
    written: tuple[str, ...]


def training_logs(data: Path, names: Sequence[str], work: Path) -> Logs:
    """The files of some logs; those in another layout are rewritten in the work folder."""
    work.mkdir(parents=True, exist_ok=True)
    files: list[str] = []
    written: list[str] = []
    for name in names:
        made = _MADE.get(name)
        for path in made(data, work) if made else [data / "logs" / f"{name}.jsonl.xz"]:
            if not path.is_file():
                raise InputError(f"no log {name!r}", hint="check --data", where=str(path))
            (written if path.parent.name == WRITTEN else files).append(str(path))
    return Logs(tuple(files), tuple(written))


def _reddit_posts(data: Path, work: Path) -> Iterator[Path]:
    """One dialogue per thread, its longest path; most threads begin with a reply to a post that is not in the file."""
    settings = CorpusSettings(
        cleaning=Cleaning(markdown=True),
        joining=Joining(orphans=True),
        shape=DialogueShape(users=0, min_posts=2, branches="longest"),
        split=Split(shares=()),
    )
    folder = work / f"{REDDIT_POSTS}_corpus"
    build([data / "reddit_posts.jsonl.gz"], folder, settings, BuildOptions(workers=1))
    (path,) = folder.rglob("dialogues.jsonl*")
    yield write_dialogues(work / f"{REDDIT_POSTS}.jsonl", read(path, kind="dialogues"))


def _byu_chitchat(data: Path, work: Path) -> Iterator[Path]:
    """Without its ratings, which are in a layout of their own."""
    talks = (json.loads(line) for _, line in lines(data / "logs" / "byu_chitchat.jsonl.xz"))
    yield write_objects(work / "byu_chitchat.jsonl", ({"id": talk["id"], "turns": talk["turns"]} for talk in talks))


def _dailydialog(data: Path, work: Path) -> Iterator[Path]:
    found = read_dataset("dailydialog", locate("dailydialog", data), subset="train")
    yield write_dialogues(work / f"{DAILYDIALOG}.jsonl", found)


def _reddit_pairs(data: Path, work: Path) -> Iterator[Path]:
    every = [line for _, line in lines(data / "reddit_pairs.jsonl.xz")]
    with replacing(work / f"{REDDIT_PAIRS}.jsonl") as file:
        file.writelines(line.rstrip(b"\n") + b"\n" for line in random.Random(0).sample(every, min(PAIRS, len(every))))  # noqa: S311
    yield work / f"{REDDIT_PAIRS}.jsonl"


def _mutual(data: Path, work: Path) -> Iterator[Path]:
    """Its wrong replies are those to the last turn."""
    talks = [json.loads(line) for _, line in lines(data / "logs" / "mutual.jsonl.xz")]
    before = [{"id": talk["id"], "turns": talk["turns"][:-1]} for talk in talks if len(talk["turns"]) > 2]
    yield write_objects(work / "mutual.jsonl", before)
    last = [[turn["text"] for turn in talk["turns"]] for talk in talks]
    written = [_with_wrong(turns[:-1], turns[-1:], t["negatives"]) for turns, t in zip(last, talks, strict=True)]
    yield write_objects(work / WRITTEN / "mutual.jsonl", written)


def _plusplus(data: Path, work: Path) -> Iterator[Path]:
    """The dev part, and contexts that have only good replies."""
    for item_file in plusplus_files(data, "dev.json", "data_positives.json"):
        yield write_objects(work / WRITTEN / f"{PLUSPLUS}_{Path(item_file.name).stem}.jsonl", _items(item_file))


def _items(file: Any) -> Iterator[dict[str, Any]]:
    for item in map(json.loads, filter(str.strip, text_lines(file))):
        wrong = item.get("adversarial_negative_responses", [])
        yield _with_wrong(item["context"], item["positive_responses"], wrong)


def _with_wrong(context: Sequence[str], good: Sequence[str], wrong: Sequence[str]) -> dict[str, Any]:
    return {"context": context, "positive_responses": good, "adversarial_negative_responses": wrong}


_MADE = {
    "byu_chitchat": _byu_chitchat,
    REDDIT_POSTS: _reddit_posts,
    REDDIT_PAIRS: _reddit_pairs,
    DAILYDIALOG: _dailydialog,
    PLUSPLUS: _plusplus,
    "mutual": _mutual,
}


def write_dialogues(path: Path, dialogues: Iterable[Dialogue]) -> Path:
    """Write dialogues without a header, which names the package's version: the same log has the same hash in each."""
    objects = []
    for dialogue in dialogues:
        turns = [{"speaker": turn.speaker, "text": turn.text} for turn in dialogue.turns]
        objects.append({"id": dialogue.id, "turns": turns})
    return write_objects(path, objects)


def write_objects(path: Path, objects: Iterable[Mapping[str, Any]]) -> Path:
    """Write one JSON object per line, without a header."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.writelines(orjson.dumps(value) + b"\n" for value in objects)
    return path


# ---- test samples ----------------------------------------------------------------------------------------------------


def test_samples(data: Path) -> Iterator[Sample]:
    """Every sample of every test set. Whole dialogues that people judged are samples of their last turn."""
    for name, subset in (("grade", ""), ("usr", ""), ("fed", "turn"), ("multiref_dailydialog", "")):
        yield from read_dataset(name, locate(name, data), subset=subset)
    yield from read_dataset("predictive_engagement", locate("predictive_engagement", data), subset="pairs")
    talks = [*read_dataset("fed", locate("fed", data), subset="dialogue"), *read_dialogues(data, humans=True)]
    for talk in talks:
        yield Sample(f"talk/{talk.id}", tuple(talk.turns[:-1]), talk.turns[-1].text, [Reference(talk.turns[-1].text)])
    for file in plusplus_files(data, "test.json"):
        for i, item in enumerate(_items(file)):
            good = [Reference(text) for text in item["positive_responses"]]
            yield Sample(f"{PLUSPLUS}/{i}", item["context"], item["positive_responses"][0], good)


def write_samples(data: Path, path: Path) -> Path:
    """The texts of all test samples, without ratings."""
    objects = []
    for sample in test_samples(data):
        context = [turn.text for turn in sample.context]
        references = [reference.text for reference in sample.references]
        objects.append({"id": sample.id, "context": context, "response": sample.response, "references": references})
    return write_objects(path, objects)
