# SPDX-License-Identifier: Apache-2.0
"""Scores in logs of Inspect as score files: a score per scorer, sample and epoch.

Epochs of a sample are one cluster: they are not independent. C, P, I and N are 1, ½, 0 and 0, as Inspect counts them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from interloq.data.records.jsonl import Rejected, write
from interloq.data.tool_logs.inspect_logs import WITHIN, matches, sample_id, sample_scores
from interloq.data.tool_logs.log_files import log_values
from interloq.errors import InputError
from interloq.records import Score

OnReject = Callable[[Rejected], None] | None


def is_inspect_log(path: str | Path) -> bool:
    """Return whether a file is a log of Inspect: by its name, or a .json file by its beginning."""
    suffix = Path(path).suffix.lower()
    if suffix != ".json" or not Path(path).is_file():
        return suffix == ".eval"
    with Path(path).open("rb") as file:
        start = file.read(4_096)
    return b'"eval_id"' in start and b'"task"' in start


def inspect_scores(path: str | Path, on_reject: OnReject = None) -> Iterator[Score]:
    """Yield the scores of a log; a sample without a score, such as one that failed, is unscored by each scorer."""

    def reject(where: str, line: bytes, error: InputError) -> None:
        if on_reject is None:
            raise InputError(error.what, hint=error.hint, where=where)
        on_reject(Rejected(str(path), where, error.what, error.hint, line))

    rows: list[tuple[str, str, dict[str, float | None], str]] = []
    scorers: dict[str, None] = {}
    for where, value, _ in log_values(path, WITHIN, reject):
        if not (isinstance(value, Mapping) and matches(value)):
            raise InputError("not a sample of an Inspect log", hint="give .eval or .json logs", where=where)
        scores: dict[str, Any] = dict(sample_scores(value))
        scorers.update(dict.fromkeys(scores))
        why = (value.get("error") or {}).get("message") or "not scored with a number"
        rows.append((sample_id(value), str(value.get("id")), scores, str(why).splitlines()[0][:200]))
    if not scorers:
        raise InputError("no sample has a score", hint="score it: inspect score LOG", where=str(path))
    for scorer in scorers:
        for id, sample, scores, why in rows:
            score = scores.get(scorer)
            yield Score(id, scorer, score, "" if score is not None else why, dialogue=sample)


@contextmanager
def as_score_files(files: Mapping[str, str | Path], on_reject: OnReject = None) -> Iterator[Mapping[str, str | Path]]:
    """Yield the files, with a score file of the same name in place of each log of Inspect."""
    with tempfile.TemporaryDirectory() as folder:
        score_files = dict(files)
        for side, path in files.items():
            if is_inspect_log(path):
                score_files[side] = Path(folder, side, Path(path).name)
                write(score_files[side], inspect_scores(path, on_reject), kind="scores")
        yield score_files
