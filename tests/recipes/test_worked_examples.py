"""The recipe of worked examples writes pages that show what was computed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import ream_sets
import worked_examples as recipe

from interloq import Sample, load
from interloq.records import Score
from tests.made_relevance import small_scorer
from tests.recipes.test_ream import write_data
from tests.recipes.test_reference_pool import write_all
from tests.recipes.test_spot_the_bot import write_dialogues
from tests.reliability.made_model import small_model


@pytest.fixture(scope="module")
def scorer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_scorer(tmp_path_factory.mktemp("model"), epochs=2, n=60)


def scores_of(path: Path) -> dict[str, list[Score]]:
    by_metric: dict[str, list[Score]] = {}
    for score in load(path, kind="scores"):
        by_metric.setdefault(score.metric, []).append(score)
    return by_metric


def test_references_and_dialogues(tmp_path: Path, scorer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, out = write_all(tmp_path), tmp_path / "out"
    write_dialogues(data)
    named = ["--rater", f"by(relevance(model={str(scorer)!r}))", "--encoder", str(scorer.parent / "encoder")]
    arguments = ["--data", str(data), "--out", str(out), *named, "-m", "length", "--items", "6", "--resamples", "5"]
    assert recipe.main(arguments) == 0, capsys.readouterr().err
    samples = load(out / "references.samples.jsonl")
    scores = scores_of(out / "references.scores.jsonl")
    assert list(scores) == ["BLEU, gold reply", "BLEU, all references", "υBLEU", "BERTScore, gold reply", "vBERTScore"]
    assert {len(values) for values in scores.values()} == {len(samples)}
    assert any(reference.weight < 1 for sample in samples for reference in sample.references)
    for gold, more in zip(scores["BLEU, gold reply"], scores["BLEU, all references"], strict=True):
        assert gold.key == more.key
    page = (out / "references.html").read_text()
    assert "References from logs, and their weights" in page
    assert "Would the ranking stay the same?" in (out / "dialogues.html").read_text()
    assert not (out / "reliability.html").exists()


def test_sets_with_a_good_repeated_or_foreign_reference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, network = write_data(tmp_path), small_model(tmp_path / "network", epochs=1)
    options = recipe.Options(data, tmp_path, "", "", [], str(network), 3, 5)
    recipe.reliability_page(options)
    samples = load(tmp_path / "reliability.samples.jsonl")
    (scores,) = scores_of(tmp_path / "reliability.scores.jsonl").values()
    first = {sample.system: sample for sample in samples[:4]}
    assert tuple(first) == recipe.KINDS
    given = [reference.text for reference in first["as given"].references]
    own, others = (one.texts[ream_sets.PEOPLE] for one in ream_sets.gupta(data)[:2])
    assert given == list(own[:4])
    assert [first[kind].references[-1].text for kind in ("good", "foreign")] == [own[4], others[0]]
    assert first["repeated"].references[-1].text.startswith(given[0][:-2])
    assert {len(first[kind].references) for kind in recipe.KINDS[1:]} == {5}
    found = recipe.effects(samples, np.array([score.value for score in scores]))
    change, share = found["foreign"]
    assert f"a foreign reference more: {change:+.4f} on average" in capsys.readouterr().out
    assert 0 <= share <= 1


def test_effects_are_changes_against_the_same_query() -> None:
    samples = [Sample(id, ["-"], "-", system=kind) for id in "ab" for kind in recipe.KINDS]
    found = recipe.effects(samples, np.array([0.1, 0.3, 0.1, 0.0, 0.5, 0.5, 0.4, 0.9]))
    assert found["good"] == pytest.approx((0.1, 0.5))
    assert found["repeated"] == pytest.approx((-0.05, 0))
    assert found["foreign"] == pytest.approx((0.15, 0.5))


def test_missing_data_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert recipe.main(["--data", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    assert "worked_examples: " in capsys.readouterr().err
