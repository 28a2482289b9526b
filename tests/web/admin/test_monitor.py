# SPDX-License-Identifier: Apache-2.0
"""Figures of a running task, from constructed answers with known results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from interloq.records import Score
from interloq.web.admin.collected import FinishedPage, Given
from interloq.web.admin.monitor import agreement, chatter_gap, metric_agreement, systems, votes

SYSTEMS = ("parrot", "owl")


def rate(
    person: int,
    item: int,
    values: Sequence[float | None],
    *,
    seconds: float = 20,
    aspect: str = "overall",
    **facts: Any,
) -> FinishedPage:
    """Return a page with the replies of two systems to one context, rated by a person."""
    units = tuple(
        {"id": f"i{item}", "system": name, "record": facts.get("record", {}), "scores": facts.get("scores", {})}
        for name in SYSTEMS
    )
    given = tuple(Given(unit, aspect, value) for unit, value in enumerate(values))
    return FinishedPage(person, f"c{item}", units, given, seconds, 100.0 * item + person, correct=facts.get("correct"))


def choose(
    person: int, item: int, choice: str, pair: Sequence[str] = SYSTEMS, order: Sequence[int] = (0, 1)
) -> FinishedPage:
    """Return a page with a pair of replies, compared by a person."""
    units = tuple({"id": f"i{item}", "system": name, "record": {}} for name in pair)
    answers = (Given(0, "overall", None, choice),)
    return FinishedPage(person, f"c{item}", units, answers, 20, 100.0 * item + person, tuple(order))


def with_scores(page: FinishedPage, scores: Sequence[dict[str, float]]) -> FinishedPage:
    """Return the page with scores of metrics for each unit."""
    units = tuple({**unit, "scores": own} for unit, own in zip(page.units, scores, strict=True))
    return replace(page, units=units)


def ratings_of_two_people(items: int = 12, gap: int = 2) -> list[FinishedPage]:
    """Return ratings of two people who agree completely: `owl` is better by `gap` in every context."""
    return [rate(person, item, (1 + item % 3, 1 + item % 3 + gap)) for item in range(items) for person in (1, 2)]


def test_people_who_agree_have_an_alpha_of_one() -> None:
    found = agreement(votes(ratings_of_two_people(), "overall"), "overall")
    assert found is not None
    assert found.alpha.value == pytest.approx(1)
    assert found.pairwise["pearson"].mean == pytest.approx(1)


def test_alpha_of_a_worked_example() -> None:
    """Two values by two people, 1 1 / 1 2 / 2 2 / 2 2: by coincidences, α = 1 − 7 · 2 / (2 · 3 · 5)."""
    table = [(1, 1), (1, 2), (2, 2), (2, 2)]
    pages = [rate(p + 1, i, (row[p], None)) for i, row in enumerate(table) for p in range(2)]
    found = agreement(votes(pages, "overall"), "overall")
    assert found is not None
    assert found.alpha.value == pytest.approx(1 - 7 * 2 / (2 * 3 * 5))


def test_without_second_opinions_there_is_no_agreement() -> None:
    assert agreement(votes([rate(1, 0, (1, 2))], "overall"), "overall") is None
    assert agreement([], "overall") is None


def test_means_are_clustered_by_item() -> None:
    """Five copies of each rating of a context carry no more information than one."""
    once = systems(votes([rate(1, item, (item % 3, 3)) for item in range(9)], "overall"))
    often = systems(votes([rate(p, item, (item % 3, 3)) for item in range(9) for p in range(5)], "overall"))
    assert [one.name for one in often] == ["owl", "parrot"]
    assert [one.mean.value for one in often] == [3, 1]
    assert often[1].mean.ci == pytest.approx(once[1].mean.ci)


def test_checks_and_not_applicable_do_not_count() -> None:
    pages = [rate(1, 0, (1, None)), rate(1, 1, (5, 5), correct={"overall": [5]})]
    assert [(vote.systems, vote.value) for vote in votes(pages, "overall")] == [(("parrot",), 1)]


def test_strengths_of_comparisons() -> None:
    """Owl wins 3 of 4: log-odds ln 3 without the prior, so strengths ± half of slightly less; a tie counts half."""
    pages = [choose(1, item, "a" if item % 4 == 0 else "b") for item in range(40)]
    owl, parrot = systems(votes(pages, "overall"))
    assert (owl.name, owl.mean.value) == ("owl", 0.75)
    assert owl.strength is not None
    assert parrot.strength is not None
    assert owl.strength.value - parrot.strength.value == pytest.approx(math.log(30.1 / 10.1), abs=1e-6)
    assert owl.strength.ci is not None
    assert owl.strength.ci[0] < owl.strength.value < owl.strength.ci[1]


def test_a_metric_that_orders_replies_as_people_do() -> None:
    pages = ratings_of_two_people()
    scores = [Score(f"i{i}", "good", float(1 + i % 3 + 2 * s), system=SYSTEMS[s]) for i in range(12) for s in range(2)]
    scores.append(Score("unknown", "good", 1.0, system="parrot"))
    assert metric_agreement(scores, votes(pages, "overall"), "overall")["good"].value == pytest.approx(1)
    assert metric_agreement(scores, [], "overall") == {}


def test_a_metric_on_pairs_is_the_difference_of_its_scores() -> None:
    pages = [choose(1, item, "ab"[item % 2]) for item in range(12)]
    scores = [
        Score(f"i{item}", "good", float(s == item % 2), system=SYSTEMS[s]) for item in range(12) for s in range(2)
    ]
    assert metric_agreement(scores, votes(pages, "overall"), "overall")["good"].value == pytest.approx(1)


def test_gap_between_chatters_and_outsiders() -> None:
    record = {"ratings": [{"value": 5, "role": "interlocutor"}, {"value": 1, "role": "outsider"}]}
    pages = [rate(person, item, (3, 4), record=record) for item in range(4) for person in (1, 2)]
    assert {name: gap.value for name, gap in chatter_gap(pages, "overall").items()} == {"owl": 1, "parrot": 2}
    assert chatter_gap(ratings_of_two_people(), "overall") == {}
