"""Limits on clients that the processes of a server share, in both databases."""

from __future__ import annotations

import pytest
from sqlalchemy import func, select

from interloq.web.access.shared_limits import PARTS, SharedLimits
from interloq.web.access.visitors import Study
from interloq.web.database import Database
from interloq.web.schema import quota
from tests.web.conftest import KEY

ADDRESS = "198.51.100.7"


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which a test sets."""
    times = [1_000_000.0]
    monkeypatch.setattr("interloq.web.access.shared_limits.time.time", lambda: times[0])
    return times


def make_processes(study: Database, rate: float = 2.0, burst: float = 40.0) -> list[SharedLimits]:
    """Return the limits as two processes of a server have them."""
    return [SharedLimits(Study(study, KEY, shared=True), "address", rate, burst) for _ in range(2)]


def test_processes_share_the_burst_of_a_client(study: Database, now: list[float]) -> None:
    first, second = make_processes(study)
    assert [first.take(ADDRESS) for _ in range(30)] == [True] * 30
    assert [second.take(ADDRESS) for _ in range(12)] == [True] * 10 + [False] * 2
    assert not first.take(ADDRESS)
    assert first.take("198.51.100.8")
    now[0] += 1.5  # three more at this rate
    assert [one.take(ADDRESS) for one in (first, second, first, second)] == [True, True, True, False]


def test_a_process_takes_parts_that_last_for_several_requests(study: Database, now: list[float]) -> None:
    (first, second), part = make_processes(study, burst=10 * PARTS), 10
    assert first.take_at_once(ADDRESS) is None
    assert first.take(ADDRESS)
    assert [first.take_at_once(ADDRESS) for _ in range(part)] == [True] * (part - 1) + [None]
    assert second.take(ADDRESS, cost=9 * 10 + 100)  # what is left without the parts of the other
    assert not second.take(ADDRESS)


def test_clients_are_hashed_and_forgotten_when_they_may_do_everything_again(study: Database, now: list[float]) -> None:
    limits, _ = make_processes(study)
    assert limits.take(ADDRESS, cost=10)
    with study.reading() as connection:
        (client,) = connection.execute(select(quota.c.client)).scalars()
    assert len(client) == 64
    now[0] += 5.1
    assert limits.take("198.51.100.8")
    with study.reading() as connection:
        assert connection.execute(select(func.count()).where(quota.c.client == client)).scalar_one() == 0


def test_a_limit_within_a_transaction_is_undone_with_it(study: Database) -> None:
    limits, _ = make_processes(study, burst=1.0, rate=0.001)
    with study.writing() as connection:
        assert limits.take_in(ADDRESS, connection)
        connection.rollback()
    with study.writing() as connection:
        assert [limits.take_in(ADDRESS, connection) for _ in range(2)] == [True, False]
