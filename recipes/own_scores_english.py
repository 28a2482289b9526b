"""Can outsiders' scores, or a model that knows the person, predict a chatter's own score of a whole conversation?

    python recipes/own_scores_english.py --data DATA --out OUT

Ji et al. (2022): 329 people talked with several of ten bots each, and rated each conversation on seven questions, 0 to
100. The score is their mean, with `robotic` and `repetitive` reversed. Conversations with `QualityControl`, a bot that
is bad on purpose, are left out: people and models tell them apart easily. This repeats Table 2 of Tsuta et al. (2024)
in English, on conversations instead of single replies; `hazumi.py` decides the claims, on the paper's data.

- `outsiders' ratings`: a ridge regression on frozen vectors that learned the ratings of outsiders (GRADE, USR, FED and
  Gupta et al.) and scores the bot's replies; a conversation has the mean of REPLIES of them. The packaged judges cannot
  be used here, because they learned from these conversations.
- `relevance`, `cosine with the person`, `length`: metrics that learn from no ratings.
- `own scores`: a ridge regression on frozen vectors of both sides of the conversation (and seven numbers about them),
  learned from people's own scores; `own scores, aware` has a token per person too (a ridge-penalised offset), and
  `person's mean` has nothing else. Unlike on Hazumi, a token cannot change how the text is read.

Two designs, with FOLDS folds each, in which every conversation is tested once: for *known* people, another conversation
of each person is held out in each fold; for *new* people, all of theirs. Penalties are chosen by the squared error of
left-out conversations within the training folds. The mean of a person's other scores is low where the held-out one is
high, so r within people is shown only for rows without a token. Intervals are from resamples of people. Dialogue level:
r over conversations; system level: r over the ten bots' means.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from frozen_heads import ENCODER, Floats, Ints, Reduction, TurnVectors, encode_texts, features, texts_of
from hazumi import USELESS
from interlocutor_arms import exit_code
from interlocutor_figures import Basis, Figure, cell, numbered, plain_finding, user_parts
from rated_sets import RatedSet, data_folder, rated_sets
from results import Cell, Finding, PublishedTable, add_measured_option, report_measured

from interloq import InputError, Sample, Turn
from interloq.data.files.opening import lines, write_json
from interloq.retrieve.leaks import context_of
from interloq.score.evaluate import evaluate_all
from interloq.statistics.resampling import cluster_counts
from interloq.statistics.ridge import RatedStates, learn_head, ranks
from interloq.terminal.console import print_line, print_table

FILE, DATA_NAME = "ji2022_part.jsonl.xz", "Ji et al. (2022)"
CONTROL = "QualityControl"
PERSON, BOT = "person", "bot"
QUESTIONS = ("robotic", "interesting", "fun", "consistent", "fluent", "repetitive", "topic")
REVERSED = ("robotic", "repetitive")
REPLIES, FOLDS = 4, 5
TEXT_PENALTIES = (30.0, 100.0, 300.0, 1000.0, 3000.0)
PERSON_PENALTIES = (0.3, 1.0, 3.0, 10.0)
OUTSIDERS, OWN, AWARE, MEAN = "outsiders' ratings", "own scores", "own scores, aware", "person's mean"
RELEVANCE, COSINE, LENGTH = "relevance", "cosine with the person", "length"
PUBLISHED = {OUTSIDERS: 0.141, OWN: 0.166, AWARE: 0.496}  # Hazumi, single replies


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation with the person's own scores; higher is better for all questions."""

    id: str
    worker: str
    system: str
    turns: Sequence[Turn]
    scores: Mapping[str, float]

    @property
    def score(self) -> float:
        """Return the mean of all questions."""
        return float(np.mean(list(self.scores.values())))

    def samples(self) -> list[Sample]:
        """Return at most REPLIES replies of the bot, spread evenly over the conversation."""
        places = [i for i, turn in enumerate(self.turns) if i and turn.speaker == BOT]
        if not places:
            return []
        chosen = np.unique(np.linspace(0, len(places) - 1, REPLIES).round().astype(int)).tolist()
        return [self._sample(places[k]) for k in chosen]

    def _sample(self, place: int) -> Sample:
        return Sample(f"{self.id}#{place}", self.turns[:place], self.turns[place].text, dialogue=self.id)

    def texts(self, speaker: str) -> list[str]:
        """Return what one side said."""
        return [turn.text for turn in self.turns if turn.speaker == speaker]


