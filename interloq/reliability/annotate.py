# SPDX-License-Identifier: Apache-2.0
"""Interactive annotation with REAM# (Gao et al., 2021): a person decides on candidates and sees their predicted effect.

A session offers one candidate after another, with the prediction before and after adding it. The person keeps it, edits
it (a few times at most), abandons it, chooses another candidate instead, or goes to the next query. Every step is
appended to a record at once; a session with the same record resumes where it stopped. Nothing is printed here.

To find out whether predictions help, some people work without them, as in 5.4 of the paper. Of each two annotators, one
drawn at random is in the group that sees no predictions; they are recorded all the same.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import orjson

from interloq.data.files.appended import Appended
from interloq.data.records.jsonl import record_line
from interloq.errors import InputError, short_repr
from interloq.records import Reference
from interloq.reliability.augment import LEAST, Request, SetPredictor
from interloq.reliability.labels import NONE
from interloq.reliability.reliability_options import LIMIT
from interloq.signature import fingerprint

Action = Literal["keep", "edit", "abandon", "choose", "next"]
ATTEMPTS = 3  # edits per candidate
KIND = "annotation"


@dataclass(frozen=True, slots=True)
class DecisionStep:
    """One decision: the candidate as it was kept, edited to, abandoned or chosen, and the predictions shown."""

    query: str
    action: Action
    text: str = ""
    source: str = ""
    before: float | None = None
    after: float | None = None


def refuse_without_rise(predicted: Mapping[str, float | None]) -> None:
    """Refuse to keep a candidate whose prediction `after` is not above the one `before`; the first always is."""
    before, after = predicted.get("before"), predicted.get("after")
    if after is None or (before is not None and after <= before + LEAST):
        raise InputError("the prediction does not rise with this candidate", hint="edit or abandon it")


@dataclass(frozen=True, slots=True)
class QueryState:
    """State of one query: candidates left (the first is offered), references added, and edits left."""

    request: Request
    waiting: tuple[Reference, ...]
    attempts: int
    added: tuple[Reference, ...] = ()
    finished: bool = False

    def texts(self) -> tuple[str, ...]:
        """Return the distinct texts of all references, given and added."""
        return (*self.request.list_known_texts(), *(reference.text.strip() for reference in self.added))


def start_query(request: Request, *, attempts: int, limit: int) -> QueryState:
    """Return the state of a query before the first step; candidates are in the order given."""
    waiting = tuple(sorted(request.list_new_candidates(), key=request.candidates.index))
    return _finish_if_done(QueryState(request, waiting, attempts), limit)


def apply_step(state: QueryState, step: DecisionStep, *, attempts: int, limit: int) -> QueryState:
    """Return the state of a query after a step; a step that is impossible in this state is refused."""
    if state.finished:
        raise InputError(f"query {step.query!r} is finished", hint="continue with the next query")
    if step.action == "next":
        return replace(state, finished=True)
    if step.action == "edit":
        return _edit_candidate(state, step.text)
    if step.action == "choose":
        return replace(state, waiting=_choose_candidate(state, step.text), attempts=attempts)
    first = state.waiting[0]
    if step.text != first.text:
        raise InputError(f"the candidate is {short_repr(first.text)}, not {short_repr(step.text)}")
    added = state.added
    if step.action == "keep":
        added = (*added, first)
    rest = tuple(candidate for candidate in state.waiting[1:] if candidate.text.strip() != first.text.strip())
    return _finish_if_done(replace(state, waiting=rest, added=added, attempts=attempts), limit)


def _choose_candidate(state: QueryState, text: str) -> tuple[Reference, ...]:
    """Return the candidates left, with the first candidate that has this text moved to the front."""
    waiting = list(state.waiting)
    for i, candidate in enumerate(waiting):
        if candidate.text == text:
            return (waiting.pop(i), *waiting)
    raise InputError(f"no candidate {short_repr(text)}", hint="choose one of those left")


def _edit_candidate(state: QueryState, text: str) -> QueryState:
    text = text.strip()
    if not state.attempts:
        raise InputError("no edits are left for this candidate", hint="keep or abandon it")
    if not text or text == state.waiting[0].text.strip():
        raise InputError("the edited text is empty or unchanged", hint="write another text, or keep or abandon it")
    if text in state.texts():
        raise InputError(f"{short_repr(text)} is already a reference", hint="write another text")
    edited = Reference(text, source="human")
    return replace(state, waiting=(edited, *state.waiting[1:]), attempts=state.attempts - 1)


def _finish_if_done(state: QueryState, limit: int) -> QueryState:
    """Return the state, finished if there are enough references or no candidates."""
    return replace(state, finished=len(state.texts()) >= limit or not state.waiting)


@dataclass(frozen=True, slots=True)
class ReliabilityEstimate:
    """Predicted reliability with its interval; NaN for an empty set."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Offer:
    """The candidates left, with the predictions without and with each of them."""

    query: str
    turns: tuple[str, ...]
    references: tuple[str, ...]
    attempts: int  # edits left
    waiting: tuple[Reference, ...]  # all candidates left; the first is the one offered
    before: ReliabilityEstimate
    with_each: tuple[ReliabilityEstimate, ...]  # of the candidates left

    @property
    def candidate(self) -> Reference:
        """Return the candidate that is offered."""
        return self.waiting[0]

    @property
    def after(self) -> ReliabilityEstimate:
        """Return the prediction if the offered candidate were added."""
        return self.with_each[0]

    @property
    def best(self) -> int:
        """Return the index of the candidate that would raise the prediction most."""
        return int(np.argmax([estimate.mean for estimate in self.with_each]))

    @property
    def best_after(self) -> ReliabilityEstimate:
        """Return the prediction with that candidate."""
        return self.with_each[self.best]

    def numbers(self) -> dict[str, float | None]:
        """Return the predictions before and after as a step records them, NaN as None."""
        before, after = self.before.mean, self.after.mean
        return {"before": None if np.isnan(before) else before, "after": None if np.isnan(after) else after}


