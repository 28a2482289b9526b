from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError, write
from interloq.data.files import lines
from interloq.data.jsonl import header
from interloq.pipelines.curve_file import curve_file
from interloq.reliability.curve import curve
from interloq.reliability.labels import group
from tests.reliability.made_queries import rated_samples


def test_one_curve_per_metric(folder: Path) -> None:
    given = rated_samples(8, references=4)
    write("samples.jsonl", given, kind="samples")
    found = curve_file(
        "samples.jsonl", ["bleu_star", "bleu"], "curves.jsonl", sizes=[1, 2, 4], own=2, draws=2, n_bootstrap=10
    )
    assert [one.metric for one in found] == ["bleu_star", "bleu"]
    assert found[0] == curve(group(given), "bleu_star", sizes=[1, 2, 4], own=2, draws=2, n_bootstrap=10)
    assert header("curves.jsonl")["options"]["sizes"] == [1, 2, 4]
    assert len(list(lines("curves.jsonl"))) == 3


def test_the_output_is_not_the_input(folder: Path) -> None:
    write("samples.jsonl", rated_samples(4), kind="samples")
    with pytest.raises(InputError, match=r"samples\.jsonl"):
        curve_file("samples.jsonl", ["bleu_star"], "samples.jsonl")
