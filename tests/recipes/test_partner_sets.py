"""The recipe of the public partner sets, with three openings and a quick metric."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import partner_sets
import pytest

from interloq.cli.main import main
from interloq.data.records.jsonl import header
from interloq.play.partners import load_partners
from interloq.play.self_contained import DIALOGUES, SCORES, hash_files, locate_set

pytest.importorskip("numba")
METRIC = "length"


@pytest.fixture
def made(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A set with three openings, published scores, and the dialogues of a new system."""
    shutil.copytree(locate_set("en-v1").parent / "scripts", folder / "set" / "scripts")
    monkeypatch.setattr(partner_sets, "OPENINGS", 3)
    monkeypatch.setitem(partner_sets.RECIPES, "en-v1", replace(partner_sets.RECIPES["en-v1"], metric=METRIC))
    for action in ("build", "publish"):
        assert partner_sets.main([action, "en-v1", "--folder", "set", "--work", "work"]) == 0
    play = ["play", "run", "--target", "mine=eliza", "--partners", "set", "-o", "mine.jsonl", "--quiet"]
    assert main(play) == 0
    return folder / "set"


def test_a_set_is_built_and_published(made: Path) -> None:
    known, packaged = load_partners(made), load_partners("en-v1")
    quick = {partner.name: partner.spec for partner in known.partners}
    assert quick.items() <= {partner.name: partner.spec for partner in packaged.partners}.items()
    assert known.hash != packaged.hash, "it has fewer openings"
    assert known.files == hash_files(made)
    assert header(made / DIALOGUES)["partners"] == header(made / SCORES)["partners"] == known.hash
    assert header(made / SCORES)["metric"] == METRIC
    assert str(made) not in str(header(made / DIALOGUES)["specs"])
    text = partner_sets.tables("ja-v1", made, "a machine")
    assert f"Hash `{known.hash}`" in text
    assert "| `en-v1/echo` | `echo` |" in text


def test_trained_bots_become_partners(made: Path, folder: Path) -> None:
    from interloq.play.bots.seq2seq import Seq2Seq

    (folder / "bots" / "small").mkdir(parents=True)
    (folder / "bots" / "small" / "model.safetensors").write_bytes(b"x" * 100)
    specs = partner_sets._copy_bots(folder / "bots", made / "bots")
    assert specs == {"small": "seq2seq(model='set:bots/small',temperature=0.7,device='cpu')"}
    assert "bots/small/model.safetensors" in hash_files(made)
    assert partner_sets.reference_specs("en-v1", made, [])["small (en-v1)"].startswith(Seq2Seq.__name__.lower())
    (folder / "bots" / "small" / "model.safetensors").write_bytes(b"x" * (partner_sets.LARGEST + 1))
    with pytest.raises(SystemExit, match="more than 20,000,000"):
        partner_sets._copy_bots(folder / "bots", made / "bots")
