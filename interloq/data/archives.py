"""The files of a published dataset: in its folder, in its tar archive, or one of them alone.

Archives are read in memory, member by member: nothing is unpacked, and links inside are never followed.
"""

from __future__ import annotations

import lzma
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePosixPath

from interloq.data.files import COMPRESSED, lines, open_bytes
from interloq.errors import InputError

ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.xz")
MAX_FILE = 512 * 2**20  # far above any dataset here: a larger member is a mistake or an attack


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file found: `name` is its path below the dataset's folder, `where` says it in messages."""

    name: str
    where: str
    data: bytes


def read_files(path: str | Path, patterns: Sequence[str]) -> list[DataFile]:
    """The files that match a pattern such as `eval_data/*/human_ref.txt`, by name; a lone file is taken as it is."""
    path = Path(path)
    if not path.exists():
        raise InputError(f"no file or folder {str(path)!r}", cure="check the path")
    if not (path.is_dir() or is_archive(path)):
        return [_alone(path)]
    found = _of_folder(path, patterns) if path.is_dir() else _of_archive(path, patterns)
    files = sorted(found, key=lambda file: file.name)
    if not files:
        what = f"found none of {', '.join(patterns)}"
        raise InputError(what, cure="name the dataset's folder, archive or file", where=str(path))
    for first, second in pairwise(files):
        if first.name == second.name:
            raise InputError(f"{first.name} is there twice: {first.where} and {second.where}", cure="name one of them")
    return files


def is_archive(path: Path) -> bool:
    return path.name.lower().endswith(ARCHIVES)


def text_lines(file: DataFile) -> list[str]:
    """Lines of UTF-8 text, stripped; a line end after the last line starts no further one."""
    return [line.strip() for line in text(file).removesuffix("\n").split("\n")]


def text(file: DataFile) -> str:
    try:
        return file.data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        what = f"byte {error.start + 1} is not valid UTF-8"
        raise InputError(what, cure="save the file as UTF-8", where=file.where) from error


def _of_folder(folder: Path, patterns: Sequence[str]) -> Iterator[DataFile]:
    """Directly in the folder or one level down, as archives unpack."""
    for pattern in patterns:
        for path in sorted({*folder.glob(pattern), *folder.glob(f"*/{pattern}")}):
            if path.is_file():
                yield DataFile(_below(path.as_posix(), pattern), str(path), _read(path))


def _of_archive(path: Path, patterns: Sequence[str]) -> Iterator[DataFile]:
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                pattern = _matching(member.name, patterns)
                if pattern and member.isreg():
                    data = _member(archive, member, path)
                    yield DataFile(_below(member.name, pattern), f"{path}/{member.name}", data)
    except (tarfile.TarError, EOFError, OSError, lzma.LZMAError) as error:
        raise InputError(f"cannot read the archive: {error}", cure="copy it again", where=str(path)) from error


def _member(archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> bytes:
    if member.size > MAX_FILE:
        what = f"{member.name} is larger than {MAX_FILE >> 20} MiB"
        raise InputError(what, cure="check the archive", where=str(path))
    stream = archive.extractfile(member)
    return stream.read() if stream else b""


def _alone(path: Path) -> DataFile:
    if path.suffix.lower() not in COMPRESSED:
        return DataFile(path.name, str(path), _read(path))
    data = b"\n".join(line for _, line in lines(path))
    return DataFile(path.name.removesuffix(path.suffix), str(path), data)


def _read(path: Path) -> bytes:
    with open_bytes(path) as stream:
        return stream.read()


def _matching(name: str, patterns: Sequence[str]) -> str | None:
    return next((pattern for pattern in patterns if PurePosixPath(name).match(pattern)), None)


def _below(name: str, pattern: str) -> str:
    """The part of a path that the pattern stands for, so that folder and archive agree on names."""
    return "/".join(name.split("/")[-len(pattern.split("/")) :])
