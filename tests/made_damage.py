"""Facts of a saved model with one value replaced or missing, for loaders that must refuse or survive each."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from interloq.errors import InterloqError

VALUES: tuple[Any, ...] = (None, 2**31, "a" * 1000)
Place = tuple[str | int, ...]


def places(value: Any, above: Place = ()) -> Iterator[Place]:
    """Where values are in nested facts; of lists, only the first item."""
    keys: list[str | int] = list(value) if isinstance(value, dict) else [0] if isinstance(value, list) and value else []
    for key in keys:
        yield (*above, key)
        yield from places(value[key], (*above, key))


def damaged_facts(facts: dict[str, Any], but: tuple[str, ...]) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Each place with the facts that have another value there, or none."""
    for place in places(facts):
        if place[0] in but:
            continue
        for value in (*VALUES, Ellipsis):
            changed = copy.deepcopy(facts)
            owner: Any = changed
            for key in place[:-1]:
                owner = owner[key]
            if value is Ellipsis:
                del owner[place[-1]]
            else:
                owner[place[-1]] = value
            yield place, changed


def check_damaged_facts(path: Path, use: Callable[[], object], *, but: tuple[str, ...] = ()) -> int:
    """Use a model with each of its facts damaged; every error must be one line for the user.

    Facts in `but` are those that nothing reads. Returns the number of refusals.
    """
    facts, refusals = json.loads(path.read_text()), list[str]()
    for place, changed in damaged_facts(facts, but):
        path.write_text(json.dumps(changed))
        try:
            use()
        except InterloqError as error:
            refusals.append(str(error))
        except Exception as error:
            raise AssertionError(f"{place}: {error!r}") from error
    assert not [text for text in refusals if "\n" in text]
    return len(refusals)
