"""Faults that are put into modules."""

from __future__ import annotations

from tests.mutation.mutants import draw_mutants

SOURCE = '''
"""A docstring of 1."""

def largest(values: list[int], least: int = 0) -> int:
    """Return the largest of values."""
    found = least
    for value in values:
        if value > found and value != 7:
            found = value + 1
    return found
'''


def test_every_kind_of_fault_is_made_once_and_nothing_else_changes() -> None:
    mutants = draw_mutants(SOURCE, 99, seed=0)
    faults = [mutant.fault for mutant in mutants]
    assert len(set(faults)) == len(faults)
    for part in ("value >= found", "value == 7", "or value != 7", "not (value", "value - 1", "0  ->  1", "return None"):
        assert any(part in fault for fault in faults), part
    assert all("A docstring of 1." in mutant.source for mutant in mutants)
    for mutant in mutants:
        compile(mutant.source, "mutant", "exec")
        assert mutant.source != SOURCE


def test_a_seed_draws_the_same_mutants() -> None:
    assert draw_mutants(SOURCE, 3, seed=1) == draw_mutants(SOURCE, 3, seed=1)
    assert len(draw_mutants(SOURCE, 3, seed=1)) == 3
