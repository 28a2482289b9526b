# SPDX-License-Identifier: Apache-2.0
"""Whether it is settled which metric agrees best with people."""

from __future__ import annotations

import pytest

from interloq.web.admin.metric_order import metrics_enough
from tests.web.admin.test_monitor import chosen, rated, with_scores

CLUSTERS = {f"c{item}": 1 for item in range(60)}


def good(item: int, unit: int) -> float:
    return float(unit if item % 8 else 1 - unit)  # wrong on one of eight


def bad(item: int, unit: int) -> float:
    return float(unit if item % 8 == 3 else 1 - unit)


@pytest.mark.parametrize("compared", [False, True])
def test_the_metric_that_orders_replies_as_people_do_is_found(compared: bool) -> None:
    """Owl, the second unit, is always better."""
    pages = [chosen(1, item, "b") if compared else rated(1, item, (2, 4)) for item in range(60)]
    pages = [
        with_scores(page, [{"bleu": good(i, u), "chrf": bad(i, u)} for u in range(2)]) for i, page in enumerate(pages)
    ]
    found = metrics_enough(pages, "overall", CLUSTERS, 1)
    assert found is not None
    assert found.settled
    assert found.order == ("bleu", "chrf")
    assert found.looked < 60


def test_equal_metrics_and_equal_judgments_settle_nothing() -> None:
    same = [{"bleu": good(0, u), "meteor": good(0, u)} for u in range(2)]
    pages = [with_scores(rated(1, item, (2, 4)), same) for item in range(60)]
    found = metrics_enough(pages, "overall", CLUSTERS, 1)
    assert found is not None
    assert not found.settled
    ties = [with_scores(rated(1, item, (3, 3)), same) for item in range(60)]
    found = metrics_enough(ties, "overall", CLUSTERS, 1)
    assert found is not None
    assert found.complete == 0


def test_one_metric_has_no_order() -> None:
    pages = [with_scores(rated(1, item, (2, 4)), [{"bleu": 0.0}, {"bleu": 1.0}]) for item in range(9)]
    assert metrics_enough(pages, "overall", CLUSTERS, 1) is None
