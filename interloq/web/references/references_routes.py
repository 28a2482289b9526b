# SPDX-License-Identifier: Apache-2.0
"""Requests of the page for references: predictions, and decisions, which may be sent again without harm.

Each model that predicts is loaded once, when it is first needed.
"""

from __future__ import annotations

import math
from collections import ChainMap, OrderedDict
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import Any

from anyio import to_thread
from fastapi import APIRouter, Request
from pydantic import Field
from starlette.exceptions import HTTPException

from interloq.errors import InputError, InterloqError
from interloq.records import Reference
from interloq.reliability.annotate import Action, Offer, ReliabilityEstimate, predict_offer, refuse_without_rise
from interloq.trust import Trust, check_effects, names_download
from interloq.web.access.people import Visitor
from interloq.web.access.visitors import MOST_PLACES, Annotator, Place, Study, at_work
from interloq.web.database import Database, make_storable
from interloq.web.references import reference_steps as references
from interloq.web.references.reference_steps import ReferenceDecision, Work
from interloq.web.references.references_task import KIND, ReferencesOptions, references_options
from interloq.web.studies.tasks import Stored, all_tasks

router = APIRouter(prefix="/api/references")
AT_ONCE = 8  # requests that wait for a model; they have threads of their own, so that they never hold up other pages
ITEMS = 200  # items with encoded texts in memory


class Attempt(Place):
    """A text that is being written."""

    text: str = Field(max_length=references.LONGEST_REFERENCE)


class Decided(Place):
    """A decision: `text` is an edited text, `candidate` the place of the chosen candidate."""

    action: Action
    text: str = Field("", max_length=references.LONGEST_REFERENCE)
    candidate: int = Field(0, ge=0, le=MOST_PLACES)


@router.post("/offer")
async def offer(request: Request, visitor: Annotator, wanted: Place) -> dict[str, Any]:
    """Return predictions without and with each candidate, and the place of the candidate that would help most."""
    return await _run_in_thread(request, _predict_offer, visitor, wanted)


@router.post("/attempt")
async def attempt(request: Request, visitor: Annotator, wanted: Attempt) -> dict[str, Any]:
    """Return predictions without and with a text that is being written."""
    return await _run_in_thread(request, _predict_attempt, visitor, wanted)


@router.post("/step")
async def step(request: Request, visitor: Annotator, decided: Decided) -> dict[str, Any]:
    """Store a decision; return the state after it."""
    return await _run_in_thread(request, _take_step, visitor, decided)


async def _run_in_thread(request: Request, work: Any, visitor: Visitor, wanted: Place) -> dict[str, Any]:
    response: dict[str, Any] = await to_thread.run_sync(
        partial(work, request, visitor, wanted), limiter=request.app.state.predicting
    )
    return response


def _predict_offer(request: Request, visitor: Visitor, wanted: Place) -> dict[str, Any]:
    stored, work = _get_work(request.app.state.study, visitor, wanted)
    if work.state.finished or not work.is_assisted:
        return {"place": len(work.steps), "before": None, "with_each": [], "best": None}
    predicted = _predict(request, stored, work)
    each = list(map(estimate_to_json, predicted.with_each))
    return {
        "place": len(work.steps),
        "before": estimate_to_json(predicted.before),
        "with_each": each,
        "best": predicted.best,
    }


def _predict_attempt(request: Request, visitor: Visitor, wanted: Attempt) -> dict[str, Any]:
    stored, work = _get_work(request.app.state.study, visitor, wanted)
    text = make_storable(wanted.text).strip()
    if not text or text in work.state.texts() or not work.is_assisted:
        return {"place": len(work.steps), "after": None}
    return {"place": len(work.steps), "after": estimate_to_json(_predict(request, stored, work, text).after)}


