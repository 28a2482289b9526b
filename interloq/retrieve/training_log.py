# SPDX-License-Identifier: Apache-2.0
"""Logs for training networks: files of pairs or dialogues, without pairs that overlap test samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path

from interloq.data.corpus.dialogues import pairs_of_dialogue
from interloq.data.records.jsonl import Rejected, read
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.data.text.texts import kind_of
from interloq.errors import InputError
from interloq.records import Dialogue, Pair, Sample
from interloq.retrieve.leaks import context_of, exclude_overlap
from interloq.signature import file_fingerprint, fingerprint


class TrainingLog:
    """The pairs of some files, which can be read repeatedly, without pairs that overlap test samples.

    A folder stands for the file `train.jsonl*` in it.
    """

    def __init__(
        self, files: Sequence[str], without: Sequence[str] = (), *, reading: ReadOptions = READ_DEFAULTS
    ) -> None:
        files = [training_file(path) for path in files]
        for path in [*files, *without]:
            if path == "-":
                raise InputError("a pipe cannot be read twice", hint="name files")
            if not Path(path).is_file():
                raise InputError(f"no file {path!r}")
        self.files: Sequence[str] = sorted(files, key=lambda path: file_fingerprint(Path(path)))
        self.without, self.reading = without, reading
        self.dropped: dict[str, Counter[str]] = {}
        self._named: set[str] = set()

    @cached_property
    def fingerprint(self) -> str:
        """Return the hash of the files, independent of their order."""
        files = sorted(file_fingerprint(Path(path)) for path in self.files)
        without = sorted(file_fingerprint(Path(path)) for path in self.without)
        return fingerprint(",".join(files), ",".join(without))

    @cached_property
    def samples(self) -> list[Sample]:
        """Return the test samples; pairs that overlap them are excluded."""
        return [sample for path in self.without for sample in read(path, strict=self.reading.strict)]

    @property
    def excluded(self) -> int:
        """Return the number of pairs excluded in the last pass over each file."""
        return sum(counts.total() for counts in self.dropped.values())

    def pairs(self) -> Iterator[Pair]:
        """Return the pairs of all files."""
        return chain.from_iterable(self.logs())

    def logs(self) -> list[Iterator[Pair]]:
        """Return the pairs of each file; the order does not depend on the order of `files`."""
        return [self._exclude_overlap(path) for path in self.files]

    def _exclude_overlap(self, path: str) -> Iterator[Pair]:
        # reset when reading starts: an iterator that is never read must not lose the counts
        dropped = self.dropped[path] = Counter()
        pairs = self._pairs(path)
        if self.samples:
            pairs = exclude_overlap(pairs, self.samples, dropped=dropped)
        yield from pairs

    def _pairs(self, path: str) -> Iterator[Pair]:
        for record in self.records(path):
            if isinstance(record, Pair):
                yield record
            else:
                yield from pairs_of_dialogue(record)

    def records(self, path: str) -> Iterator[Pair | Dialogue]:
        """Yield the pairs or dialogues of one file."""
        kind = kind_of(path)
        if kind not in ("pairs", "dialogues"):
            is_empty = Path(path).is_file() and not Path(path).stat().st_size
            contents = "nothing" if is_empty else kind
            raise InputError(f"the file contains {contents}", hint="name files of pairs or of dialogues", where=path)
        yield from read(path, kind=kind, strict=self.reading.strict, on_reject=self._reject)

    def rated_samples(self, path: str) -> Iterator[Sample]:
        """Yield the samples of one file, without samples that share their context with a test sample."""
        dropped, tested = self.dropped.setdefault(path, Counter()), {context_of(sample) for sample in self.samples}
        dropped.clear()
        for sample in read(path, strict=self.reading.strict, on_reject=self._reject):
            if context_of(sample) in tested:
                dropped["context"] += 1
            else:
                yield sample

    def _reject(self, rejected: Rejected) -> None:
        """Report a bad line once, although every pass finds it."""
        if rejected.where not in self._named:
            self._named.add(rejected.where)
            if self.reading.on_reject is not None:
                self.reading.on_reject(rejected)


def training_file(path: str) -> str:
    """Return the training part in a folder of parts; files are returned unchanged."""
    if not Path(path).is_dir():
        return path
    found = sorted(Path(path).glob("train.jsonl*"))
    if len(found) != 1:
        seen = "no train.jsonl" if not found else f"{len(found)} files train.jsonl*"
        raise InputError(f"the folder {path!r} has {seen}", hint="name a file")
    return str(found[0])
