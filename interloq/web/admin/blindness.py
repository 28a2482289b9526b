# SPDX-License-Identifier: Apache-2.0
"""How blind people were: bots that were taken for people, and bots that were recognised, against chance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from interloq.statistics.clustered import Proportion
from interloq.terminal.console import p_value
from interloq.web.admin.sections import Shown, interval, number, section
from interloq.web.messages import Message, message
from interloq.web.studies.guesses import GUESSED_HUMAN, PERSON_GUESSED_HUMAN, RECOGNISED, Guesses, exported
from interloq.web.work.collected import FinishedPage


def guess_sections(pages: Iterable[FinishedPage], guesses: Guesses) -> Iterator[dict[str, Any]]:
    """Yield a section for each kind of guess that a task asks for."""
    pages = list(pages)
    if guesses.human:
        rows = _share_rows(guess_shares(pages, guesses, GUESSED_HUMAN))
        if people := _total(guess_shares(pages, guesses, PERSON_GUESSED_HUMAN)):
            rows.append(_share_row(message("people_who_chatted"), people))
        yield _guess_section("guessed-human", message("person_or_bot"), message("guessed_human"), rows)
    if guesses.names is not None:
        shares = guess_shares(pages, guesses, RECOGNISED)
        rows, text = _share_rows(shares), message("no_guesses")
        if all_bots := _total(shares):
            rows.append(_share_row(message("all_bots"), all_bots))
            text = _compare_with_chance(all_bots, 1 / len(guesses.names))
        yield _guess_section("recognised", message("recognised"), text, rows)


def _share_rows(shares: Mapping[str, Proportion]) -> list[list[Shown]]:
    return [_share_row(name, share) for name, share in shares.items()]


def _share_row(name: Shown, share: Proportion) -> list[Shown]:
    return [name, number(share.value), interval(share.ci), f"{share.n:,}"]


def _guess_section(id: str, title: Message, text: Message, rows: Sequence[Sequence[Shown]]) -> dict[str, Any]:
    texts = [text, message("guesses_independent")] if rows else [message("no_guesses")]
    columns = [message("system"), message("share"), message("interval_95"), message("guesses")]
    return section(id, title, texts, columns, rows)


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


def _total(shares: Mapping[str, Proportion]) -> Proportion | None:
    """Return one proportion over all systems; None without guesses."""
    yes = n = 0
    for share in shares.values():
        yes += share.yes
        n += share.n
    return Proportion(yes, n) if n else None


def _compare_with_chance(all_bots: Proportion, chance: float) -> Message:
    p = all_bots.p(chance)
    compared = p_value(p) if p < 0.001 else f"= {p_value(p)}"
    return message("guessed_right", chance=number(chance), p=compared)
