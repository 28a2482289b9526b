"""Warnings about models that know users."""

from __future__ import annotations

import json
from pathlib import Path

from interloq.scorers.interlocutor.card import CARD, warning, write_card


def test_a_model_with_user_tokens_says_so(dcp_model: Path, score_model: Path) -> None:
    facts = json.loads((dcp_model / "model.json").read_text())
    assert facts["warning"] == warning(2, 0)
    assert facts["warning"].startswith("This model contains learned tokens of 2 users, with their ids. A token")
    card = (dcp_model / CARD).read_text()
    assert facts["warning"] in card
    assert "interloq corpus forget" in card
    assert "with their ids and the profiles of 2 users." in (score_model / CARD).read_text()
    assert warning(0, 1).startswith("This model contains the profiles of 1 user.")


def test_a_model_without_users_has_no_card(tmp_path: Path) -> None:
    (tmp_path / CARD).write_text("old")
    write_card(tmp_path, 0, 0)
    assert not (tmp_path / CARD).exists()
    assert warning(0, 0) == ""
