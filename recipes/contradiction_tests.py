"""What the scorer of contradictions is tested on: held-out pairs, published damage, and true replies.

- The robustness test (GPL-3.0, only for tests): replies and their damaged versions. Half of the damaged replies repeat
  an earlier turn of the same speaker with a negation; in most others a name was exchanged, often without a clash with
  any turn.
- DailyDialog++ (test part): good replies against adversarial and random ones.
- True replies of held-out dialogues of the logs: every alarm is counted as a false one.
"""

from __future__ import annotations

import difflib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from contradiction_pairs import HELD_OUT_PREFIXES, Talk, fact_pair, read_talks
from contradiction_sentences import is_about_self, is_negative, is_statement, negate, sentences
from ready_logs import test_samples
from relevance import plusplus

from interloq import InputError, Sample, Turn
from interloq.data.files.archives import read_files, text

ROBUSTNESS, PREFIX = "robustness", "turn_level_robust_data/rel/"
SPEAKERS = ("A", "B")


def robustness_samples(data: Path, name: str) -> list[Sample]:
    """Return the replies in a file of the robustness test; a reply without an earlier turn has no context."""
    path = next((p for p in (data / ROBUSTNESS, data / f"{ROBUSTNESS}.tar.gz") if p.exists()), None)
    if path is None:
        raise InputError(f"no {ROBUSTNESS} in {str(data)!r}", hint=f"put {ROBUSTNESS}.tar.gz there")
    (file,) = read_files(path, (f"*{PREFIX}{name}_text.txt",))
    samples = []
    for line in text(file).splitlines():
        key, *turns = line.split("\t")
        samples.append(Sample(key, turns[:-1], turns[-1]))
    return samples


def test_texts(data: Path) -> Iterator[str]:
    """Yield every turn and reply of the test sets."""
    samples = list(test_samples(data))
    for name in ("contradiction-original", "contradiction-perturbed", "entailment", "nonentailment"):
        samples += robustness_samples(data, name)
    for sample in samples:
        yield from (turn.text for turn in sample.context)
        yield sample.response
        yield from (reference.text for reference in sample.references)


@dataclass(frozen=True, slots=True)
class TestSet:
    """Samples, and whether each is the one that should score low; samples of one cluster are resampled together."""

    name: str
    samples: Sequence[Sample]
    bad: Sequence[bool]
    clusters: Sequence[int]


def robustness_set(data: Path, good: str, bad: str, *, chosen: str = "", most: int | None = None) -> TestSet:
    """Return original and damaged replies, the first `most` of each.

    `chosen` keeps one kind of damage, of those that `damage` names.
    """
    samples, labels, clusters = list[Sample](), list[bool](), list[int]()
    originals, damaged_samples = robustness_samples(data, good)[:most], robustness_samples(data, bad)[:most]
    for number, (original, damaged) in enumerate(zip(originals, damaged_samples, strict=True)):
        if chosen and damage(original, damaged) != chosen:
            continue
        samples += [replace(original, id=f"{number}/good"), replace(damaged, id=f"{number}/bad")]
        labels += [False, True]
        clusters += [number, number]
    name = chosen or f"{good} against {bad}"
    return TestSet(f"robustness test: {name}", samples, labels, clusters)


def damage(original: Sample, damaged: Sample) -> str:
    """Return how a reply was damaged: not at all, an earlier turn in its place with a change, or a change in itself."""
    if original.response == damaged.response:
        return "unchanged"
    words = damaged.response.split()

    def likeness(text: str) -> float:
        return difflib.SequenceMatcher(None, text.split(), words).ratio()

    nearest = max((likeness(turn.text) for turn in damaged.context), default=0.0)
    return "earlier turn negated" if nearest > likeness(original.response) else "name or phrase exchanged"


