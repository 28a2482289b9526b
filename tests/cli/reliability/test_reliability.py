from __future__ import annotations

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
    few = [replace(sample, id=f"few {sample.id}") for sample in rated_samples(2, references=2, seed=1)]
    write("samples.jsonl", [*rated_samples(8, references=4), *few], kind="samples")
    assert main([*CURVE, "-m", "bleu_star", "--sizes", "1,2,4", "--own", "2"]) == 1
    printed = capsys.readouterr().out
    assert "bleu_star: Pearson correlation with people, mean over queries (95 % interval)" in printed
    assert "bleu_star: Pearson correlation with people, over all replies (95 % interval)" in printed
    assert "8 queries with 48 rated replies" in printed
    assert "skipped: 2 queries with fewer references than the largest" in printed


def test_ignored_weights_are_reported(samples: Path, capsys: Captured) -> None:
    first, *others = rated_samples(8)
    distrusted = tuple(replace(reference, weight=-0.5) for reference in first.references)
    write("samples.jsonl", [replace(first, references=distrusted), *others], kind="samples")
    assert main([*CURVE, "-m", "bleu_star", "--sizes", "1"]) == 0
    note = f"note: {len(distrusted)} references of weight 0 or below counted in full, because the curve ignores weights"
    assert note in capsys.readouterr().out


def test_a_metric_is_needed(samples: Path, capsys: Captured) -> None:
    assert main(CURVE) == 2
    assert "at least one metric is needed" in capsys.readouterr().err
