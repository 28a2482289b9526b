# SPDX-License-Identifier: Apache-2.0
"""How blind people were: bots that were taken for people, and bots that were recognised, against chance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from interloq.statistics.clustered import Proportion
from interloq.terminal.console import p_value
from interloq.web.admin.sections import interval, number, section
from interloq.web.studies.guesses import GUESSED_HUMAN, PERSON_GUESSED_HUMAN, RECOGNISED, Guesses, exported
from interloq.web.work.collected import FinishedPage

ALL, PEOPLE = "all bots", "people who chatted"
COLUMNS = ["System", "Share", "95 % interval", "Guesses"]
INDEPENDENT = "Intervals are exact (Clopper–Pearson) and treat guesses as independent, also those of one person."


def guess_sections(pages: Iterable[FinishedPage], guesses: Guesses) -> Iterator[dict[str, Any]]:
    """Yield a section for each kind of guess that a task asks for."""
    pages = list(pages)
    if guesses.human:
        shares = guess_shares(pages, guesses, GUESSED_HUMAN)
        shares |= _total(PEOPLE, guess_shares(pages, guesses, PERSON_GUESSED_HUMAN))
        text = f"Share of guesses “a person”. {INDEPENDENT}"
        yield _guess_section("guessed-human", "Person or bot?", text, shares)
    if guesses.names is not None:
        by_bot = guess_shares(pages, guesses, RECOGNISED)
        shares = by_bot | _total(ALL, by_bot)
        text = ""
        if shares:
            text = f"{_verdict(shares[ALL], 1 / len(guesses.names))} {INDEPENDENT}"
        yield _guess_section("recognised", "Were the bots recognised?", text, shares)


def _guess_section(id: str, title: str, text: str, shares: Mapping[str, Proportion]) -> dict[str, Any]:
    rows = [[name, number(share.value), interval(share.ci), f"{share.n:,}"] for name, share in shares.items()]
    if not rows:
        text = "No guesses yet."
    return section(id, title, [text], COLUMNS, rows)


def guess_shares(pages: Iterable[FinishedPage], guesses: Guesses, aspect: str) -> dict[str, Proportion]:
    """Return the share of guesses that were yes per system, by the aspect of exports, without attention checks."""
    values: dict[str, list[float]] = {}
    for page in pages:
        if page.correct is not None:
            continue
        for answer in page.answers:
            unit = page.units[answer.unit]
            for name, value, system in exported(guesses, answer.aspect, answer.value, unit):
                if name == aspect and value is not None:
                    values.setdefault(system or unit["system"], []).append(value)
    return {system: Proportion(int(sum(yes_or_no)), len(yes_or_no)) for system, yes_or_no in sorted(values.items())}


def _total(name: str, shares: Mapping[str, Proportion]) -> dict[str, Proportion]:
    """Return one proportion over all systems; none without guesses."""
    yes = n = 0
    for share in shares.values():
        yes += share.yes
        n += share.n
    return {name: Proportion(yes, n)} if n else {}


def _verdict(all_bots: Proportion, chance: float) -> str:
    p = all_bots.p(chance)
    compared = p_value(p) if p < 0.001 else f"= {p_value(p)}"
    return (
        f"Share of correct guesses; chance is {number(chance)} if each bot was met equally often "
        f"(exact binomial test: p {compared})."
    )
