"""Networks are loaded once, and again after their folder has changed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from interloq.errors import MissingDependencyError
from interloq.models.loaded import load_model

MADE: list[tuple[str, dict[str, object]]] = []


class Network:
    """Remembers how it was made."""

    def __init__(self, name: str, **options: object) -> None:
        MADE.append((name, options))


def ask(name: str | Path, **options: Any) -> object:
    return load_model("test", f"{__name__}:Network", str(name), **options)


def test_the_same_network_is_shared_until_its_folder_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "weights").write_text("1")
    first = ask(tmp_path, layer=1)
    monkeypatch.chdir(tmp_path.parent)
    assert ask(tmp_path.name, layer=1) is first, "another spelling of the same folder"
    assert ask(tmp_path, layer=2) is not first
    os.utime(tmp_path / "weights", ns=(1, 1))
    assert ask(tmp_path, layer=1) is not first
    assert ask("a-package") is ask("a-package")


def test_a_missing_package_is_named_with_its_extra() -> None:
    with pytest.raises(MissingDependencyError, match=r"bertscore needs the package 'nowhere'.*interloq\[encoder\]"):
        load_model("bertscore", "nowhere:Encoder", "x")
