"""Does a profile help to predict who answers, and how a person rates a dialogue? ConvAI's people and bots, no GPU.

    python recipes/dcp_profiles.py --data DATA --out OUT

The person in each dialogue had been given a short profile to play, talked with a bot as long as they liked, and rated
it from 1 to 5 (`eval_score`). So the ends are natural, but a profile is a role that was drawn at random, not the
person's own text as on X: it can help by what it says, and not by telling who the person is. No person is identified,
so there is no row with a user token. Dialogues without a profile are left out.

The encoder is frozen (`frozen_heads.py` says how that differs from the paper). `DCP + profile` reads, beside what `DCP`
reads, the mean vector of the profile's sentences, and how near the reply and the turn before it are to them. `DCP +
another profile` reads that of another dialogue, drawn at random: a gain that it has too is not due to the profile.

What decides **003/53** (profiles help) is the paper's measure, accuracy, with the same share of replies predicted to be
answered by all heads. Every dialogue is held out once (FOLDS folds); of the tested replies, answered ones are drawn to
the paper's share. Dialogues are resampled. The person's own rating of the dialogue is predicted by ridge regressions as
in `own_scores_english.py`, with and without the profile.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from dcp_data import ANSWERED, label
from frozen_heads import (
    ENCODER,
    Floats,
    HeadSettings,
    Ints,
    RatedDialogues,
    Reduction,
    Rows,
    TurnVectors,
    Vectors,
    decide_at_share,
    draw_answered,
    encode_texts,
    features,
    mean_auc,
    texts_of,
    train_head,
)
from interlocutor_arms import exit_code
from interlocutor_figures import numbered
from numpy.typing import NDArray
from own_scores_english import BOT, PERSON, Conversation, Design, conversation_features, predict_held_out
from rated_sets import data_folder
from results import Finding, add_measured_option, interval_by_unit, report_measured

from interloq import Dialogue, InputError, Sample, Turn
from interloq.data.files.opening import lines
from interloq.data.sets.registry import corpus, locate, read_parts
from interloq.scorers.interlocutor.continuity_labels import SampleSelection, continuity
from interloq.terminal.console import print_line, print_table

FILE, DATA_NAME = "convai_human_bot.jsonl.xz", "ConvAI"
SPEAKERS = {"A": PERSON, "B": BOT}  # of all dialogues: those that name the classes of speakers agree
DCP, PROFILE, OTHER = "DCP", "DCP + profile", "DCP + another profile"
FOLDS, SEEDS = 5, (0, 1)
PUBLISHED = 0.746 - 0.668
PERSONAS, ASPECT, MIN_RATINGS = "real_persona_chat", "satisfaction", 5
ITEM, NOTE = "003/53", "frozen encoder, trained heads; profiles are assigned roles"


@dataclass(frozen=True, slots=True)
class Played:
    """A dialogue of a person who plays a profile, and the person's rating of it, if there is one."""

    dialogue: Dialogue
    profile: Sequence[str]
    rating: float | None


def read_played(data: Path) -> list[Played]:
    """Return the dialogues with a profile in which both sides speak."""
    path = data / "logs" / FILE
    if not path.exists():
        raise InputError(f"no {FILE} in {str(path.parent)!r}", hint="put it there, or name another --data")
    played = []
    for _, line in lines(path):
        value: dict[str, Any] = json.loads(line)
        turns = [Turn(turn["text"], SPEAKERS[turn["speaker"]]) for turn in value["turns"] if turn["text"].strip()]
        if value["user_profile"] and {turn.speaker for turn in turns} == {PERSON, BOT}:
            dialogue = Dialogue(value["id"], turns, {BOT: BOT})
            played.append(Played(dialogue, value["user_profile"], value["eval_score"]))
    return played