def read_conversations(data: Path) -> list[Conversation]:
    """Return all conversations but those of quality control and those in which the bot says nothing."""
    path = data / FILE
    if not path.exists():
        raise InputError(f"no {FILE} in {str(data)!r}", hint="put it there, or name another --data")
    conversations = []
    for _, line in lines(path):
        value: dict[str, Any] = json.loads(line)
        turns = [Turn(turn["text"], turn["speaker"]) for turn in value["turns"] if turn["text"].strip()]
        scores = {}
        for question in QUESTIONS:
            rating = float(value["ratings"][question])
            scores[question] = 100 - rating if question in REVERSED else rating
        conversation = Conversation(value["id"], value["worker"], value["system"], turns, scores)
        if conversation.system != CONTROL and conversation.samples() and conversation.texts(PERSON):
            conversations.append(conversation)
    return conversations


# ---- metrics and outsiders' ratings ----------------------------------------------------------------------------------


def by_conversation(conversations: Sequence[Conversation], samples: Sequence[Sample], values: Floats) -> Floats:
    """Return the mean over each conversation's replies."""
    own: dict[str, list[float]] = {conversation.id: [] for conversation in conversations}
    for sample, value in zip(samples, values.tolist(), strict=True):
        own[sample.dialogue].append(value)
    return np.array([np.mean(one) for one in own.values()])


def outsider_scores(
    sets: Mapping[str, RatedSet], samples: Sequence[Sample], encoded: TurnVectors, reduction: Reduction
) -> Floats:
    """Score replies by a ridge regression that learned outsiders' ratings of other replies."""
    vectors = reduction(encoded)
    states, targets, numbers, contexts = [], [], [], list[str]()
    for number, rated in enumerate(sets.values()):
        by_reply = features(rated.samples, vectors).astype(np.float64)
        items = [rated.by_item(column) for column in by_reply.T]
        states.append(np.stack(items, axis=1))
        targets.append(ranks(rated.human))
        numbers.append(np.full(len(rated.human), number))
        first = np.unique(rated.items, return_index=True)[1]
        contexts += [str(context_of(rated.samples[i])) for i in first.tolist()]
    learned = RatedStates(np.concatenate(states), np.concatenate(targets), np.concatenate(numbers), numbered(contexts))
    return learn_head(learned)(features(samples, vectors).astype(np.float64))


# ---- models of people's own scores -----------------------------------------------------------------------------------


def conversation_features(conversations: Sequence[Conversation], encoded: TurnVectors, reduction: Reduction) -> Floats:
    """Return mean vectors of both sides, and seven numbers, standardised."""
    vectors = reduction(encoded)
    rows = []
    for conversation in conversations:
        said, answers = conversation.texts(PERSON), conversation.texts(BOT)
        numbers = [
            cosine_with_person(conversation, encoded),
            len(set(answers)) / len(answers),
            distinct_words(answers),
            np.log1p(np.mean([len(text) for text in answers])),
            np.log1p(np.mean([len(text) for text in said])),
            np.log1p(len(conversation.turns)),
            float(np.mean(["?" in text for text in said])),
        ]
        rows.append(np.concatenate([vectors.of(answers).mean(axis=0), vectors.of(said).mean(axis=0), numbers]))
    made = np.array(rows, dtype=np.float64)
    return np.asarray((made - made.mean(axis=0)) / (made.std(axis=0) + 1e-9))


