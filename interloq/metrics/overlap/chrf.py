# SPDX-License-Identifier: Apache-2.0
"""chrF (Popović, 2015) and, with `word_order=2`, chrF++ (Popović, 2017).

chrF_β = (1 + β²) · P · R / (β² · P + R); P and R are the means over orders of n-gram precision and recall, over
characters and, for chrF++, words. With several references, the one with the best score is used.

The counts equal sacrebleu's, so values equal its `corpus_score` and `sentence_score` divided by 100. Like sacrebleu, we
average only over orders that occur in both texts; the author's script instead gives the others a tiny value.
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from interloq.data.batched import batched
from interloq.data.text.token_texts import Texts, TokenNumbering
from interloq.errors import SpecError
from interloq.metrics.metric import Array, Metric, reference_counts, reference_texts, replies
from interloq.metrics.overlap import ngrams
from interloq.needs import Needs
from interloq.records import Sample

SAMPLES = 256  # whose n-grams are counted at a time
_IS_SPACE = np.array([chr(code).isspace() for code in range(0x3002)])  # the last one is U+3000


@dataclass(frozen=True)
class Chrf(Metric, name="chrf"):
    """chrF, or chrF++ with `word_order=2`."""

    papers = ("popovic-2015-chrf",)
    variant_papers: ClassVar[Mapping[str, str]] = {"word_order": "popovic-2017-chrf"}
    needs = Needs(references=True)
    is_mean = False
    char_order: Annotated[int, "longest character n-gram, 1 to 20"] = 6
    word_order: Annotated[int, "longest word n-gram, 0 to 9; 2 is chrF++"] = 0
    beta: Annotated[int, "recall counts this many times as much as precision; a whole number from 1"] = 2
    lowercase: Annotated[bool, "lower-case both texts first"] = False
    whitespace: Annotated[bool, "count white space as characters"] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.char_order <= 20 or not 0 <= self.word_order <= 9:
            raise SpecError(
                "chrf: char_order must be from 1 to 20 and word_order from 0 to 9, "
                f"got {self.char_order} and {self.word_order}"
            )
        if self.beta < 1:
            raise SpecError(f"chrf: beta must be 1 or more, got {self.beta}")

    def built_with(self) -> str:
        return f"sacrebleu-{version('sacrebleu')}"

    def stats(self, samples: Sequence[Sample]) -> Array:
        """Return [n-grams of the reply, n-grams of the reference, matches] of each order, for the best reference."""
        rows = [np.zeros((0, 3 * (self.char_order + self.word_order)))]
        rows += map(self._best_references, batched(samples, SAMPLES))
        return np.concatenate(rows)

    def value(self, total: Array) -> Array:
        precision, recall = self._precision_and_recall(total)
        weight = self.beta**2
        below = weight * precision + recall
        return np.asarray((1 + weight) * precision * recall / np.where(below > 0, below, 1))

    def details(self, total: Array) -> dict[str, float]:
        """Return the mean precision and recall over the orders that both texts have."""
        precision, recall = self._precision_and_recall(total)
        return {"precision": float(precision), "recall": float(recall)}

    def _precision_and_recall(self, total: Array) -> tuple[Array, Array]:
        response, reference, matches = total[..., 0::3], total[..., 1::3], total[..., 2::3]
        used = (response > 0) & (reference > 0)
        n = np.maximum(used.sum(axis=-1), 1)
        precision = np.where(used, matches / np.maximum(response, 1), 0).sum(axis=-1) / n
        recall = np.where(used, matches / np.maximum(reference, 1), 0).sum(axis=-1) / n
        return precision, recall

    def _best_references(self, samples: Sequence[Sample]) -> Array:
        """Return counts with the first of the references that give a reply its best score, as sacrebleu does."""
        responses, references = self._lowercase(replies(samples)), self._lowercase(reference_texts(samples))
        n_references = np.array(reference_counts(samples))
        rows = _count(self._characters(responses), self._characters(references), n_references, self.char_order)
        if self.word_order:
            numbering = TokenNumbering(_WORDS)
            words = (numbering.texts(responses), numbering.texts(references))
            rows = np.concatenate([rows, _count(*words, n_references, self.word_order)], axis=1)
        scores = self._score_in_order(rows)
        owner = np.repeat(np.arange(len(samples)), n_references)
        best = np.full(len(samples), -1.0)
        np.maximum.at(best, owner, scores)
        is_best = np.flatnonzero(scores == best[owner])
        return rows[is_best[np.unique(owner[is_best], return_index=True)[1]]]

    def _lowercase(self, texts: list[str]) -> list[str]:
        return list(map(str.lower, texts)) if self.lowercase else texts

    def _characters(self, texts: list[str]) -> Texts:
        """Return texts as characters, by their numbers in Unicode."""
        codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype=np.int32)
        characters = Texts(codes, np.cumsum([0, *map(len, texts)]))
        if self.whitespace:
            return characters
        return characters.without(_IS_SPACE[np.minimum(codes, len(_IS_SPACE) - 1)])

    def _score_in_order(self, rows: Array) -> Array:
        """Return scores, computed in sacrebleu's order of operations, so that the same references have equal ones."""
        precision, recall, n = np.zeros(len(rows)), np.zeros(len(rows)), np.zeros(len(rows))
        for response, reference, matches in rows.reshape(len(rows), -1, 3).transpose(1, 2, 0):
            used = (response > 0) & (reference > 0)
            precision += np.where(used, matches / np.maximum(response, 1), 0)
            recall += np.where(used, matches / np.maximum(reference, 1), 0)
            n += used
        precision, recall = precision / np.maximum(n, 1), recall / np.maximum(n, 1)
        weight = self.beta**2
        below = weight * precision + recall
        return np.where(below > 0, 100 * ((1 + weight) * precision * recall / np.where(below > 0, below, 1)), 0)


class _CharacterWords:
    """Splits at white space, and one punctuation mark from the end of a word, or else from its start."""

    by_word: ClassVar[bool] = True

    def tokens(self, text: str) -> list[str]:
        tokens = []
        for word in text.split():
            if len(word) > 1 and word[-1] in string.punctuation:
                tokens += [word[:-1], word[-1]]
            elif len(word) > 1 and word[0] in string.punctuation:
                tokens += [word[0], word[1:]]
            else:
                tokens.append(word)
        return tokens

    def signature(self) -> str:
        return "chrf"


_WORDS = _CharacterWords()


def _count(responses: Texts, references: Texts, n_references: NDArray[np.int64], order: int) -> Array:
    """Return [n-grams of the reply, n-grams of the reference, matches] of each order, for each reference."""
    numbered = ngrams.Numbered(responses, references, np.ones(len(references.lengths)), n_references)
    own = np.repeat(responses.lengths, n_references)
    rows = np.zeros((len(own), order, 3))
    for n in range(1, order + 1):
        rows[:, n - 1, 1] = np.maximum(references.lengths - n + 1, 0)
        # sacrebleu counts no n-grams of the reply of an order that the reference does not have
        rows[:, n - 1, 0] = np.where(rows[:, n - 1, 1] > 0, np.maximum(own - n + 1, 0), 0)
    for matches in ngrams.count(numbered, order):
        ngrams.add_to(rows[:, matches.order - 1, 2], matches.reference, matches.shared())
    return rows.reshape(len(own), 3 * order)
