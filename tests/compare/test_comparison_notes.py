"""Notes on comparisons."""

from __future__ import annotations

from dataclasses import replace

from interloq.compare.comparison_notes import write_notes
from interloq.compare.versions import Version, match_units
from interloq.records import ILLUSTRATIVE
from tests.made_versions import METRIC, drawn, version


def told(old: Version, new: Version, *metrics: str) -> list[str]:
    units = match_units(old, new)
    return list(write_notes(old, new, units, dict.fromkeys(metrics, units)))


def test_units_without_a_partner_are_counted() -> None:
    (note,) = told(version("old", drawn()), version("new", drawn()[:30]), METRIC)[:1]
    assert note == "30 samples paired by id; 10 samples only in the old version, not used in differences"
    grouped = told(version("old", drawn(), dialogue=2), version("new", drawn(), dialogue=2), METRIC)
    assert grouped[0] == "40 samples paired by id, in 20 clusters"


def test_metrics_that_cannot_be_compared_are_named() -> None:
    old, new = version("old", drawn(), metric="bleu"), version("new", drawn(), metric="distinct")
    assert told(old, new)[1:] == [
        "not compared: bleu, which scored only one version",
        "not compared: distinct, which scores sets of replies, not single ones",
    ]


def test_means_are_not_corpus_values() -> None:
    found = told(version("old", drawn(), metric="bleu"), version("new", drawn(), metric="bleu"), "bleu")
    assert "means of sample scores, which may differ from the value of the whole set" in found[1]


def test_ratings_of_other_aspects_are_named() -> None:
    old, new = (replace(version(name, drawn()), other_aspects=("wit", "tone")) for name in ("old", "new"))
    assert told(old, new, METRIC)[-1].endswith("to use others, choose one with --aspect: tone, wit")
    rated = replace(old, units=version("old", drawn(), ratings=[1.0]).units)
    assert not [note for note in told(rated, new, METRIC) if "--aspect" in note]


def test_a_metric_that_gives_all_the_same_score_is_noted() -> None:
    old, new = version("old", [0.0] * 20), version("new", [0.0] * 20)
    assert f"{METRIC}: every sample of both versions has the score 0, so it cannot tell them apart" in told(
        old, new, METRIC
    )
    assert not [note for note in told(old, version("new", drawn()), METRIC) if "tell them apart" in note]


def test_ratings_that_nobody_gave_are_noted() -> None:
    old, new = version("old", drawn()), replace(version("new", drawn()), roles=frozenset({ILLUSTRATIVE}))
    assert "ratings are illustrative: no person gave them" in told(old, new, METRIC)
    assert "ratings are illustrative: no person gave them" not in told(old, old, METRIC)


def test_labels_that_are_not_a_random_sample_are_noticed() -> None:
    low = sorted(drawn())
    old, new = version("old", low, ratings=[3.0] * 15), version("new", drawn(), ratings=[3.0] * 15)
    found = [note for note in told(old, new, METRIC) if "random sample" in note]
    assert len(found) == 1
    assert found[0].startswith(f"{METRIC}, old version: rated units score differently")
