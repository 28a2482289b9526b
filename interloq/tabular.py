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
    notes: Sequence[Any]  # about the numbers

    def _title(self) -> str:
        """Return the title of the table, on one line."""
        raise NotImplementedError

    def _table_rows(self) -> list[Row]:
        """Return the rows of the table."""
        raise NotImplementedError

    def _frame_rows(self) -> list[Row]:
        """Return the rows of the data frame; the rows of the table unless overridden."""
        return self._table_rows()

    def _remarks(self) -> Sequence[str]:
        """Return the notes as texts, shown below the table."""
        return self.notes

    def to_frame(self) -> Any:
        """Return the rows as a pandas data frame."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingDependencyError("to_frame()", "pandas", "notebook") from None
        return pd.DataFrame(self._frame_rows())

    def __repr__(self) -> str:
        table = self._cells()
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [f"{type(self).__name__}: {self._title()}"]
        lines += ["  ".join(map(str.ljust, cells, widths)).rstrip() for cells in table]
        lines += [f"note: {text}" for text in self._remarks()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        lines = ""
        for i, cells in enumerate(self._cells()):
            tag = "td" if i else "th"
            line = "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells)
            lines += f"<tr>{line}</tr>"
        table = f"<table><caption>{escape(self._title())}</caption>{lines or '<tr></tr>'}</table>"
        notes = "".join(f"<li>{escape(text)}</li>" for text in self._remarks())
        return f"{table}<ul>{notes}</ul>" if notes else table

    def _cells(self) -> list[list[str]]:
        """Return the names of the columns, then the rows as text; nothing if there are no rows."""
        rows = self._table_rows()
        head = [list(row) for row in rows[:1]]
        return head + [list(map(_format_value, row.values())) for row in rows]


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    head, *body = (f"| {' | '.join(map(markdown_text, row))} |" for row in (columns, *rows))
    return "\n".join([head, "|" + "---|" * len(columns), *body])


def markdown_text(text: str) -> str:
    """Return the text on one line, in which no character has a meaning in Markdown or HTML."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))


def latex(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a LaTeX table for the package booktabs; the first column is text, the others are numbers."""
    head, *body = (f"  {' & '.join(map(_latex_text, row))} \\\\" for row in (columns, *rows))
    frame = f"\\begin{{tabular}}{{l{'r' * (len(columns) - 1)}}}", "\\end{tabular}"
    return "\n".join([frame[0], "  \\toprule", head, "  \\midrule", *body, "  \\bottomrule", frame[1]])


def _latex_text(cell: str) -> str:
    text = " ".join(cell.split()).translate(_LATEX)
    return re.sub(r"(?<!\w)-(?=\.?\d)", "$-$", text)  # a minus sign, not a hyphen


def bounds(ci: tuple[float, float] | None) -> dict[str, float | None]:
    """Return the interval's two columns, `low` and `high`."""
    low, high = ci or (None, None)
    return {"low": low, "high": high}


def _format_value(value: object) -> str:
    if value is None:
        return MISSING
    if isinstance(value, float):
        return MISSING if math.isnan(value) else f"{value:.4g}"
    return str(value)
