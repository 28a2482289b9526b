# SPDX-License-Identifier: Apache-2.0
"""Checks on samples, made while they are read: what can make a score misleading.

Each check counts the replies it concerns, by system, and may add a note. No sample is read twice or kept, and texts are
compared many at a time, so the checks take about a tenth of the time of `evaluate` with ΔBLEU.

docs/metrics/README.md lists them. Further ones are `unknown judge` (users that the metric's model does not know),
`rater` (weak dev figures), and `other samples` and `other references` (systems scored beside each other on different
data).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, compress, product

import numpy as np

from interloq.data.batched import batched
from interloq.data.records.sample_fingerprint import SamplePrints
from interloq.data.text.joined_texts import JoinedTexts
from interloq.data.text.language import certain_language, language_name, language_of, resolve
from interloq.data.text.tokenize import Tokenizer
from interloq.errors import count
from interloq.metrics.metric import Metric, reference_counts, reference_texts
from interloq.metrics.traits import Traits, parts, traits
from interloq.rate.summary import warnings_of
from interloq.records import NO_SYSTEM, Note, Sample
from interloq.registry import full_spec, name_of, title
from interloq.retrieve.leaks import find_copies

_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
RARE = 0.01  # share of samples in a language below which they are not reported: a text is rarely taken for another one
EXAMPLES = 32  # texts without spaces to test a tokenizer on
LONGEST = 4  # characters per token, on average: words of such languages have one or two
LOWER, MIXED, CASED = 0.9, 0.7, 0.5  # shares of texts without capital letters, in lower-case and in cased data
COUNTED = {  # method of a metric that counts samples → name of the note, and its statement
    "trained_on": ("trained on", "are among those {} learned from: its agreement with people is overstated on them"),
    "unknown_judges": ("unknown judge", "are judged by users unknown to the model of {}: it reads them as anyone"),
}
TOGETHER = 256  # samples checked at once: their texts stay in a cache
SHOWN = 5  # systems named in a note


@dataclass(slots=True)
class Facts:
    """Counts by system over the samples seen."""

    samples: Counter[str] = field(default_factory=Counter)
    own: Counter[str] = field(default_factory=Counter)
    parrots: Counter[str] = field(default_factory=Counter)
    distrusted: Counter[str] = field(default_factory=Counter)  # samples with a reference of weight 0 or below
    distrusted_references: int = 0
    lower_replies: Counter[str] = field(default_factory=Counter)
    cased_replies: Counter[str] = field(default_factory=Counter)
    lower_references: Counter[str] = field(default_factory=Counter)  # by the first reference
    cased_references: Counter[str] = field(default_factory=Counter)
    unspaced: Counter[str] = field(default_factory=Counter)
    unspaced_texts: list[str] = field(default_factory=list)
    references: Counter[str] = field(default_factory=Counter)
    # sums that are equal for systems with the same ids, contexts and references, if systems are compared
    sums: dict[str, tuple[int, int, int]] = field(default_factory=dict)

    def add(self, samples: Sequence[Sample], references: JoinedTexts) -> None:
        """Add samples; `references` are the texts of all their references."""
        systems, responses = [sample.system for sample in samples], [sample.response for sample in samples]
        self.samples.update(systems)
        self.lower_replies.update(compress(systems, map(str.islower, responses)))
        self.cased_replies.update(compress(systems, map(_has_capitals, responses)))
        for system, text in zip(systems, responses, strict=True):
            if not text.isascii() and _is_unspaced(text):
                self.unspaced[system] += 1
                if len(self.unspaced_texts) < EXAMPLES:
                    self.unspaced_texts.append(text)
        joined = JoinedTexts.of(responses)
        owners = np.array([i for i, sample in enumerate(samples) if sample.context], dtype=np.int64)
        last_turns = JoinedTexts.of([samples[i].context[-1].text for i in owners.tolist()])
        self.parrots.update(systems[i] for i in owners[find_copies(joined, last_turns, owners)])
        if references.texts:
            self._add_references(systems, samples, joined, references)

    def _add_references(
        self, systems: Sequence[str], samples: Sequence[Sample], responses: JoinedTexts, references: JoinedTexts
    ) -> None:
        counts = reference_counts(samples)
        owners = np.repeat(np.arange(len(samples)), counts)
        for system, n in zip(systems, counts, strict=True):
            self.references[system] += n
        having = list(compress(systems, counts))
        firsts = [sample.references[0].text for sample in samples if sample.references]
        self.lower_references.update(compress(having, map(str.islower, firsts)))
        self.cased_references.update(compress(having, map(_has_capitals, firsts)))
        copies = find_copies(responses, references, owners)
        self.own.update(systems[i] for i in np.unique(owners[copies]))
        distrusted = np.array([r.weight for sample in samples for r in sample.references]) <= 0
        self.distrusted.update(systems[i] for i in np.unique(owners[distrusted]))
        self.distrusted_references += int(distrusted.sum())

    def have_same_samples(self) -> bool:
        """Return whether all systems have the same samples, judging by ids or contexts."""
        ids, contexts, _ = zip(*self.sums.values(), strict=True)
        if not any(contexts) and len(set(self.samples.values())) < 2:
            return True
        return len(set(ids)) < 2 or len(set(contexts)) < 2

    def have_same_references(self) -> bool:
        """Return whether all systems have the same sets of references."""
        _, _, references = zip(*self.sums.values(), strict=True)
        return len(set(references)) < 2

    def cases(self, system: str) -> tuple[str, str]:
        """Return the case of a system's replies and of their references: lower-case, cased, or unclear."""
        replies = _case_of(self.lower_replies[system], self.cased_replies[system])
        return replies, _case_of(self.lower_references[system], self.cased_references[system])


