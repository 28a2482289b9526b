# SPDX-License-Identifier: Apache-2.0
"""Samples from notebook data: parallel columns, lists of dicts, data frames, Hugging Face datasets.

Columns are read by position, never by label: after `df.sample(frac=1)` or a filter, the labels of a pandas Series are
not positions. Data frames and datasets are recognised by their methods, so no such library is imported. A split of a
Hugging Face dataset is an iterable of dicts.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from typing import Any, Protocol

from interloq.data.records.layouts import Layout
from interloq.data.records.tables import as_name, columns_of
from interloq.errors import InputError, ReadWarning, short_repr
from interloq.records import Reference, Sample, Turn

_MAP = re.compile(r"--map (\w+)=(.+)")
_MISSING_TYPES = ("NAType", "NaTType")  # types of pandas' missing values


class DataFrame(Protocol):
    """A data frame of pandas, polars or a similar library."""

    @property
    def columns(self) -> Any:
        """The names of its columns."""


Rows = Iterable[Sample] | Iterable[Mapping[str, Any]] | DataFrame
References = str | Iterable[str | Reference]


def from_columns(
    responses: Iterable[str] | Rows,
    references: Iterable[References] | DataFrame | None = None,
    *,
    contexts: Iterable[str | Iterable[str | Turn]] | None = None,
    systems: Iterable[str] | None = None,
    ids: Iterable[str] | None = None,
    dialogues: Iterable[str] | None = None,
    columns: Mapping[str, str] | None = None,
) -> list[Sample]:
    """Return samples from columns; the i-th entry of `references` has the references for the i-th of `responses`.

    The first may also be a whole table: a data frame, a list of dicts, or a split of a Hugging Face dataset. Then
    `columns` maps fields to the table's names, `{"response": "reply"}`, and no other argument is given.
    """
    arguments = {
        "references": references, "contexts": contexts, "systems": systems, "ids": ids, "dialogues": dialogues
    }  # fmt: skip
    further_columns = {name: column for name, column in arguments.items() if column is not None}
    _check_split(responses)
    replies = _column(responses, "responses")
    if _is_frame(responses) or (replies and isinstance(replies[0], Mapping | Sample)):
        if further_columns:
            first = next(iter(further_columns))
            raise InputError(f"got a whole table and also {first}", hint="pass either a table or columns")
        return list(as_samples(responses if _is_frame(responses) else replies, columns=columns))
    if columns:
        raise InputError("columns are given without a table", hint="pass a data frame or dicts, or omit columns")
    columns_of_samples = {name: _column(column, name) for name, column in further_columns.items()}
    _check(columns_of_samples, len(replies))
    samples = []
    for i, reply in enumerate(replies):
        row = {name: column[i] for name, column in columns_of_samples.items()}
        samples.append(_sample(i, reply, row))
    return samples


def as_samples(rows: Any, *, columns: Mapping[str, str] | None = None) -> Iterable[Sample]:
    """Return samples from samples, from dicts with the fields of a JSONL record, or from the rows of a data frame.

    `columns` maps fields to their names in the dicts or the data frame.
    """
    _check_split(rows)
    if isinstance(rows, str | bytes | Mapping) or not (isinstance(rows, Iterable) or _is_frame(rows)):
        hint = "read a file with load(path); pass a list of samples or dicts, or a data frame"
        raise InputError(f"samples must be a list, got {_describe(rows)}", hint=_lazy(rows) or hint)
    if _is_frame(rows):
        return _read_frame(rows, columns)
    if isinstance(rows, list) and all(isinstance(row, Sample) for row in rows):
        return rows
    return _read_dicts(rows, columns)


@contextmanager
def _in_python_terms(where: str = "") -> Iterator[None]:
    """Rewrite `--map FIELD=NAME` in errors as `columns={"FIELD": "NAME"}`.

    Only for rows given in Python: errors of files that are read meanwhile are not changed.
    """
    try:
        yield
    except InputError as error:
        hint = _MAP.sub(r'columns={"\1": "\2"}', error.hint)
        raise InputError(error.what.replace("--map", "columns"), hint=hint, where=where or error.where) from error


def _check_split(rows: Any) -> None:
    """Refuse a whole Hugging Face dataset: mixing train and test by accident would not be noticed."""
    if isinstance(rows, Mapping) and rows and all(hasattr(split, "column_names") for split in rows.values()):
        names = ", ".join(map(repr, rows))
        raise InputError(f"the dataset has splits: {names}", hint=f"choose one: dataset[{next(iter(rows))!r}]")


def _read_frame(frame: Any, columns: Mapping[str, str] | None) -> Iterator[Sample]:
    with _in_python_terms():
        layout = Layout("samples", columns, table=True)
        names = columns_of(list(frame.columns), "samples", layout.names, where="the data frame")

    def numbered_rows() -> Iterator[tuple[int, bytes, Mapping[str, Any]]]:
        for number, row in enumerate(_frame_rows(frame), start=1):
            yield number, b"", {name: plain(cell) for name, cell in zip(names, row, strict=True) if name}

    def refuse(number: int, _: bytes, error: InputError) -> None:
        with _in_python_terms(f"row {number}"):
            raise error

    for _, _, sample in layout.records(numbered_rows(), refuse):
        yield sample
    _warn(layout)


def _read_dicts(rows: Iterable[Any], columns: Mapping[str, str] | None) -> Iterator[Sample]:
    with _in_python_terms():
        layout = Layout("samples", columns)
    for number, row in enumerate(rows, start=1):
        if isinstance(row, Sample):
            yield row
            continue
        if not isinstance(row, Mapping):
            raise InputError(f"row {number} must be a sample or a dict, got {_describe(row)}")
        with _in_python_terms(f"row {number}"):
            sample = layout.record(plain(row), str(number))
        yield sample
    with _in_python_terms():
        layout.names.check()
    _warn(layout)


def _warn(layout: Layout) -> None:
    if notes := layout.notes():
        warnings.warn(notes, ReadWarning, stacklevel=5)


def plain(value: Any) -> Any:
    """Return a cell as a JSON value: no numpy types, no tuples; missing is None, never NaN or the text 'nan'."""
    if isinstance(value, str):
        return str(value)
    if value is None or type(value).__name__ in _MISSING_TYPES:
        return None
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    for method in ("tolist", "to_list"):  # numpy and pandas, polars
        if hasattr(value, method):
            return plain(getattr(value, method)())
    if isinstance(value, float) and value != value:
        return None
    return value


def _column(values: Any, name: str) -> list[Any]:
    """Return the entries of a column in order; the rows of a data frame are also entries."""
    if _is_frame(values):
        return list(map(tuple, _frame_rows(values)))
    if isinstance(values, str | bytes | Mapping | AbstractSet) or not isinstance(values, Iterable):
        what = f"{name} must be a list with one entry per response, got {_describe(values)}"
        raise InputError(what, hint=_lazy(values) or f"pass a list, an array or a Series of {name}")
    return list(values)


def _is_frame(values: Any) -> bool:
    """Return whether this is a data frame with rows. A lazy one has none, and warns when its columns are read."""
    return (hasattr(values, "itertuples") or hasattr(values, "iter_rows")) and hasattr(values, "columns")


def _lazy(values: Any) -> str:
    if hasattr(values, "collect"):
        return "call collect() to get the rows of a lazy frame"
    return ""


def _describe(value: Any) -> str:
    return f"{type(value).__name__} {short_repr(value)}"


def _frame_rows(frame: Any) -> Iterator[Sequence[Any]]:
    if hasattr(frame, "iter_rows"):  # polars
        return iter(frame.iter_rows())
    return iter(frame.itertuples(index=False, name=None))


def _check(columns: Mapping[str, list[Any]], n: int) -> None:
    references = columns.get("references", [])
    if len(references) != n and references and all(_size(column) == n for column in references):
        raise InputError(
            f"references look transposed: {len(references)} lists of {n} texts for {n} responses",
            hint="pass one list per response: [list(r) for r in zip(*references)]",
        )
    for name, column in columns.items():
        if len(column) != n:
            raise InputError(f"{len(column)} {name} for {n} responses", hint=f"give one entry of {name} per response")


def _sample(i: int, reply: Any, row: Mapping[str, Any]) -> Sample:
    response, system = plain(reply), plain(row.get("systems"))
    id, dialogue = as_name(plain(row.get("ids"))), as_name(plain(row.get("dialogues")))
    if response is None:
        hint = "omit the row, or write '' if the reply is empty"
        raise InputError(f"responses[{i}] is missing ({reply!r})", hint=hint)
    return Sample(
        id=str(i + 1) if id is None else id,
        context=_texts(row.get("contexts")),
        response=response,
        references=_texts(row.get("references")),
        system="" if system is None else system,
        dialogue="" if dialogue is None else dialogue,
    )


def _texts(cell: Any) -> Any:
    """Return the turns or references of one sample, without missing ones."""
    texts = plain(cell)
    if texts is None:
        return ()
    if isinstance(texts, list):
        return [text for text in texts if text is not None]
    return texts


def _size(column: Any) -> int:
    if isinstance(column, str) or not hasattr(column, "__len__"):
        return 1
    return len(column)
