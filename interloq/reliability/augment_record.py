# SPDX-License-Identifier: Apache-2.0
"""Results of `augment`, appended to a file block by block: an interrupted run resumes after its last complete block.

A result depends only on its request and on the run (model, limit and seed), so results are found by their request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from interloq.data.batched import batched
from interloq.data.files.appended import Appended
from interloq.data.records.jsonl import record_line
from interloq.errors import InputError
from interloq.reliability.augment import BLOCK, Augmented, CandidateTrial, Request, SetPredictor, augment
from interloq.signature import fingerprint

KIND = "augmentation"


class AugmentRecord:
    """A file of results for one process at a time; `resumed` counts those that were already in it."""

    def __init__(self, path: Path, run: Mapping[str, Any]) -> None:
        self._file = Appended(path)
        try:
            self._places = {_key(line, path): place for place, line in self._file.resume(KIND, run)}
        except BaseException:
            self._file.close()
            raise
        self.resumed = len(self._places)

    def augmented(
        self, model: SetPredictor, requests: Sequence[Request], *, limit: int, seed: int
    ) -> dict[Request, Augmented]:
        """Result of each request, from the file or computed and appended to it."""
        keys = {request: fingerprint(request.text()) for request in requests}
        for block in batched([request for request in keys if keys[request] not in self._places], BLOCK):
            for request, result in zip(block, augment(model, block, limit=limit, seed=seed), strict=True):
                self._places[keys[request]] = self._file.add(_line(keys[request], result))
        return {request: self._read(request, key) for request, key in keys.items()}

    def _read(self, request: Request, key: str) -> Augmented:
        return _result(self._file.line(self._places[key]), request, self._file.path)

    def close(self, *, finished: bool) -> None:
        """Close the file and keep it for the next run, unless it is empty or the run has finished."""
        self._file.close(keep=bool(self._places) and not finished)


@contextmanager
def augment_record(path: Path, run: Mapping[str, Any]) -> Iterator[AugmentRecord]:
    """A record that is removed on success and kept for the next run on failure."""
    record, finished = AugmentRecord(path, run), False
    try:
        yield record
        finished = True
    finally:
        record.close(finished=finished)


def _line(key: str, found: Augmented) -> bytes:
    trials = [[t.reference.text, t.before, t.after, t.kept] for t in found.trials]
    return record_line({"request": key, "before": found.before, "after": found.after, "trials": trials})


def _key(line: bytes, path: Path) -> str:
    with _reading(path):
        return str(orjson.loads(line)["request"])


def _result(line: bytes, request: Request, path: Path) -> Augmented:
    candidates = {one.text: one for one in request.new()}
    with _reading(path):
        stored = orjson.loads(line)
        trials = (
            CandidateTrial(candidates[text], _number(b), _number(a), bool(kept))
            for text, b, a, kept in stored["trials"]
        )
        return Augmented(_number(stored["before"]), _number(stored["after"]), tuple(trials))


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (KeyError, TypeError, ValueError) as error:  # also orjson's
        raise InputError("the file is damaged", hint="remove it and start over", where=str(path)) from error


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)
