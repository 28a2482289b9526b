# SPDX-License-Identifier: Apache-2.0
"""Predictions for the pages of references: each model is loaded once, when it is first needed."""

from __future__ import annotations

from collections import ChainMap, OrderedDict
from dataclasses import replace
from threading import Lock
from typing import Any

from interloq.errors import InputError
from interloq.records import Reference
from interloq.reliability.annotate import Offer, predict_offer
from interloq.trust import Trust, check_effects, names_download
from interloq.web.database import Database
from interloq.web.references.reference_steps import Work
from interloq.web.references.references_task import KIND, ReferencesOptions, references_options
from interloq.web.studies.tasks import Stored, all_tasks

ITEMS = 200  # items with encoded texts in memory


class Predictors:
    """The models in use. They predict for one person at a time, since each prediction uses all cores."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._models: dict[tuple[str, ...], Any] = {}
        self._vectors: OrderedDict[int, dict[str, Any]] = OrderedDict()

    def offer(self, stored: Stored, work: Work) -> Offer:
        """Predictions without and with each candidate left."""
        with self._lock:
            return predict_offer(self._model(stored, work.options), work.query, work.state, self._encoded(work.item))

    def attempt(self, stored: Stored, work: Work, text: str) -> Offer:
        """Predictions without and with a text that is being written, whose encoding is not kept."""
        state = replace(work.state, waiting=(Reference(text, source="human"),))
        with self._lock:
            vectors = ChainMap({}, self._encoded(work.item))
            return predict_offer(self._model(stored, work.options), work.query, state, vectors)

    def _encoded(self, item: int) -> dict[str, Any]:
        """Encoded texts of an item; those of items used longest ago are dropped."""
        vectors = self._vectors.setdefault(item, {})
        self._vectors.move_to_end(item)
        if len(self._vectors) > ITEMS:
            self._vectors.popitem(last=False)
        return vectors

    def _model(self, stored: Stored, options: ReferencesOptions) -> Any:
        from interloq.reliability.model import Reliability  # imports torch

        key = (options.model, options.encoder, options.device, stored.source["model"])
        if key not in self._models:
            model = Reliability.load(options.model, encoder=options.encoder or None, device=options.device)
            _check_same(model.signature(), stored, options)
            self._models[key] = model
        return self._models[key]


def check_models(database: Database, trust: Trust = None, *, where: str = "the study") -> None:
    """Refuse a study with tasks of kind references if a model is missing, damaged, was replaced or needs trust."""
    with database.reading() as connection:
        tasks = [stored for stored in all_tasks(connection) if stored.settings.kind == KIND]
    for stored in tasks:
        from interloq.reliability.model import saved_signature  # imports torch

        options = references_options(stored.settings)
        effects = {}
        if download := names_download(options.encoder):
            effects[stored.settings.name] = download
        check_effects(effects, where, trust)
        _check_same(saved_signature(options.model, encoder=options.encoder or None), stored, options)


def _check_same(signature: str, stored: Stored, options: ReferencesOptions) -> None:
    if signature != stored.source["model"]:
        what = f"the model is {signature}, but the task {stored.settings.name!r} was made with {stored.source['model']}"
        raise InputError(what, hint="put the folder of that model back", where=options.model)
