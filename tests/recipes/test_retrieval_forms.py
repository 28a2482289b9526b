"""Forms of retrieval on all rated sets, on small made-up data."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import retrieval_forms as recipe
from reference_pool import pool, sets_with_references
from results import load_measured
from retrieval import FORMS, METRIC, singles
from scipy.stats import spearmanr

from interloq import evaluate, load
from interloq.retrieve.extend import extend
from interloq.retrieve.index import create_index
from interloq.vectors.glove.job import train
from interloq.vectors.glove.settings import Glove
from interloq.vectors.word_vectors import WordVectors
from tests.made_relevance import TOPICS, said
from tests.recipes.test_reference_pool import write_all


@pytest.fixture(scope="module")
def arguments(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    data, work = write_all(tmp_path_factory.mktemp("data")), tmp_path_factory.mktemp("work")
    drawn = random.Random(0)
    texts = [said(topic, drawn) for topic in TOPICS for _ in range(20)]
    train([*texts, *["i don't like tea"] * 5], work / "glove", Glove(dimensions=8, epochs=2, min_count=1))
    words = ["do", "n't", "like", "tea", "rain", "the", "unk"]
    matrix = np.random.default_rng(0).normal(size=(len(words), 4)).astype(np.float32)
    WordVectors.of(words, matrix, tokenizer="13a(lowercase=True)").save(work / "ready")
    named = ["--vectors", str(work / "glove"), "--ready-vectors", str(work / "ready")]
    return ["--data", str(data), "--work", str(work), *named, "--resamples", "20"]


@pytest.fixture(scope="module")
def measured(arguments: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("measured") / "retrieval_forms.json"
    assert recipe.main([*arguments, "--measured", str(path)]) == 0
    return path


def test_findings_and_tables_are_written(measured: Path) -> None:
    found = load_measured(measured)
    assert {finding.item for finding in found.findings} == {"000/74", "001/33"}
    deciding = [finding for finding in found.findings if finding.decides]
    assert [(finding.item, finding.published) for finding in deciding] == [
        ("000/74", 0.061),
        ("001/33", 0.019),
    ]
    minima = [finding.data for finding in found.findings if finding.item == "001/33"]
    assert minima == ["USR PersonaChat, USR Topical-Chat"] * 6
    in_2023, in_2020 = found.tables
    assert list(in_2023.rows) == list(recipe.PUBLISHED)
    assert in_2023.rows["encoder, utterance"][0].ours is None
    assert in_2023.rows["GloVe, utterance"][0].published == 0.297
    assert [cell.published for cell in in_2020.rows["GloVe, utterance"]] == [0.333, 0.181, 0.366, 0.209]


def test_figures_are_means_over_the_sets(arguments: list[str], measured: Path) -> None:
    data, work = Path(arguments[1]), Path(arguments[3])
    index = create_index(work / "bm25-both", "bm25(target='both')", exact_up_to=10**9)
    pairs = pool(data, work)
    index.add(load(pairs, kind="pairs"), source="pool")
    values: list[float] = []
    for own in sets_with_references(data).values():
        scores = evaluate(METRIC, list(extend(singles(own.samples), index, k=15))).by_sample
        values.append(spearmanr([scores[sample.key] for sample in own.samples], own.human).statistic)
    row = load_measured(measured).tables[0].rows["BM25, utterance and response"]
    assert row[0].ours == pytest.approx(np.mean(values))


def test_the_encoder_is_compared_on_a_part_of_the_pool(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recipe, "FORMS", {**FORMS, recipe.ENCODER: "dense(encoder='fake32')"})
    path = tmp_path / "measured.json"
    assert recipe.main([*arguments, "--encoder", "30", "--measured", str(path)]) == 0
    found = load_measured(path)
    assert found.tables[0].rows["encoder, utterance"][0].ours is not None
    assert "30 pairs" in found.findings[-1].data
    assert not found.findings[-1].decides


def test_contractions_get_the_mean_of_their_parts(arguments: list[str], tmp_path: Path) -> None:
    work = Path(arguments[3])
    joined = WordVectors.load(recipe.join_contractions(str(work / "ready"), str(work / "glove"), tmp_path))
    parts = [joined.vector("do"), joined.vector("n't")]
    expected = sum(part / np.linalg.norm(part) for part in parts) / 2
    np.testing.assert_allclose(joined.vector("don't"), expected, rtol=1e-6)
    assert len(joined) == 8


def test_missing_data_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert recipe.main(["--data", str(tmp_path), "--work", str(tmp_path), "--vectors", "glove"]) == 2
    assert capsys.readouterr().err.startswith("retrieval_forms: no ")
