# SPDX-License-Identifier: Apache-2.0
"""Who talks with whom, and from which openings: self-play, all-play-all and bipartite-play (Sato et al., 2022).

self-play        every target with itself:                       targets × openings × repeats
all-play-all     every target with every other, in either order: targets × (targets - 1) × openings × repeats
bipartite-play   every target with every fixed partner:          targets × partners × openings × repeats

All pairs use the same openings. One exchange is one utterance of each speaker. A match's seed depends only on the run's
seed and the match's id: more targets, partners, openings or repeats do not change existing matches.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations, product

from interloq.errors import InputError
from interloq.play.openings import Opening
from interloq.play.play_options import EXCHANGES
from interloq.records import Turn
from interloq.signature import fingerprint

SECOND, PARTNER = " (2)", " (partner)"
_REFUSED = re.compile(r"[~;\x00-\x1f\x7f-\x9f\u2028\u2029]|: |^\s|\s$|\((2|partner)\)$")


@dataclass(frozen=True, slots=True)
class BotMatch:
    """One dialogue to play; in self-play the partner is the target.

    With a `context` instead of an opening, it is one reply of the target to turns that have their own speakers.
    """

    id: str
    target: str
    partner: str
    opening: tuple[str, ...]
    exchanges: int
    target_first: bool
    seed: int
    context: tuple[Turn, ...] = ()

    @property
    def utterances(self) -> int:
        """How many utterances the bots add."""
        return 1 if self.context else 2 * self.exchanges

    @property
    def bots(self) -> tuple[str, ...]:
        """The bots that speak."""
        return (self.target,) if self.context else (self.target, self.partner)


def reply_match(id: str, system: str, context: Sequence[Turn], seed: int) -> BotMatch:
    """Return the match in which a system replies once to a context."""
    return BotMatch(id, system, "", (), 1, True, seed, tuple(context))


def self_play(
    targets: Iterable[str], openings: Sequence[Opening], *, exchanges: int = EXCHANGES, repeats: int = 1, seed: int = 0
) -> list[BotMatch]:
    """Let every target talk with itself."""
    pairs = [(target, target) for target in _names(targets, "target")]
    return _matches(pairs, openings, exchanges, repeats, seed)


def all_play_all(
    targets: Iterable[str], openings: Sequence[Opening], *, exchanges: int = EXCHANGES, repeats: int = 1, seed: int = 0
) -> list[BotMatch]:
    """Let every target talk with every other, once speaking first and being judged, once as the partner."""
    names = _names(targets, "target")
    if len(names) < 2:
        raise InputError("all-play-all needs at least two targets, got 1", hint="add a target, or use self-play")
    pairs = list(permutations(names, 2))
    return _matches(pairs, openings, exchanges, repeats, seed)


def bipartite(
    targets: Iterable[str],
    partners: Iterable[str],
    openings: Sequence[Opening],
    *,
    exchanges: int = EXCHANGES,
    repeats: int = 1,
    seed: int = 0,
) -> list[BotMatch]:
    """Let every target talk with every partner; the target speaks first.

    Partners and targets need different names (`apart`).
    """
    names, others = _names(targets, "target"), _names(partners, "partner", own=PARTNER)
    if both := sorted(set(names) & set(others)):
        raise InputError(f"{both[0]!r} is both a target and a partner", hint=f"call the partner {both[0]}{PARTNER}")
    return _matches(list(product(names, others)), openings, exchanges, repeats, seed)


def apart(partners: Iterable[str], targets: Iterable[str]) -> dict[str, str]:
    """Return the name that each partner plays under, which differs from the names of all targets."""
    taken = set(targets)
    return {name: name + PARTNER if name in taken else name for name in partners}


def draw_openings(openings: Sequence[Opening], limit: int | None, seed: int) -> list[Opening]:
    """Return `limit` random openings in their order; a larger limit includes the openings of a smaller one."""
    if limit is None:
        return list(openings)
    if not 1 <= limit <= len(openings):
        raise InputError(f"cannot draw {limit} of {len(openings)} openings", hint="add openings, or use --repeats")
    lots = sorted(range(len(openings)), key=lambda i: fingerprint(str(seed), openings[i].id, *openings[i].turns))
    return [openings[i] for i in sorted(lots[:limit])]


def seed_of(seed: int, id: str) -> int:
    """Return a 63-bit seed for one match, or one turn of it."""
    return int(fingerprint(str(seed), id), 16) >> 1


def _matches(
    pairs: Sequence[tuple[str, str]], openings: Sequence[Opening], exchanges: int, repeats: int, seed: int
) -> list[BotMatch]:
    for name, value in (("exchanges", exchanges), ("repeats", repeats), ("openings", len(openings))):
        if value < 1:
            raise InputError(f"{name} must be at least 1, got {value}")
    matches = []
    for repeat in range(1, repeats + 1):
        for opening in openings:
            for target, partner in pairs:
                id = f"{target}~{partner}/{opening.id}/repeat-{repeat}"
                matches.append(BotMatch(id, target, partner, opening.turns, exchanges, True, seed_of(seed, id)))
    id, count = Counter(match.id for match in matches).most_common(1)[0]
    if count > 1:
        raise InputError(f"{count} matches would have the id {id!r}", hint="rename a bot or an opening")
    return matches


def _names(given: Iterable[str], what: str, own: str = "") -> list[str]:
    names = list(given)
    if not names:
        raise InputError(f"no {what} is given", hint=f"name one, for example --{what} 'mine=eliza'")
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise InputError(f"{count} {what}s are called {name!r}", hint="give each a different name")
    for name in names:
        check_name(name.removesuffix(own) if own else name)
    return names


def check_name(name: str) -> None:
    """Check that the name can be parsed from ids and failures."""
    if not name or (refused := _REFUSED.search(name)):
        seen = f": {refused[0]!r}" if name and refused else ""
        raise InputError(
            f"{name!r} cannot be a bot's name{seen}",
            hint="avoid ~, ;, colons before a space, control characters, outer spaces, and a final (2) or (partner)",
        )
