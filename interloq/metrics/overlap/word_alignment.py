# SPDX-License-Identifier: Apache-2.0
"""Align the words of a reply with a reference: as many matches as possible, then as few chunks as possible.

A chunk is a run of adjacent words of the reply matched to adjacent words of the reference in the same order. Matches
are counted stage by stage: as many equal words as possible, then as many of the remaining words as possible by class
(such as a common stem), then related words (such as synonyms). The first two numbers are known in advance: a word gives
min(count in the reply, count in the reference) matches, and so does a class. What remains is a search, word by word
through the reply, for the fewest chunks.

Finding the fewest chunks is NP-hard (minimum common string partition is a special case), so the work is bounded: first
a narrow beam, which a lower bound usually proves optimal at once; otherwise a wide beam that becomes narrow after STEPS
steps. `Alignment.proven` says whether the number of chunks is known to be minimal.

Most pairs of texts are simpler: equal classes are equal words, and few words occur twice. `align_quickly` solves these
exactly, and returns None for the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain
from typing import NamedTuple

NARROW, WIDE = 8, 1024  # alignments kept after each word
CHOICES = 16  # reference words that the narrow beam tries for one word of the reply
SIMPLE = 64  # states that `align_quickly` keeps
STEPS = 100_000  # of the wide beam: about a tenth of a second
NEVER = 1 << 60
NOWHERE = -2  # position of a word without a match; the next one is the last of a row, which is NEVER


class Word(NamedTuple):
    """A word and its class; equal words have equal classes."""

    text: str
    group: str


class Alignment(NamedTuple):
    """Number of matched words and of chunks."""

    matches: int
    chunks: int
    proven: bool = True  # no alignment with as many matches has fewer chunks


_States = dict[tuple[int, int], int]  # words taken and position of the last word → fewest chunks


class GroupedText:
    """A text as numbers of its words' classes, the places of each class, and the classes with several words."""

    __slots__ = ("groups", "mixed", "places")

    def __init__(self, words: Sequence[int], groups: Sequence[int]) -> None:
        self.groups, self.places, self.mixed = groups, dict[int, list[int]](), set[int]()
        for place, (word, group) in enumerate(zip(words, groups, strict=True)):
            if group not in self.places:
                self.places[group] = [place]
                continue
            places = self.places[group]
            if words[places[0]] != word:
                self.mixed.add(group)
            places.append(place)


def align_quickly(response: GroupedText, reference: GroupedText) -> Alignment | None:
    """Find the best alignment without related words; None if `align` must search for it.

    A state is the set of reference words taken (bits), of classes that the reply repeats, and the position of the last
    word. Of states with the same words, those with more chunks never catch up: they save at most one chunk later.
    """
    shared = response.places.keys() & reference.places.keys()
    if not (shared.isdisjoint(response.mixed) and shared.isdisjoint(reference.mixed)):
        return None
    matches, states, before = 0, {(0, NOWHERE): 0}, NOWHERE
    for i in sorted([i for group in shared for i in response.places[group]]):
        own, places = response.places[response.groups[i]], reference.places[response.groups[i]]
        if i == own[0]:
            matches += min(len(own), len(places))
        step = _take_once if len(own) == 1 else _take_again
        states, before = step(states, i, own, places, follows=before == i - 1), i
        if len(states) > SIMPLE:
            return None
    return Alignment(matches, min(states.values()))


def _take_once(states: _States, _i: int, _own: list[int], places: list[int], *, follows: bool) -> _States:
    """Return the states after a word that the reply does not repeat: it takes one of these places."""
    fewest: dict[int, int] = {}
    options: list[tuple[int, int, int]] = []
    for (taken, last), chunks in states.items():
        for place in places:
            total = chunks if follows and place == last + 1 else chunks + 1
            if total <= fewest.get(taken, NEVER):
                fewest[taken] = total
                options.append((taken, place, total))
    return {(taken, place): total for taken, place, total in options if total == fewest[taken]}


