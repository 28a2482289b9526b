"""How well scorers tell true replies of held-out dialogues from wrong ones, beside naive baselines.

- auc: the share of pairs of a true and a wrong reply of one log in which the true one scores higher; ties count half.
- wins: the same share within items, where both replies have the same context (for shuffled turns, the same reply).

Intervals are 95 %, from resamples of dialogues. Baselines, of the context's turns and the reply: `overlap`, the cosine
of their counts of character bigrams; `tf-idf`, the same with each bigram weighted by its idf in the tested replies;
`length`, characters of the reply; cosines of the sentence vectors of the last turn and the reply, by an encoder before
any training and by one that has only learned to predict masked tokens.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from held_out_replies import KINDS, TRUE, Item
from numpy.typing import NDArray

from interloq.retrieve.leaks import normalise_text

Floats = NDArray[np.float64]
Scorer = Callable[[Sequence[Sequence[str]], Sequence[str]], Floats]


@dataclass(frozen=True, slots=True)
class Row:
    """One scorer against one kind of wrong replies in one log; `n` counts wrong replies."""

    scorer: str
    log: str
    kind: str
    measure: str
    value: float
    ci: tuple[float, float]
    n: int
    dialogues: int

    def as_dict(self) -> dict[str, Any]:
        """As a JSON object."""
        return asdict(self)


# ---- scorers ---------------------------------------------------------------------------------------------------------


def scorers(items: Sequence[Item], folder: Path, cosines: Mapping[str, Path], *, device: str) -> dict[str, Scorer]:
    """The trained scorer and the baselines."""
    from interloq.scorers.relevance.model import RelevanceScorer

    return {
        "relevance": RelevanceScorer.load(folder, device=device).scores,
        "overlap": lambda contexts, replies: bigram_cosines(contexts, replies, {}),
        "tf-idf": lambda contexts, replies: bigram_cosines(contexts, replies, idf(items)),
        "length": lambda _, replies: np.array([len(reply) for reply in replies], dtype=np.float64),
        **{name: encoder_cosine(encoder, device=device) for name, encoder in cosines.items()},
    }


def idf(items: Sequence[Item]) -> dict[str, float]:
    """log(n / number of replies with the bigram)."""
    replies = {reply for item in items for reply in item.replies.values()}
    counts = Counter(bigram for reply in replies for bigram in set(_bigrams(reply)))
    return {bigram: math.log(len(replies) / count) for bigram, count in counts.items()}


def bigram_cosines(contexts: Sequence[Sequence[str]], replies: Sequence[str], weights: Mapping[str, float]) -> Floats:
    """Cosine of the bigram counts of all turns and of the reply; a bigram without a weight has 1."""

    def vector(texts: Sequence[str]) -> dict[str, float]:
        counts = Counter(bigram for text in texts for bigram in _bigrams(text))
        return {bigram: count * weights.get(bigram, 1.0) for bigram, count in counts.items()}

    return np.array([_cosine(vector(c), vector([r])) for c, r in zip(contexts, replies, strict=True)])


def _bigrams(text: str) -> list[str]:
    """Of letters and digits alone; a single character is its own."""
    plain = normalise_text(text)
    return ["".join(pair) for pair in pairwise(plain)] or [plain]


def _cosine(first: Mapping[str, float], second: Mapping[str, float]) -> float:
    size = math.sqrt(sum(v * v for v in first.values()) * sum(v * v for v in second.values()))
    return sum(value * first.get(bigram, 0.0) for bigram, value in second.items()) / size if size else 0.0


def encoder_cosine(folder: Path, *, device: str) -> Scorer:
    """Cosine of the mean token vectors of the last turn and of the reply."""
    from interloq.models.encoder import Encoder

    encoder = Encoder(str(folder), device=device)

    def scored(contexts: Sequence[Sequence[str]], replies: Sequence[str]) -> Floats:
        last, own = encoder.sentences([context[-1] for context in contexts]), encoder.sentences(replies)
        return np.asarray((last * own).sum(axis=1), dtype=np.float64)

    return scored


# ---- figures ---------------------------------------------------------------------------------------------------------


def figures(items: Sequence[Item], found: Mapping[str, Scorer], resamples: int) -> list[Row]:
    """All measures of all scorers on each log."""
    cases = [(i, kind, context, reply) for i, item in enumerate(items) for kind, context, reply in item.cases()]
    logs = list(dict.fromkeys(item.log for item in items))
    rows: list[Row] = []
    for name, scorer in found.items():
        values = scorer([context for _, _, context, _ in cases], [reply for *_, reply in cases])
        table = {kind: np.full(len(items), np.nan) for kind in (TRUE, *KINDS)}
        for (i, kind, _, _), value in zip(cases, values.tolist(), strict=True):
            table[kind][i] = value
        for log in logs:
            chosen = np.array([item.log == log for item in items])
            own = {kind: column[chosen] for kind, column in table.items()}
            rows += _of_log(name, log, own, [item.dialogue for item in items if item.log == log], resamples)
    return rows


def _of_log(
    scorer: str, log: str, table: Mapping[str, Floats], dialogues: Sequence[str], resamples: int
) -> Iterator[Row]:
    keys, owners = np.unique(dialogues, return_inverse=True)
    drawn = np.random.default_rng(0).multinomial(len(keys), np.full(len(keys), 1 / len(keys)), size=resamples)
    weights = np.concatenate([np.ones((1, len(keys))), drawn])[:, owners]  # the first row: every dialogue once
    for kind in KINDS:
        if not (n := int(np.isfinite(table[kind]).sum())):
            continue
        for measure, function in (("auc", aucs), ("wins", wins)):
            if (found := function(table[TRUE], table[kind], weights)) is not None:
                low, high = np.nanpercentile(found[1:], [2.5, 97.5]).tolist() if resamples else (np.nan, np.nan)
                yield Row(scorer, log, kind, measure, float(found[0]), (low, high), n, len(keys))


def aucs(true: Floats, wrong: Floats, weights: Floats) -> Floats:
    """AUC for each row of weights of the items."""
    good, bad = np.isfinite(true), np.isfinite(wrong)
    above = np.sign(true[good][:, None] - wrong[bad]) / 2 + 0.5
    counts = weights[:, good].sum(axis=1) * weights[:, bad].sum(axis=1)
    return np.asarray(((weights[:, good] @ above) * weights[:, bad]).sum(axis=1) / np.where(counts, counts, np.nan))


def wins(true: Floats, wrong: Floats, weights: Floats) -> Floats | None:
    """Share of items in which the true reply scores higher, for each row of weights; None if no item has both."""
    both = np.isfinite(true) & np.isfinite(wrong)
    if not both.any():
        return None
    above, counts = np.sign(true[both] - wrong[both]) / 2 + 0.5, weights[:, both].sum(axis=1)
    return np.asarray(weights[:, both] @ above / np.where(counts, counts, np.nan))


def print_figures(rows: Sequence[Row]) -> None:
    """One table per log and measure, a line per kind of wrong replies; in Markdown."""
    names = list(dict.fromkeys(row.scorer for row in rows))
    for log, measure in dict.fromkeys((row.log, row.measure) for row in rows):
        own = [row for row in rows if (row.log, row.measure) == (log, measure)]
        print(f"\n{log}, {measure} ({own[0].dialogues:,} dialogues)\n")
        print("| wrong replies | n | " + " | ".join(names) + " |")
        print("|---" * (2 + len(names)) + "|")
        for kind in dict.fromkeys(row.kind for row in own):
            line = {row.scorer: row for row in own if row.kind == kind}
            print(f"| {kind} | {line[names[0]].n:,} | " + " | ".join(cell(line[name]) for name in names) + " |")


def cell(row: Row) -> str:
    """Value and interval, without leading zeros."""
    low, high = row.ci
    return f"{row.value:.3f} [{low:.3f}, {high:.3f}]".replace("0.", ".")
