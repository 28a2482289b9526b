"""The verb train judge."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interloq.cli.main import main
from tests.made_judge import write_sets
from tests.made_relevance import small_scorer

Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def scorer(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(small_scorer(tmp_path_factory.mktemp("relevance")))


def test_train_then_score(scorer: str, folder: Path, capsys: Captured) -> None:
    files = write_sets(folder, 40, 40, 30)
    command = ["train", "judge", *files[:2], "--scorer", scorer, "-o", "judge", "--least", "20", "--device", "cpu"]
    assert main(command) == 0
    shown = capsys.readouterr()
    assert "judge: JudgeSettings(least=20)|scorer:relevance-" in shown.out
    assert "80 rated replies, 0 samples omitted" in shown.err
    assert main([*command, "--json", "--quiet"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["aspects"]
    line = f"overall: 80 replies of 2 sets, λ {one['strength']:g}; Spearman on held-out replies {one['spearman']:.3f} ["
    assert line in shown.out
    assert main(["score", files[2], "-m", "judge(model='judge')", "-o", "scores.jsonl", "--bootstrap", "0"]) == 0
    assert "note:" not in capsys.readouterr().out
    assert main(["score", files[0], "-m", "judge(model='judge')", "--bootstrap", "0"]) == 0
    assert "all 40 replies are among those judge learned from" in capsys.readouterr().out


def test_tune_then_score(scorer: str, folder: Path, capsys: Captured) -> None:
    files = write_sets(folder, 60, 40, 30)
    command = ["train", "judge", *files[:2], "--scorer", scorer, "-o", "judge", "--least", "20", "--device", "cpu"]
    assert main([*command, "--epochs", "2"]) == 2
    assert "--epochs is used with --tune only; omit --epochs, or add --tune" in capsys.readouterr().err
    assert main([*command, "--tune", "--epochs", "2", "--without", files[2]]) == 0
    shown = capsys.readouterr()
    assert "judge: TuneSettings(" in shown.out
    assert " replies of 2 sets; Spearman on 10 held-out replies " in shown.out
    assert "2 sets for training, 10 for dev" in shown.err
    assert main(["score", files[2], "-m", "judge(model='judge')", "--bootstrap", "0"]) == 0
    assert "note:" not in capsys.readouterr().out
    assert main(["score", files[0], "-m", "judge(model='judge')", "--bootstrap", "0"]) == 0
    assert "all 60 replies are among those judge learned from" in capsys.readouterr().out
    assert main([*command, "--tune"]) == 2
    assert "contains a job with other settings, another scorer or other ratings" in capsys.readouterr().err


def test_bad_lines_are_set_aside(scorer: str, folder: Path, capsys: Captured) -> None:
    (path,) = write_sets(folder, 40)
    with Path(path).open("a") as file:
        file.write('{"broken": \n')
    assert main(["train", "judge", path, "--scorer", scorer, "-o", "judge", "--least", "20", "--device", "cpu"]) == 1
    assert f"1 bad line of {path} " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("none.jsonl --scorer {scorer} -o judge", "no file 'none.jsonl'"),
        ("- --scorer {scorer} -o judge", "a pipe cannot be read twice"),
        ("rated0.jsonl --scorer missing -o judge", "missing: no model in the folder"),
        ("rated0.jsonl --scorer {scorer} -o judge --least 0", "least must be above 0"),
        ("rated0.jsonl -o judge", "--scorer"),
    ],
)
def test_it_could_not_start(words: str, says: str, scorer: str, folder: Path, capsys: Captured) -> None:
    write_sets(folder, 40)
    try:
        code = main(["train", "judge", *words.format(scorer=scorer).split()])
    except SystemExit as error:  # argparse
        code = int(error.code or 0)
    assert code == 2
    assert says in capsys.readouterr().err
    assert not Path("judge").exists()
