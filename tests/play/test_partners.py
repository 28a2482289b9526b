"""Partner sets are artefacts: one hash for what they are, and nothing else may stand in for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from interloq.errors import InputError
from interloq.play.bot import BotLike
from interloq.play.bots.echo import Echo
from interloq.play.bots.eliza import Eliza
from interloq.play.openings import Opening
from interloq.play.partners import check_openings, drop_version, load_partners, partner_bots, partner_set, save_partners
from interloq.signature import Signature
from tests.made_bots import Teller

OPENINGS = [Opening("1", ("hello", "hi")), Opening("2", ("good day", "good day to you"))]
BOTS: dict[str, BotLike] = {"eliza": Eliza(), "echo": Echo()}


def test_a_set_comes_back_as_it_was(tmp_path: Path) -> None:
    found = partner_set(BOTS, OPENINGS, exchanges=5, source="openings.jsonl")
    save_partners(tmp_path / "p.json", found)
    again = load_partners(tmp_path / "p.json")
    assert again == found
    assert again.hash == found.hash
    assert partner_bots(again) == BOTS
    check_openings(again, OPENINGS)


def test_the_hash_names_what_counts() -> None:
    whole = partner_set(BOTS, OPENINGS, exchanges=5)
    same = partner_set(dict(reversed(BOTS.items())), OPENINGS[::-1], exchanges=5, source="elsewhere")
    assert same.hash == whole.hash
    others = [
        partner_set({"eliza": Eliza()}, OPENINGS, exchanges=5),
        partner_set({"eliza": Eliza("en"), "echo": Echo()}, OPENINGS, exchanges=5),
        partner_set({"eliza": Echo(), "echo": Eliza()}, OPENINGS, exchanges=5),
        partner_set(BOTS, OPENINGS[:1], exchanges=5),
        partner_set(BOTS, OPENINGS, exchanges=4),
    ]
    assert len({whole.hash, *(other.hash for other in others)}) == 6


def test_a_partner_that_changed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_partners(tmp_path / "p.json", partner_set(BOTS, OPENINGS, exchanges=5))
    monkeypatch.setattr(Eliza, "signature", lambda _: Signature("eliza", {"rules": "other", "version": "9"}))
    with pytest.raises(InputError) as caught:
        partner_bots(load_partners(tmp_path / "p.json"), "p.json")
    said = str(caught.value)
    assert said.startswith("p.json: partner 'eliza' has changed: signature eliza(language='auto')|rules:")
    assert "now eliza|rules:other;" in said
    assert "cannot be compared" in said


def test_a_new_version_of_interloq_alone_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    before = partner_set(BOTS, OPENINGS, exchanges=5)
    old = Eliza().signature()
    monkeypatch.setattr(Eliza, "signature", lambda _: Signature(old.name, {**old.parts, "version": "9"}))
    assert Eliza().signature() != old
    assert partner_set(BOTS, OPENINGS, exchanges=5).hash == before.hash
    assert (
        drop_version(Signature("a", {"weights": "1", "version": "0.1"})) == drop_version("a|weights:1") == "a|weights:1"
    )


def test_a_partner_that_is_gone_is_named(tmp_path: Path) -> None:
    save_partners(tmp_path / "p.json", partner_set({"mine": Teller("x")}, OPENINGS, exchanges=5))
    with pytest.raises(InputError, match="partner 'mine' cannot be loaded: unknown bot 'Teller'"):
        partner_bots(load_partners(tmp_path / "p.json"))


def test_other_openings_are_refused() -> None:
    found = partner_set(BOTS, OPENINGS, exchanges=5, source="first.jsonl")
    with pytest.raises(InputError, match=r"made for other openings: \w{16} from first.jsonl, these are \w{16}"):
        check_openings(found, OPENINGS[:1])


@pytest.mark.parametrize(
    "change",
    [
        {"exchanges": 6},
        {"openings": {"fingerprint": "0" * 16, "source": ""}},
        {"partners": [{"name": "eliza", "spec": "eliza", "signature": "mine"}]},
        {"hash": "0" * 16},
    ],
)
def test_a_set_changed_by_hand_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "p.json"
    save_partners(path, partner_set(BOTS, OPENINGS, exchanges=5))
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(InputError, match="the stored hash is"):
        load_partners(path)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "not json", '{"kind":"dialogues","schema":1}', '{"kind":"partners","schema":2}', "7"]
)
def test_what_is_not_a_set_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "p.json").write_text(text)
    with pytest.raises(InputError, match="make one with `interloq play partners`"):
        load_partners(tmp_path / "p.json")


def test_two_partners_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    save_partners(path, partner_set({"echo": Echo()}, OPENINGS, exchanges=5))
    value = json.loads(path.read_text())
    path.write_text(json.dumps({**value, "partners": value["partners"] * 2}))
    with pytest.raises(InputError, match="two partners have the same name"):
        load_partners(path)