def profile_features(samples: Sequence[Sample], profiles: Sequence[Sequence[str]], vectors: TurnVectors) -> Vectors:
    """Return the mean vector of each profile, and cosines of the reply and of the turn before it with its sentences."""
    rows = np.zeros((len(samples), vectors.width + 4), dtype=np.float32)
    for i, (sample, profile) in enumerate(zip(samples, profiles, strict=True)):
        sentences = vectors.of(profile)
        said = vectors.of([sample.response, sample.context[-1].text])
        near = unit(said) @ unit(sentences).T
        rows[i] = [*sentences.mean(axis=0), *near.max(axis=1), *near.mean(axis=1)]
    return rows


def unit(rows: Vectors) -> Vectors:
    """Return rows of length 1."""
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9))


# ---- who answers -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answers:
    """Scores of tested replies by each head, one array per seed, their labels, and their dialogues."""

    scores: Mapping[str, Sequence[Floats]]
    labels: NDArray[np.bool_]
    dialogues: Sequence[str]
    whole: Sequence[Floats]  # scores of all replies by the head without a profile
    of_whole: Sequence[str]  # their dialogues

    def right(self, title: str) -> Floats:
        """Return the share of seeds whose decision is right, if all heads predict the usual share of answers."""
        return np.asarray(
            np.mean([decide_at_share(one, ANSWERED) == self.labels for one in self.scores[title]], axis=0)
        )

    def auc(self, title: str, places: Ints) -> float:
        """Return the AUC of some replies."""
        return mean_auc(self.scores[title], self.labels, places)


def predict_answers(
    played: Sequence[Played], vectors: TurnVectors, settings: HeadSettings, seeds: Sequence[int]
) -> Answers:
    """Train and test all heads on who answers the bot."""
    selection = SampleSelection(min_conversations=0, max_conversations=0, by="user")
    labelled = continuity([one.dialogue for one in played], selection).judged
    samples = [turn.sample() for turn in labelled if turn.user == PERSON]
    profile_of = {one.dialogue.id: one.profile for one in played}
    rng = np.random.default_rng(0)
    names = list(profile_of)
    shuffled = dict(zip(names, [names[i] for i in rng.permutation(len(names))], strict=True))
    plain = features(samples, vectors)
    own = profile_features(samples, [profile_of[sample.dialogue] for sample in samples], vectors)
    other = profile_features(samples, [profile_of[shuffled[sample.dialogue]] for sample in samples], vectors)
    inputs = {DCP: plain, PROFILE: np.hstack([plain, own]), OTHER: np.hstack([plain, other])}

    labels = np.array([float(label(sample)) for sample in samples])
    dialogue = numbered(sample.dialogue for sample in samples)
    fold = rng.integers(FOLDS, size=int(dialogue.max()) + 1)[dialogue]
    is_dev = (rng.random(int(dialogue.max()) + 1) < 0.1)[dialogue]
    tested = draw_answered(labels == 1, ANSWERED, rng)
    scores: dict[str, list[Floats]] = {}
    for title, x in inputs.items():
        rows = Rows(x, labels, np.zeros(len(labels), dtype=np.int64))
        scores[title] = [held_out_scores(rows, fold, is_dev, settings, seed) for seed in seeds]
    drawn = {title: [one[tested] for one in own] for title, own in scores.items()}
    names = [sample.dialogue for sample in samples]
    return Answers(drawn, labels[tested] == 1, [names[i] for i in tested.tolist()], scores[DCP], names)


def held_out_scores(rows: Rows, fold: Ints, is_dev: NDArray[np.bool_], settings: HeadSettings, seed: int) -> Floats:
    """Return the score of each row by a head that learned from the other folds, as ranks within its fold."""
    scores = np.zeros(len(rows.y))
    for number in range(FOLDS):
        train, dev = np.flatnonzero((fold != number) & ~is_dev), np.flatnonzero((fold != number) & is_dev)
        held = np.flatnonzero(fold == number)
        outputs = train_head(rows[train], rows[dev], 0, settings, seed).predict(rows[held])
        scores[held] = np.argsort(np.argsort(outputs)) / len(held)
    return scores


