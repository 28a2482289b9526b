# SPDX-License-Identifier: Apache-2.0
"""Checks that dialogues are comparable: same partner set, scheme, openings, length and judge.

`interloq play` writes the first four to the header of dialogues, and files made from those dialogues copy them; the
judge is in the signatures of scores.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from interloq.errors import InputError
from interloq.signature import LIBRARIES, VERSION, Signature

FACTS = {"partners": "partner sets", "scheme": "schemes", "openings": "openings", "exchanges": "numbers of exchanges"}
# parts of a signature that may differ; another release of a library changes only the last digits
NOT_THE_JUDGE = (
    *("references", "samples", "unicode", "resamples", "seed", "dialogues", "partners"),
    *(VERSION, *LIBRARIES),
)


def common_origin(headers: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the origin that all files (name → header) share; refuse files with different origins."""
    origins = {path: origin(header) for path, header in headers.items()}
    common: dict[str, str] = {}
    first_paths: dict[str, str] = {}
    for fact, many in FACTS.items():
        for path, facts in origins.items():
            value = facts.get(fact)
            if value is None:
                continue
            first = first_paths.setdefault(fact, path)
            if value != common.setdefault(fact, value):
                raise InputError(
                    f"{first} and {path} come from different {many}: {common[fact]} and {value}",
                    hint="scores are comparable only over the same partners and openings: "
                    "play the systems of one file against the partner set of the other",
                )
    _check_partner_sets(origins, headers)
    _check_bots(headers)
    _check_judges(headers)
    return common


def origin(header: Mapping[str, Any]) -> dict[str, str]:
    """Return the origin in one header."""
    return {name: str(header[name]) for name in FACTS if header.get(name) not in (None, "")}


def _check_partner_sets(origins: Mapping[str, Mapping[str, str]], headers: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse dialogues with a named partner set together with dialogues without one."""
    named: list[str] = []
    unnamed: list[str] = []
    for path, facts in origins.items():
        if headers[path].get("kind") in ("dialogues", None):
            (named if "partners" in facts else unnamed).append(path)
    if named and unnamed:
        partners = origins[named[0]]["partners"]
        raise InputError(
            f"{named[0]} was played against partner set {partners}, {unnamed[0]} names no partner set",
            hint="play both with the same --partners, or rank them separately",
        )


def _check_bots(headers: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse files in which different systems have the same name."""
    seen: dict[str, tuple[str, str]] = {}
    for path, header in headers.items():
        bots = header.get("bots")
        for name, signature in (bots if isinstance(bots, dict) else {}).items():
            first, known = seen.setdefault(name, (path, str(signature)))
            if known != str(signature):
                raise InputError(
                    f"{first} and {path} have different systems named {name!r}: {known} and {signature}",
                    hint="play one of them under another name",
                )


def _check_judges(headers: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse files scored by different versions of a metric: equal specs may have different weights or constants."""
    seen: dict[str, tuple[str, Signature]] = {}
    for path, header in headers.items():
        results = header.get("results", [header])
        for result in results if isinstance(results, list) else ():
            if not isinstance(result, dict) or "metric" not in result:
                continue
            metric, judge = str(result["metric"]), Signature.from_json(result.get("signature", ""), where=path)
            first, known = seen.setdefault(metric, (path, judge))
            if not same_judge(known, judge):
                raise _judges_differ(metric, (first, path), (known, judge))


def same_judge(first: Signature, second: Signature) -> bool:
    """Return whether two scores of a metric are comparable: signatures may differ in samples, seeds and versions."""
    return first.without(*NOT_THE_JUDGE) == second.without(*NOT_THE_JUDGE)


def _judges_differ(metric: str, paths: tuple[str, str], judges: tuple[Signature, Signature]) -> InputError:
    old = [path for path, judge in zip(paths, judges, strict=True) if judge.is_text]
    if old:
        return InputError(
            f"{old[0]} has a signature without parts, written by an earlier version, which cannot be compared",
            hint=f"score its samples again: interloq score SAMPLES -m {shlex.quote(metric)} -o {shlex.quote(old[0])}",
        )
    parts: tuple[list[str], list[str]] = ([], [])
    for name, *values in judges[0].differences(judges[1]):
        for side, value in zip(parts, values, strict=True):
            if value and name not in NOT_THE_JUDGE:
                side.append(f"{name}:{value}")
    first, second = "|".join(parts[0]) or "without it", "|".join(parts[1]) or "without it"
    return InputError(
        f"{paths[0]} and {paths[1]} were scored by different versions of {metric}: {first} and {second}",
        hint="score the samples of both with the same model and settings",
    )
