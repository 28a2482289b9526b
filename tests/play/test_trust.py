"""Files from others describe; they do not execute."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from interloq import InputError, create
from interloq.cli.main import main
from interloq.models.pretrained import model_folder
from interloq.play.openings import read_openings
from interloq.play.partners import load_partners, partner_bots, partner_set, save_partners
from interloq.play.trust import ALLOWED_KEYS, check_trust, side_effect

PROGRAM = "process(command=('touch','was here'))"
MODULE = "function(path='made_by_others:speak')"
SERVER = "endpoint(url='http://127.0.0.1:9/v1',model='m',key='MADE_UP_SECRET')"


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (PROGRAM, "starts the program: touch 'was here'"),
        (MODULE, "imports the module 'made_by_others' and calls 'made_by_others:speak'"),
        (SERVER, "sends dialogues to http://127.0.0.1:9/v1 with the key in MADE_UP_SECRET"),
        ("endpoint(url='https://h/v1',model='m',key='')", "sends dialogues to https://h/v1"),
        (
            "retrieval(index='qdrant://h/x')",
            "sends the last turns to qdrant://h/x with the key in INTERLOQ_QDRANT_API_KEY",
        ),
        ("retrieval(index='postgresql://me:word@h/x')", "sends the last turns to h/x with the key in PGPASSWORD"),
        ("hf(model='hub:org/name@main')", "downloads hub:org/name@main"),
        ("hf(model='folder')", ""),
        ("retrieval(index='folder')", ""),
        ("replay(dialogues='d.jsonl')", ""),
        ("eliza", ""),
        ("echo", ""),
    ],
)
def test_what_bots_do_beyond_speaking(spec: str, said: str) -> None:
    assert side_effect(create(spec, kind="bot")) == said


def test_a_bot_of_another_package_that_says_nothing_may_do_anything() -> None:
    from tests.made_bots import Teller

    assert side_effect(Teller("x")) == "runs tests.made_bots:Teller"


@pytest.mark.parametrize("spec", [PROGRAM, MODULE, SERVER])
def test_bots_of_a_file_wait_for_trust(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, spec: str
) -> None:
    """Refused with what they would do; nothing was started, imported or sent, and nothing written."""
    monkeypatch.setenv("MADE_UP_SECRET", "hidden")
    (folder / "made_by_others.py").write_text("open('was here', 'w').close()\ndef speak(turns, seed): return 'x'\n")
    (folder / "bots.json").write_text(json.dumps({"theirs": spec, "own": "eliza"}))
    for command in (["run", "--scheme", "self-play", "--limit", "1"], ["partners"]):
        assert main(["play", *command, "--bots", "bots.json", "-o", "out.jsonl"]) == 2
        said = capsys.readouterr().err
        assert said.startswith("interloq: bots.json: bots in this file do more than talk: 'theirs' ")
        assert side_effect(create(spec, kind="bot")) in said
        assert "'own'" not in said
        assert "add --trust" in said
        assert "hidden" not in said
    assert sorted(path.name for path in folder.iterdir()) == ["bots.json", "made_by_others.py"]
    assert "made_by_others" not in sys.modules


def test_partner_sets_wait_for_trust(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "bot.py").write_text(
        "import json, sys\nopen('was here', 'w').close()\n"
        "for line in sys.stdin: print(json.dumps({'id': json.loads(line)['id'], 'text': 'hm'}), flush=True)\n"
    )
    theirs = create(f"process(command=({sys.executable!r},'bot.py'))", kind="bot")
    openings = read_openings("embedded:en")
    save_partners("p.json", partner_set({"theirs": theirs}, openings, exchanges=1, source="embedded:en"))
    with pytest.raises(InputError, match=r"p.json: bots in this file do more than talk: 'theirs' starts the program"):
        partner_bots(load_partners("p.json"), "p.json")
    run = ["play", "run", "--target", "mine=eliza", "--partners", "p.json", "--limit", "1", "-o", "d.jsonl"]
    assert main(run) == 2
    assert not (folder / "was here").exists()
    capsys.readouterr()
    assert main([*run, "--trust"]) == 0
    said = capsys.readouterr().err
    assert said.startswith(f"trusted: p.json: 'theirs' starts the program: {sys.executable} bot.py\n")
    assert (folder / "was here").exists()


def test_a_key_goes_only_where_the_user_says(monkeypatch: pytest.MonkeyPatch) -> None:
    bots, told = {"theirs": create(SERVER, kind="bot")}, list[str]()
    monkeypatch.delenv(ALLOWED_KEYS, raising=False)
    monkeypatch.delenv("MADE_UP_SECRET", raising=False)
    check_trust(bots, "p.json", told.append)  # there is nothing to send
    monkeypatch.setenv("MADE_UP_SECRET", "hidden")
    with pytest.raises(
        InputError, match="would send the key in MADE_UP_SECRET to a server named in the file"
    ) as caught:
        check_trust(bots, "p.json", told.append)
    assert f"{ALLOWED_KEYS}=MADE_UP_SECRET" in str(caught.value)
    assert "hidden" not in str(caught.value)
    monkeypatch.setenv(ALLOWED_KEYS, "OTHER, MADE_UP_SECRET")
    check_trust(bots, "p.json", told.append)
    assert (
        told
        == ["trusted: p.json: 'theirs' sends dialogues to http://127.0.0.1:9/v1 with the key in MADE_UP_SECRET"] * 3
    )


def test_models_are_found_without_importing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "made_by_others.py").write_text("open('was here', 'w').close()\ndef get_model_path(): return '.'\n")
    monkeypatch.syspath_prepend(folder)
    for name in ("made_by_others", "made-by-others", "this", "numpy", "", "a\0b"):
        with pytest.raises(InputError, match=r"no model folder or installed model package|has no \*.safetensors"):
            model_folder(name)
    assert not (folder / "was here").exists()
    assert "made_by_others" not in sys.modules


def test_an_installed_package_that_carries_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its list of files, and by either spelling of its name."""
    (tmp_path / "their_model" / "weights").mkdir(parents=True)
    (tmp_path / "their_model" / "__init__.py").write_text("raise RuntimeError('imported')")
    (tmp_path / "their_model" / "weights" / "model.safetensors").touch()
    facts = tmp_path / "their_model-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: their-model\nVersion: 1.0\n")
    (facts / "RECORD").write_text("their_model/__init__.py,,\ntheir_model/weights/model.safetensors,,\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert model_folder("their-model") == model_folder("their_model") == tmp_path / "their_model" / "weights"
    (facts / "RECORD").write_text("their_model/a/model.safetensors,,\ntheir_model/b/model.safetensors,,\n")
    with pytest.raises(InputError, match="the package contains 2 folders of weights"):
        model_folder("their-model")
