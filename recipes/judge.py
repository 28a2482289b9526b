"""Judges learned from ratings, tested on sets whose ratings they never saw, beside relevance and the best published.

    python recipes/judge.py --data FOLDER --scorer ready=ready -m cosine --keep FOLDER

For each of the eight sets of `rated_sets.py` a judge (see `interloq.statistics.ridge`) learns from the others: from
none with ratings of the same dialogues as the tested one, and from no reply to a context that occurs in it. A FED
dialogue has the mean state of the system's turns in it, and the context of the first. λ is chosen by holding out, in
turn, each of the learned sets. `NAME` is the relevance network itself, `judge NAME` the judge on its states.

`--tune NAME` adds `tuned NAME`: for each tested set the network itself is tuned on the other sets (`tuned_judges.py`),
`--seeds N` times, as `tuned NAME`, `tuned NAME seed 1` … That is seven trainings per network and seed: use a GPU
(`--device cuda`). With `--more` judges learn from three more sets (`more_rated_sets.py`), tuned ones unless `--eight`.

Blends join the judges with the scorers given by `-m` (`blend.py`), and with `vbertscore` in sets with references if
`--references FOLDER` names the work folder of `vbleu_tables.py`. They never see the ratings of the tested set either:
where they learn their weights, a set is scored by a judge that saw neither it nor the tested set. With `--more` they
learn on sets of the same kind only: dialogues with a system (FED, Spot the Bot, ConvAI), or single replies. To learn
weights of tuned judges would need a training for each pair of sets. So the row `BLEND, tuned` has the weights of the
blend with frozen judges, and the mean of the ranks of the tuned judges in place of each frozen one that was tuned.
`--mean NAME,NAME` takes the mean of the ranks of any rows, as the row `mean of ranks: NAME + NAME`; it learns nothing.

`--keep FOLDER` stores states and scores, also those of tuned judges, and uses those that are there; encoding all sets
takes minutes without a GPU. The data folder has `grade`, `usr`, `multiref_dailydialog` and `fed`, unpacked or as
.tar.gz. The exit code is 0, or 2 if data or models are missing.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from blend import blend, mean_of_ranks, ranked
from more_rated_sets import LIVE, SPOT, more_rated_sets
from numpy.typing import NDArray
from rated_sets import KNOWN, RatedSet, rated_sets
from relevance import Figures, Scorer, arguments, blends_of, correlations, named_scorers, parts_of, scored_sets, show
from tuned_judges import EPOCHS, LOSS, Tuning, states_and_logits, tuned_scores
from vbleu_tables import Parts, default_bertscore

from interloq import InputError
from interloq.learn.calibrate import probabilities
from interloq.learn.ready import scorer_folder
from interloq.learn.store import FACTS
from interloq.retrieve.leaks import context_of
from interloq.scorers.judge.model import texts_of
from interloq.scorers.relevance.model import RelevanceScorer
from interloq.signature import file_fingerprint, fingerprint
from interloq.statistics.ridge import STRENGTHS, Head, Ints, RatedStates, heads, ranks, spearman

Floats = NDArray[np.float64]
READY, VBERTSCORE = "ready", "vbertscore"
DIALOGUES = ("FED turn", "FED dialogue", *LIVE)  # talks with a system; other sets have single replies to given contexts


# ---- states ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Encoded:
    """States of a set's samples, and the relevance of each."""

    states: Floats
    scores: Floats


def encoded(folder: str, sets: Mapping[str, RatedSet], keep: Path | None, device: str = "auto") -> dict[str, Encoded]:
    """Every set by one relevance network, which is loaded if states are missing."""
    place = scorer_folder(folder)
    if not (place / FACTS).is_file():
        raise InputError(f"no trained scorer in {str(place)!r}", hint="name a folder of interloq train relevance")
    weights, network, found = (
        file_fingerprint(place / FACTS),
        cache(lambda: RelevanceScorer.load(folder, device=device)),
        {},
    )
    for name, own in sets.items():
        texts = texts_of(own.samples)
        asked = fingerprint(*(text for turns, reply in zip(*texts, strict=True) for text in ("\0", *turns, reply)))
        path = keep / f"states-{weights}-{asked}.npz" if keep else None
        if path and path.exists():
            with np.load(path, allow_pickle=False) as stored:
                found[name] = Encoded(stored["states"].astype(np.float64), stored["scores"])
        else:
            found[name] = _encoded(network(), *texts)
            if path:
                path.parent.mkdir(parents=True, exist_ok=True)
                np.savez(path, states=found[name].states.astype(np.float32), scores=found[name].scores)
    return found


def _encoded(scorer: RelevanceScorer, contexts: Sequence[Sequence[str]], replies: Sequence[str]) -> Encoded:
    states, logits = states_and_logits(scorer, contexts, replies)
    return Encoded(states, probabilities(logits / scorer.facts["temperature"]))


