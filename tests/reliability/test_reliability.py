"""The modules of `interloq.reliability`: annotate file, curve file, settings."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from interloq import InputError, Rating, Sample, load, write
from interloq.data.files.opening import lines
from interloq.data.records.jsonl import header
from interloq.records import Pair
from interloq.reliability.annotate_file import annotation
from interloq.reliability.curve import curve
from interloq.reliability.curve_file import curve_file, read_curves
from interloq.reliability.labels import group_queries
from interloq.reliability.reliability_options import AnnotateOptions, CandidateOptions, CurveOptions
from interloq.reliability.settings import NETWORK, TRAINABLE, ReliabilitySettings
from tests.reliability.made_predictor import MadePredictor, use
from tests.reliability.made_queries import rated_samples

LOG = CandidateOptions(log=["pairs.jsonl"])
GIVEN = [
    Sample("s0", ["do you want tea ?"], "yes", ["tea"], "a"),
    Sample("s0", ["do you want tea ?"], "no", ["tea"], "b"),
    Sample("s0", ["do you want tea ?"], "no", ["pot"], "c"),
    Sample("s1", [" "], "no", ["pot"]),
]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, folder: Path) -> MadePredictor:
    write("pairs.jsonl", [Pair("p1", "do you like tea", "milk"), Pair("p2", "you like tea", "cup")], kind="pairs")
    write("samples.jsonl", GIVEN, kind="samples", dataset="made")
    return use(monkeypatch)


def test_samples_of_one_query_are_annotated_together(made: MadePredictor) -> None:
    with annotation("samples.jsonl", "record", LOG, AnnotateOptions(model="model")) as one:
        assert list(one.session.states) == ["s0", "s0 (c)", "s1"]
        one.session.keep()
        one.session.edit("a nice cup")
        one.session.keep()
        facts = one.write("out.jsonl")
    assert facts["counts"] == {
        "samples": 4, "queries": 3, "finished": 2, "steps": 3, "added": 2, "edited": 1,
    }  # fmt: skip
    added = [[(r.text, r.source) for r in s.references[1:]] for s in load("out.jsonl")]
    both = [("milk", "retrieved:p1"), ("a nice cup", "human")]
    assert added == [both, both, [], []]
    found = header("out.jsonl")
    assert found["dataset"] == "made"
    assert found["annotated"][0]["signature"]["parts"]["model"] == "reliability-made"


def test_the_record_is_not_an_input(made: MadePredictor) -> None:
    with (
        pytest.raises(InputError, match=r"pairs\.jsonl"),
        annotation("samples.jsonl", "pairs.jsonl", LOG, AnnotateOptions(model="model")),
    ):
        pass


def test_one_curve_per_metric(folder: Path) -> None:
    given = rated_samples(8, references=4)
    write("samples.jsonl", given, kind="samples")
    options = CurveOptions(sizes=[1, 2, 4], own=2, draws=2, n_bootstrap=10)
    found = curve_file("samples.jsonl", ["bleu_star", "bleu"], "curves.jsonl", options)
    assert [one.metric for one in found] == ["bleu_star", "bleu"]
    assert found[0] == curve(group_queries(given), "bleu_star", options)
    assert str(read_curves("curves.jsonl")) == str(found)  # NaN is not equal to itself
    assert header("curves.jsonl")["options"]["sizes"] == [1, 2, 4]
    assert len(list(lines("curves.jsonl"))) == 3


def test_the_output_is_not_the_input(folder: Path) -> None:
    write("samples.jsonl", rated_samples(4), kind="samples")
    with pytest.raises(InputError, match=r"samples\.jsonl"):
        curve_file("samples.jsonl", ["bleu_star"], "samples.jsonl")


def test_other_and_damaged_files_are_refused(folder: Path) -> None:
    write("samples.jsonl", rated_samples(2), kind="samples")
    with pytest.raises(InputError, match="not a file of curves"):
        read_curves("samples.jsonl")
    for line in ("{", "{}", '{"points":[{"level":1}]}', '{"points":[{"ci":[1]}]}'):
        Path("curves.jsonl").write_text('{"kind":"curves","schema":1}\n' + line + "\n")
        with pytest.raises(InputError, match="damaged"):
            read_curves("curves.jsonl")


def test_an_undefined_correlation_is_missing_in_the_file_too(folder: Path) -> None:
    same = [replace(sample, ratings=(Rating(3.0),)) for sample in rated_samples(6, references=2)]
    write("samples.jsonl", same, kind="samples")
    (found,) = curve_file("samples.jsonl", ["bleu_star"], "curves.jsonl", CurveOptions(sizes=[1, 2], n_bootstrap=5))
    assert all(math.isnan(point.value) for point in found.points)
    assert str(read_curves("curves.jsonl")) == str([found])


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"sizes": "3,x"}, "sizes must be whole numbers from 1, got '3,x'"),
        ({"sizes": "0,2"}, "sizes must be whole numbers from 1"),
        ({"dev": 1.0}, "dev must be between 0 and 1"),
        ({"negatives": -1}, "negatives must not be negative"),
        ({"margin": -0.1}, "margin must not be negative"),
        ({"ensemble": 0}, "ensemble must be above 0"),
        ({"seed": -1}, "seed must not be negative"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        ReliabilitySettings(**settings)


def test_defaults_are_those_of_the_paper_where_it_gives_them() -> None:
    settings = ReliabilitySettings()
    assert (settings.set_sizes, settings.per_size, settings.hidden, settings.batch) == ((3, 5, 7, 10), 25, 768, 128)
    assert NETWORK.settings[2].learning_rate == 5e-4
    assert TRAINABLE.instead == ("model", NETWORK)
    assert TRAINABLE.instead_flag == "--model network"
    assert NETWORK.instead_flag == "--fine-tune"


def test_the_settings_import_nothing_heavy() -> None:
    program = "import sys, interloq.reliability.settings; print(*{'torch','scipy','transformers'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_the_result_is_one_line() -> None:
    dev = {"mse": 0.1, "mse_of_mean": 0.3, "mse_of_size": 0.2, "wins": {"without": 0.6, "added": 0.75}}
    line = NETWORK.result({"best": {"dev_loss": 0.5, "epoch": 2}, "dev": dev}, [])
    for figure in ("0.5000 after epoch 2", "on dev 0.1000", "mean label 0.3000", "each size 0.2000", "60.0%", "75.0%"):
        assert figure in line
