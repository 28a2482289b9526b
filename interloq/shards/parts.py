# SPDX-License-Identifier: Apache-2.0
"""Results of finished shards, in a folder that outlives the process.

DIR/manifest.json           what identifies the job, and the command that computes it
DIR/JOB-START-END.shard     the result of one shard: a line with its fingerprint, then the bytes

Each file is written at once and completely, so processes on several machines may share the folder, or write folders of
their own that are copied together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from interloq.data.files.appended import check_run
from interloq.data.files.durable import discard, hold_lock, make_folder, write_atomically
from interloq.data.files.folders import contents
from interloq.data.files.opening import read_json
from interloq.data.files.write_errors import writing
from interloq.errors import InputError
from interloq.signature import fingerprint

KIND, MANIFEST = "shards", "manifest.json"
SHARD = ".shard"
AGAIN = "remove the file, and it is computed again"


class PartsFolder:
    """A folder of results; it is created here, or must belong to the same job unless it has none.

    `names` are the names of its shards.
    """

    def __init__(self, folder: Path, facts: Mapping[str, str], command: Sequence[str]) -> None:
        self.folder = folder
        with writing(folder):
            make_folder(folder)
        files = {path.name for path in contents(folder)}
        self.names = {name.removesuffix(SHARD) for name in files if name.endswith(SHARD)}
        if MANIFEST not in files and any(not name.endswith(".lock") for name in files):
            raise InputError("not a folder of shards", hint="name a new or empty folder", where=str(folder))
        if not self.names and (MANIFEST not in files or read_manifest(folder)["job"] != dict(facts)):
            manifest = {"kind": KIND, "schema": 1, "job": dict(facts), "command": list(command)}
            write_atomically(folder / MANIFEST, orjson.dumps(manifest, option=orjson.OPT_INDENT_2) + b"\n")
        hint = "give the same input and options, or remove the folder"
        check_run(read_manifest(folder)["job"], facts, folder, what="the shards are from another job", hint=hint)

    def add(self, name: str, result: bytes) -> None:
        """Keep the result of a shard."""
        self._check()
        write_atomically(self.folder / f"{name}{SHARD}", fingerprint(result).encode() + b"\n" + result)
        self.names.add(name)

    def read(self, name: str) -> bytes:
        """Return the result of a shard."""
        self._check()
        path = self.folder / f"{name}{SHARD}"
        try:
            print, _, result = path.read_bytes().partition(b"\n")
        except OSError as error:
            raise InputError(f"cannot read a shard: {error.strerror}", hint=AGAIN, where=str(path)) from error
        if fingerprint(result).encode() != print:
            raise InputError("the shard is damaged", hint=AGAIN, where=str(path))
        return result

    def _check(self) -> None:
        if not (self.folder / MANIFEST).exists():
            raise InputError("the folder of shards was removed meanwhile", hint="run it again", where=str(self.folder))


def discard_other_job(folder: Path, facts: Mapping[str, str]) -> None:
    """Remove a folder of shards of another job; anything else stays."""
    if (folder / MANIFEST).exists() and read_manifest(folder)["job"] != dict(facts):
        with hold_lock(folder / "1-of-1.lock", where=folder):
            discard(folder)


def read_manifest(folder: str | Path) -> dict[str, Any]:
    """Return the manifest of a folder of shards: `job` and `command`."""
    path = Path(folder) / MANIFEST
    manifest = read_json(path, hint="name a folder that was given as --parts")
    job, command = manifest.get("job"), manifest.get("command")
    if manifest.get("kind") != KIND or not isinstance(job, dict) or not isinstance(command, list):
        raise InputError("not the manifest of a folder of shards", hint="name another folder", where=str(path))
    return {"job": job, "command": list(map(str, command))}
