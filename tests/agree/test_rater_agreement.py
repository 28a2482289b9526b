"""A rater's weights against people's ratings of the same references."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from scipy import stats

from interloq.agree.meta_options import RaterAgreementOptions
from interloq.agree.rater_agreement import RaterAgreement, compare_with_people
from interloq.data.records.jsonl import write
from interloq.errors import InputError
from interloq.rate.human import Human
from interloq.rate.rater import Rater
from interloq.records import Rating, Reference, Sample
from interloq.signature import Signature, signature

CONTEXTS, EACH = 10, 4
FAST = RaterAgreementOptions(n_bootstrap=200)


@dataclass(frozen=True)
class Made(Rater, name="made-weights"):
    """Rates by the length of the text; gold replies have weight 1."""

    def rate(self, samples: list[Sample]) -> list[Sample]:  # type: ignore[override]
        return [replace(one, references=tuple(map(weigh, one.references))) for one in samples]

    def signature(self) -> Signature:
        return signature(self)


def weigh(reference: Reference) -> Reference:
    return reference if reference.source == "gold" else replace(reference, weight=len(reference.text) / 50 - 1)


def made_samples(system: str = "a") -> list[Sample]:
    samples = []
    for i in range(CONTEXTS):
        retrieved = [Reference("x" * (1 + (7 * i + 5 * j) % 40), source=f"retrieved:{j}") for j in range(1, EACH)]
        samples.append(Sample(f"s{i}", [f"question {i}"], "yes", [Reference("gold reply"), *retrieved], system))
    return samples


def made_ratings() -> list[Rating]:
    """Ann rates by length, Bob by something else; neither rates the last context."""
    ratings = []
    for i in range(CONTEXTS - 1):
        for j, reference in enumerate(made_samples()[i].references):
            ratings.append(Rating(len(reference.text) // 9, "ann", item=f"s{i}/{j}"))
            ratings.append(Rating((3 * i + 2 * j) % 5, "bob", item=f"s{i}/{j}"))
    return ratings


def compare(folder: Path, samples: list[Sample], ratings: list[Rating], rater: Rater | None = None) -> RaterAgreement:
    rater = rater or Made()
    write(folder / "rated.jsonl", rater.rate(samples), kind="samples")
    write(folder / "ratings.jsonl", ratings, kind="ratings")
    return compare_with_people(folder / "rated.jsonl", rater, folder / "ratings.jsonl", FAST)


def test_correlations_are_those_of_the_compared_points(tmp_path: Path) -> None:
    found = compare(tmp_path, made_samples(), made_ratings())
    weights, means, ann = [], [], []
    for i, sample in enumerate(made_samples()[:-1]):
        for j, reference in list(enumerate(sample.references))[1:]:  # gold replies all have weight 1
            weights.append(len(reference.text) / 50 - 1)
            ann.append(len(reference.text) // 9)
            means.append((ann[-1] + (3 * i + 2 * j) % 5) / 2)
    (row,) = found.table.rows
    assert row.with_mean["spearman"].value == pytest.approx(stats.spearmanr(weights, means)[0])
    assert row.with_mean["pearson"].value == pytest.approx(stats.pearsonr(weights, means)[0])
    assert found.people["ann"]["pearson"].value == pytest.approx(stats.pearsonr(weights, ann)[0])
    assert row.with_annotators["pearson"].max == pytest.approx(found.people["ann"]["pearson"].value)
    assert row.with_annotators["pearson"].min == pytest.approx(found.people["bob"]["pearson"].value)
    low, high = row.with_mean["pearson"].ci or (1, -1)
    assert low < row.with_mean["pearson"].value < high
    assert found.table.human is not None
    assert (found.contexts, found.unrated, found.unjudged) == (CONTEXTS - 1, EACH, CONTEXTS - 1)


def test_references_that_systems_share_count_once(tmp_path: Path) -> None:
    alone = compare(tmp_path, made_samples(), made_ratings())
    shared = compare(tmp_path, made_samples() + made_samples("b"), made_ratings())
    assert shared.table.rows[0].with_mean == alone.table.rows[0].with_mean
    assert (shared.unrated, shared.unjudged) == (alone.unrated, alone.unjudged)
    named = [replace(rating, system="b") for rating in made_ratings()]
    of_one_system = compare(tmp_path, made_samples() + made_samples("b"), named)
    assert of_one_system.table.rows[0].with_mean == alone.table.rows[0].with_mean


def test_all_ratings_of_a_reference_count(tmp_path: Path) -> None:
    copies = [replace(sample, id=f"copy-{sample.id}") for sample in made_samples()]
    of_copies = [Rating(4, "eve", item=f"copy-s0/{j}") for j in range(EACH)]
    found = compare(tmp_path, made_samples() + copies, made_ratings() + of_copies)
    assert found.people["eve"]["pearson"].n == EACH - 1
    assert found.people["ann"]["pearson"].n == (CONTEXTS - 1) * (EACH - 1)


def test_a_rater_that_rates_gold_replies_is_compared_on_them_too(tmp_path: Path) -> None:
    write(tmp_path / "people.jsonl", made_ratings(), kind="ratings")
    people = Human(ratings=str(tmp_path / "people.jsonl"), low=0, high=5)
    found = compare(tmp_path, made_samples(), made_ratings(), people)
    assert found.table.rows[0].with_mean["pearson"].value == pytest.approx(1)
    assert found.table.rows[0].with_mean["pearson"].n == (CONTEXTS - 1) * EACH
    assert found.unjudged == 0


def test_ratings_of_other_references_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no reference has a weight of the rater and a rating"):
        compare(tmp_path, made_samples(), [Rating(1, "ann", item="other/0")])
    fit = RaterAgreementOptions(aspect="fit")
    with pytest.raises(InputError, match="rated aspects: overall"):
        compare_with_people(tmp_path / "rated.jsonl", Made(), tmp_path / "ratings.jsonl", fit)