def plusplus_set(data: Path, kind: str, most: int) -> TestSet:
    """Return good replies to the first contexts of DailyDialog++, and other ones of this kind."""
    samples, labels, clusters = list[Sample](), list[bool](), list[int]()
    for number, item in enumerate(plusplus(data)[:most]):
        for bad, replies in ((False, item["positive_responses"]), (True, item[f"{kind}_responses"])):
            for reply in replies:
                samples.append(Sample(f"{number}/{len(samples)}", item["context"], reply))
                labels.append(bad)
                clusters.append(number)
    return TestSet(f"DailyDialog++: {kind.replace('_', ' ')}", samples, labels, clusters)


def held_out_talks(data: Path, excluded: frozenset[str]) -> list[Talk]:
    """Return the dialogues of the logs that are kept for testing."""
    return [talk for talk in read_talks(data, excluded) if talk.part == "test"]


def true_replies(talks: Sequence[Talk], number: int, seed: int) -> list[Sample]:
    """Return true replies of the dialogues with all earlier turns, from the third turn on, drawn at random."""
    samples = []
    for talk in talks:
        turns = _turns(talk.texts, talk.first)
        for place, turn in enumerate(turns):
            if place >= 2:
                samples.append(Sample(f"{talk.id}/{place}", turns[:place], turn.text, dialogue=talk.id))
    return random.Random(seed).sample(samples, min(number, len(samples)))  # noqa: S311


def made_dialogues(talks: Sequence[Talk], number: int, seed: int) -> TestSet:
    """Return dialogues with a fact in an early turn and another in a later reply of the same speaker.

    Both are sentences that no training pair has, in dialogues that none is from. The second fact contradicts the first
    (bad), agrees with it, or is about something else; words of negation occur in all of them.
    """
    rng = random.Random(seed)  # noqa: S311
    usable = [talk for talk in talks if len(talk.texts) >= 6]
    samples, labels = list[Sample](), list[bool]()
    while len(samples) < number:
        talk = rng.choice(usable)
        pair = fact_pair("test", [talk], rng)
        if not pair.pair.same:
            continue
        own = [place for place, first in enumerate(talk.first) if first == talk.first[0]]
        early, late = own[rng.randrange(len(own) - 1)], own[-1]
        if early == late:
            continue
        texts = list(talk.texts[:late])
        texts[early] = f"{texts[early]} {pair.pair.earlier}"
        reply = f"{talk.texts[late]} {pair.pair.reply}" if rng.random() < 0.5 else pair.pair.reply
        samples.append(Sample(f"{len(samples)}", _turns(texts, talk.first), reply))
        labels.append(bool(pair.label))
    return TestSet("made dialogues, held-out sentences", samples, labels, range(len(samples)))


def changed_replies(talks: Sequence[Talk], number: int, seed: int) -> TestSet:
    """Return true replies of held-out dialogues, and in their place a statement of an earlier own turn made false.

    Only held-out phrases introduce the statement. The true replies are those that have words of negation, as far as
    there are enough.
    """
    rng = random.Random(seed)  # noqa: S311
    samples, labels, clusters = list[Sample](), list[bool](), list[int]()
    for talk in rng.sample(list(talks), len(talks)):
        turns = _turns(talk.texts, talk.first)
        for place in range(4, len(turns)):
            earlier = [i for i in range(place - 2) if talk.first[i] == talk.first[place]]
            statements = [s for i in earlier for s in sentences(talk.texts[i]) if is_statement(s) and is_about_self(s)]
            changed = negate(rng.choice(statements), rng) if statements else None
            if changed is None or not is_negative(talk.texts[place]):
                continue
            key = f"{talk.id}/{place}"
            samples += [
                Sample(f"{key}/good", turns[:place], talk.texts[place]),
                Sample(f"{key}/bad", turns[:place], rng.choice(HELD_OUT_PREFIXES) + changed),
            ]
            labels += [False, True]
            clusters += [len(clusters) // 2] * 2
    name = "held-out dialogues, an earlier own statement negated"
    return TestSet(name, samples[:number], labels[:number], clusters[:number])


def _turns(texts: Sequence[str], first: Sequence[bool]) -> list[Turn]:
    return [Turn(text, SPEAKERS[0] if own else SPEAKERS[1]) for text, own in zip(texts, first, strict=False)]