def cosine_with_person(conversation: Conversation, encoded: TurnVectors) -> float:
    """Return the mean cosine of the bot's replies with the turn before them."""
    cosines = []
    for sample in conversation.samples():
        before, reply = encoded.of([sample.context[-1].text, sample.response])
        cosines.append(float(before @ reply))
    return float(np.mean(cosines))


def distinct_words(texts: Iterable[str]) -> float:
    """Return the share of words that differ."""
    words = [word for text in texts for word in text.lower().split()]
    return len(set(words)) / max(1, len(words))


@dataclass(frozen=True, slots=True)
class Design:
    """Columns of a ridge regression: features, and one column per person."""

    features: Floats | None
    person: Ints | None

    def columns(self, text_penalty: float, person_penalty: float) -> Floats:
        """Return the columns, scaled so that a penalty of 1 on all of them is the wanted one on each kind."""
        parts = []
        if self.features is not None:
            parts.append(self.features / np.sqrt(text_penalty))
        if self.person is not None:
            parts.append(np.eye(int(self.person.max()) + 1)[self.person] / np.sqrt(person_penalty))
        return np.hstack(parts)


def predict_held_out(design: Design, y: Floats, fold: Ints) -> Floats:
    """Return predictions for each fold by a model that learned from the others."""
    text_penalties = TEXT_PENALTIES if design.features is not None else (1.0,)
    person_penalties = PERSON_PENALTIES if design.person is not None else (1.0,)
    options = [(text, person) for text in text_penalties for person in person_penalties]
    predicted = np.zeros(len(y))
    for number in range(FOLDS):
        train, held = fold != number, fold == number
        mean = y[train].mean()
        best: tuple[float, Floats] | None = None
        for penalties in options:
            columns = design.columns(*penalties)
            weights, error = fit_ridge(columns[train], y[train] - mean)
            if best is None or error < best[0]:
                best = (error, columns[held] @ weights + mean)
        if best is not None:
            predicted[held] = best[1]
    return predicted


def fit_ridge(x: Floats, y: Floats) -> tuple[Floats, float]:
    """Return the weights with a penalty of 1, and the mean squared error of rows that are left out one by one."""
    inverse = np.linalg.inv(x.T @ x + np.eye(x.shape[1]))
    weights = inverse @ (x.T @ y)
    leverage = ((x @ inverse) * x).sum(axis=1)
    left_out = (y - x @ weights) / (1 - leverage)
    return weights, float((left_out**2).mean())


def known_folds(conversations: Sequence[Conversation]) -> Ints:
    """Return folds in which each person's conversations are spread over all folds."""
    seen = Counter[str]()
    folds = []
    for conversation in conversations:
        folds.append(seen[conversation.worker] % FOLDS)
        seen[conversation.worker] += 1
    return np.array(folds)


def new_folds(worker: Ints) -> Ints:
    """Return folds that hold out all conversations of a fifth of the people."""
    order = np.random.default_rng(0).permutation(int(worker.max()) + 1)
    return np.asarray(order[worker] % FOLDS)


# ---- figures ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Predictions:
    """Predictions of one design by title, and what they are compared with."""

    by_title: Mapping[str, Floats]
    score: Floats
    worker: Ints
    system: Ints

    def dialogue_level(self, resamples: int) -> dict[str, dict[str, Figure]]:
        """Return r over conversations, and its parts between and within people."""
        figures = {}
        for title, predicted in self.by_title.items():
            figures[title] = user_parts([predicted], self.score, self.worker, resamples)
        return figures

    def system_level(self, resamples: int) -> dict[str, Figure]:
        """Return r over the means of the bots; resamples draw people."""
        figures = {}
        everything = np.ones((1, len(self.score)))
        drawn = list(cluster_counts(self.worker, resamples, 0))
        for title, predicted in self.by_title.items():
            value = self._r_of_means(predicted, everything)
            draws = np.concatenate([self._r_of_means(predicted, counts.astype(np.float64)) for counts in drawn])
            figures[title] = Figure(float(value[0]), draws)
        return figures

    def _r_of_means(self, predicted: Floats, counts: Floats) -> Floats:
        """Return r over the bots' means, in each row of counts."""
        of_system = np.eye(int(self.system.max()) + 1)[self.system]
        sizes = counts @ of_system
        first, second = ((counts * values) @ of_system / sizes for values in (predicted, self.score))
        first = first - first.mean(axis=1, keepdims=True)
        second = second - second.mean(axis=1, keepdims=True)
        scale = np.sqrt((first**2).sum(axis=1) * (second**2).sum(axis=1))
        return np.asarray((first * second).sum(axis=1) / scale)


