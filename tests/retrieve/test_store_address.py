"""Addresses of indexes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from interloq import InputError, create
from interloq.errors import MissingDependencyError
from interloq.retrieve.store_address import create_store, open_store


def test_unknown_schemes_are_named_with_the_known() -> None:
    with pytest.raises(
        InputError, match=r"unknown scheme redis://; name a folder, .*postgresql://, qdrant://, qdrants://"
    ):
        create_store("redis://127.0.0.1/x", create("bm25"))
    with pytest.raises(InputError, match="unknown scheme file://"):
        open_store("file:///srv/index")


def test_a_path_is_a_folder(tmp_path: Path) -> None:
    for place in (tmp_path / "a", str(tmp_path / "b")):
        create_store(place, create("bm25"))
        assert Path(place).is_dir()


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, scheme, extra in (("psycopg", "postgresql", "postgres"), ("httpx", "qdrant", "qdrant")):
        for name in [name for name in sys.modules if name.startswith(f"interloq.retrieve.servers.{extra}")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(MissingDependencyError, match=rf"{scheme}:// needs .* pip install 'interloq\[{extra}\]'"):
            open_store(f"{scheme}://127.0.0.1/x#y")
        monkeypatch.undo()