class Session:
    """Annotation of queries (by id), with a record that is created or resumed; records of other queries are refused.

    `model` predicts reliabilities, and `model.signature()` identifies it. `unassisted` is for a person to whom
    predictions are not shown; to others, `must_rise` refuses candidates that do not raise the prediction.
    """

    def __init__(
        self,
        model: Any,
        requests: Mapping[str, Request],
        record: str | Path,
        *,
        attempts: int = ATTEMPTS,
        limit: int = LIMIT,
        unassisted: bool = False,
        must_rise: bool = False,
    ) -> None:
        for name, value, least in (("attempts", attempts, 0), ("limit", limit, 1)):
            if value < least:
                raise InputError(f"{name} must be at least {least}, got {value}")
        self.model: SetPredictor = model
        self.unassisted, self.must_rise = unassisted, must_rise and not unassisted
        self.options = {"attempts": attempts, "limit": limit}
        self.states = {id: start_query(request, **self.options) for id, request in requests.items()}
        self.steps: list[DecisionStep] = []
        self._vectors: dict[str, Any] = {}
        self._offer: Offer | None = None
        texts = chain.from_iterable((id, request.text()) for id, request in requests.items())
        run = {"model": model.signature(), "queries": fingerprint(*texts), **self.options}
        run |= {name: True for name in ("unassisted", "must_rise") if getattr(self, name)}
        self._file = Appended(record, sync=0.0)
        try:
            self._resume(run)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def current(self) -> str | None:
        """Return the id of the first query that is not finished; None if all are."""
        for id, state in self.states.items():
            if not state.finished:
                return id
        return None

    def added(self) -> dict[str, tuple[Reference, ...]]:
        """Return the references added so far, by query. Edited ones have the source `human`."""
        return {id: state.added for id, state in self.states.items()}

    def offer(self) -> Offer | None:
        """Return the candidate to decide on; None if all queries are finished."""
        if self._offer is None and self.current is not None:
            self._offer = predict_offer(self.model, self.current, self.states[self.current], self._vectors)
        return self._offer

    def keep(self) -> None:
        """Add the candidate to the references."""
        self._decide("keep")

    def edit(self, text: str) -> None:
        """Replace the text of the candidate, which is then offered again; limited to `attempts` per candidate."""
        self._decide("edit", Reference(text.strip(), source="human"))

    def abandon(self) -> None:
        """Drop the candidate."""
        self._decide("abandon")

    def choose(self, place: int) -> None:
        """Offer another of the remaining candidates instead, by its index among them."""
        waiting = self._require_offer().waiting
        if not 0 <= place < len(waiting):
            raise InputError(f"no candidate {place}", hint=f"choose one from 0 to {len(waiting) - 1}")
        self._decide("choose", waiting[place])

    def next(self) -> None:
        """Finish this query with the references it has."""
        self._decide("next")

    def _decide(self, action: Action, candidate: Reference | None = None) -> None:
        offer = self._require_offer()
        shown = candidate or offer.candidate
        if action == "keep" and self.must_rise:
            refuse_without_rise(offer.numbers())
        step = DecisionStep(offer.query, action, shown.text, shown.source, **offer.numbers())
        state = apply_step(self.states[step.query], step, **self.options)
        self._file.add(record_line(step))  # recorded before it counts
        self._take(step, state)

    def _require_offer(self) -> Offer:
        offer = self.offer()
        if offer is None:
            raise InputError("all queries are finished")
        return offer

    def _take(self, step: DecisionStep, state: QueryState) -> None:
        if state.finished:
            self._vectors.clear()
        self.states[step.query], self._offer = state, None
        self.steps.append(step)

    def _resume(self, run: Mapping[str, Any]) -> None:
        """Repeat the steps of the record, or write its header."""
        for number, (_, line) in enumerate(self._file.resume(KIND, run), start=2):
            where = f"{self._file.path}:{number}"
            step = _parse_step(line, where)
            if step.query not in self.states:
                raise InputError(f"no query {step.query!r}", hint="use the record with its own samples", where=where)
            try:
                state = apply_step(self.states[step.query], step, **self.options)
            except InputError as error:
                raise InputError(error.what, hint="the record is damaged: remove this line", where=where) from error
            self._take(step, state)


