from __future__ import annotations

import importlib
import sys

import pytest

from interloq.earlier_paths import MOVED, MovedModuleFinder, install


@pytest.mark.parametrize("earlier", MOVED)
def test_modules_can_be_imported_from_their_earlier_path(earlier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, earlier, raising=False)
    with pytest.warns(DeprecationWarning, match=f"has moved to {MOVED[earlier]}"):
        module = importlib.import_module(earlier)
    assert module is importlib.import_module(MOVED[earlier])


def test_modules_that_never_existed_are_not_found() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"interloq\.meta\.nothing"):
        importlib.import_module("interloq.meta.nothing")


def test_installing_twice_adds_one_finder() -> None:
    install()
    assert sum(isinstance(finder, MovedModuleFinder) for finder in sys.meta_path) == 1
