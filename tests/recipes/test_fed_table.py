"""The table of FED: on made data in the published layout, and on the real data where they are."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from random import Random

import fed_table
import numpy as np
import pytest
from scipy.stats import spearmanr

from interloq import Sample, evaluate
from interloq.metrics.likelihood.fed import Fed
from tests.made_lm import tiny_lm

TURN = [
    "Interesting", "Engaging", "Specific", "Relevant", "Correct", "Semantically appropriate",
    "Understandable", "Fluent", "Overall",
]  # fmt: skip
DIALOGUE = [
    "Coherent", "Error recovery", "Consistent", "Diverse", "Depth", "Likeable",
    "Understanding", "Flexible", "Informative", "Inquisitive", "Overall",
]  # fmt: skip


@pytest.fixture(scope="module")
def lm(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_lm(tmp_path_factory.mktemp("lm"), positions=256))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six replies and six dialogues with made-up judgments."""
    random, folder = Random(0), tmp_path_factory.mktemp("data")
    items = []
    for i in range(12):
        turns = f"User: hi {i}\nSystem: how was it ?\nUser: no idea {'x' * i}"
        names = TURN if i < 6 else DIALOGUE
        judged = {name: [random.randint(0, 4) for _ in range(5)] for name in names}
        reply = {"response": f"System: it was a day {'y' * i}"} if i < 6 else {}
        items.append({"context": turns, "system": "Meena", "annotations": judged, **reply})
    (folder / "fed").mkdir()
    (folder / "fed" / "fed_data.json").write_text(json.dumps(items))
    return folder


def people(samples: Sequence[Sample], aspect: str) -> list[float]:
    each = [[r.value for r in s.ratings if r.aspect == aspect and r.value is not None] for s in samples]
    return [float(np.mean(values)) for values in each]


def test_figures_are_those_of_the_metric(lm: str, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fed_table.main(["--model", lm, "--data", str(data), "--resamples", "20", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    rows = {(row["level"], row["dimension"], row["variant"]): row for row in printed["rows"]}
    assert printed["weights"].startswith("gpt2-")
    assert {level for level, _, _ in rows} == {"turn", "dialogue"}
    assert len({dimension for _, dimension, _ in rows}) == 18 + 1
    read = fed_table.read(data, 0)
    found = evaluate(Fed(lm, "understand", "whole"), read["dialogue"]).by_sample
    expected = spearmanr([found[s.key] for s in read["dialogue"]], people(read["dialogue"], "understanding")).statistic
    assert rows["dialogue", "understand", "whole"]["ours"] == pytest.approx(expected, abs=1e-9)
    words = [len(sample.response.split()) for sample in read["turn"]]
    expected = spearmanr(words, people(read["turn"], "fluent")).statistic
    assert rows["turn", "fluent", "length"]["ours"] == pytest.approx(expected, abs=1e-9)
    assert ("turn", "relevant", "negative only") not in rows, "it has no others"
    assert ("turn", "relevant", "positive only") not in rows
    found = evaluate(Fed(lm, "fluent", sets="positive_only"), read["turn"]).by_sample
    expected = spearmanr([found[s.key] for s in read["turn"]], people(read["turn"], "fluent")).statistic
    assert rows["turn", "fluent", "positive only"]["ours"] == pytest.approx(expected, abs=1e-9)
    assert rows["turn", "interesting", "conditional"]["published"] is None
    assert rows["turn", "interesting", "whole"]["published"] == 0.325
    assert ("dialogue", "depth", "length") not in rows
    assert rows["dialogue", "overall", "full"]["published"] == 0.695


def test_the_table_names_the_model_and_the_intervals(lm: str, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fed_table.main(["--model", lm, "--data", str(data), "--resamples", "20", "--limit", "4"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"model: {lm} (gpt2-")
    assert "turn level (3 rated)" in said
    line = next(line for line in said.splitlines() if line.startswith("interesting") and "whole" in line)
    assert " 0.325 " in line
    assert "[" in line


def test_a_dialogue_is_a_sample(data: Path) -> None:
    sample = fed_table.read(data, 0)["dialogue"][0]
    assert [turn.text for turn in sample.context] == ["hi 6", "how was it ?"]
    assert (sample.response, sample.system) == ("no idea xxxxxx", "Meena")
    assert not math.isnan(sample.ratings[0].value or 0)
