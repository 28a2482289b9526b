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


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set with two openings and few reference systems, and the dialogues of a new system."""
    root = tmp_path_factory.mktemp("published")
    shutil.copytree(locate_set("en-v1").parent / "scripts", root / "set" / "scripts")
    few = {name: partner_sets.REFERENCES[name] for name in ("echo", "eliza", "retrieval")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partner_sets, "OPENINGS", 2)
        patch.setattr(partner_sets, "REFERENCES", few)
        patch.setitem(partner_sets.RECIPES, "en-v1", replace(partner_sets.RECIPES["en-v1"], metric=METRIC))
        for action in ("build", "publish"):
            paths = ["--folder", str(root / "set"), "--work", str(root / "work")]
            assert partner_sets.main([action, "en-v1", *paths]) == 0
    play = ["play", "run", "--target", "mine=eliza", "--partners", str(root / "set"), "--quiet"]
    assert main([*play, "-o", str(root / "mine.jsonl")]) == 0
    return root


@pytest.fixture
def made(published: Path, folder: Path) -> Path:
    """A copy of the set and of the dialogues in the working directory."""
    shutil.copytree(published / "set", folder / "set")
    shutil.copy(published / "mine.jsonl", folder / "mine.jsonl")
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
