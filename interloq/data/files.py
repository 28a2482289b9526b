"""Opening and replacing files: compression by suffix, `-` for a pipe, atomic writes."""

from __future__ import annotations

import contextlib
import gzip
import lzma
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from interloq.data.durable import whole_file, writing
from interloq.errors import InputError

COMPRESSED = (".gz", ".xz", ".zst")
MAX_LINE = 64 * 2**20  # a longer line is no record, and would not fit in memory a few times over


def plain_suffix(path: str | Path) -> str:
    """The suffix under the compression: `.csv` for `a.csv.gz`."""
    suffixes = [s.lower() for s in Path(path).suffixes]
    return next((s for s in reversed(suffixes) if s not in COMPRESSED), "")


@contextlib.contextmanager
def open_bytes(path: str | Path) -> Iterator[IO[bytes]]:
    """The decompressed bytes of a file, or of standard input for `-`."""
    if str(path) == "-":
        yield sys.stdin.buffer
        return
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder", cure="name a file")
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", cure="check the path") from error
    with file, _decompressed(file, path.suffix.lower()) as stream:
        yield stream


def lines(path: str | Path) -> Iterator[tuple[int, bytes]]:
    """Numbered lines without their line ends; a line over MAX_LINE comes cut just past that size."""
    with open_bytes(path) as stream:
        number = 0
        try:
            while line := stream.readline(MAX_LINE + 1):
                number += 1
                while not line.endswith(b"\n") and len(line) > MAX_LINE:
                    rest = stream.readline(MAX_LINE)  # skipped piece by piece
                    if not rest or rest.endswith(b"\n"):
                        break
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                yield number, line.rstrip(b"\r\n")
        except damage() as error:
            raise InputError(
                f"the file is damaged or cut off: {error}",
                cure="copy it again",
                where=f"{path}:{number + 1}",
            ) from error


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[IO[bytes]]:
    """A file that appears under its name only when it is whole; `-` writes to standard output."""
    if str(path) == "-":
        with writing("standard output"):
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        return
    with whole_file(path) as file, _compressed(file, Path(path).suffix.lower()) as stream:
        yield stream


def write_json(path: str | Path, value: Any) -> None:
    """One JSON document, indented."""
    import orjson

    with replacing(path) as file:
        file.write(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def _decompressed(file: IO[bytes], suffix: str) -> contextlib.AbstractContextManager[Any]:
    if suffix == ".gz":
        return gzip.open(file)
    if suffix == ".xz":
        return lzma.open(file)
    if suffix == ".zst":
        import io

        import zstandard

        return io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True))
    return contextlib.nullcontext(file)


def _compressed(file: IO[bytes], suffix: str) -> contextlib.AbstractContextManager[Any]:
    if suffix == ".gz":  # no time stamp: the same records give the same bytes
        return gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0)
    if suffix == ".xz":
        return lzma.open(file, "wb")
    if suffix == ".zst":
        import zstandard

        return zstandard.ZstdCompressor().stream_writer(file, closefd=False)
    return contextlib.nullcontext(file)


def damage() -> tuple[type[Exception], ...]:
    """What reading a broken file raises; zstandard's own error only once it is loaded."""
    zstandard = sys.modules.get("zstandard")
    return (EOFError, OSError, lzma.LZMAError, zlib.error, *([zstandard.ZstdError] if zstandard else []))