def _take_step(request: Request, visitor: Visitor, decided: Decided) -> dict[str, Any]:
    """Predict between two transactions, so that nobody else waits for the model."""
    decision = ReferenceDecision(decided.action, decided.text, decided.candidate)
    study: Study = request.app.state.study
    stored, work = _get_work(study, visitor, decided)
    references.make_step(work, decided.place, decision)  # refused before anything is predicted
    predicted: Mapping[str, float | None] = {}
    if decided.place == len(work.steps):
        rule = work.must_rise and decided.action == "keep"
        with nullcontext() if rule else suppress(HTTPException):  # others are worth keeping without predictions
            predicted = _predict(request, stored, work).numbers()
        if rule:
            refuse_without_rise(predicted)
    with study.database.writing() as connection:
        settings = at_work(connection, visitor).settings
        own = (connection, settings, visitor.person, decided.assignment)
        return references.take_step(*own, decided.place, decision, predicted).show()


def _get_work(study: Study, visitor: Visitor, wanted: Place) -> tuple[Stored, Work]:
    with study.database.reading() as connection:
        stored = at_work(connection, visitor)
        return stored, references.get_work(connection, stored.settings, visitor.person, wanted.assignment)


def _predict(request: Request, stored: Stored, work: Work, text: str = "") -> Offer:
    predictors: Predictors = request.app.state.predictors
    try:
        return predictors.attempt(stored, work, text) if text else predictors.offer(stored, work)
    except InterloqError as error:  # its text names files of the server
        raise HTTPException(503, "no_prediction") from error


def estimate_to_json(estimate: ReliabilityEstimate) -> dict[str, float | None] | None:
    """Return an estimate as JSON values; None without a prediction, and bounds of None without an interval."""
    if math.isnan(estimate.mean):
        return None
    bounds = {"low": estimate.low, "high": estimate.high}
    return {"mean": estimate.mean, **{name: None if math.isnan(bound) else bound for name, bound in bounds.items()}}


class Predictors:
    """The models in use. They predict for one person at a time, since each prediction uses all cores."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._models: dict[tuple[str, ...], Any] = {}
        self._vectors: OrderedDict[int, dict[str, Any]] = OrderedDict()

    def offer(self, stored: Stored, work: Work) -> Offer:
        """Return predictions without and with each candidate left."""
        with self._lock:
            return predict_offer(
                self._model(stored, work.options), work.query, work.state, self._get_vectors(work.item)
            )

    def attempt(self, stored: Stored, work: Work, text: str) -> Offer:
        """Return predictions without and with a text that is being written, whose encoding is not kept."""
        state = replace(work.state, waiting=(Reference(text, source="human"),))
        with self._lock:
            vectors = ChainMap({}, self._get_vectors(work.item))
            return predict_offer(self._model(stored, work.options), work.query, state, vectors)

    def _get_vectors(self, item: int) -> dict[str, Any]:
        """Return the encoded texts of an item; texts of the least recently used items are dropped."""
        vectors = self._vectors.setdefault(item, {})
        self._vectors.move_to_end(item)
        if len(self._vectors) > ITEMS:
            self._vectors.popitem(last=False)
        return vectors

    def _model(self, stored: Stored, options: ReferencesOptions) -> Any:
        from interloq.reliability.ready_fit import load_predictor  # imports torch

        key = (options.model, options.encoder, options.device, stored.source["model"])
        if key not in self._models:
            model = load_predictor(options.model, options.encoder or None, options.device)
            _check_same(model.signature(), stored, options)
            self._models[key] = model
        return self._models[key]


def check_models(database: Database, trust: Trust = None, *, where: str = "the study") -> None:
    """Refuse a study with tasks of kind references if a model is missing, damaged, was replaced or needs trust."""
    with database.reading() as connection:
        tasks = [stored for stored in all_tasks(connection) if stored.settings.kind == KIND]
    for stored in tasks:
        from interloq.reliability.ready_fit import predictor_signature  # imports torch

        options = references_options(stored.settings)
        effects = {}
        if download := names_download(options.encoder):
            effects[stored.settings.name] = download
        check_effects(effects, where, trust)
        _check_same(predictor_signature(options.model, options.encoder or None), stored, options)


def _check_same(signature: str, stored: Stored, options: ReferencesOptions) -> None:
    if signature != stored.source["model"]:
        what = f"the model is {signature}, but the task {stored.settings.name!r} was made with {stored.source['model']}"
        raise InputError(what, hint="put the folder of that model back", where=options.model)