def answer_findings(answers: Answers, resamples: int) -> list[Finding]:
    """Return whether the profile helps to predict who answers."""
    gain = answers.right(PROFILE) - answers.right(DCP)
    of_profile = answers.right(PROFILE) - answers.right(OTHER)

    def auc_above(other: str) -> Callable[[Ints], float]:
        return lambda places: answers.auc(PROFILE, places) - answers.auc(other, places)

    measures: list[tuple[str, Callable[[Ints], float]]] = [
        (f"{PROFILE} above {DCP}: accuracy at the same predicted rate", lambda places: float(gain[places].mean())),
        (f"{PROFILE} above {DCP}: AUC", auc_above(DCP)),
        (f"{PROFILE} above {OTHER}: accuracy at the same rate", lambda places: float(of_profile[places].mean())),
        (f"{PROFILE} above {OTHER}: AUC", auc_above(OTHER)),
    ]
    findings = []
    for number, (way, statistic) in enumerate(measures):
        value, ci, n = interval_by_unit(answers.dialogues, statistic, resamples=resamples)
        finding = Finding(item=ITEM, way=way, value=value, ci=ci, units=n, unit="dialogues", data=DATA_NAME, note=NOTE)
        is_first = number == 0
        findings.append(replace(finding, published=PUBLISHED if is_first else None, decides=is_first))
    return findings


def print_answers(answers: Answers) -> None:
    """Print AUC and accuracy of each head."""
    everything = np.arange(len(answers.labels))
    figures = {title: (answers.auc(title, everything), answers.right(title).mean()) for title in answers.scores}
    rows = [[title, *(f"{value:.3f}" for value in own)] for title, own in figures.items()]
    title = f"{DATA_NAME}: {len(everything):,} replies of bots in {len(set(answers.dialogues)):,} dialogues"
    print_table(title, ["", "AUC", "accuracy at the same predicted rate"], rows)
    print_line()


# ---- the person's own rating -----------------------------------------------------------------------------------------


def rating_findings(
    played: Sequence[Played], encoded: TurnVectors, reduction: Reduction, resamples: int
) -> list[Finding]:
    """Return whether the profile helps to predict the person's rating of the dialogue."""
    rated = [one for one in played if one.rating is not None]
    ratings = np.array([float(one.rating or 0) for one in rated])
    conversations = [Conversation(one.dialogue.id, "", "", one.dialogue.turns, {}) for one in rated]
    kept = np.array([bool(conversation.samples()) for conversation in conversations])
    rated = [one for one, keep in zip(rated, kept.tolist(), strict=True) if keep]
    conversations = [one for one, keep in zip(conversations, kept.tolist(), strict=True) if keep]
    ratings = ratings[kept]
    read = conversation_features(conversations, encoded, reduction)
    vectors = reduction(encoded)
    profiles = np.array([vectors.of(one.profile).mean(axis=0) for one in rated], dtype=np.float64)
    profiles = (profiles - profiles.mean(axis=0)) / (profiles.std(axis=0) + 1e-9)
    fold = np.random.default_rng(0).permutation(len(rated)) % FOLDS
    plain = predict_held_out(Design(read, None), ratings, fold)
    with_profile = predict_held_out(Design(np.hstack([read, profiles]), None), ratings, fold)

    def r(predicted: Floats, places: Ints) -> float:
        return float(np.corrcoef(predicted[places], ratings[places])[0, 1])

    def gain(places: Ints) -> float:
        return r(with_profile, places) - r(plain, places)

    print_line(f"r with the own rating: {r(plain, np.arange(len(rated))):.3f} without the profile")
    value, ci, n = interval_by_unit(np.arange(len(rated)), gain, resamples=resamples)
    way = "own rating of the dialogue: r with above r without the profile"
    finding = Finding(item=ITEM, way=way, value=value, ci=ci, units=n, unit="dialogues", data=DATA_NAME, note=NOTE)
    return [finding]


# ---- profiles of new raters ------------------------------------------------------------------------------------------