def make_findings(
    known: Mapping[str, Mapping[str, Figure]], new: Mapping[str, Mapping[str, Figure]], workers: int
) -> list[Finding]:
    """Return what knowing the person adds, and what outsiders' ratings are worth."""
    basis = Basis(DATA_NAME, workers, "people", "whole conversations; frozen encoder, ridge regression")
    r = {title: parts["overall"] for title, parts in known.items()}
    of_new = {title: parts["overall"] for title, parts in new.items()}
    aware_gain, own_gain = PUBLISHED[AWARE] - PUBLISHED[OWN], PUBLISHED[OWN] - PUBLISHED[OUTSIDERS]
    useless = basis.finding("003/48", f"{OUTSIDERS}: r at most {USELESS}, sign reversed", -of_new[OUTSIDERS])
    return [
        basis.finding("003/49", f"{AWARE} above {OWN}: r, known people", r[AWARE] - r[OWN], aware_gain),
        basis.finding("003/49", f"{AWARE} above {MEAN}: r, known people", r[AWARE] - r[MEAN]),
        basis.finding("003/48", f"{OWN} above {OUTSIDERS}: r, new people", of_new[OWN] - of_new[OUTSIDERS], own_gain),
        replace(useless, threshold=-USELESS),
    ]


def table_2(
    known: Mapping[str, Mapping[str, Figure]], new: Mapping[str, Mapping[str, Figure]], systems: Mapping[str, Figure]
) -> PublishedTable:
    """Return the English counterpart of Table 2."""
    rows: dict[str, Sequence[Cell]] = {}
    for title, parts in known.items():
        overall = new[title]["overall"] if title in new else None
        within = Cell() if title in (AWARE, MEAN) else cell(parts["within users"])
        rows[title] = [cell(parts["overall"], PUBLISHED.get(title)), within, cell(overall), cell(systems.get(title))]
    return PublishedTable(
        item="003/42",
        title="Table 2 in English: Pearson's r with a chatter's own score of the conversation",
        data=DATA_NAME,
        columns=["known people", "known people, within people", "new people", "ten bots' means"],
        rows=rows,
        note="Published: Hazumi, single replies. Metrics that learn nothing from these conversations have the same r "
        "with known and with new people. People were resampled.",
    )


def print_questions(conversations: Sequence[Conversation], design: Mapping[str, Design], fold: Ints) -> dict[str, Any]:
    """Print r for each question, for known people."""
    rows, kept = [], {}
    for question in QUESTIONS:
        y = np.array([conversation.scores[question] for conversation in conversations])
        values = {title: float(np.corrcoef(predict_held_out(own, y, fold), y)[0, 1]) for title, own in design.items()}
        kept[question] = values
        rows.append([question, *(f"{value:.3f}" for value in values.values())])
    print_table("Pearson's r by question, known people", ["", *design], rows)
    print_line()
    return kept


def print_levels(title: str, levels: Mapping[str, Mapping[str, Figure]], systems: Mapping[str, Figure]) -> None:
    """Print r at both levels."""
    rows = []
    for name, parts in levels.items():
        rows.append([name, *(str(figure) for figure in parts.values()), str(systems[name])])
    names = [part.replace("users", "people") for part in next(iter(levels.values()))]
    print_table(title, ["", *names, "ten bots' means"], rows)
    print_line()


