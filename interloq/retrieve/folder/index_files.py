# SPDX-License-Identifier: Apache-2.0
"""Building an index from files of pairs: excludes pairs that overlap test samples, and resumes when interrupted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import orjson

from interloq.data.files.opening import lines
from interloq.data.progress import Progress, lines_ahead, silent
from interloq.data.records.jsonl import Rejected, read, read_all
from interloq.errors import InputError
from interloq.records import Pair
from interloq.retrieve.index import SEGMENT, Index, create_index
from interloq.retrieve.leaks import guarded
from interloq.retrieve.retriever import Retriever
from interloq.signature import file_fingerprint, fingerprint

ENCODER_SEGMENT = 50_000  # a transformer takes minutes for texts that others encode in seconds


@dataclass(frozen=True, slots=True)
class AddedFile:
    """Counts for one file: pairs that were already in the index, pairs added, and pairs excluded by reason."""

    file: str
    before: int
    added: int
    excluded: dict[str, int]


def index_files(
    pairs: Sequence[str | Path],
    output: str | Path,
    *,
    retriever: Retriever | str,
    expected: int = 0,
    exact_up_to: int | None = None,
    recall: float = 0.95,
    segment: int | None = None,
    without: Sequence[str | Path] = (),
    strict: bool = False,
    on_reject: Callable[[Rejected], None] | None = None,
    progress: Progress = silent,
) -> tuple[Index, list[AddedFile]]:
    """Build an index from files of pairs, in a folder or at a server's address, or resume an interrupted build.

    `expected`, `exact_up_to` and `recall` are those of `create_index`, the other options those of `add_files`.
    """
    _check([*pairs, *without], segment)  # before anything is made
    index = create_index(output, retriever, expected=expected, exact_up_to=exact_up_to, recall=recall)
    added = add_files(
        index, pairs, segment=segment, without=without, strict=strict, on_reject=on_reject, progress=progress
    )
    return index, added


def add_files(
    index: Index,
    pairs: Sequence[str | Path],
    *,
    segment: int | None = None,
    without: Sequence[str | Path] = (),
    strict: bool = False,
    on_reject: Callable[[Rejected], None] | None = None,
    progress: Progress = silent,
) -> list[AddedFile]:
    """Add the pairs of files to an index; pairs that are already in it are skipped.

    `without` are files of samples: pairs that overlap them are excluded. `segment` pairs are stored at a time; at most
    these are lost by an interruption, and the same call resumes. Bad lines are handled as in `interloq.read`.
    """
    _check([*pairs, *without], segment)
    exclusion, added = Exclusion(without, strict=strict), []
    size = segment or (ENCODER_SEGMENT if getattr(index.retriever, "encoder", "") else SEGMENT)
    for path in pairs:
        source = exclusion.source(path, index.store.sources())
        before = index.store.sources().get(source, 0)
        with progress(f"indexing {Path(path).name}", lines_ahead(path, progress)) as step:
            kept = exclusion.kept(read_pairs(path, strict=strict, on_reject=on_reject))
            count = index.add(kept, source=source, segment=size, progress=step)
        added.append(AddedFile(str(path), before, count, dict(exclusion.dropped)))
    return added


def _check(paths: Iterable[str | Path], segment: int | None) -> None:
    """Refuse pipes, which cannot be read again to resume a build, and missing files."""
    for path in map(str, paths):
        if path == "-" or not Path(path).is_file():
            raise InputError(f"no file {path!r}", hint="name files: a pipe cannot be read again after an interruption")
    if segment is not None and segment < 1:
        raise InputError(f"segment must be at least 1, got {segment}")


class Exclusion:
    """Excludes pairs that overlap test samples. Its name is part of the source's: other samples make another source."""

    def __init__(self, paths: Sequence[str | Path], *, strict: bool = False) -> None:
        self.samples = list(read_all(paths, strict=strict))
        self.name = "-without-" + fingerprint(*sorted(file_fingerprint(Path(p)) for p in paths)) if paths else ""
        self.dropped: Counter[str] = Counter()

    def source(self, path: str | Path, sources: Iterable[str]) -> str:
        """Name of a file of pairs with this exclusion."""
        own = file_fingerprint(Path(path))
        for known in sources:
            if known.split("-")[0] == own and known != own + self.name:
                raise InputError(
                    f"{path} is already in the index, with other samples excluded",
                    hint="build a new index, or name the same samples with --without",
                )
        return own + self.name

    def kept(self, pairs: Iterable[Pair]) -> Iterable[Pair]:
        """The pairs that are not excluded; excluded pairs are counted."""
        self.dropped.clear()
        return guarded(pairs, self.samples, dropped=self.dropped) if self.samples else pairs


def read_pairs(
    path: str | Path, *, strict: bool = False, on_reject: Callable[[Rejected], None] | None = None
) -> Iterator[Pair]:
    """The pairs of a file; pairs without ids are named by file and line."""
    pairs: Iterator[Pair] = read(path, kind="pairs", strict=strict, on_reject=on_reject)
    if _has_ids(path):
        return pairs
    stem = Path(path).name.split(".")[0]
    return (replace(pair, id=f"{stem}:{pair.id}") for pair in pairs)


def _has_ids(path: str | Path) -> bool:
    """Whether the first record has an id; lines that are not records are reported when reading."""
    for _, line in lines(path):
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(value, dict) and "utterance" in value:
            return "id" in value
    return True