def _take_again(states: _States, i: int, own: list[int], places: list[int], *, follows: bool) -> _States:
    """Return the states after word i of the reply, one of several equal ones at `own`."""
    bits = sum([1 << place for place in places])
    kept = ~bits if i == own[-1] else -1
    spare = len(own) - len(places)
    fewest: dict[int, int] = {}
    options: list[tuple[int, int, int]] = []
    for (taken, last), chunks in states.items():
        reached = [
            ((taken | 1 << place) & kept, place, chunks if follows and place == last + 1 else chunks + 1)
            for place in places
            if not taken >> place & 1
        ]
        if own.index(i) - (taken & bits).bit_count() < spare:
            reached.append((taken & kept, NOWHERE, chunks))
        for option in reached:
            if option[2] <= fewest.get(option[0], NEVER):
                fewest[option[0]] = option[2]
                options.append(option)
    return {(taken, place): total for taken, place, total in options if total == fewest[taken]}


def align(
    response: Sequence[Word], reference: Sequence[Word], related: Callable[[str, str], bool] | None = None
) -> Alignment:
    """Find the best alignment of a reply with a reference; words of different classes match if they are `related`."""
    problem = _Problem(response, reference, related)
    cost, complete = problem.search(NARROW, CHOICES, NEVER, NEVER)
    proven = complete or cost == problem.bound[0]
    if not proven:
        better, proven = problem.search(WIDE, NEVER, cost, STEPS)
        cost = min(cost, better)
    extra, chunks = divmod(cost, problem.worth)
    return Alignment(problem.certain - extra, chunks, proven)


class _Limit(NamedTuple):
    """More than `low` and fewer than `high` of these reference words (bits) must be taken."""

    words: int
    low: int
    high: int


class _Option(NamedTuple):
    """A position in the reference for a word of the reply, or NOWHERE, with its cost and conditions."""

    place: int
    bit: int
    cost: int
    limits: tuple[_Limit, ...] = ()


class _Occurrences:
    """Occurrences of words, or of classes, in the reply and in the reference."""

    def __init__(self, response: Sequence[str], reference: Sequence[str]) -> None:
        self.response, self.reference = Counter(response), Counter(reference)
        self._places: dict[str, list[int]] = {}
        self._bits: dict[str, int] = {}
        for place, key in enumerate(reference):
            self._places.setdefault(key, []).append(place)
            self._bits[key] = self._bits.get(key, 0) | 1 << place

    def places(self, key: str) -> list[int]:
        return self._places.get(key, [])

    def matches(self) -> int:
        return sum((self.response & self.reference).values())

    def spare(self, key: str) -> int:
        """Return how many more occurrences the reply has; negative if the reference has more."""
        return self.response[key] - self.reference[key]

    def may_miss(self, key: str, seen: int) -> _Limit:
        """Return whether the reply's word may stay unmatched: fewer than `spare` of the `seen` ones are."""
        return _Limit(self._bits.get(key, 0), seen - self.spare(key), NEVER)

    def may_lend(self, key: str, seen: int) -> _Limit:
        """Return whether the reference's word may match another word: fewer than its surplus already do."""
        return _Limit(self._bits[key], -1, seen - self.spare(key))


