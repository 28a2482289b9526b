# SPDX-License-Identifier: Apache-2.0
"""METEOR (Banerjee and Lavie, 2005), without Java.

score = F · (1 − γ · (chunks / m)^β),  F = P · R / (α · P + (1 − α) · R),  P = m / |h|, R = m / |r|

m is the number of words of the reply matched to words of the reference: equal words first, then words with the same
Porter stem, then optionally words that share a WordNet synset. A chunk is a run of matches that are adjacent in both
texts. With several references, the one with the best score is used. The defaults α = .9, β = 3, γ = .5 are the paper's.

Among alignments with the most matches we use one with the fewest chunks, as METEOR has done since version 1.3; the
paper uses the fewest crossings. NLTK does neither: it pairs words greedily from the right. This is not METEOR 1.5,
which has other parameters, weights for each stage and for function words, and a paraphrase table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from interloq.data.text.token_texts import TokenNumbering
from interloq.data.text.tokenize import TokenizerChoice
from interloq.errors import InputError, MissingDependencyError, SpecError
from interloq.metrics.metric import Array, CountMetric, reference_counts, reference_texts, replies
from interloq.metrics.overlap.word_alignment import Alignment, GroupedText, Word, align, align_quickly
from interloq.needs import Needs
from interloq.records import Sample
from interloq.registry import component

TOGETHER = 256  # samples whose distinct texts are kept
STAGES = (("exact",), ("exact", "stem"), ("exact", "synonym"), ("exact", "stem", "synonym"))


@dataclass(frozen=True)
class Meteor(CountMetric, name="meteor"):
    """Matched words, stems and synonyms, and how scattered they are."""

    papers = ("banerjee-lavie-2005-meteor",)
    needs = Needs(references=True, extra="meteor")
    over_references = "max"
    stages: Annotated[tuple[str, ...], "`exact`, then `stem`, `synonym` or both, in this order"] = ("exact", "stem")
    alpha: Annotated[float, "weight of recall in F, 0 to 1"] = 0.9
    beta: Annotated[float, "exponent of the penalty for scattered matches, from 0"] = 3.0
    gamma: Annotated[float, "largest penalty for scattered matches, as a share of F, 0 to 1"] = 0.5
    level: Annotated[
        Literal["sentence", "corpus"], "the set's score: mean of sample scores, or from summed counts as in the paper"
    ] = "sentence"
    lowercase: Annotated[bool, "lower-case all words first"] = True
    tokenizer: TokenizerChoice = component("tokenizer", "13a")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.stages, tuple | list) or tuple(self.stages) not in STAGES:
            stages = "'exact', optionally followed by 'stem', 'synonym' or both"
            raise SpecError(f"meteor: stages must be {stages}, got {self.stages!r}")
        object.__setattr__(self, "stages", tuple(self.stages))
        for name, value, most in (("alpha", self.alpha, 1), ("gamma", self.gamma, 1), ("beta", self.beta, np.inf)):
            if not 0 <= value <= most:
                raise SpecError(f"meteor: {name} must be from 0 to {most}, got {value}")
        if len(self.stages) > 1 and not find_spec("nltk"):
            raise MissingDependencyError(f"stage {self.stages[1]!r} of meteor", "nltk", "meteor")
        if "synonym" in self.stages:
            _wordnet()

    def built_with(self) -> str:
        """Identify the packages used for stems and synonyms."""
        if len(self.stages) == 1:
            return "none"
        import nltk

        packages = f"nltk-{nltk.__version__}"
        if "synonym" in self.stages:
            packages += f"-wordnet-{_wordnet().get_version()}"
        return packages

    @property
    def is_mean(self) -> bool:
        """Whether the set's score is the mean of sample scores."""
        return self.level == "sentence"

    def counts(self, samples: Sequence[Sample]) -> Array:
        """Return [matches, chunks, reply length, reference length] of the best reference."""
        rows = self._rows(samples)
        owners = np.repeat(np.arange(len(samples)), reference_counts(samples))
        # equal scores may have different counts: the choice must not depend on the order of the references
        order = np.lexsort((*rows.T[::-1], self.score(rows), owners))
        return rows[order[np.cumsum(np.bincount(owners, minlength=len(samples))) - 1]]

    def part_names(self) -> tuple[str, ...]:
        return ("matches", "chunks", "reply_length", "reference_length")

    def score(self, counts: Array) -> Array:
        matches, chunks, response, reference = np.moveaxis(counts, -1, 0)
        some = np.where(matches > 0, matches, 1)
        # P·R / (αP + (1−α)R) with m cancelled
        f = matches / np.where(matches > 0, self.alpha * reference + (1 - self.alpha) * response, 1)
        return np.asarray(f * (1 - self.gamma * (chunks / some) ** self.beta))

    def by_reference(self, samples: Sequence[Sample]) -> Array:
        """Return the score of each reply with each of its references."""
        return self.score(self._rows(samples))

    def _rows(self, samples: Sequence[Sample]) -> Array:
        """Return [matches, chunks, reply length, reference length] of each reference."""
        numbering = TokenNumbering(self.tokenizer)
        texts = [*replies(samples), *reference_texts(samples)]
        tokens = numbering.texts(texts)
        words, groups = self._number(numbering.vocabulary())
        grouped: dict[str, GroupedText] = {}

        def group_text(i: int) -> GroupedText:
            if texts[i] not in grouped:
                ids = tokens[i]
                grouped[texts[i]] = GroupedText(words[ids].tolist(), groups[ids].tolist())
            return grouped[texts[i]]

        rows = []
        stop = len(samples)
        for i, sample in enumerate(samples):
            if i % TOGETHER == 0:
                grouped.clear()
            response = group_text(i)
            start, stop = stop, stop + len(sample.references)
            for j in range(start, stop):
                reference = group_text(j)
                found = None if "synonym" in self.stages else align_quickly(response, reference)
                match = found or self._align(texts[i], texts[j])
                rows.append((match.matches, match.chunks, len(response.groups), len(reference.groups)))
        return np.array(rows, dtype=np.float64).reshape(-1, 4)

    def _align(self, response: str, reference: str) -> Alignment:
        related = _share_synset if "synonym" in self.stages else None
        return align(self._words(response), self._words(reference), related)

    def _number(self, tokens: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the numbers of each token's word and of its class."""
        words: dict[str, int] = {}
        groups: dict[str, int] = {}
        numbers = []
        for token in tokens:
            ((word, group),) = self._classify([token])
            numbers.append((words.setdefault(word, len(words)), groups.setdefault(group, len(groups))))
        table = np.array(numbers, dtype=np.int64).reshape(-1, 2)
        return table[:, 0], table[:, 1]

    def _words(self, text: str) -> list[Word]:
        return self._classify(self.tokenizer.tokens(text))

    def _classify(self, tokens: Sequence[str]) -> list[Word]:
        if self.lowercase:
            tokens = [token.lower() for token in tokens]
        if "stem" not in self.stages:
            return [Word(token, token) for token in tokens]
        stem = _stemmer()
        return [Word(token, stem(token)) for token in tokens]


@cache
def _stemmer() -> Callable[[str], str]:
    from nltk.stem.porter import PorterStemmer

    return cache(PorterStemmer().stem)


@cache
def _wordnet() -> Any:
    """Return NLTK's WordNet, from files on this machine; nothing is downloaded."""
    from nltk.corpus import wordnet

    try:
        wordnet.ensure_loaded()
    except LookupError as error:
        raise InputError(
            "stage 'synonym' of meteor needs WordNet, which NLTK does not find on this machine",
            hint="omit the stage, or download WordNet: python -m nltk.downloader wordnet",
        ) from error
    return wordnet


@cache
def _synsets(word: str) -> frozenset[str]:
    return frozenset(synset.name() for synset in _wordnet().synsets(word))


def _share_synset(first: str, second: str) -> bool:
    return not _synsets(first).isdisjoint(_synsets(second))
