# SPDX-License-Identifier: Apache-2.0
"""Journal of finished dialogues: an append-only file, from which the output file is written at the end.

A line is written as soon as its dialogue ends, so `kill -9` loses nothing; the file is synced to disk every few
seconds, so a power cut loses only the last few seconds. An incomplete last line is removed when the run resumes. Only
positions in the file are kept in memory.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from interloq.data.files.appended import SYNC, Appended, check_run
from interloq.data.records.jsonl import SCHEMA, to_json, write
from interloq.data.records.parsers import PARSERS
from interloq.errors import InputError
from interloq.records import Dialogue


def journal_path(output: str | Path) -> Path:
    """Return the path of the journal beside the output: `dialogues.jsonl.gz.journal`."""
    return Path(output).with_name(Path(output).name + ".journal")


class Journal:
    """The dialogues of one run; `run` is everything they depend on. A journal of another run is refused."""

    def __init__(self, path: str | Path, run: Mapping[str, Any], *, sync: float = SYNC) -> None:
        self.path, self.run = Path(path), dict(run)
        self._places: dict[str, int] = {}
        self._failed: set[str] = set()  # failed dialogues
        self._start = 0  # of the dialogues
        self._file = Appended(self.path, sync=sync)
        try:
            self._recover()
        except BaseException:
            self._file.close()
            raise

    def __contains__(self, id: object) -> bool:
        return id in self._places

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, id: str) -> Dialogue:
        return _parse_dialogue(self._file.line(self._places[id]))

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, dialogue: Dialogue) -> None:
        self._place(dialogue, self._file.add(orjson.dumps(to_json(dialogue)) + b"\n"))

    def forget_failed(self, ids: Iterable[str]) -> None:
        """Treat the failed dialogues among these as not finished."""
        for id in self._failed.intersection(ids):
            self._failed.remove(id)
            del self._places[id]

    def forget_unanswered(self) -> None:
        """Treat dialogues without any turn as not finished."""
        for id in [id for id in self._failed if not self[id].turns]:
            self.forget_failed([id])

    def dialogues(self, ids: Iterable[str]) -> Iterator[Dialogue]:
        """Return the finished dialogues among these, in this order."""
        return (self[id] for id in ids if id in self)

    def finish(self, output: str | Path, records: Iterable[Any], *, kind: str = "dialogues", **facts: object) -> int:
        """Write the output file, and remove the journal."""
        count = write(output, records, kind=kind, **facts)
        self._file.close(keep=False)
        return count

    def discard(self) -> None:
        """Remove the journal."""
        self._file.close(keep=False)

    def close(self) -> None:
        """Close the journal, and remove it if it is empty, because it would block another run."""
        if not self._file.closed:
            self._file.close(keep=self._file.size() > self._start)

    def _recover(self) -> None:
        """Index the finished dialogues."""
        for place, line in self._file.lines():
            if not place:
                header = _parse_line(line)
                run = header.get("journal") if isinstance(header, dict) else None
                if not isinstance(run, dict):
                    raise InputError("not a journal of dialogues", hint="choose another output", where=str(self.path))
                # a journal of another run is refused: it may contain days of work
                check_run(run, orjson.loads(orjson.dumps(self.run)), self.path)
                self._start = len(line)
            else:
                with contextlib.suppress(InputError):  # a line damaged by a power cut; its dialogue is played again
                    self._place(_parse_dialogue(line), place)
        if not self._start:
            header = {"kind": "dialogues", "schema": SCHEMA, "journal": self.run}
            self._file.add(orjson.dumps(header) + b"\n")
            self._start = self._file.size()

    def _place(self, dialogue: Dialogue, place: int) -> None:
        self._places[dialogue.id] = place
        if dialogue.failure:
            self._failed.add(dialogue.id)
        else:
            self._failed.discard(dialogue.id)


def _parse_line(line: bytes) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return None


def _parse_dialogue(line: bytes) -> Dialogue:
    value = _parse_line(line)
    if not isinstance(value, dict) or "id" not in value:
        raise InputError("not a dialogue")
    dialogue: Dialogue = PARSERS["dialogues"](value, "")
    return dialogue
