# SPDX-License-Identifier: Apache-2.0
"""How many people a task needs: nobody gets two items with the same answer key, so `per_item` people may be too few.

With m items of one answer key (as with every two of k systems: k (k − 1) / 2 per context), m · `per_item` different
people are needed for it. A limit of items per person may ask for more. This many people suffice: items given out in the
order of their keys to one person after another never give anyone two of a key.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from interloq.errors import count
from interloq.web.studies.questions import StudyTask


@dataclass(frozen=True)
class Workload:
    """People needed at least, and what each of them then does at most, without attention checks."""

    people: int
    pages: int
    answers: int | None = None  # None: depends on the conversations

    def __str__(self) -> str:
        people, pages = count(self.people, "person", "people, each"), count(self.pages, "page")
        answers = "" if self.answers is None else f" ({count(self.answers, 'answer')})"
        return f"at least {people} with up to {pages}{answers}"


def workload(settings: StudyTask, keys: Mapping[str, int], asked: int | None = None) -> Workload:
    """What a task needs; `keys` are its items per answer key, `asked` the answers to all items once."""
    pages = sum(keys.values()) * settings.per_item
    most = settings.most_items or len(keys)
    if not pages:
        return Workload(0, 0, None)
    people = max(max(keys.values()) * settings.per_item, math.ceil(pages / most))
    answers = None
    if asked is not None:
        answers = math.ceil(asked * settings.per_item / people)
    return Workload(people, math.ceil(pages / people), answers)
