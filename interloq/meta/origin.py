"""Whether dialogues may be compared at all: same partner set, same scheme, same openings, same length, same judge.

`interloq play` writes the first four into the header of dialogues, and what is made of them carries them on; the judge
stands in the signatures of scores.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from interloq.errors import InputError
from interloq.signature import LIBRARIES, VERSION, Signature

FACTS = {
    "partners": "partner sets",
    "scheme": "schemes",
    "openings": "openings",
    "exchanges": "numbers of exchanges",
}
# parts of a signature; another release of a library moves the last digits, not the judgment
NOT_THE_JUDGE = ("references", "samples", "resamples", "seed", "partners", VERSION, *LIBRARIES)


def common_origin(headers: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """What all files (name → header) say of their origin; files that differ are refused."""
    told = {path: origin(header) for path, header in headers.items()}
    found: dict[str, str] = {}
    for fact, many in FACTS.items():
        values = {path: facts[fact] for path, facts in told.items() if fact in facts}
        for path, value in values.items():
            if value != found.setdefault(fact, value):
                first = next(other for other in values if values[other] == found[fact])
                raise InputError(
                    f"{first} and {path} come from different {many}: {found[fact]} and {value}",
                    hint="scores can only be compared over the same partners and openings: "
                    "play the systems of one file against the set of the other",
                )
    _check_silent(told, headers)
    _check_bots(headers)
    _check_judges(headers)
    return found


def origin(header: Mapping[str, Any]) -> dict[str, str]:
    """What one header says."""
    return {name: str(header[name]) for name in FACTS if header.get(name) not in (None, "")}


def _check_silent(told: Mapping[str, Mapping[str, str]], headers: Mapping[str, Mapping[str, Any]]) -> None:
    """Dialogues of a known partner set beside dialogues that name none."""
    dialogues = [path for path in told if headers[path].get("kind") in ("dialogues", None)]
    named = [path for path in dialogues if "partners" in told[path]]
    silent = [path for path in dialogues if "partners" not in told[path]]
    if named and silent:
        raise InputError(
            f"{named[0]} was played against partner set {told[named[0]]['partners']}, {silent[0]} names no partner set",
            hint="play both with the same --partners, or rank them apart",
        )


def _check_bots(headers: Mapping[str, Mapping[str, Any]]) -> None:
    """One name, one system: files may not call two systems the same."""
    seen: dict[str, tuple[str, str]] = {}
    for path, header in headers.items():
        bots = header.get("bots")
        for name, signature in (bots if isinstance(bots, dict) else {}).items():
            first, known = seen.setdefault(name, (path, str(signature)))
            if known != str(signature):
                raise InputError(
                    f"{first} and {path} both have a system {name!r}, but not the same one: {known} and {signature}",
                    hint="give one of them another name when it plays",
                )


def _check_judges(headers: Mapping[str, Mapping[str, Any]]) -> None:
    """One metric, one judge: the same spec may stand for other weights, or for other constants fitted."""
    seen: dict[str, tuple[str, Signature]] = {}
    for path, header in headers.items():
        for metric, judge in _judges(header, path):
            first, known = seen.setdefault(metric, (path, judge))
            if known.without(*NOT_THE_JUDGE) != judge.without(*NOT_THE_JUDGE):
                raise _refused(metric, (first, path), (known, judge))


def _refused(metric: str, paths: tuple[str, str], judges: tuple[Signature, Signature]) -> InputError:
    old = [path for path, judge in zip(paths, judges, strict=True) if judge.is_text]
    if old:
        return InputError(
            f"{old[0]} holds a signature without parts, as earlier versions wrote it: it cannot be compared",
            hint=f"score its samples again: interloq score SAMPLES -m {shlex.quote(metric)} -o {shlex.quote(old[0])}",
        )
    differences = [found for found in judges[0].differences(judges[1]) if found[0] not in NOT_THE_JUDGE]
    one, other = (
        "|".join(f"{name}:{values[i]}" for name, *values in differences if values[i]) or "without it" for i in (0, 1)
    )
    return InputError(
        f"{paths[0]} and {paths[1]} were scored by two kinds of {metric}: {one} and {other}",
        hint="score the samples of both with the same model and settings",
    )


def _judges(header: Mapping[str, Any], path: str) -> Iterator[tuple[str, Signature]]:
    """Each metric of a file of scores, and its signature."""
    results = header.get("results", [header])
    for result in results if isinstance(results, list) else ():
        if isinstance(result, dict) and "metric" in result:
            yield str(result["metric"]), Signature.from_json(result.get("signature", ""), where=path)
