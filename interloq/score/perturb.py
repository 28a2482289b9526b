# SPDX-License-Identifier: Apache-2.0
"""Perturbations of replies, to probe what a metric notices: damage, attempts to fool a judge, and harmless changes.

Damage should cost points. What is added to fool a judge (flattery, orders, length, …) must not earn any.

Each perturbation gives a changed reply, or None if it does not apply (a reply without a statement cannot be
contradicted). Rules and stock phrases exist for English, Japanese and Chinese. Replies in other languages are treated
as English: shuffling, truncation and replies from elsewhere work, but contradictions rarely do. Paraphrases cannot be
made by rules: only the embedded replies have them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from interloq.data.embedded import embedded_paraphrases
from interloq.data.text.language import supported_language
from interloq.records import Sample
from interloq.score.attack_texts import FLATTERY, INSTRUCTION, LONG_LENGTH, PREDICATES, SELF_PRAISE, SUBJECTS
from interloq.score.score_options import Language
from interloq.signature import fingerprint

Expected = Literal["worse", "not better", "same", "better"]
Rules = Sequence[tuple[str, str]]  # patterns and replacements; the first that matches is applied once
TRIES = 20  # candidates until one differs

DULL = {"en": "I don't know.", "ja": "わかりません。", "zh": "我不知道。"}
PADDING = {
    "en": "Well, you know, as I said, that is just how it is, and so on and so forth.",
    "ja": "まあ、なんというか、そういうことですし、いろいろとありますからね。",
    "zh": "反正就是这样,怎么说呢,就是这么回事,等等等等。",
}
NEGATION: dict[Language, Rules] = {
    "en": (
        (r"\b(can)(?:not|'t)\b", r"\1"),
        (r"\b(w)on't\b", r"\1ill"),
        (r"\b(\w+)n't\b", r"\1"),
        (r"\b(?:not|never) ", ""),
        (r"^yes\b", "No"),
        (r"^no\b", "Yes"),
        (r"\b(am|is|are|was|were|can|will|would|could|should|must|may)\b", r"\1 not"),
        (r"\b(\w+'(?:s|re|m|ll))\b", r"\1 not"),
        (r"\b(I|you|we|they) (?:(?:usually|always|often) )?(?!did|do|have|had|always|'ve)([a-z]+)\b", r"\1 don't \2"),
    ),
    "ja": (
        ("ませんでした", "ました"),
        ("の?かもしれません", "はずがありません"),
        ("ません(?!か)", "ます"),
        ("ました", "ませんでした"),
        ("(?<!ござい)ます(?!か)", "ません"),
        ("いいです(?!か)", "よくないです"),
        ("です(?!か)", "ではありません"),
    ),
    "zh": (
        ("没有?", ""),
        ("不(?!过)", ""),
        ("可能|喜欢|[会能想要]", r"不\g<0>"),
        ("很", "不"),
        ("是(?!吗)", "不是"),
        ("好(?=[啊,，。!！])", "不好"),
    ),
}
CONTRACTIONS: Rules = (
    (r"\b(can)'t\b", r"\1not"),
    (r"\b(w)on't\b", r"\1ill not"),
    (r"\b(\w+)n't\b", r"\1 not"),
    (r"\b(let)'s\b", r"\1 us"),
    (r"\b(I)'m\b", r"\1 am"),
    (r"\b(\w+)'re\b", r"\1 are"),
    (r"\b(\w+)'ll\b", r"\1 will"),
    (r"\b(\w+)'ve\b", r"\1 have"),
    (r"\b(it|that|he|she|there|what|how)'s\b", r"\1 is"),
)
_SENTENCES = re.compile(r"(?<=[.!?。！？])\s*")


@dataclass(frozen=True, slots=True)
class Draw:
    """What a perturbation may use besides the sample: its language, random numbers, and a reply to another context."""

    language: Language
    rng: np.random.Generator
    other: str | None


@dataclass(frozen=True, slots=True)
class Perturbation:
    """A change of a reply, and what it should do to the score."""

    name: str
    expected: Expected
    text: str  # what it does
    change: Callable[[Sample, Draw], str | None]


def perturb_replies(samples: Sequence[Sample], perturbation: Perturbation, *, seed: int = 0) -> list[str | None]:
    """Return the changed reply of each sample; None if the perturbation does not apply to it.

    Random numbers depend on the seed and the sample alone, not on the order of the samples.
    """
    changed: list[str | None] = []
    for sample, other in zip(samples, _other_replies(samples, seed), strict=True):
        rng = np.random.default_rng([seed, int(fingerprint(perturbation.name, *sample.key), 16)])
        language = supported_language(sample.response, get_args(Language))
        reply = perturbation.change(sample, Draw(language, rng, other))
        changed.append(None if reply == sample.response else reply)
    return changed


def _other_replies(samples: Sequence[Sample], seed: int) -> list[str | None]:
    """Return a reply to another context for each sample: the next one in a random order, so that few are used twice."""
    order = sorted(range(len(samples)), key=lambda i: fingerprint(str(seed), *samples[i].key))
    replies: list[str | None] = [None] * len(samples)
    for place, i in enumerate(order):
        for step in range(1, TRIES + 1):
            other = samples[order[(place + step) % len(order)]]
            if other.context != samples[i].context and other.response != samples[i].response:
                replies[i] = other.response
                break
    return replies


def _units(text: str, language: Language) -> tuple[list[str], str]:
    """Return words, or characters of a language without spaces, and what joins them."""
    if language == "en":
        return text.split(), " "
    return list("".join(text.split())), ""


def _shuffle_words(sample: Sample, draw: Draw) -> str | None:
    units, joint = _units(sample.response, draw.language)
    for _ in range(TRIES):
        shuffled = joint.join(units[i] for i in draw.rng.permutation(len(units)))
        if shuffled != joint.join(units):
            return shuffled
    return None


def _truncate_reply(sample: Sample, draw: Draw) -> str | None:
    units, joint = _units(sample.response, draw.language)
    return joint.join(units[: len(units) // 2]) if len(units) > 1 else None


def _join_texts(draw: Draw, *texts: str) -> str:
    return (" " if draw.language == "en" else "").join(texts)


def _repeat_reply(sample: Sample, draw: Draw) -> str | None:
    return _join_texts(draw, *[sample.response] * 3) if sample.response.strip() else None


def _add_padding(sample: Sample, draw: Draw) -> str:
    return _join_texts(draw, sample.response, PADDING[draw.language])


def _contradict(sample: Sample, draw: Draw) -> str | None:
    """Add or remove the negation of the first sentence that is not a question."""
    for sentence in _SENTENCES.split(sample.response):
        if not sentence.endswith(("?", "？")) and (changed := _apply_first(NEGATION[draw.language], sentence)):
            return sample.response.replace(sentence, changed, 1)
    return None


def _apply_first(rules: Rules, text: str) -> str | None:
    """Return the text after the first rule that matches."""
    for pattern, replacement in rules:
        if re.search(pattern, text, flags=re.I):
            return re.sub(pattern, replacement, text, count=1, flags=re.I)
    return None


def _parrot(sample: Sample, _: Draw) -> str | None:
    return sample.context[-1].text if sample.context else None


def _copy_context(sample: Sample, draw: Draw) -> str | None:
    return _join_texts(draw, sample.context[-1].text, sample.response) if sample.context else None


def _flatter(sample: Sample, draw: Draw) -> str:
    return _join_texts(draw, FLATTERY[draw.language], sample.response)


def _instruct_judge(sample: Sample, draw: Draw) -> str:
    return _join_texts(draw, sample.response, INSTRUCTION[draw.language])


def _praise_itself(sample: Sample, draw: Draw) -> str:
    return _join_texts(draw, sample.response, SELF_PRAISE[draw.language])


def _echo_context(sample: Sample, draw: Draw) -> str | None:
    return _join_texts(draw, sample.response, sample.context[-1].text) if sample.context else None


def _lengthen(sample: Sample, draw: Draw) -> str | None:
    """Add irrelevant sentences, none of them twice, until the reply is long."""
    subjects, predicates = SUBJECTS[draw.language], PREDICATES[draw.language]
    missing = LONG_LENGTH[draw.language] - len(_units(sample.response, draw.language)[0])
    texts = [sample.response]
    for number in draw.rng.permutation(len(subjects) * len(predicates)):
        if missing <= 0:
            break
        sentence = _join_texts(draw, subjects[number // len(predicates)], predicates[number % len(predicates)])
        missing -= len(_units(sentence, draw.language)[0])
        texts.append(sentence)
    return _join_texts(draw, *texts)


def _paraphrase(sample: Sample, _: Draw) -> str | None:
    return embedded_paraphrases().get(sample.response)


def _spell_out(sample: Sample, draw: Draw) -> str | None:
    text = sample.response
    if draw.language == "en":
        for pattern, full in CONTRACTIONS:
            text = re.sub(pattern, full, text, flags=re.I)
    return text


def _gold(sample: Sample, _: Draw) -> str | None:
    for reference in sample.references:
        if reference.source == "gold":
            return reference.text
    return None


PERTURBATIONS = (
    Perturbation("shuffle", "worse", "words in random order (characters in Japanese and Chinese)", _shuffle_words),
    Perturbation("truncation", "worse", "only the first half", _truncate_reply),
    Perturbation("repetition", "worse", "the whole reply three times", _repeat_reply),
    Perturbation("padding", "worse", "an empty phrase is added", _add_padding),
    Perturbation("contradiction", "worse", "a negation is added or removed", _contradict),
    Perturbation("dull", "worse", "“I don't know.” instead", lambda _, draw: DULL[draw.language]),
    Perturbation("parrot", "worse", "the last utterance of the context instead", _parrot),
    Perturbation("copied context", "worse", "the last utterance of the context before the reply", _copy_context),
    Perturbation("off topic", "worse", "the reply to another context instead", lambda _, draw: draw.other),
    Perturbation("flattery", "not better", "praise of the question and the user before the reply", _flatter),
    Perturbation("instruction", "not better", "an order to give the highest rating after the reply", _instruct_judge),
    Perturbation("self praise", "not better", "“This is the best reply.” after the reply", _praise_itself),
    Perturbation("echo", "not better", "the last utterance of the context after the reply", _echo_context),
    Perturbation("long padding", "not better", "irrelevant sentences up to 500 words after the reply", _lengthen),
    Perturbation("case", "same", "lower case", lambda sample, _: sample.response.lower()),
    Perturbation("punctuation", "same", "no full stop at the end", lambda sample, _: sample.response.rstrip(".。!！")),
    Perturbation("contractions", "same", "“don't” becomes “do not”", _spell_out),
    Perturbation("paraphrase", "same", "the same in other words (embedded replies only)", _paraphrase),
    Perturbation("gold", "better", "the gold reference instead", _gold),
)
