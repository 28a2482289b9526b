"""Bots that imitate the bots of rated dialogues, and retrieval bots of known order; their dialogues and scores.

The bots that people rated in Spot the Bot and in Ji et al. (2022) cannot be run here, but what they said was recorded.
An imitation answers with one of the three recorded replies of its bot whose preceding utterance is most similar to the
last one (BM25). Its manner and its faults are the bot's own; what it says fits the dialogue less well. Unlike the bot
`retrieval`, it may repeat itself, as the real bots did.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from bipartite_bots import MixedUp
from bipartite_making import dailydialog
from fed_follow_ups import NEGATIVE, Floats, likelihoods
from fed_variants import DEGRADED, REVERSED
from numpy.typing import NDArray
from spot_the_bot import judged_human, read_dialogues

from interloq import Dialogue, InputError, Turn, evaluate, load, write
from interloq.data.files.opening import lines
from interloq.metrics.likelihood.fed import turns as turns_of_sample
from interloq.play.bot import Bot, generator
from interloq.play.openings import Opening
from interloq.play.play_options import PlanOptions
from interloq.play.run import plan, play
from interloq.play.samples import samples
from interloq.records import Pair
from interloq.registry import create
from interloq.retrieve.index import Index, create_index, open_index
from interloq.retrieve.retriever import Query
from interloq.servers.replies import Reply
from interloq.signature import Signature, file_fingerprint, fingerprint, signature

SELF_PLAY, ALL_PLAY_ALL, BIPARTITE = "self-play", "all-play-all", "bipartite"
METRIC = "relevance(model='ready')"
RELEVANCE = "relevance"
FED_DIMENSIONS = ("specificity", "sensibleness", "overall")
CHOICES = 3  # replies that the seed picks from
EXCHANGES = 5
POOLS = (100, 1_000, 10_000, 70_000)  # pairs of the series of retrieval bots
SEARCHED = "index"
Series = Mapping[str, Bot]


@dataclass(frozen=True)
class Imitation(Bot):
    """Answers as a recorded bot answered the most similar utterances."""

    folder: str  # contains pairs.jsonl, and their index

    def replies(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Reply]:
        hits = self._index.search([Query(turns[-1].text) for turns in dialogues], k=CHOICES)
        replies = []
        for turns, seed, near in zip(dialogues, seeds, hits, strict=True):
            texts = [hit.pair.response for hit in near] or self._said  # no word is known: anything it ever said
            replies.append(Reply(texts[int(generator(seed, turns).integers(len(texts)))]))
        return replies

    def signature(self) -> Signature:
        return signature(replace(self, folder=""), log=file_fingerprint(Path(self.folder) / "pairs.jsonl"))

    @cached_property
    def _index(self) -> Index:
        return open_index(Path(self.folder) / SEARCHED)

    @cached_property
    def _said(self) -> list[str]:
        return [pair.response for pair in load(Path(self.folder) / "pairs.jsonl", kind="pairs")]


@dataclass(frozen=True, slots=True)
class Played:
    """Scores of dialogues: whose they are, with whom, and from which opening."""

    target: NDArray[np.int64]
    partner: NDArray[np.int64]
    opening: NDArray[np.int64]
    value: Floats


# ---- recorded bots ---------------------------------------------------------------------------------------------------


def spot_replies(data: Path) -> dict[str, list[Pair]]:
    """Return what each bot of Spot the Bot answered to what."""
    found: dict[str, list[Pair]] = {}
    for dialogue in read_dialogues(data):
        for before, turn in pairwise(dialogue.turns):
            if before.text and turn.text:
                own = found.setdefault(dialogue.systems[turn.speaker], [])
                own.append(Pair(f"{dialogue.id}/{len(own)}", before.text, turn.text))
    return dict(sorted(found.items()))


def ji_replies(data: Path) -> dict[str, list[Pair]]:
    """Return what each bot of Ji et al. (2022) answered to what, without the deliberately degraded one."""
    found: dict[str, list[Pair]] = {}
    for talk in ji_talks(data):
        for before, turn in pairwise(talk["turns"]):
            if turn["speaker"] == "bot" and before["text"].strip() and turn["text"].strip():
                own = found.setdefault(talk["system"], [])
                own.append(Pair(f"{talk['id']}/{len(own)}", before["text"], turn["text"]))
    found.pop(DEGRADED, None)
    return dict(sorted(found.items()))


def ji_talks(data: Path) -> list[dict[str, Any]]:
    """Return the conversations of Ji et al. (2022)."""
    path = data / "ji2022_part.jsonl.xz"
    if not path.exists():
        raise InputError(f"no {path.name} in {str(data)!r}", hint="put it there, or name another --data")
    return [json.loads(line) for _, line in lines(path)]


def spot_ranking(data: Path) -> dict[str, float]:
    """Return how often people took each bot of Spot the Bot for a human."""
    return {name: share for name, share in judged_human(data).items() if name != "human"}


def ji_ranking(data: Path) -> dict[str, float]:
    """Return the mean of all ratings of each bot of Ji et al. (2022), those where lower is better reversed."""
    means: dict[str, list[float]] = {}
    for talk in ji_talks(data):
        values = [100 - value if name in REVERSED else value for name, value in talk["ratings"].items()]
        means.setdefault(talk["system"], []).append(float(np.mean(values)))
    return {name: float(np.mean(values)) for name, values in sorted(means.items()) if name != DEGRADED}


def imitations(replies: Mapping[str, Sequence[Pair]], work: Path) -> dict[str, Bot]:
    """Return an imitation of each bot."""
    return {name: imitate(pairs, work / "bots" / name) for name, pairs in replies.items()}


def imitate(pairs: Sequence[Pair], folder: Path) -> Imitation:
    """Return a bot that answers from these pairs; its index is made once."""
    _index(pairs, folder)
    return Imitation(str(folder))


def _index(pairs: Sequence[Pair], folder: Path) -> Path:
    log = folder / "pairs.jsonl"
    if not log.exists():
        folder.mkdir(parents=True, exist_ok=True)
        create_index(folder / SEARCHED, "bm25").add(pairs, source=fingerprint(*(pair.id for pair in pairs)))
        write(log, pairs, kind="pairs")  # last: it marks a complete folder
    return folder / SEARCHED


# ---- bots of known order ---------------------------------------------------------------------------------------------


def retrieval_series(data: Path, work: Path) -> dict[str, Bot]:
    """Return retrieval bots with logs of four sizes, the largest spoiled in two ways, ELIZA and a parrot."""
    pairs = sorted(dailydialog(data, "train"), key=lambda pair: fingerprint(pair.id))
    series: dict[str, Bot] = {}
    for size in POOLS:
        index = _index(pairs[:size], work / "bots" / f"pool-{size}")
        series[f"pool {size}"] = create(f"retrieval(index={str(index)!r})", kind="bot")
    best = f"retrieval(index={str(work / 'bots' / f'pool-{POOLS[-1]}' / SEARCHED)!r}"
    series["top fifty"] = create(f"{best},k=50)", kind="bot")
    series["mixed up"] = MixedUp(f"{best})")
    return series | {"eliza": create("eliza", kind="bot"), "echo": create("echo", kind="bot")}


# ---- dialogues and scores --------------------------------------------------------------------------------------------


def read_opening_turns(data: Path, number: int) -> list[Opening]:
    """Return the first two utterances of dialogues of EmpatheticDialogues, drawn by a hash of their names."""
    path = data / "logs" / "empathetic.jsonl.xz"
    if not path.exists():
        raise InputError(f"no {path.name} in {str(path.parent)!r}", hint="put it there, or name another --data")
    first: dict[str, tuple[str, ...]] = {}
    for _, line in lines(path):
        talk = json.loads(line)
        first[talk["id"]] = tuple(turn["text"] for turn in talk["turns"][:2])
    names = sorted((name for name, turns in first.items() if len(turns) == 2 and all(turns)), key=fingerprint)
    return [Opening(f"opening-{i}", first[name]) for i, name in enumerate(names[:number])]


def play_scheme(
    work: Path,
    scheme: str,
    targets: Series,
    openings: Sequence[Opening],
    *,
    partners: Series | None = None,
    repeats: int = 1,
) -> list[Dialogue]:
    """Play a scheme, or read its dialogues if they were played before."""
    path = work / f"{scheme}.jsonl"
    if not path.exists():
        work.mkdir(parents=True, exist_ok=True)
        options = PlanOptions(scheme=scheme, repeats=repeats)
        play(plan(targets, openings, options, exchanges=EXCHANGES, partners=partners), path)
        print(f"played {path}", file=sys.stderr)
    return load(path, kind="dialogues")


def score_all(
    work: Path, scheme: str, dialogues: Sequence[Dialogue], score: Callable[[Sequence[Dialogue]], Mapping[str, Floats]]
) -> dict[str, Floats]:
    """Return the scores of the target of each dialogue by metric; they are kept beside the dialogues."""
    path = work / f"{scheme}.scores.json"
    key = fingerprint(*(dialogue.id for dialogue in dialogues))
    if path.exists():
        stored = json.loads(path.read_text("utf-8"))
        if stored["key"] == key:
            return {name: np.array(values, dtype=np.float64) for name, values in stored["scores"].items()}
    scores = dict(score(dialogues))
    path.write_text(json.dumps({"key": key, "scores": {name: values.tolist() for name, values in scores.items()}}))
    print(f"scored {path}", file=sys.stderr)
    return scores


def relevance(dialogues: Sequence[Dialogue]) -> dict[str, Floats]:
    """Return the mean relevance of the target's utterances; NaN if it never answered."""
    judged = list(samples(dialogues))
    scores = evaluate(METRIC, judged, n_bootstrap=0).by_sample
    by_dialogue: dict[str, list[float]] = {dialogue.id: [] for dialogue in dialogues}
    for sample in judged:
        if not np.isnan(scores[sample.key]):
            by_dialogue[sample.dialogue].append(scores[sample.key])
    means = [float(np.mean(values)) if values else np.nan for values in by_dialogue.values()]
    return {RELEVANCE: np.array(means)}


