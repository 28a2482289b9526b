# SPDX-License-Identifier: Apache-2.0
"""Writing the pairs of a file of dialogues."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path

from interloq.data.corpus.dialogues import pairs_of_dialogue
from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.records.jsonl import Rejected, read, write


def pairs_file(
    dialogues: str | Path,
    output: str | Path,
    *,
    strict: bool = False,
    on_reject: Callable[[Rejected], None] | None = None,
    columns: Mapping[str, str] | None = None,
) -> int:
    """Write the pairs of all dialogues and return their number; bad lines and `columns` are as in `interloq.read`."""
    refuse_overwriting([output], [dialogues])
    records = read(dialogues, kind="dialogues", strict=strict, on_reject=on_reject, columns=columns)
    pairs = chain.from_iterable(map(pairs_of_dialogue, records))
    return write(output, pairs, kind="pairs", holds="pairs")
