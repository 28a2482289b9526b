"""Rated references by people and by a rater, on small made-up data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import rated_references as recipe
from rated_sets import RatedSet
from results import load_measured

from interloq import Reference, Sample
from tests.made_relevance import small_scorer
from tests.recipes.test_reference_pool import write_all

ITEM = {
    "context": ["tea ?", "do n't like it ."],
    "positive_responses": ["gold", "a", "b", "c"],
    "adversarial_negative_responses": ["d", "e"],
    "random_negative_responses": ["f", "g", "h"],
}


def test_each_reply_is_judged_once_with_the_other_half_as_references() -> None:
    samples, kinds = recipe.plusplus_samples([ITEM])
    labels = recipe.label_candidates(kinds)
    assert samples[0].context[-1].text == "don't like it ."
    made = recipe.swap_halves(samples, kinds, labels)
    assert [sample.response for sample in made] == ["a", "b", "c", "d", "e", "f", "g", "h"]
    found = {sample.response: {r.text: r.weight for r in sample.references} for sample in made}
    first, second = {"b": 1, "e": -1, "g": -1}, {"a": 1, "c": 1, "d": -1, "f": -1, "h": -1}
    for response, references in found.items():
        assert references == {"gold": 1} | (first if response in second else second)
    assert all(len(sample.references) == 1 for sample in recipe.swap_halves(samples, kinds, None))


def made_rated() -> RatedSet:
    texts = [("one", "a"), ("one", "b"), ("one", "c"), ("two", "d"), ("two", "e")]
    samples = [Sample(f"{i}", [context], text, [Reference("gold")]) for i, (context, text) in enumerate(texts)]
    return RatedSet(samples, np.arange(5), np.array([1.0, 3.0, 5.0, 2.0, 2.0]))


def test_other_systems_replies_are_the_references_of_contexts_with_several() -> None:
    rated, groups = recipe.keep_several(made_rated())
    assert groups == [[0, 1, 2]]
    weights = recipe.weights_by_people(rated, groups)
    assert weights[0].tolist() == [-1, 0, 1]
    (asked,) = recipe.replies_as_candidates(rated, groups)
    assert [reference.text for reference in asked.references] == ["gold", "a", "b", "c"]
    made = recipe.with_other_replies(rated, groups, weights)
    found = [{reference.text: reference.weight for reference in sample.references} for sample in made]
    assert found == [{"gold": 1, "b": 0, "c": 1}, {"gold": 1, "a": -1, "c": 1}, {"gold": 1, "a": -1, "b": 0}]


def test_weights_are_shuffled_within_a_context() -> None:
    weights = [np.arange(9.0), np.arange(9.0, 14.0)]
    shuffled = recipe.shuffle_within(weights)
    assert [sorted(own) for own in shuffled] == [own.tolist() for own in weights]
    assert shuffled[0].tolist() != weights[0].tolist()


def test_the_larger_probability_keeps_its_sign() -> None:
    assert recipe.take_larger_probability(np.array([-1.0, -0.5, 0.0, 0.5, 1.0])).tolist() == [-1, -0.75, 0.5, 0.75, 1]


def test_findings_and_the_table_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INTERLOQ_CACHE", raising=False)
    data = write_all(tmp_path / "data")
    monkeypatch.setattr(recipe, "FEWEST", 2)
    scorer = f"by(relevance(model={str(small_scorer(tmp_path / 'model', epochs=2, n=60))!r}))"
    path = tmp_path / "measured.json"
    arguments = ["--data", str(data), "--work", str(tmp_path / "work"), "--rater", scorer, "--resamples", "20"]
    assert recipe.main([*arguments, "--measured", str(path)]) == 0
    found = load_measured(path)
    deciding = [(finding.item, finding.way.split(":")[0]) for finding in found.findings if finding.decides]
    proxies = [recipe.PLUSPLUS, recipe.OTHERS]
    assert deciding == [
        ("000/85", scorer.split(":")[0]),
        *((item, proxy) for proxy in proxies for item in recipe.COMPARABLE),
    ]
    assert all(finding.threshold == -0.03 for finding in found.findings if "rater − people" in finding.way)
    (table,) = found.tables
    assert [cell.published for cell in table.rows["people"]] == list(recipe.PUBLISHED_PEOPLE)
    cached = list((tmp_path / "work" / "cache").rglob("*"))
    assert cached


def test_missing_data_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert recipe.main(["--data", str(tmp_path), "--work", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("rated_references: no dailydialog_plusplus in")