# ---- judges ----------------------------------------------------------------------------------------------------------


class Judges:
    """Judges on the states of one network, each of which learns from some of the sets."""

    def __init__(self, sets: Mapping[str, RatedSet], found: Mapping[str, Encoded]) -> None:
        self.names = list(sets)
        self.states = {k: np.stack([sets[k].by_item(column) for column in found[k].states.T], axis=1) for k in sets}
        sizes = [len(own.human) for own in sets.values()]
        self.rated = RatedStates(
            np.concatenate(list(self.states.values())),
            np.concatenate([ranks(own.human) for own in sets.values()]),
            np.repeat(np.arange(len(sets)), sizes),
            _contexts(sets.values()),
        )

    def scores(self, tested: str) -> tuple[dict[str, Floats], float]:
        """Scores of the tested set by a judge learned from the others, scores of those held out, and λ."""
        others = [name for name in self.names if name not in _unseen(tested)]
        found = {name: [head(self.states[name]) for head in self._heads(tested, name)] for name in others}
        agreement = np.zeros((len(found), len(STRENGTHS)))
        for k, (name, rows) in enumerate(found.items()):
            agreement[k] = [spearman(self._own(name), row) for row in rows]
        best = int(np.argmax(agreement.mean(axis=0)))
        own = self._heads(tested)[best](self.states[tested])
        return {tested: own, **{name: rows[best] for name, rows in found.items()}}, STRENGTHS[best]

    def _heads(self, *held: str) -> list[Head]:
        """Judges that saw neither the ratings of these sets nor their contexts."""
        unseen = {name for each in held for name in _unseen(each)}
        contexts = self.rated.contexts[np.isin(self.rated.sets, [self.names.index(name) for name in held])]
        numbers = [i for i, name in enumerate(self.names) if name not in unseen]
        known = np.isin(self.rated.sets, numbers) & ~np.isin(self.rated.contexts, contexts)
        return list(heads(self.rated[known]))

    def _own(self, name: str) -> RatedStates:
        return self.rated[self.rated.sets == self.names.index(name)]


def _unseen(name: str) -> tuple[str, ...]:
    """Sets that are not learned from when this one is held out."""
    return (name, *KNOWN[name].kin) if name in KNOWN else (name,)


def _contexts(sets: Collection[RatedSet]) -> Ints:
    """A number for the context of each item of all sets; equal contexts have equal numbers."""
    first = [own.samples[i] for own in sets for i in np.unique(own.items, return_index=True)[1]]
    numbers = {context: i for i, context in enumerate(dict.fromkeys(map(context_of, first)))}
    return np.array([numbers[context_of(sample)] for sample in first], dtype=np.int64)


# ---- the whole -------------------------------------------------------------------------------------------------------


def run(
    data: Path,
    folders: Mapping[str, str],
    metrics: Mapping[str, Scorer],
    *,
    tuning: Tuning | None = None,
    more: bool = False,
    eight: bool = False,
    references: Mapping[str, Floats] | None = None,
    keep: Path | None = None,
    device: str = "auto",
    resamples: int = 1000,
    blends: Sequence[str] = (),
) -> Figures:
    """Encode every set, test each by judges that learned from the others, blend, and correlate."""
    sets, tuning = rated_sets(data), tuning or Tuning()
    learned = sets | more_rated_sets(data, sets.values()) if more else sets
    names = [f"judge {name}" for name in folders]
    known = [*names, *metrics, *([VBERTSCORE] if references else [])]
    parts = blends_of(known, blends)
    means = tuning.mean_parts([*folders, *known, *parts])
    networks = {name: encoded(folder, learned, keep, device) for name, folder in folders.items()}
    judges = {f"judge {name}": Judges(learned, found) for name, found in networks.items()}
    plain = _with_references(learned, scored_sets(learned, metrics), references or {})
    tuned = tuned_scores(sets if eight else learned, folders, tuning, keep, device)
    rows, weights = [], dict[str, dict[str, dict[str, float]]]()
    for tested, own in sets.items():
        scores = {name: own.by_item(found[tested].scores) for name, found in networks.items()}
        scores |= _judged(learned, judges, plain, parts, tested, weights)
        scores |= {title: by_set[tested] for title, by_set in tuned.items()}
        scores |= _with_tuned(scores, parts, tuning.judge_rows(), weights, tested)
        scores |= {title: mean_of_ranks([scores[part] for part in chosen]) for title, chosen in means.items()}
        rows += correlations(tested, own, scores, resamples)
    return Figures(rows, weights)


def _with_references(
    sets: Mapping[str, RatedSet], plain: dict[str, dict[str, Floats]], found: Mapping[str, Floats]
) -> dict[str, dict[str, Floats]]:
    """Scores with references beside the others; NaN in sets without references."""
    if not found:
        return plain
    missing = {name: np.full(len(own.human), np.nan) for name, own in sets.items()}
    return {name: {**row, VBERTSCORE: found.get(name, missing[name])} for name, row in plain.items()}


