"""The logs that networks are trained on: files of pairs or dialogues, without what test samples share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from interloq.cli.output import BadLines
from interloq.errors import InputError
from interloq.report.console import tell


class TrainingLog:
    """The pairs of some files, as often as they are asked for, without those that test items share."""

    def __init__(self, files: list[str], without: list[str], *, strict: bool) -> None:
        from interloq.data.jsonl import read
        from interloq.signature import file_fingerprint, fingerprint

        for path in [*files, *without]:
            if path == "-":
                raise InputError("a pipe cannot be read twice", cure="name files")
            if not Path(path).is_file():
                raise InputError(f"no file {path!r}")
        self.files, self.strict = sorted(files, key=lambda path: file_fingerprint(Path(path))), strict
        self.samples = [sample for path in without for sample in read(path, strict=strict)]
        prints = [",".join(sorted(file_fingerprint(Path(path)) for path in paths)) for paths in (files, without)]
        self.fingerprint = fingerprint(*prints)
        self.dropped: dict[str, Counter[str]] = {}
        self.named: set[str] = set()
        self.bad: dict[str, BadLines] = {}

    def pairs(self) -> Iterator[Any]:
        """The pairs of all logs."""
        return chain.from_iterable(self.logs())

    def logs(self) -> list[Iterator[Any]]:
        """The pairs of each file, in an order that does not depend on that of the files."""
        return [self._guarded(path) for path in self.files]

    def _guarded(self, path: str) -> Iterator[Any]:
        from interloq.retrieve.leaks import guarded

        # counted anew by whoever reads: to be asked for pairs and not read must not lose the counts
        dropped = self.dropped[path] = Counter()
        found = self._file(path)
        yield from guarded(found, self.samples, dropped=dropped) if self.samples else found

    def _file(self, path: str) -> Iterator[Any]:
        from interloq.data.corpus.dialogues import pairs_of_dialogue
        from interloq.data.jsonl import read
        from interloq.data.texts import kind_of

        kind = kind_of(path)
        if kind not in ("pairs", "dialogues"):
            raise InputError(f"the file holds {kind}", cure="name files of pairs or of dialogues", where=path)
        for record in read(path, kind=kind, strict=self.strict, on_reject=lambda bad: self._note(path, bad)):
            yield from [record] if kind == "pairs" else pairs_of_dialogue(record)

    def _note(self, path: str, rejected: Any) -> None:
        """Bad lines are met in every pass and named once."""
        if rejected.where not in self.named:
            self.named.add(rejected.where)
            self.bad.setdefault(path, BadLines())(rejected)

    def close(self) -> None:
        """Say what was set aside and what was left out."""
        for bad in self.bad.values():
            bad.close()
        if left_out := sum(counts.total() for counts in self.dropped.values()):
            tell(f"interloq: {left_out:,} pairs left out that test items share")
