"""Warnings about models that know users."""

from __future__ import annotations

import json
from pathlib import Path

from interloq.interlocutor.card import CARD, warning, write_card


def test_a_model_with_user_tokens_says_so(dcp_model: Path, score_model: Path) -> None:
    facts = json.loads((dcp_model / "model.json").read_text())
    assert facts["warning"] == warning(facts)
    assert "learned tokens of 2 users" in facts["warning"]
    card = (dcp_model / CARD).read_text()
    assert facts["warning"] in card
    assert "interloq corpus forget" in card
    assert "profiles.json" not in card
    assert "profiles.json" in (score_model / CARD).read_text()


def test_a_model_without_users_has_no_card(tmp_path: Path) -> None:
    (tmp_path / CARD).write_text("old")
    write_card(tmp_path, {"users": [], "profiles": 0})
    assert not (tmp_path / CARD).exists()
    assert warning({"users": []}) == ""