# ---- the whole -------------------------------------------------------------------------------------------------------


def run(args: argparse.Namespace, started: float) -> None:
    """Encode, predict, correlate and report."""
    torch.set_num_threads(args.threads)
    data, out = data_folder(args.data), Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    conversations = read_conversations(data)
    sets = rated_sets(data)
    samples = [sample for conversation in conversations for sample in conversation.samples()]
    texts = [turn.text for conversation in conversations for turn in conversation.turns]
    rated_texts = [text for rated in sets.values() for text in texts_of(rated.samples)]
    encoded = encode_texts([*texts, *rated_texts], out / "vectors.sqlite", args.encoder)
    reduction = Reduction.fit(encoded)

    worker = numbered(conversation.worker for conversation in conversations)
    system = numbered(conversation.system for conversation in conversations)
    score = np.array([conversation.score for conversation in conversations])
    relevance = evaluate_all([f"relevance(model={args.relevance!r})"], samples, n_bootstrap=0)[0][""]
    metrics = {
        OUTSIDERS: by_conversation(conversations, samples, outsider_scores(sets, samples, encoded, reduction)),
        RELEVANCE: by_conversation(conversations, samples, np.array([relevance.by_sample[s.key] for s in samples])),
        COSINE: np.array([cosine_with_person(conversation, encoded) for conversation in conversations]),
        LENGTH: np.array([np.mean([len(text) for text in one.texts(BOT)]) for one in conversations]),
    }
    read = conversation_features(conversations, encoded, reduction)
    designs = {OWN: Design(read, None), AWARE: Design(read, worker), MEAN: Design(None, worker)}
    folds = {"known people": known_folds(conversations), "new people": new_folds(worker)}
    levels: dict[str, dict[str, dict[str, Figure]]] = {}
    systems: dict[str, dict[str, Figure]] = {}
    for name, fold in folds.items():
        models = designs if name == "known people" else {OWN: designs[OWN]}
        predicted = {title: predict_held_out(design, score, fold) for title, design in models.items()}
        predictions = Predictions(metrics | predicted, score, worker, system)
        levels[name] = predictions.dialogue_level(args.resamples)
        systems[name] = predictions.system_level(args.resamples)
        print_levels(f"Pearson's r with the own score: {name}", levels[name], systems[name])
    known, new = levels.values()
    findings = make_findings(known, new, int(worker.max()) + 1)
    questions = print_questions(conversations, designs, folds["known people"])
    plain = {
        name: {title: {part: figure.plain() for part, figure in parts.items()} for title, parts in level.items()}
        for name, level in levels.items()
    }
    kept = [plain_finding(finding) for finding in findings]
    write_json(out / "own_scores.json", {"dialogue level": plain, "questions": questions, "findings": kept})
    report_measured(args.measured, findings, [table_2(known, new, systems["new people"])], started)


def main(argv: Sequence[str] | None = None) -> int:
    started = time.monotonic()
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", metavar="FOLDER", help="published sets (default: $INTERLOQ_DATA)")
    parser.add_argument("--out", required=True, metavar="FOLDER", help="vectors and own_scores.json")
    parser.add_argument("--encoder", default=ENCODER, metavar="FOLDER", help=f"frozen encoder ({ENCODER})")
    parser.add_argument("--relevance", default="ready", metavar="FOLDER", help="a relevance scorer (ready)")
    parser.add_argument("--resamples", type=int, default=1000, metavar="N", help="for intervals (1000)")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="threads of PyTorch (1)")
    add_measured_option(parser)
    args = parser.parse_args(argv)
    return exit_code("own_scores_english", lambda: run(args, started))


if __name__ == "__main__":
    sys.exit(main())
