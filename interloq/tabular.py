# SPDX-License-Identifier: Apache-2.0
"""How results are shown: text at the prompt, an HTML table in a notebook, and a data frame if pandas is installed."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from interloq.errors import MissingDependencyError

MISSING = "–"
_LATEX = str.maketrans(
    {sign: f"\\{sign}" for sign in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "'": r"\textquotesingle{}"}
)
# a bracket has a meaning only before "(", "[" or ":", as in a link: intervals such as [0.1, 0.2] stay readable
_MARKS = re.compile(r"([\\`*_{}<>|#!&~]|\](?=[(\[:]))")
Row = Mapping[str, object]  # column → value, the same columns in every row


class Tabular:
    """Something shown as a table; its data frame may have more rows and columns than the table."""

    __slots__ = ()

    def _title(self) -> str:
        """Title of the table, on one line."""
        raise NotImplementedError

    def _shown_rows(self) -> list[Row]:
        """The rows of the table."""
        raise NotImplementedError

    def _frame_rows(self) -> list[Row]:
        """The rows of the data frame; the rows of the table unless overridden."""
        return self._shown_rows()

    def _remarks(self) -> Sequence[str]:
        """Notes about the numbers, shown below the table."""
        return ()

    def to_frame(self) -> Any:
        """The rows as a pandas data frame."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingDependencyError("to_frame()", "pandas", "notebook") from None
        return pd.DataFrame(self._frame_rows())

    def __repr__(self) -> str:
        rows = self._shown_rows()
        cells = [list(rows[0] if rows else ()), *([_shown(value) for value in row.values()] for row in rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in cells if line]
        notes = [f"note: {text}" for text in self._remarks()]
        return "\n".join([f"{type(self).__name__}: {self._title()}", *lines, *notes])

    def _repr_html_(self) -> str:
        rows = self._shown_rows()
        head = "".join(f"<th>{escape(name)}</th>" for name in (rows[0] if rows else ()))
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(_shown(value))}</td>' for value in row.values())}</tr>" for row in rows
        )
        notes = "".join(f"<li>{escape(text)}</li>" for text in self._remarks())
        table = f"<table><caption>{escape(self._title())}</caption><tr>{head}</tr>{body}</table>"
        return f"{table}<ul>{notes}</ul>" if notes else table


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    head, *body = (f"| {' | '.join(map(markdown_text, row))} |" for row in (columns, *rows))
    return "\n".join([head, "|" + "---|" * len(columns), *body])


def markdown_text(text: str) -> str:
    """Text on one line in which no character has a meaning in Markdown or HTML."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))


def latex(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A LaTeX table for the package booktabs; the first column is text, the others are numbers."""
    head, *body = (f"  {' & '.join(map(_latex_text, row))} \\\\" for row in (columns, *rows))
    frame = f"\\begin{{tabular}}{{l{'r' * (len(columns) - 1)}}}", "\\end{tabular}"
    return "\n".join([frame[0], "  \\toprule", head, "  \\midrule", *body, "  \\bottomrule", frame[1]])


def _latex_text(cell: str) -> str:
    text = " ".join(cell.split()).translate(_LATEX)
    return re.sub(r"(?<!\w)-(?=\.?\d)", "$-$", text)  # a minus sign, not a hyphen


def bounds(ci: tuple[float, float] | None) -> dict[str, float | None]:
    """The interval's two columns, `low` and `high`."""
    return {"low": ci[0] if ci else None, "high": ci[1] if ci else None}


def _shown(value: object) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return MISSING
    return f"{value:.4g}" if isinstance(value, float) else str(value)