def new_rater_findings(data: Path, resamples: int) -> list[Finding]:
    """Return whether a profile predicts how satisfied somebody is on average whose ratings are unknown."""
    path = locate(PERSONAS, data)
    profiles = corpus(PERSONAS).module().profiles(path)
    ratings: dict[str, list[float]] = {}
    for part, dialogue in read_parts(PERSONAS, path):
        for rating in dialogue.ratings:
            if part == "human" and rating.aspect == ASPECT and rating.value is not None:
                ratings.setdefault(rating.rater, []).append(rating.value)
    raters = sorted(name for name in ratings if name in profiles and len(ratings[name]) >= MIN_RATINGS)
    means = np.array([np.mean(ratings[name]) for name in raters])
    read = bigram_components([profiles[name] for name in raters])
    fold = np.random.default_rng(0).permutation(len(raters)) % FOLDS
    predicted = predict_held_out(Design(read, None), means, fold)

    def r(places: Ints) -> float:
        return float(np.corrcoef(predicted[places], means[places])[0, 1])

    value, ci, n = interval_by_unit(np.arange(len(raters)), r, resamples=resamples)
    way = f"mean {ASPECT} of new raters from their profiles alone: r above 0"
    note = "character bigrams, ridge regression; profiles are the raters' own"
    return [Finding(item=ITEM, way=way, value=value, ci=ci, units=n, unit="raters", data="RealPersonaChat", note=note)]


def bigram_components(texts: Sequence[str]) -> Floats:
    """Return the principal components of which character bigrams each text has, one row per text."""
    place: dict[str, int] = {}
    found = [{text[i : i + 2] for i in range(len(text) - 1)} for text in texts]
    for bigrams in found:
        for bigram in sorted(bigrams):
            place.setdefault(bigram, len(place))
    table = np.zeros((len(texts), len(place)))
    for row, bigrams in zip(table, found, strict=True):
        row[[place[bigram] for bigram in bigrams]] = 1
    left, scale, _ = np.linalg.svd(table - table.mean(axis=0), full_matrices=False)
    return np.asarray(left * scale)


def run(args: argparse.Namespace, started: float) -> None:
    """Encode, train, test and report."""
    torch.set_num_threads(args.threads)
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    data = data_folder(args.data)
    played = read_played(data)
    texts = [turn.text for one in played for turn in one.dialogue.turns]
    samples = [Sample("", one.dialogue.turns, sentence) for one in played for sentence in one.profile]
    encoded = encode_texts([*texts, *texts_of(samples)], out / "vectors.sqlite", args.encoder)
    reduction = Reduction.fit(encoded)
    settings = HeadSettings(learning_rate=args.rate)
    answers = predict_answers(played, reduction(encoded), settings, SEEDS)
    print_answers(answers)
    findings = answer_findings(answers, args.resamples)
    findings += rating_findings(played, encoded, reduction, args.resamples)
    ratings = {one.dialogue.id: float(one.rating) for one in played if one.rating is not None}
    own = RatedDialogues.of(answers.whole, answers.of_whole, ratings)
    findings += own.findings("003/55", "replies of bots", DATA_NAME, args.resamples)
    findings += new_rater_findings(data, args.resamples)
    report_measured(args.measured, findings, [], started)


def main(argv: Sequence[str] | None = None) -> int:
    started = time.monotonic()
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", metavar="FOLDER", help="published sets and logs (default: $INTERLOQ_DATA)")
    parser.add_argument("--out", required=True, metavar="FOLDER", help="vectors, kept between runs")
    parser.add_argument("--encoder", default=ENCODER, metavar="FOLDER", help=f"frozen encoder ({ENCODER})")
    parser.add_argument("--rate", type=float, default=3e-4, metavar="X", help="learning rate of all heads (3e-4)")
    parser.add_argument("--resamples", type=int, default=1000, metavar="N", help="for intervals (1000)")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="threads of PyTorch (1)")
    add_measured_option(parser)
    args = parser.parse_args(argv)
    return exit_code("dcp_profiles", lambda: run(args, started))


if __name__ == "__main__":
    sys.exit(main())
