"""Continuity samples of BYU chit-chat, #ubuntu and Reddit, and rated dialogues of RealPersonaChat, for `dcp.py`.

- BYU chit-chat has natural ends but long conversations: 98 % of its replies were answered. In every part, inner replies
  are drawn at random so that ANSWERED of the samples were answered, as in the paper; all last replies are kept. This
  leaves out 95 % of the training replies. `dcp.py --all-training` keeps them, gives both classes the same weight in the
  loss instead, and draws only dev and test.
- Limits per user are about the conversations in all parts, as when the published figures were measured.
- #ubuntu and Reddit: users with 5 and 3 conversations instead of the paper's 30; of each thread, the longest branch.
  The Reddit sample was cut by its collector (`cut_ends`), so its last replies are not valid labels.
- No log has profiles. In their place is what users wrote about themselves in the training part: their turns with "I" or
  "my", the earliest first.
- `pairs.jsonl` has PAIRS training pairs, for baselines that are trained.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from corpus_statistics import LOGS, find

from interloq import Dialogue, Sample
from interloq.data.corpus.build import build
from interloq.data.corpus.settings import BuildOptions
from interloq.data.corpus.split import Split
from interloq.data.records.jsonl import read, write
from interloq.data.records.profiles import NAME, write_profiles
from interloq.data.sets.registry import corpus, locate, read_parts
from interloq.records import Pair
from interloq.scorers.interlocutor.continuity_labels import CONTINUED, SampleSelection, judge_of
from interloq.scorers.interlocutor.samples_file import (
    SampleSource,
    continuity_file,
    find_rated_turns,
    ratings_file,
)
from interloq.signature import fingerprint

ANSWERED = 0.58  # of the paper's samples
PROFILE = 600  # characters
QUICK = 60  # dialogues
PAIRS = 20_000
RATED, ASPECT, SYSTEMS = "rated", "satisfaction", "system"
CONVERSATIONS = 60  # per rater of RealPersonaChat, to save time
_SELF = re.compile(r"\b(?:I|my|My)\b")


@dataclass(frozen=True, slots=True)
class Log:
    """A log with continuity labels."""

    title: str
    selection: SampleSelection
    dialogues: Callable[[Path, Path], list[Dialogue]]  # from the data folder, with a folder for work
    deviation: str = ""


def byu(data: Path, _: Path) -> list[Dialogue]:
    """Conversations of BYU chit-chat."""
    return [dialogue for _, dialogue in read_parts("byu_chitchat", locate("byu_chitchat", data))]


def _built(name: str) -> Callable[[Path, Path], list[Dialogue]]:
    """Dialogues of two users with at least two posts from a log of posts."""

    def dialogues(data: Path, work: Path) -> list[Dialogue]:
        names, settings = LOGS[name]
        shape = replace(settings.shape, min_posts=2, branches="longest")
        whole = replace(settings, shape=shape, split=Split(shares=()), compression="none")
        build([find(str(data), names)], work / name, whole, BuildOptions(workers=1))
        return list(read(work / name / "dialogues.jsonl", kind="dialogues"))

    return dialogues


SHARES = {"dev": 0.1, "test": 0.2, "context": 30, "count_in": "all"}
CONTINUITY: Mapping[str, Log] = {
    "byu": Log(
        "BYU chit-chat",
        SampleSelection(by="own-time", balance=ANSWERED, **SHARES),  # type: ignore[arg-type]
        byu,
        deviation=f"English; inner replies drawn so that {ANSWERED:.0%} were answered; profiles made from own turns",
    ),
    "irc": Log(
        "#ubuntu",
        SampleSelection(min_conversations=5, by="own-time", **SHARES),  # type: ignore[arg-type]
        _built("ubuntu_irc"),
        deviation="English; users with 5 conversations instead of 30; profiles made from own turns",
    ),
    "reddit": Log(
        "Reddit, Change My View",
        SampleSelection(min_conversations=3, by="own-time", cut_ends=True, **SHARES),  # type: ignore[arg-type]
        _built("reddit_posts"),
        deviation="English; users with 3 conversations instead of 30; ends were cut by the collector, so labels are "
        "not valid; profiles made from own turns",
    ),
}


def prepare_continuity(name: str, data: Path, folder: Path, *, quick: bool = False, all_training: bool = False) -> None:
    """Write train, dev and test, profiles and training pairs of a log to folder/NAME."""
    log, target = CONTINUITY[name], folder / name
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as place:
        work = Path(place)
        dialogues = log.dialogues(data, work)
        selection = replace(log.selection, balanced="tested" if all_training else "all")
        if quick:
            dialogues, selection = busiest(dialogues), replace(selection, min_conversations=2)
        write(work / "dialogues.jsonl", dialogues, kind="dialogues", users="kept")
        source = SampleSource(work / "dialogues.jsonl")
        continuity_file(source, work / "all", replace(selection, balance=0.0), compress="none")
        continuity_file(source, work / name, selection)
        write_pairs(work / name, read(work / "all" / "train.jsonl"))
        write_profiles(work / name / NAME, profiles(read(work / name / "train.jsonl.zst")), users="kept")
        shutil.rmtree(target, ignore_errors=True)
        (work / name).rename(target)


def busiest(dialogues: Iterable[Dialogue]) -> list[Dialogue]:
    """A few dialogues of the users with the most."""
    dialogues = list(dialogues)
    users: Counter[str] = Counter()
    for dialogue in dialogues:
        users.update(_speakers(dialogue) - {""})
    top = {name for name, _ in users.most_common(6)}
    both = [dialogue for dialogue in dialogues if len(_speakers(dialogue)) == 2]
    return [dialogue for dialogue in both if top & _speakers(dialogue)][:QUICK]


def _speakers(dialogue: Dialogue) -> set[str]:
    return {turn.speaker for turn in dialogue.turns}


def label(sample: Sample) -> int:
    """1 if the sample was answered, 0 if not."""
    return next(int(rating.value or 0) for rating in sample.ratings if rating.aspect == CONTINUED)


def write_pairs(folder: Path, samples: Iterable[Sample]) -> None:
    """Write pairs of each reply and the turn before it, drawn by their ids."""
    found = (sample for sample in samples if sample.context)
    pairs = [Pair(sample.id, sample.context[-1].text, sample.response) for sample in found]
    drawn = sorted(pairs, key=lambda pair: (fingerprint(pair.id), pair.id))[:PAIRS]
    write(folder / "pairs.jsonl.zst", drawn, kind="pairs")


def profiles(train: Iterable[Sample]) -> dict[str, str]:
    """User → what they wrote about themselves in the training part; users who wrote nothing are missing."""
    own: dict[str, dict[str, None]] = {}
    for sample in train:
        user = judge_of(sample)
        turns = (turn.text for turn in sample.context if turn.speaker == user and _SELF.search(turn.text))
        own.setdefault(user, {}).update(dict.fromkeys(turns))
    return {user: " ".join(texts)[:PROFILE] for user, texts in own.items() if user and texts}


# ---- rated dialogues -------------------------------------------------------------------------------------------------


def prepare_rated(data: Path, folder: Path, *, quick: bool = False) -> None:
    """Write the dialogues of RealPersonaChat rated by both partners, and those with systems, to folder/rated.

    Dialogues between people are split by each rater's time; those with systems are all tested.
    """
    name, target = "real_persona_chat", folder / RATED
    path = locate(name, data)
    by_part: dict[str, list[Dialogue]] = {"human": [], SYSTEMS: []}
    for part, dialogue in read_parts(name, path):
        ratings = tuple(rating for rating in dialogue.ratings if rating.aspect == ASPECT)
        by_part[part].append(replace(dialogue, ratings=ratings))
    people = busiest(by_part["human"]) if quick else by_part["human"]
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as place:
        work = Path(place)
        write(work / "human.jsonl", people, kind="dialogues", users="kept")
        write_profiles(work / NAME, corpus(name).module().profiles(path), users="kept")
        selection = SampleSelection(
            min_conversations=0, max_conversations=CONVERSATIONS, count_in="all", by="own-time", context=30
        )
        ratings_file(SampleSource(work / "human.jsonl", work / NAME), work / RATED, selection)
        samples = [each.sample(30) for each in find_rated_turns(by_part[SYSTEMS], Counter())]
        write(work / RATED / f"{SYSTEMS}.jsonl.zst", samples, kind="samples", part=SYSTEMS, users="kept")
        train = read(work / RATED / "train.jsonl.zst")
        write_pairs(work / RATED, (turn for sample in train for turn in replies(sample)))
        shutil.rmtree(target, ignore_errors=True)
        (work / RATED).rename(target)


def replies(sample: Sample) -> Iterable[Sample]:
    """Every turn of a sample's context but the first, as a reply to the turns before it."""
    turns = sample.context
    return (Sample(f"{sample.id}/{i}", turns[:i], turns[i].text) for i in range(1, len(turns)))