class Checks:
    """Collects counts over samples, then returns notes on the data and on each metric."""

    def __init__(self, metrics: Sequence[Metric] = ()) -> None:
        self.facts = Facts()
        self._specs: list[str] = []
        self._traits: list[tuple[Traits, ...]] = []
        self._warnings: list[Sequence[str]] = []
        self._counted: list[list[tuple[Metric, str, Counter[str]]]] = []
        for metric in metrics:
            self._specs.append(title(metric))
            self._traits.append(traits(metric))
            self._warnings.append(warnings_of(metric))
            self._counted.append([(part, method, Counter()) for part, method in product(parts(metric), COUNTED)])
        self._looks_at_language = False
        self._languages: dict[str, Counter[str]] = {}  # system → language → samples
        self._certain: dict[str, Counter[str]] = {}  # the ones whose replies are certainly not in English
        self._short: dict[tuple[str, int], Counter[str]] = {}
        self._tokenizers: dict[str, Tokenizer] = {}
        for part in chain.from_iterable(self._traits):
            if part.language:
                self._looks_at_language = True
            if part.tokenizer and part.tokens_needed > 1:
                self._short[_length_key(part)] = Counter()
                self._tokenizers[full_spec(part.tokenizer)] = part.tokenizer

    def add(self, samples: Sequence[Sample], references: JoinedTexts | None = None) -> None:
        """Add samples; `references` are the texts of all their references, if they are joined already."""
        self.facts.add(samples, references or JoinedTexts.of(reference_texts(samples)))
        groups: dict[str, list[Sample]] = {}
        for sample in samples:
            groups.setdefault(sample.system, []).append(sample)
        for system, group in groups.items():
            if self._looks_at_language:
                self._languages.setdefault(system, Counter()).update(map(_sample_language, group))
                certain = [sample for sample in group if certain_language(sample.response) not in ("", "en")]
                self._certain.setdefault(system, Counter()).update(map(_sample_language, certain))
            for part, method, counts in chain.from_iterable(self._counted):
                counts[system] += getattr(part, method)(group)
            for (name, needed), counts in self._short.items():
                # a word has at least one token, so only replies of few words need to be tokenised
                few = [s.response for s in group if len(s.response.split(None, needed)) < needed]
                counts[system] += sum(len(self._tokenizers[name].tokens(text)) < needed for text in few)

    def watch(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        """Check samples and pass them on."""
        for some in batched(samples, TOGETHER):
            self.add(some)
            yield from some

    def compare_systems(self, ids: Iterable[str], systems: Sequence[str], prints: SamplePrints) -> None:
        """Compare what systems were scored on, for `of_systems`."""
        id_sums = Counter[str]()
        for id, system in zip(ids, systems, strict=True):
            id_sums[system] += hash(id)
        for system, (_, contexts, references) in prints.sums(systems).items():
            self.facts.sums[system] = (id_sums[system], contexts, references)

    def notes(self) -> tuple[Note, ...]:
        """Return notes on the data, then metric by metric."""
        notes = [*self.of_data()]
        for i in range(len(self._specs)):
            notes += self.of_metric(i)
        return tuple(notes)

    def of_data(self) -> tuple[Note, ...]:
        """Return notes that concern every metric."""
        notes = []
        reads_references = any(part.reads_references for part in chain.from_iterable(self._traits))
        if (reads_references or not self._traits) and (note := note_own_references(self.facts)):
            notes.append(note)
        if self.facts.parrots.total():
            notes.append(self._note("parrot", self.facts.parrots, "repeat the last utterance of their context"))
        return tuple(notes)

    def of_metric(self, i: int) -> tuple[Note, ...]:
        """Return notes that concern one metric."""
        metric, samples = self._specs[i], self.facts.samples
        notes: list[Note] = []
        for traits_of_part in self._traits[i]:
            notes += self._of_part(traits_of_part, metric)
        for part, method, counts in self._counted[i]:
            if counts.total():
                name, statement = COUNTED[method]
                notes.append(self._note(name, counts, statement.format(name_of(part)), metric))
        for text in self._warnings[i]:
            notes.append(Note("rater", text, samples.total(), samples.total(), _pairs(samples), metric))
        return tuple(dict.fromkeys(notes))

    def of_systems(self, i: int) -> tuple[Note, ...]:
        """Return notes on systems that are scored on different data, for tables that show them beside each other."""
        facts, total = self.facts, self.facts.samples.total()
        if not facts.have_same_samples():
            sizes = ", ".join(f"{system or NO_SYSTEM} {n:,}" for system, n in _pairs(facts.samples)[:SHOWN])
            text = f"systems have different samples ({sizes}), so their scores are not comparable"
            return (Note("other samples", text, total, total, _pairs(facts.samples)),)
        if facts.have_same_references() or not any(part.reads_references for part in self._traits[i]):
            return ()
        means = (f"{s or NO_SYSTEM} {facts.references[s] / n:.3g}" for s, n in _pairs(facts.samples)[:SHOWN])
        text = f"systems have different references ({', '.join(means)} per sample), so their scores are not comparable"
        return (Note("other references", text, total, total, _pairs(facts.samples)),)

    def _of_part(self, part: Traits, metric: str) -> Iterator[Note]:
        facts = self.facts
        if part.reads_references and not part.reads_weights and facts.distrusted.total():
            where = f"{_share(facts.distrusted, facts.samples)} samples{_systems(facts.distrusted, facts.samples)}"
            yield Note(
                "weights",
                f"{count(facts.distrusted_references, 'reference')} of weight 0 or below, in {where}, count in full, "
                f"because {part.name} ignores weights: use delta_bleu, or remove them",
                facts.distrusted.total(),
                facts.samples.total(),
                _pairs(facts.distrusted),
                metric,
            )
        if part.tokenizer and (advice := self._tokenizer_advice(part.tokenizer)):
            statement = f"are written without spaces, and {part.name}'s tokenizer does not split them: {advice}"
            yield self._note("language", facts.unspaced, statement, metric)
        if part.language:
            yield from self._foreign(part, metric)
        yield from self._case(part, metric)
        yield from self._length(part, metric)

    def _foreign(self, part: Traits, metric: str) -> Iterator[Note]:
        """Note scored samples in languages that the network does not know, unless few enough to be mistakes."""
        total: Counter[str] = sum(self._languages.values(), Counter())
        resolved, foreign = resolve(total), Counter[str]()
        by_system: Counter[str] = Counter()
        for system, languages in self._languages.items():
            for language, n in languages.items():
                name = language_name(resolved.get(language, language))
                if part.refuses_language:
                    n -= self._certain[system][language]
                if n and name not in ("", part.language) and total[language] >= RARE * total.total():
                    foreign[name] += n
                    by_system[system] += n
        if foreign:
            named = ", ".join(f"{name} {n:,}" for name, n in foreign.most_common(SHOWN))
            statement = f"are not in {part.language}, by script and frequent words ({named}), and {part.name}'s network"
            advice = "train one on logs in their language"
            yield self._note("language", by_system, f"{statement} knows {part.language} only: {advice}", metric)

    def _case(self, part: Traits, metric: str) -> Iterator[Note]:
        if not (part.case_sensitive and part.reads_references):
            return
        facts = self.facts
        for replies, references in (("lower-case", "cased"), ("cased", "lower-case")):
            counts = Counter[str]()
            for system, n in facts.samples.items():
                if facts.cases(system) == (replies, references):
                    counts[system] = n
            if counts:
                statement = f"are {replies}, their references {references}, and {part.name} is case-sensitive"
                yield self._note("case", counts, f"{statement}: {part.case_advice}", metric)

    def _length(self, part: Traits, metric: str) -> Iterator[Note]:
        if not part.tokenizer:
            return
        counts = self._short.get(_length_key(part))
        if counts and counts.total():
            statement = f"have fewer than {part.tokens_needed} tokens, so {part.name} scores each 0 whatever it says"
            yield self._note("length", counts, f"{statement}: choose a lower order", metric)

    def _tokenizer_advice(self, tokenizer: Tokenizer) -> str:
        texts = self.facts.unspaced_texts
        tokens = sum(len(tokenizer.tokens(text)) for text in texts)
        if not texts or sum(map(len, texts)) <= LONGEST * max(tokens, 1):
            return ""
        if "ja" in map(language_of, texts):
            return "use tokenizer='char' or 'ja-mecab'"
        return "use tokenizer='zh', or 'char' outside Chinese"

    def _note(self, name: str, counts: Counter[str], statement: str, metric: str = "") -> Note:
        return note_of(name, counts, self.facts.samples, statement, metric)


def note_own_references(facts: Facts) -> Note | None:
    """Return a note on replies that are compared with themselves."""
    if not facts.own.total():
        return None
    statement = "are among their own references, so they are compared with themselves (--drop-own-replies removes them)"
    return note_of("own references", facts.own, facts.samples, statement)


def note_of(name: str, counts: Counter[str], samples: Counter[str], statement: str, metric: str = "") -> Note:
    """Return a statement about the counted replies: `3 of 5 replies (human 2, bot 1) …`."""
    text = f"{_share(counts, samples)} replies{_systems(counts, samples)} {statement}"
    return Note(name, text, counts.total(), samples.total(), _pairs(counts), metric)


def _share(counts: Counter[str], samples: Counter[str]) -> str:
    n, total = counts.total(), samples.total()
    return f"all {n:,}" if n == total > 1 else f"{n:,} of {total:,}"


def _pairs(counts: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted((system, n) for system, n in counts.items() if n))


def _systems(counts: Counter[str], samples: Counter[str]) -> str:
    """Return ` (human 45, bot 3)`, most affected first; empty if no system is named or all replies are affected."""
    affected = sorted(_pairs(counts), key=lambda pair: (-pair[1], pair[0]))
    if not any(system for system, _ in affected) or counts.total() == samples.total() > 1:
        return ""
    named = [f"{system or NO_SYSTEM} {n:,}" for system, n in affected[:SHOWN]]
    if len(affected) > SHOWN:
        named.append("…")
    return f" ({', '.join(named)})"


def _has_capitals(text: str) -> bool:
    return text != text.lower()


def _case_of(lower: int, cased: int) -> str:
    """Return the case of texts; texts without cased letters, such as empty ones, do not count."""
    share = lower / (lower + cased) if lower + cased else MIXED
    if share >= LOWER:
        return "lower-case"
    if share <= CASED:
        return "cased"
    return ""


def _sample_language(sample: Sample) -> str:
    """Return the language of a reply and the utterance before it, which the network reads together."""
    text = sample.response
    if sample.context:
        text = f"{text} {sample.context[-1].text}"
    return language_of(text)


def _is_unspaced(text: str) -> bool:
    """Return whether a text is mostly in a script without spaces; text with spaces is already segmented."""
    letters = len(_UNSPACED.findall(text))
    return letters > LONGEST * len(text.split()) and 2 * letters > len(text)


def _length_key(part: Traits) -> tuple[str, int]:
    return full_spec(part.tokenizer), part.tokens_needed
