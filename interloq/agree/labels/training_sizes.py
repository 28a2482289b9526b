# SPDX-License-Identifier: Apache-2.0
"""Groups of users by their number of training samples (Figure 3 of Tsuta et al., 2024).

Users are ordered by training samples and cut into groups with about the same number of training samples in total, so
the last group has the fewest users. Users without training samples are a group of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SizeGroup:
    """Users and the number of training samples of each."""

    sizes: Mapping[str, int]

    @property
    def mean(self) -> float:
        """Training samples per user."""
        return sum(self.sizes.values()) / len(self.sizes)


def size_groups(users: Collection[str], sizes: Mapping[str, int], groups: int) -> list[SizeGroup]:
    """At most `groups` groups of the users with training samples, the smallest first, after one of those without."""
    order = sorted((user for user in users if sizes.get(user)), key=lambda user: (sizes[user], user))
    total, before = sum(sizes[user] for user in order), 0
    found: dict[int, dict[str, int]] = {}
    if unseen := {user: 0 for user in users if not sizes.get(user)}:
        found[-1] = unseen
    for user in order:
        middle = before + sizes[user] / 2  # a user belongs where the middle of their samples is
        found.setdefault(int(middle * groups / total), {})[user] = sizes[user]
        before += sizes[user]
    return [SizeGroup(own) for own in found.values()]
