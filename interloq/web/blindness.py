# SPDX-License-Identifier: Apache-2.0
"""How blind people were: bots that were taken for people, and bots that were recognised, against chance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from interloq.report.console import p_value
from interloq.statistics.proportion import Proportion
from interloq.web.collected import Page
from interloq.web.guesses import GUESSED_HUMAN, PERSON_GUESSED_HUMAN, RECOGNISED, Guesses, exported
from interloq.web.sections import interval, number, section

ALL, PEOPLE = "all bots", "people who chatted"
COLUMNS = ["System", "Share", "95 % interval", "Guesses"]
INDEPENDENT = "Intervals are exact (Clopper–Pearson) and treat guesses as independent, also those of one person."


def guess_sections(pages: Iterable[Page], found: Guesses) -> Iterator[dict[str, Any]]:
    """Sections for the guesses that a task asks for."""
    pages = list(pages)
    if found.human:
        shares = {**guessed(pages, found, GUESSED_HUMAN), **_as(PEOPLE, guessed(pages, found, PERSON_GUESSED_HUMAN))}
        text = [f"Share of guesses “a person”. {INDEPENDENT}"] if shares else ["No guesses yet."]
        yield section("guessed-human", "Person or bot?", text, COLUMNS, _rows(shares))
    if found.names is not None:
        by_bot = guessed(pages, found, RECOGNISED)
        shares = {**by_bot, **_as(ALL, by_bot)}
        text = [f"{_verdict(shares[ALL], 1 / len(found.names))} {INDEPENDENT}"] if shares else ["No guesses yet."]
        yield section("recognised", "Were the bots recognised?", text, COLUMNS, _rows(shares))


def guessed(pages: Iterable[Page], found: Guesses, aspect: str) -> dict[str, Proportion]:
    """Share of guesses that were yes per system, by the aspect of exports; attention checks do not count."""
    values: dict[str, list[float]] = {}
    for page in pages:
        for one in page.answers if page.correct is None else ():
            unit = page.units[one.unit]
            for name, value, system in exported(found, one.aspect, one.value, unit):
                if name == aspect and value is not None:
                    values.setdefault(system or unit["system"], []).append(value)
    return {system: Proportion(int(sum(some)), len(some)) for system, some in sorted(values.items())}


def _as(name: str, shares: Mapping[str, Proportion]) -> dict[str, Proportion]:
    """One proportion over all systems; none without guesses."""
    yes, n = sum(one.yes for one in shares.values()), sum(one.n for one in shares.values())
    return {name: Proportion(yes, n)} if n else {}


def _verdict(all_bots: Proportion, chance: float) -> str:
    p = all_bots.p(chance)
    return (
        f"Share of correct guesses; chance is {number(chance)} if each bot was met equally often "
        f"(exact binomial test: p {p_value(p) if p < 0.001 else f'= {p_value(p)}'})."
    )


def _rows(shares: Mapping[str, Proportion]) -> list[list[str]]:
    return [[name, number(one.value), interval(one.ci), f"{one.n:,}"] for name, one in shares.items()]
