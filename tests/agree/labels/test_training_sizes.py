"""Groups of users by training size."""

from __future__ import annotations

from interloq.agree.labels.training_sizes import size_groups


def test_groups_have_about_the_same_number_of_training_samples() -> None:
    sizes = {f"u{i}": 10 for i in range(6)} | {"big": 60, "small": 1, "not tested": 500}
    found = size_groups(sizes.keys() - {"not tested"} | {"new"}, sizes, 2)
    assert [sorted(group.sizes.values()) for group in found] == [[0], [1, *[10] * 6], [60]]
    assert [group.mean for group in found] == [0, 61 / 7, 60]


def test_a_group_that_would_be_empty_is_not_there() -> None:
    found = size_groups(["a", "b"], {"a": 1, "b": 1000}, 3)
    assert [dict(group.sizes) for group in found] == [{"a": 1}, {"b": 1000}]
    assert size_groups([], {}, 3) == []
