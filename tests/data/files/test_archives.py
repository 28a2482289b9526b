"""Archives: links, sizes and numbers of members."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import pytest

from interloq.data.files import archives
from interloq.data.files.archives import read_files
from interloq.errors import InputError


def archive(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as made:
        for info, data in members:
            info.size = len(data)
            made.addfile(info, io.BytesIO(data))
    return path


def member(name: str, type: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = type, target
    return info


def test_links_and_paths_that_lead_out_of_an_archive_lead_nowhere(tmp_path: Path) -> None:
    secret = tmp_path / "fed_data.json"
    secret.write_text('["secret"]')
    path = archive(
        tmp_path / "fed.tar.gz",
        (member("x/fed_data.json", tarfile.SYMTYPE, str(secret)), b""),
        (member("y/fed_data.json", tarfile.LNKTYPE, "../../fed_data.json"), b""),
        (member("../../fed_data.json"), b"[]"),
    )
    (found,) = read_files(path, ["fed_data.json"])
    assert found.data == b"[]"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["fed.tar.gz", "fed_data.json"]


def test_an_archive_is_bounded_by_size_and_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = archive(tmp_path / "a.tar.gz", *((member(f"{i}.txt"), b"x" * 1000) for i in range(9)))
    monkeypatch.setattr(archives, "MAX_MEMBERS", 8)
    with pytest.raises(InputError, match="the archive has more than 8 files"):
        read_files(path, ["*.txt"])
    monkeypatch.setattr(archives, "MAX_MEMBERS", 9)
    monkeypatch.setattr(archives, "MAX_DATASET", 5000)
    with pytest.raises(InputError, match="the dataset has more than"):
        read_files(path, ["*.txt"])
    monkeypatch.setattr(archives, "MAX_FILE", 999)
    with pytest.raises(InputError, match=r"0\.txt has more than|a header claims"):
        read_files(path, ["*.txt"])


def test_a_header_that_claims_gigabytes_is_refused(tmp_path: Path) -> None:
    info = member("long name", tarfile.GNUTYPE_LONGNAME)
    info.size = 2**33
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + bytes(2**20)))
    with pytest.raises(InputError, match="a header claims 8,589,9"):
        read_files(path, ["*.txt"])
