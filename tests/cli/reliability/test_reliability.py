from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from interloq import write
from interloq.cli.main import main
from tests.reliability.made_queries import rated_samples

Captured = pytest.CaptureFixture[str]
CURVE = ["reliability", "curve", "samples.jsonl", "--bootstrap", "20", "--draws", "2", "--quiet"]


@pytest.fixture
def samples(folder: Path) -> Path:
    write("samples.jsonl", rated_samples(8, references=4), kind="samples")
    return folder


def test_curves_as_tables(samples: Path, capsys: Captured) -> None:
    assert main([*CURVE, "-m", "bleu_star", "--sizes", "1,2,4", "--own", "2"]) == 0
    printed = capsys.readouterr().out
    assert "bleu_star: Pearson correlation with people, mean over queries (95 % interval)" in printed
    assert "bleu_star: Pearson correlation with people, over all replies (95 % interval)" in printed
    assert "8 queries with 48 rated replies" in printed


def test_curves_as_json_and_in_a_file(samples: Path, capsys: Captured) -> None:
    assert main([*CURVE, "-m", "bleu_star", "--sizes", "1,4", "--json", "-o", "curves.jsonl"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert [point["references"] for point in found["points"]] == [1, 4, 1, 4]
    assert Path("curves.jsonl").exists()


def test_skipped_queries_are_reported(samples: Path, capsys: Captured) -> None:
    few = [replace(sample, id=f"few {sample.id}") for sample in rated_samples(2, references=2, seed=1)]
    write("samples.jsonl", [*rated_samples(8), *few], kind="samples")
    assert main([*CURVE, "-m", "bleu_star", "--sizes", "3"]) == 1
    assert "skipped: 2 queries with fewer references than the largest" in capsys.readouterr().out


def test_replies_that_equal_a_reference_are_excluded_if_asked(samples: Path, capsys: Captured) -> None:
    first, *others = rated_samples(8, references=4)
    write("samples.jsonl", [replace(first, response=first.references[0].text), *others], kind="samples")
    command = [*CURVE, "-m", "bleu_star", "--sizes", "1,4"]
    assert main(command) == 0
    assert "--without-copies" in capsys.readouterr().out
    assert main([*command, "--without-copies"]) == 0
    assert "47 rated replies" in capsys.readouterr().out


def test_ignored_weights_are_reported(samples: Path, capsys: Captured) -> None:
    first, *others = rated_samples(8)
    distrusted = tuple(replace(reference, weight=-0.5) for reference in first.references)
    write("samples.jsonl", [replace(first, references=distrusted), *others], kind="samples")
    assert main([*CURVE, "-m", "bleu_star", "--sizes", "1"]) == 0
    note = f"note: {len(distrusted)} references of weight 0 or below counted in full, because the curve ignores weights"
    assert note in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ([], "at least one metric is needed"),
        (["-m", "bleu_star", "--sizes", "1,x"], "sizes must be whole numbers, got '1,x'"),
        (["-m", "bleu_star", "--sizes", "90"], "no query has 90 references"),
    ],
)
def test_refused(samples: Path, capsys: Captured, more: list[str], what: str) -> None:
    assert main([*CURVE, *more]) == 2
    assert what in capsys.readouterr().err
