"""Files from others describe; they do not execute."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from interloq import InputError, Sample, SpecError, create, write
from interloq.cli.main import main
from interloq.models.pretrained import model_folder
from interloq.play.openings import read_openings
from interloq.play.partners import load_partners, partner_bots, partner_set, save_partners
from interloq.registry import names
from interloq.trust import ALLOWED_KEYS, check_trust, side_effect
from tests.made_chat_server import serving
from tests.made_judge_server import JudgeServer

PROGRAM = "process(command=('touch','was here'))"
MODULE = "function(path='made_by_others:speak')"
JUDGE = "llm_judge(model='m',endpoint='http://127.0.0.1:9/v1',key='MADE_UP_SECRET')"
SERVER = "endpoint(url='http://127.0.0.1:9/v1',model='m',key='MADE_UP_SECRET')"


@pytest.mark.parametrize(
    ("spec", "message"),
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
def test_what_bots_do_beyond_speaking(spec: str, message: str) -> None:
    assert side_effect(create(spec, kind="bot")) == message


@pytest.mark.parametrize(
    ("spec", "effect"),
    [
        (JUDGE, "sends samples to http://127.0.0.1:9/v1 with the key in MADE_UP_SECRET"),
        ("llm_judge(model='hub:org/name@main')", "downloads hub:org/name@main"),
        ("llm_judge(model='folder')", ""),
        ("perplexity(model='hub:org/name@main')", "downloads hub:org/name@main"),
        (f"blend(metrics=(chrf,{JUDGE}))", "sends samples to http://127.0.0.1:9/v1 with the key in MADE_UP_SECRET"),
        (
            f"vbleu(index='qdrant://h/x',rater=by({JUDGE}))",
            "sends contexts to qdrant://h/x with the key in INTERLOQ_QDRANT_API_KEY, "
            "sends samples to http://127.0.0.1:9/v1 with the key in MADE_UP_SECRET",
        ),
        ("vbleu(index='folder',rater=gru(model='rater'))", ""),
        (
            "vbertscore(index='folder',rater=gru(model='rater'),model='hub:org/name@main')",
            "downloads hub:org/name@main",
        ),
        ("bleu(order=2,tokenizer='char')", ""),
    ],
)
def test_what_metrics_do_beyond_computing(spec: str, effect: str) -> None:
    assert side_effect(create(spec, kind="metric")) == effect


def test_every_metric_and_bot_without_a_server_only_computes() -> None:
    for kind in ("metric", "rater", "retriever", "tokenizer"):
        for name in names(kind):
            with suppress(SpecError, InputError):  # those that need a folder or a log
                assert side_effect(create(name, kind=kind)) == ""


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
        message = capsys.readouterr().err
        assert message.startswith("interloq: bots.json: its specs reach outside the program: 'theirs' ")
        assert side_effect(create(spec, kind="bot")) in message
        assert "'own'" not in message
        assert "add --trust" in message
        assert "hidden" not in message
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
    with pytest.raises(InputError, match=r"p.json: its specs reach outside the program: 'theirs' starts the program"):
        partner_bots(load_partners("p.json"), "p.json")
    run = ["play", "run", "--target", "mine=eliza", "--partners", "p.json", "--limit", "1", "-o", "d.jsonl"]
    assert main(run) == 2
    assert not (folder / "was here").exists()
    capsys.readouterr()
    assert main([*run, "--trust"]) == 0
    message = capsys.readouterr().err
    assert message.startswith(f"trusted: p.json: 'theirs' starts the program: {sys.executable} bot.py\n")
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


# ---- metrics in files ------------------------------------------------------------------------------------------------


@pytest.fixture
def judge_server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[JudgeServer]:
    """A server that counts what it is sent, and a secret that must not reach it."""
    monkeypatch.setenv("MADE_UP_SECRET", "hidden")
    monkeypatch.setenv("INTERLOQ_CACHE", str(folder / "cache"))
    monkeypatch.delenv(ALLOWED_KEYS, raising=False)
    for name in ("old", "new"):
        samples = [
            Sample(str(i), [f"q {i}"], f"{name} {'word ' * (i % 4 + 1)}", ratings=[i % 5 + i / 9]) for i in range(12)
        ]
        write(f"{name}.jsonl", samples, kind="samples")
    with serving(JudgeServer()) as server:
        yield server


def refuses(command: list[str], server: JudgeServer, capsys: pytest.CaptureFixture[str], *, effect: str) -> None:
    """The command is refused with what the file asks for; nothing was sent, and no variable was read."""
    read = list[str]()

    class Watched(dict[str, str]):
        def get(self, name: str, default: str | None = None) -> str | None:  # type: ignore[override]
            read.append(name)
            return super().get(name, default)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "environ", Watched(os.environ))
        assert main(command) == 2
    error = capsys.readouterr().err
    assert effect in error
    assert "--trust" in error
    assert "hidden" not in error
    assert error.count("\n") == 1
    assert server.seen == []
    assert "MADE_UP_SECRET" not in read


@pytest.mark.parametrize("verb", ["score", "probe", "data check", "compare", "gate"])
def test_metrics_of_a_chosen_file_wait_for_trust(
    judge_server: JudgeServer, folder: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    judge = f"llm_judge(model='m',endpoint={judge_server.url!r},key='MADE_UP_SECRET')"
    (folder / "chosen.json").write_text(json.dumps({"metrics": ["length", judge]}))
    command = {
        "score": ["score", "new.jsonl", "-m", "@chosen.json"],
        "probe": ["probe", "@chosen.json", "new.jsonl"],
        "data check": ["data", "check", "new.jsonl", "-m", "@chosen.json"],
        "compare": ["compare", "old.jsonl", "new.jsonl", "-m", "@chosen.json"],
        "gate": ["gate", "old.jsonl", "new.jsonl", "-m", "@chosen.json", "--margin", "1"],
    }[verb]
    refuses(command, judge_server, capsys, effect=f"sends samples to {judge_server.url} with the key in MADE_UP_SECRET")


def test_a_trusted_file_prints_what_it_does_and_gets_no_key_that_was_not_allowed(
    judge_server: JudgeServer, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = f"llm_judge(model='m',endpoint={judge_server.url!r},key='MADE_UP_SECRET')"
    (folder / "chosen.json").write_text(json.dumps({"metrics": [judge]}))
    command = ["score", "new.jsonl", "-m", "@chosen.json", "--trust"]
    assert main(command) == 2
    assert "would send the key in MADE_UP_SECRET" in capsys.readouterr().err
    assert judge_server.seen == []
    monkeypatch.setenv(ALLOWED_KEYS, "MADE_UP_SECRET")
    assert main(command) == 0
    assert capsys.readouterr().err.startswith(f"trusted: chosen.json: {judge!r} sends samples to {judge_server.url}")
    assert len(judge_server.seen) == 12


def test_a_spec_on_the_command_line_needs_no_trust(
    judge_server: JudgeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    judge = f"llm_judge(model='m',endpoint={judge_server.url!r},key='MADE_UP_SECRET')"
    assert main(["score", "new.jsonl", "-m", judge]) == 0
    assert "trusted" not in capsys.readouterr().err
    assert len(judge_server.seen) == 12


def test_plain_metrics_of_files_need_no_trust(judge_server: JudgeServer, folder: Path) -> None:
    (folder / "chosen.json").write_text(json.dumps({"metrics": ["length", "distinct"]}))
    assert main(["score", "new.jsonl", "-m", "@chosen.json"]) == 0
    options = ["--higher-is-better", "--no-slices", "--quiet"]
    assert main(["gate", "old.jsonl", "-m", "length", "--higher-is-better", "--bless", "--baseline", "base.jsonl"]) == 0
    assert main(["gate", "new.jsonl", "--baseline", "base.jsonl", "--margin", "3", *options]) in (0, 3, 4)
    assert judge_server.seen == []


@pytest.mark.parametrize("metric", ["llm_judge(model='m',endpoint={url!r},key='MADE_UP_SECRET')", "theirs.py:fn"])
def test_the_metric_of_a_baseline_waits_for_trust(
    judge_server: JudgeServer, folder: Path, capsys: pytest.CaptureFixture[str], metric: str
) -> None:
    assert main(["gate", "old.jsonl", "-m", "length", "--higher-is-better", "--bless", "--baseline", "base.jsonl"]) == 0
    (folder / "theirs.py").write_text("open('was here', 'w').close()\ndef fn(sample): return 1\n")
    name = metric.format(url=judge_server.url)
    lines = (folder / "base.jsonl").read_text().replace('"length"', json.dumps(name))
    (folder / "base.jsonl").write_text(lines)
    command = ["gate", "new.jsonl", "--baseline", "base.jsonl", "--margin", "1"]
    refuses(command, judge_server, capsys, effect="executes theirs.py" if ".py" in metric else "sends samples to")
    assert not (folder / "was here").exists()


def test_the_metric_of_score_files_waits_for_trust(
    judge_server: JudgeServer, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With `--rated`, the gate scores rated samples by the metric that the score files name."""
    name = f"llm_judge(model='m',endpoint={judge_server.url!r},key='MADE_UP_SECRET')"
    for version in ("old", "new"):
        assert main(["score", f"{version}.jsonl", "-m", "length", "-o", f"{version}.scores.jsonl"]) == 0
        path = folder / f"{version}.scores.jsonl"
        path.write_text(path.read_text().replace('"length"', json.dumps(name)))
    command = ["gate", "old.scores.jsonl", "new.scores.jsonl", "--rated", "old.jsonl", "--margin", "1"]
    capsys.readouterr()
    refuses(command, judge_server, capsys, effect="sends samples to")


def test_a_model_named_in_a_folder_is_not_downloaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(InputError, match=r"is not on this machine, and names in files are not downloaded"):
        model_folder("hub:org/name@0123", download=False)