def predict_offer(model: SetPredictor, query: str, state: QueryState, vectors: MutableMapping[str, Any]) -> Offer:
    """Predict the set as it is and with each waiting candidate, in one batch; `vectors` caches encoded texts."""
    references, new = state.texts(), [candidate.text.strip() for candidate in state.waiting]
    texts = [*references, *new]
    missing = list(dict.fromkeys(text for text in texts if text not in vectors))
    rows = model.encode([(state.request.turns, text) for text in missing])
    vectors.update(zip(missing, rows, strict=True))
    n = len(references)
    sets = np.full((1 + len(new), n + 1), NONE, dtype=np.int64)
    sets[:, :n] = np.arange(n)
    sets[1:, n] = n + np.arange(len(new))
    predicted = model.predict_sets(np.stack([vectors[text] for text in texts]), sets)
    columns = zip(predicted.mean.tolist(), predicted.low.tolist(), predicted.high.tolist(), strict=True)
    before, *with_each = [ReliabilityEstimate(*numbers) for numbers in columns]
    return Offer(query, state.request.turns, references, state.attempts, state.waiting, before, tuple(with_each))


def _parse_step(line: bytes, where: str) -> DecisionStep:
    try:
        step = DecisionStep(**orjson.loads(line))
        texts = (step.query, step.text, step.source)
        if step.action in get_args(Action) and all(isinstance(text, str) for text in texts):
            return step
    except (orjson.JSONDecodeError, TypeError):
        pass
    raise InputError("not a step of annotation", hint="the record is damaged: remove this line", where=where)
