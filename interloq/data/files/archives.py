# SPDX-License-Identifier: Apache-2.0
"""The files of a published dataset: in a folder, in a tar archive, or a single file.

Archives are read in memory, member by member: nothing is unpacked, names only identify files, and links are never
followed. The size of the content is limited, no matter how small an archive is on disk.
"""

from __future__ import annotations

import contextlib
import tarfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import IO

from interloq.data.files.compression import COMPRESSED, damage, decompress
from interloq.data.files.folders import find_matching
from interloq.data.files.opening import not_utf8, read_small
from interloq.errors import InputError

ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.xz")
# far above any dataset here: anything larger is a mistake or an attack
MAX_FILE = 128 * 2**20
MAX_DATASET = 2**28
MAX_MEMBERS = 200_000


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of a dataset: `name` is its path below the dataset's folder, `where` its name in messages."""

    name: str
    where: str
    data: bytes


def read_files(path: str | Path, patterns: Sequence[str]) -> list[DataFile]:
    """Return the files that match a pattern such as `eval_data/*/human_ref.txt`, by name; a single file is accepted."""
    path = Path(path)
    if not path.exists():
        raise InputError(f"no file or folder {str(path)!r}", hint="check the path")
    if path.is_dir():
        files = _read_folder(path, patterns)
    elif is_archive(path):
        files = list(_read_archive(path, patterns))
    else:
        name = path.name
        if path.suffix.lower() in COMPRESSED:
            name = name.removesuffix(path.suffix)
        return [DataFile(name, str(path), read_small(path, limit=MAX_FILE))]
    if not files:
        what = f"found none of {', '.join(patterns)}"
        raise InputError(what, hint="name the dataset's folder, archive or file", where=str(path))
    files.sort(key=lambda file: file.name)
    for first, second in pairwise(files):
        if first.name == second.name:
            raise InputError(f"{first.name} was found twice: {first.where} and {second.where}", hint="name one of them")
    return files


def is_archive(path: Path) -> bool:
    """Return whether a file is an archive, by its name."""
    return path.name.lower().endswith(ARCHIVES)


def text_lines(file: DataFile) -> list[str]:
    """Return lines of UTF-8 text, stripped; a final line break does not start another line."""
    return [line.strip() for line in text(file).removesuffix("\n").split("\n")]


def text(file: DataFile) -> str:
    """Return the text of a file; encodings other than UTF-8 are refused."""
    try:
        return file.data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise not_utf8(error, file.where) from error


def _read_folder(folder: Path, patterns: Sequence[str]) -> list[DataFile]:
    """Return files in the folder or one level below, as archives are unpacked."""
    files = []
    for pattern in patterns:
        for path in sorted({*find_matching(folder, pattern), *find_matching(folder, f"*/{pattern}")}):
            if path.is_file():
                data = read_small(path, limit=MAX_FILE)
                files.append(DataFile(_matched_part(path.as_posix(), pattern), str(path), data))
    return files


def _read_archive(path: Path, patterns: Sequence[str]) -> Iterator[DataFile]:
    total = 0
    try:
        with open_archive(path) as (archive, _):
            for member in members(archive, path):
                pattern = next((each for each in patterns if PurePosixPath(member.name).match(each)), None)
                if pattern:
                    data = read_member(archive, member, path)
                    total += len(data)
                    _check_bound(total, MAX_DATASET, "the dataset", path)
                    yield DataFile(_matched_part(member.name, pattern), f"{path}/{member.name}", data)
    except damage(tarfile.TarError, ValueError) as error:
        raise InputError(f"cannot read the archive: {error}", hint="copy it again", where=str(path)) from error


@contextlib.contextmanager
def open_archive(path: Path) -> Iterator[tuple[tarfile.TarFile, Callable[[], int]]]:
    """Yield a tar archive, and the number of its bytes that have been read."""
    suffix = ".gz" if path.suffix.lower() == ".tgz" else path.suffix.lower()
    with (
        path.open("rb") as file,
        decompress(file, suffix) as stream,
        tarfile.open(fileobj=_Headers(stream), mode="r:") as archive,  # type: ignore[call-overload]
    ):
        yield archive, file.tell


def members(archive: tarfile.TarFile, path: Path) -> Iterator[tarfile.TarInfo]:
    """Yield the regular files, without sparse files, which may claim any size."""
    for number, member in enumerate(archive, 1):
        _check_bound(number, MAX_MEMBERS, "the archive", path)
        if member.isreg() and not member.issparse():
            yield member


def read_member(archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> bytes:
    """Return the content of a member; a large member is refused."""
    _check_bound(member.size, MAX_FILE, member.name, path)
    stream = archive.extractfile(member)
    if stream is None:
        return b""
    return stream.read()


class _Headers:
    """The stream for tarfile: a header that claims gigabytes is refused before they are unpacked."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self.tell, self.seek = stream, stream.tell, stream.seek

    def read(self, size: int) -> bytes:
        if not 0 <= size <= MAX_FILE:
            raise tarfile.ReadError(f"a header claims {size:,} bytes")
        return self._stream.read(size)


def _check_bound(seen: int, limit: int, what: str, path: Path) -> None:
    if seen > limit:
        most = f"{limit:,} files" if limit == MAX_MEMBERS else f"{limit >> 20} MiB"
        raise InputError(f"{what} has more than {most}", hint="check the archive", where=str(path))


def _matched_part(name: str, pattern: str) -> str:
    """Return the part of a path that matches the pattern, so that names in folders and archives agree."""
    return "/".join(name.split("/")[-len(pattern.split("/")) :])