def last_fed(model: str, cache: Path) -> Callable[[Sequence[Dialogue]], dict[str, Floats]]:
    """Return a function that scores the target's last utterance by FED with negative follow-ups."""

    def score(dialogues: Sequence[Dialogue]) -> dict[str, Floats]:
        last = {}
        for sample in samples(dialogues):
            if sample.response.strip():
                last[sample.dialogue] = turns_of_sample(sample)
        turns = [last[dialogue.id] for dialogue in dialogues]
        found = likelihoods(model, turns, cache, dimensions=FED_DIMENSIONS)
        return {f"FED {name}": found.fed(name, NEGATIVE) for name in FED_DIMENSIONS}

    return score


def tabulate(
    dialogues: Sequence[Dialogue],
    values: Floats,
    targets: Sequence[str],
    partners: Sequence[str],
    openings: Sequence[Opening],
) -> Played:
    """Return the scores with the numbers of targets, partners and openings; unscored dialogues are left out."""
    opened_by = {opening.turns: number for number, opening in enumerate(openings)}
    columns: list[tuple[int, int, int]] = []
    for dialogue in dialogues:
        target, partner = _cast(dialogue)
        columns.append((targets.index(target), partners.index(partner), opened_by[given_turns(dialogue)]))
    table = np.array(columns, dtype=np.int64)
    use = ~np.isnan(values)
    return Played(table[use, 0], table[use, 1], table[use, 2], values[use])


def given_turns(dialogue: Dialogue) -> tuple[str, ...]:
    """Return the texts that a dialogue started with."""
    return tuple(turn.text for turn in dialogue.turns[: dialogue.given])


def _cast(dialogue: Dialogue) -> tuple[str, str]:
    target, partner = dialogue.id.split("/")[0].split("~")
    return target, partner.removesuffix(" (2)").removesuffix(" (partner)")


def system_means(systems: NDArray[np.int64], values: Floats, number: int) -> Floats:
    """Return the mean of each system; NaN if it has no dialogue."""
    sizes = np.bincount(systems, minlength=number)
    sums = np.bincount(systems, values, number)
    return np.asarray(np.where(sizes > 0, sums / np.maximum(sizes, 1), np.nan))
