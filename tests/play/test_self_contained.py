"""Partner sets with all the files that they need: found by name, checked, and the same on every machine."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from interloq import InputError, load
from interloq.cli.main import main
from interloq.data.records.jsonl import header
from interloq.errors import ReadWarning
from interloq.play.bot import as_bot
from interloq.play.bots.eliza import Eliza
from interloq.play.bots.scripted import Scripted
from interloq.play.openings import read_openings
from interloq.play.partners import check_openings, load_partners, openings_source, partner_bots
from interloq.play.self_contained import hash_files, locate, locate_set, packaged_sets, place_bot
from interloq.records import Turn
from interloq.signature import Signature

pytest.importorskip("numba")


def test_the_packaged_sets_are_whole() -> None:
    assert packaged_sets() == ["en-v1", "ja-v1"]
    for name in packaged_sets():
        known = load_partners(name)
        assert known.name == name
        assert len(known.partners) >= 12
        assert known.files == hash_files(locate_set(name).parent)
        openings = read_openings(openings_source(known, name))
        check_openings(known, openings)
        bots = partner_bots(known, name)
        first = [as_bot(bot) for bot in bots.values()]
        for bot in first:
            (reply,) = bot.replies([[Turn(text) for text in openings[0].turns]], [1])
            assert reply.text


@pytest.fixture
def copy(folder: Path) -> Path:
    """A copy of en-v1 in the working directory, under another name."""
    shutil.copytree(locate_set("en-v1").parent, folder / "mine")
    return folder / "mine"


def test_a_folder_is_a_set_too_and_its_place_does_not_matter(copy: Path) -> None:
    assert load_partners(copy).hash == load_partners(copy / "partners.json").hash == load_partners("en-v1").hash
    assert locate_set(copy) == copy / "partners.json"
    with pytest.raises(InputError, match="no partner set 'en-v2'; did you mean 'en-v1'"):
        load_partners("en-v2")


@pytest.mark.parametrize("change", ["changed", "missing", "spec", "hash"])
def test_a_changed_set_is_refused(copy: Path, change: str) -> None:
    script, manifest = copy / "scripts" / "pets.txt", copy / "partners.json"
    value = json.loads(manifest.read_text())
    if change == "changed":
        script.write_text(script.read_text() + "More.\n")
        message = r"'scripts/pets.txt' of the partner set was changed"
    elif change == "missing":
        script.unlink()
        message = r"'scripts/pets.txt' of the partner set is missing"
    elif change == "spec":
        value["partners"][0]["spec"] = "echo"
        message = "the stored hash is"
    else:
        value["files"]["scripts/pets.txt"] = "0" * 64
        message = "the stored hash is"
    if change in ("spec", "hash"):
        manifest.write_text(json.dumps(value))
    with pytest.raises(InputError, match=message):
        load_partners(copy)


def test_paths_stay_inside_the_set(copy: Path) -> None:
    assert locate("elsewhere", copy) == "elsewhere"
    assert locate("set:scripts/pets.txt", copy) == str(copy / "scripts" / "pets.txt")
    for name in ("set:../secret", "set:/etc/passwd", "set:scripts//pets.txt", "set:"):
        with pytest.raises(InputError, match="is not the name of a file in the folder"):
            locate(name, copy)
    (copy / "scripts" / "link.txt").symlink_to("/etc/hostname")
    with pytest.raises(InputError, match="leads outside"):
        place_bot(Scripted("set:scripts/link.txt"), copy)


def test_another_signature_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    known = load_partners("en-v1")
    monkeypatch.setattr(Eliza, "signature", lambda _: Signature("eliza", {"rules": "other"}))
    with pytest.warns(ReadWarning, match="en-v1: partner 'en-v1/eliza' has another signature than published: eliza"):
        partner_bots(known, "en-v1")


def test_dialogues_name_the_set_and_no_place(folder: Path) -> None:
    command = [
        "play",
        "run",
        "--target",
        "mine=eliza",
        "--partners",
        "en-v1",
        "--limit",
        "1",
        "-o",
        "d.jsonl",
        "--quiet",
    ]
    assert main(command) == 0
    facts, known = header("d.jsonl"), load_partners("en-v1")
    assert facts["partners"] == known.hash
    assert facts["specs"]["en-v1/pets"] == "scripted(file='set:scripts/pets.txt')"
    assert str(locate_set("en-v1").parent) not in Path("d.jsonl").read_text()
    assert len(load("d.jsonl", kind="dialogues")) == len(known.partners)
