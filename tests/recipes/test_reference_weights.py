from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import reference_weights as recipe
from reference_pool import sets_with_one_reference
from results import load_measured
from scipy.stats import spearmanr

from interloq import Reference, Sample, evaluate
from tests.made_relevance import small_scorer
from tests.recipes.test_reference_pool import write_all

RATED = Sample(
    "s", ["hi"], "reply", [Reference("gold"), Reference("a", 0.6, "parrot"), Reference("b", -0.2, "retrieved:1")]
)


def weights_of(way: recipe.Way) -> list[float]:
    return [reference.weight for reference in way.apply(RATED, gold_weight=0.4).references]


@pytest.mark.parametrize(
    ("way", "expected"),
    [
        (recipe.Way(), [1, 0.6, -0.2]),
        (recipe.Way(gold_rated=True), [0.4, 0.6, -0.2]),
        (recipe.Way(recipe.SIGNED), [1, 0.8, -0.6]),
        (recipe.Way(recipe.SIGNED, gold_rated=True), [0.7, 0.8, -0.6]),
        (recipe.Way(narrow=0.25), [1, 0.9, 0.7]),
        (recipe.Way(narrow=0.25, gold_rated=True), [0.85, 0.9, 0.7]),
        (recipe.Way(best=1), [1, 0.6]),
        (recipe.Way(weigh=False, best=1), [1, 1]),
    ],
)
def test_a_way_changes_the_weights(way: recipe.Way, expected: list[float]) -> None:
    assert weights_of(way) == pytest.approx(expected)


def test_the_ways_have_names_of_their_own() -> None:
    assert len({str(way) for way in recipe.WAYS}) == len(recipe.WAYS) == 24
    assert set(recipe.DEFAULTS.values()) <= set(recipe.WAYS)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_all(tmp_path_factory.mktemp("data"))


def test_rows_are_those_of_the_metric_and_the_measured_file_has_them(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("INTERLOQ_CACHE", "off")
    monkeypatch.setenv("INTERLOQ_VECTOR_CACHE", "")
    model = small_scorer(tmp_path / "model", epochs=2, n=60)
    scorer, encoder = f"relevance(model={str(model)!r})", str(model.parent / "encoder")
    arguments = ["--data", str(data), "--work", str(tmp_path / "work"), "--scorer", scorer, "--encoder", encoder]
    measured = tmp_path / "weights.json"
    assert recipe.main([*arguments, "--resamples", "20", "--measured", str(measured)]) == 0
    printed = capsys.readouterr().out
    findings = load_measured(measured).findings
    assert {finding.item for finding in findings} == {"000/78"}
    assert not any(finding.decides for finding in findings)
    own = sets_with_one_reference(data)["USR PersonaChat"]
    rater = f"by({scorer},gold='rated')"
    spec = f"vbleu(index={str(tmp_path / 'work' / 'bm25')!r},rater={rater},tokenizer='13a(lowercase=True)')"
    by_sample = evaluate(spec, own.samples).by_sample
    scores = np.array([by_sample[sample.key] for sample in own.samples], dtype=float)
    scored = np.isfinite(scores)
    expected = spearmanr(scores[scored], own.human[scored]).statistic
    line, *_ = [line for line in printed.splitlines() if line.startswith(" BLEU-2, linear, gold rated  ")]
    assert f"{expected:.3f}" in line