def _judged(
    sets: Mapping[str, RatedSet],
    judges: Mapping[str, Judges],
    plain: Mapping[str, Mapping[str, Floats]],
    parts: Mapping[str, Sequence[str]],
    tested: str,
    weights: dict[str, dict[str, dict[str, float]]],
) -> dict[str, Floats]:
    """Scores of a tested set by judges, metrics and blends; adds the blends' weights and the judges' λ to `weights`."""
    judged = {name: judge.scores(tested) for name, judge in judges.items()}
    by_set: dict[str, dict[str, Floats]] = {}
    for name in next(iter(judged.values()))[0]:
        by_set[name] = {judge: scores_of_sets[name] for judge, (scores_of_sets, _) in judged.items()}
        by_set[name] |= plain[name]
    scores = dict(by_set[tested])
    kind = [name for name in by_set if SPOT not in sets or (name in DIALOGUES) == (tested in DIALOGUES)]
    for title, chosen in parts.items():
        columns = {name: ranked([by_set[name][part] for part in chosen], sets[name].human) for name in kind}
        made = blend(columns, tested)
        scores[title] = made.scores
        weights.setdefault(title, {})[tested] = dict(zip(chosen, made.weights.round(4).tolist(), strict=True))
    for name, (_, strength) in judged.items():
        weights.setdefault(f"λ of {name}", {})[tested] = {"λ": strength}
    return scores


def _with_tuned(
    scores: Mapping[str, Floats],
    blends: Mapping[str, Sequence[str]],
    tuned: Mapping[str, Sequence[str]],
    weights: Mapping[str, Mapping[str, Mapping[str, float]]],
    tested: str,
) -> dict[str, Floats]:
    """Blends with the same weights, and tuned judges in place of the frozen ones."""
    found = {}
    for title in (title for title, parts in blends.items() if tuned.keys() & set(parts)):
        ranks = {part: mean_of_ranks([scores[row] for row in tuned.get(part, [part])]) for part in blends[title]}
        own = weights[title][tested]
        found[f"{title}, tuned"] = np.sum([own[part] * ranks[part] for part in own], axis=0)
    return found


def _folders(given: Sequence[str]) -> dict[str, str]:
    found = {}
    for text in given:
        name, _, folder = text.partition("=")
        if not (name.isidentifier() and folder):
            raise InputError(f"--scorer {text!r} has no name", hint="write --scorer NAME=FOLDER")
        found[name] = folder
    return found


def _references(data: Path, work: str | None, folder: str, encoder: str) -> dict[str, Floats] | None:
    """Scores of `vbertscore`, with references rated by the first network; None without a work folder."""
    if not work:
        return None
    return default_bertscore(data, Parts.of(data, Path(work), f"relevance(model={folder!r})", encoder=encoder))


def main(argv: Sequence[str] | None = None) -> int:
    parser = arguments("Judges learned from ratings of other sets, beside relevance and the best published.")
    parser.add_argument(
        "--scorer", action="append", metavar="NAME=FOLDER", help="a relevance scorer; may be repeated (ready=ready)"
    )
    parser.add_argument(
        "--tune", action="append", default=[], metavar="NAME", help="tune this --scorer too; may be repeated"
    )
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="trainings of each tuned judge (1)")
    parser.add_argument(
        "--epoch", default=LOSS, choices=EPOCHS, help="epoch of tuned judges: best on held-out replies, or last (loss)"
    )
    parser.add_argument("--more", action="store_true", help="learn from three more sets, and blend by kind of set")
    parser.add_argument("--eight", action="store_true", help="let tuned judges learn from the eight sets only")
    parser.add_argument(
        "--references", metavar="FOLDER", help="add vbertscore with this pool: the work folder of vbleu_tables.py"
    )
    parser.add_argument(
        "--mean", action="append", default=[], metavar="NAMES", help="mean of the ranks of rows joined by commas"
    )
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"), help="where to compute (auto)")
    args = parser.parse_args(argv)

    def make(data: Path) -> Figures:
        folders, metrics = _folders(args.scorer or [f"{READY}={READY}"]), named_scorers(args, [])
        tuned = [parts_of("--tune", name, list(folders))[0] for name in args.tune]
        return run(
            data,
            folders,
            metrics,
            tuning=Tuning(tuned, args.seeds, args.epoch, args.mean),
            more=args.more,
            eight=args.eight,
            references=_references(data, args.references, next(iter(folders.values())), args.encoder),
            keep=Path(args.keep) if args.keep else None,
            device=args.device,
            resamples=args.resamples,
            blends=args.blend,
        )

    return show("judge", args, make)


if __name__ == "__main__":
    sys.exit(main())
