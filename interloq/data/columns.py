"""Samples from parallel lists: one reply, one context and one list of references a position."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from interloq.errors import InputError
from interloq.records import Reference, Sample, Turn

References = str | Iterable[str | Reference]


def from_columns(
    responses: Sequence[str],
    references: Sequence[References],
    *,
    contexts: Sequence[str | Iterable[str | Turn]] | None = None,
    systems: Sequence[str] | None = None,
    ids: Sequence[str] | None = None,
) -> list[Sample]:
    """Samples from columns; `references[i]` holds the references to `responses[i]`."""
    n = len(responses)
    if len(references) != n and references and all(_size(column) == n for column in references):
        raise InputError(
            f"references look transposed: {len(references)} lists of {n} texts for {n} responses",
            cure="pass one list a response: [list(r) for r in zip(*references)]",
        )
    columns = {"references": references, "contexts": contexts, "systems": systems, "ids": ids}
    for name, column in columns.items():
        if column is not None and len(column) != n:
            raise InputError(f"{len(column)} {name} for {n} responses", cure=f"give one entry of {name} a response")
    return [
        Sample(
            id=ids[i] if ids else str(i + 1),
            context=contexts[i] if contexts else (),
            response=responses[i],
            references=references[i],
            system=systems[i] if systems else "",
        )
        for i in range(n)
    ]


def _size(column: References) -> int:
    return 1 if isinstance(column, str) or not isinstance(column, Sequence) else len(column)