class _Problem:
    """All options of all words, and a lower bound on the cost of what is still to come.

    The cost of an alignment is its chunks less `worth` for each related match: one more match outweighs any chunks.
    """

    def __init__(
        self, response: Sequence[Word], reference: Sequence[Word], related: Callable[[str, str], bool] | None
    ) -> None:
        self.words = _Occurrences([w.text for w in response], [w.text for w in reference])
        self.groups = _Occurrences([w.group for w in response], [w.group for w in reference])
        self.reference, self.related = reference, related
        self.certain, self.worth = self.groups.matches(), len(response) + 1
        self.seen: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
        self.equal: dict[str, list[_Option]] = {}
        self.options = [self._options(word) for word in response]
        self.at = []
        for options in self.options:
            self.at.append({option.place: option for option in options})
        self.bound, self.continuing = self._bounds(len(reference))

    def _options(self, word: Word) -> list[_Option]:
        """Return the options of a word of the reply, given the counts `seen` of the words before it."""
        words, groups, (seen_words, seen_groups) = self.words, self.groups, self.seen
        if word.text not in self.equal:
            self.equal[word.text] = [_Option(place, 1 << place, 0) for place in words.places(word.text)]
        options = list(self.equal[word.text])
        if words.spare(word.text) > 0:
            free = words.may_miss(word.text, seen_words[word.text])
            for place in groups.places(word.group):
                text = self.reference[place].text
                if words.spare(text) < 0:  # never the word itself, which the reply has more often
                    options.append(_Option(place, 1 << place, 0, (free, words.may_lend(text, seen_words[text]))))
            if groups.spare(word.group) > 0:
                frees = (free, groups.may_miss(word.group, seen_groups[word.group]))
                options += [_Option(NOWHERE, 0, 0, frees), *self._list_related(word, frees)]
        seen_words[word.text] += 1
        seen_groups[word.group] += 1
        return options

    def _list_related(self, word: Word, frees: tuple[_Limit, ...]) -> list[_Option]:
        if self.related is None:
            return []
        options = []
        for place, (text, group) in enumerate(self.reference):
            if self.words.spare(text) < 0 and self.groups.spare(group) < 0 and self.related(word.text, text):
                lend_word = self.words.may_lend(text, self.seen[0][text])
                lend_group = self.groups.may_lend(group, self.seen[1][group])
                options.append(_Option(place, 1 << place, -self.worth, (*frees, lend_word, lend_group)))
        return options

    def _bounds(self, width: int) -> tuple[list[int], list[list[int]]]:
        """Return the lowest costs if reference words could be taken twice; they never exceed the true costs.

        `bound[i]` is the cost from word i on if no chunk continues there; `continuing[i][j]` is the cost from word i on
        if it continues a chunk at position j. Options are sorted by their bound.
        """
        bound, continuing = [0], [[NEVER] * (width + 1)]
        for options in reversed(self.options):
            row = [NEVER] * (width + 1)
            promises = {NOWHERE: bound[-1]}
            for place, _, cost, _ in options:
                if place != NOWHERE:
                    row[place] = cost + min(bound[-1], continuing[-1][place + 1])
                    promises[place] = 1 + row[place]
            options.sort(key=lambda option, promises=promises: promises[option.place])  # type: ignore[misc]
            bound.append(promises[options[0].place])
            continuing.append(row)
        return bound[::-1], continuing[::-1]

    def search(self, width: int, choices: int, ceiling: int, steps: int) -> tuple[int, bool]:
        """Return the least cost below `ceiling`, else `ceiling`; and whether no possibly cheaper option was skipped.

        A state is the set of reference words taken (bits) and the position of the last word.
        """
        states, complete = {(0, NOWHERE): 0}, True
        for i in range(len(self.options)):
            reached: dict[tuple[int, int], int] = {}
            for (taken, last), cost in states.items():
                options, cut = self._list_allowed(i, taken, last, choices)
                complete, steps = complete and not cut, steps - len(options)
                for place, bit, extra, _ in options:
                    state = (taken | bit, place)
                    total = cost + extra + (place not in (NOWHERE, last + 1))
                    if total < reached.get(state, NEVER) and total + self._rest(i + 1, place) < ceiling:
                        reached[state] = total
            if steps < 0:
                width, choices = NARROW, CHOICES
            if len(reached) > width:
                ranked = sorted(reached.items(), key=lambda item: item[1] + self._rest(i + 1, item[0][1]))
                reached, complete = dict(ranked[:width]), False
            states = reached
        return min(states.values(), default=ceiling), complete

    def _list_allowed(self, i: int, taken: int, last: int, choices: int) -> tuple[list[_Option], bool]:
        """Return the options of word i in this state, continuing the chunk first; and whether there were more."""
        first = self.at[i].get(last + 1)
        allowed: list[_Option] = []
        for option in chain((first,) if first else (), self.options[i]):
            if (
                taken & option.bit
                or (option is first and allowed)
                or (option.limits and not _fit(option.limits, taken))
            ):
                continue
            if len(allowed) == choices:
                return allowed, True
            allowed.append(option)
        return allowed, False

    def _rest(self, i: int, last: int) -> int:
        """Return a lower bound on the cost of words from i on after a word at this position."""
        return min(self.bound[i], self.continuing[i][last + 1])


def _fit(limits: tuple[_Limit, ...], taken: int) -> bool:
    return all(low < (taken & words).bit_count() < high for words, low, high in limits)
