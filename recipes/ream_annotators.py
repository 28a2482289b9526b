"""Simulated annotators with and without predictions (Gao et al., 2021, Figures 4 and 5), through the package's engine.

Both see the same candidates from logs in the same order, believe a scorer about which suit the query, and write a reply
of their own instead of any other candidate. What they write is one of the references by people or by SCARCE that the
set does not have yet or, one time in three, a reply to another query: a person's bad day. The assisted one keeps a text
only if the prediction rises, writes at most three times, and then gives up; the other one keeps what it writes first.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from ream_augment import Arm, Models
from ream_sets import GOLD, LOGS, PEOPLE, SCARCE, Sourced

from interloq import Reference, Sample
from interloq.registry import create
from interloq.reliability.annotate import Offer, Session
from interloq.reliability.augment import Request

ROUNDS = 10  # candidates per query
BAD = 1 / 3  # share of bad replies among those that are written
SUITABLE = 0.5
ASSISTED, ALONE = "assisted", "alone"


@dataclass(frozen=True, slots=True)
class Annotator:
    """A simulated person who annotates one query."""

    assisted: bool
    suitable: frozenset[str]
    written: Sequence[str]  # in the order in which the person thinks of them

    def act(self, session: Session, offer: Offer, edits: int) -> int:
        """Decide on the candidate; returns how many texts were written so far."""
        fits = offer.candidate.text in self.suitable or offer.candidate.source == "human"
        rises = not offer.after.mean <= offer.before.mean
        if fits and (rises or not self.assisted):
            session.keep()
        elif offer.attempts and (new := self._next(offer, edits)) < len(self.written):
            session.edit(self.written[new])
            return new + 1
        else:
            session.abandon()
        return edits

    def _next(self, offer: Offer, edits: int) -> int:
        """Place of the next text that the set does not have yet."""
        known = {*offer.references, offer.candidate.text.strip()}
        return next((i for i, text in enumerate(self.written) if i >= edits and text not in known), len(self.written))


def annotated(models: Models, queries: Sequence[Sourced], scorer: str, seed: int) -> dict[str, list[Arm]]:
    """References of each query after each round, for both annotators."""
    suitable, foreign = _suitable(queries, scorer), [text for one in queries for text in one.texts[PEOPLE]]
    found: dict[str, list[Arm]] = {name: [[()] * len(queries) for _ in range(ROUNDS + 1)] for name in (ASSISTED, ALONE)}
    for model, numbers in models:
        for i in numbers:
            rng = np.random.default_rng([seed, i])
            written = _written(queries[i], foreign, rng)
            order = rng.permutation(len(queries[i].texts[LOGS]))[:ROUNDS]
            candidates = tuple(Reference(queries[i].texts[LOGS][j], source="retrieved:logs") for j in order)
            request = Request(queries[i].query.turns, (Reference(queries[i].texts[GOLD][0]),), candidates)
            for name in found:
                person = Annotator(name == ASSISTED, suitable[i], written)
                for round_, texts in enumerate(_session(model, request, person)):
                    found[name][round_][i] = texts
    return found


def _session(model: object, request: Request, person: Annotator) -> list[tuple[str, ...]]:
    """References after each round; a round ends when its candidate is kept or abandoned."""
    own = tuple(reference.text for reference in request.references)
    states, edits = [own], 0
    with (
        tempfile.TemporaryDirectory() as folder,
        Session(model, {"q": request}, Path(folder) / "record.jsonl", limit=ROUNDS + len(own)) as session,
    ):
        while (offer := session.offer()) is not None:
            before = len(session.states["q"].waiting)
            edits = person.act(session, offer, edits)
            if session.states["q"].finished or len(session.states["q"].waiting) < before:
                states.append((*own, *dict.fromkeys(r.text for r in session.added()["q"])))
    return states + [states[-1]] * (ROUNDS + 1 - len(states))


def _written(one: Sourced, foreign: Sequence[str], rng: np.random.Generator) -> list[str]:
    """What a person would write, one text after another; every text is new."""
    gold = one.texts[GOLD]
    good = [text for text in dict.fromkeys((*one.texts[PEOPLE], *one.texts[SCARCE])) if text not in gold]
    bad = [text for text in foreign if text not in one.query.references]
    order, places = rng.permutation(len(good)), rng.integers(len(bad), size=4 * ROUNDS)
    texts = [bad[j] if rng.random() < BAD else good[i] for i, j in zip(order, places, strict=False)]
    return list(dict.fromkeys(texts))


def _suitable(queries: Sequence[Sourced], scorer: str) -> list[frozenset[str]]:
    """Candidates of each query that the scorer finds suitable."""
    samples = [Sample("", one.query.turns, text) for one in queries for text in one.texts[LOGS]]
    metric = create(scorer, kind="metric")
    values = iter(np.asarray(metric.value(metric.stats(samples))).tolist())
    return [frozenset(text for text in one.texts[LOGS] if next(values) > SUITABLE) for one in queries]
