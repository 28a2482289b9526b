# SPDX-License-Identifier: Apache-2.0
"""Add references from an index to a file of samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from interloq.data.files.opening import lines
from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.progress import Progress, silent
from interloq.data.records.jsonl import Rejected, header, header_after, read, write_then_head
from interloq.retrieve.extend import SearchTally, extend, extend_signature, searched_in
from interloq.retrieve.index import open_index
from interloq.signature import file_fingerprint


def extend_file(
    samples: str | Path,
    output: str | Path,
    *,
    index: str | Path,
    k: int = 15,
    parrot: bool = True,
    gold: bool = True,
    turns: int = 1,
    diversity: float = 0.0,
    near: float = 0.0,
    own: bool = True,
    exclude: str | Path | None = None,
    strict: bool = False,
    on_reject: Callable[[Rejected], None] | None = None,
    columns: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Write the samples with up to `k` replies from an index added; return the signature and the counts.

    Both are also in the header of the output, after those of earlier extensions. `exclude` is a file with ids of pairs,
    posts or threads that must not be used, one per line; for the other options see `retrieve.extend.extend`. `-` is
    standard input or output. Bad lines and `columns` are handled as in `interloq.read`.
    """
    refuse_overwriting([output], [samples, index, *([exclude] if exclude else [])])
    options: dict[str, Any] = {
        "k": k, "parrot": parrot, "gold": gold, "turns": turns, "diversity": diversity,
        "near": near, "own": own,
    }  # fmt: skip
    found, tally, excluded = open_index(str(index)), SearchTally(), read_ids(exclude)
    before = {} if str(samples) == "-" else header(samples)
    signed = options | ({"exclude": file_fingerprint(Path(exclude))} if exclude else {})
    facts: dict[str, Any] = {"signature": extend_signature(found.retriever, searched_in(found), signed)}

    def head() -> dict[str, Any]:
        facts["counts"] = tally.facts()
        return header_after(before, "extended", facts)

    with progress("extending", None) as step:
        given = read(samples, strict=strict, on_reject=on_reject, columns=columns)
        extended = extend(given, found, **options, excluded=excluded, tally=tally, progress=step)
        write_then_head(output, extended, head, kind="samples")
    return facts


def read_ids(path: str | Path | None) -> frozenset[str]:
    """The ids in a file, one per line; none without a file."""
    ids = (line.decode("utf-8", "replace").strip() for _, line in lines(path)) if path else ()
    return frozenset(id for id in ids if id)
