"""Fixtures that several files of this folder use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.made_lm import tiny_lm
from tests.play.made_programs import PROGRAM
from tests.play.made_writers import CHAT, STRICT, add_template, tiny_t5
from tests.servers.conftest import server as server


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("models")
    made = {kind: tiny_lm(root / kind, kind, positions=96) for kind in ("gpt2", "llama")}
    made["chat"] = tiny_lm(root / "chat", "llama", seed=1, positions=160)
    add_template(made["chat"], CHAT)
    made["strict"] = tiny_lm(root / "strict", "llama", seed=1, positions=160)
    add_template(made["strict"], STRICT)
    made["t5"] = tiny_t5(root / "t5")
    return made


@pytest.fixture
def program(folder: Path) -> Path:
    path = folder / "bot.py"
    path.write_text(PROGRAM)
    return path
