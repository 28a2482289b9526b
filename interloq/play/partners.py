# SPDX-License-Identifier: Apache-2.0
"""Partner sets: the fixed partners of bipartite-play as a file that can be shared and checked.

A set is a JSON file with each partner's name, spec and signature (fingerprints of weights, rules, index), the
fingerprint of the openings, the number of exchanges, and a hash of all these. Dialogues against the same set have the
same hash in their header; scores with different hashes cannot be compared.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from interloq.data.files.opening import read_json, reading_saved, replacing
from interloq.errors import InputError, InterloqError, nearest
from interloq.play.bot import Bot, BotLike
from interloq.play.openings import Opening, openings_fingerprint
from interloq.play.schedule import check_name
from interloq.play.self_contained import (
    check_files,
    locate,
    locate_set,
    packaged_sets,
    place_bot,
    warn_of_changes,
)
from interloq.registry import create, spec
from interloq.signature import VERSION, Signature, fingerprint
from interloq.trust import Trust, check_trust
from interloq.version import __version__

KIND, SCHEMA = "partners", 1
NEW = "make a new set with `interloq play partners`; its scores cannot be compared with those of the old one"


@dataclass(frozen=True, slots=True)
class Partner:
    """One bot of a partner set."""

    name: str
    spec: str
    signature: str


@dataclass(frozen=True, slots=True)
class PartnerSet:
    """The fixed partners, openings and dialogue length that systems are judged with."""

    partners: tuple[Partner, ...]
    openings: str  # their fingerprint
    exchanges: int
    source: str = ""  # where the openings came from; not part of the hash
    name: str = ""  # of a set that contains all files that it needs
    files: Mapping[str, str] = field(default_factory=dict)  # their SHA-256, by path in the folder
    published: Mapping[str, str] = field(default_factory=dict)  # the same for what reference systems said and scored

    @property
    def hash(self) -> str:
        """Sixteen hexadecimal digits, independent of the order of the partners and the spelling of their specs."""
        if self.files:  # signatures name versions of libraries, the files do not
            parts = [fingerprint(partner.name, partner.spec) for partner in self.partners]
            parts += [fingerprint(*file) for file in self.files.items()]
            return fingerprint("self-contained", str(SCHEMA), self.openings, str(self.exchanges), *sorted(parts))
        signatures = sorted(fingerprint(partner.name, partner.signature) for partner in self.partners)
        return fingerprint("partners", str(SCHEMA), self.openings, str(self.exchanges), *signatures)


def partner_set(
    bots: Mapping[str, BotLike], openings: Sequence[Opening], *, exchanges: int, source: str = ""
) -> PartnerSet:
    """Return a partner set of these bots with their current signatures."""
    if exchanges < 1:
        raise InputError(f"at least 1 exchange is needed, got {exchanges}")
    for name in bots:
        check_name(name)
    partners = tuple(Partner(name, spec(bot), drop_version(bot.signature())) for name, bot in sorted(bots.items()))
    return PartnerSet(partners, openings_fingerprint(openings), exchanges, source)


def save_partners(path: str | Path, partners: PartnerSet) -> None:
    """Write a partner set to a file."""
    value = {
        "kind": KIND,
        "schema": SCHEMA,
        "hash": partners.hash,
        "exchanges": partners.exchanges,
        "openings": {"fingerprint": partners.openings, "source": partners.source},
        "partners": [{"name": p.name, "spec": p.spec, "signature": p.signature} for p in partners.partners],
        "version": __version__,
    }
    if partners.files:
        value |= {"name": partners.name, "files": dict(partners.files), "published": dict(partners.published)}
    with replacing(path) as file:
        file.write(orjson.dumps(value, option=orjson.OPT_INDENT_2) + b"\n")


def load_partners(path: str | Path) -> PartnerSet:
    """Read a partner set from a file, its folder, or the package (`en-v1`); a changed set is refused."""
    made = "make one with `interloq play partners`"
    path = locate_set(path)
    if not path.exists():
        raise InputError(f"no partner set {str(path)!r}{nearest(str(path), packaged_sets())}", hint=made)
    value = read_json(path, hint=made)
    with reading_saved(path, "not a partner set", hint=made):
        partners = _parse_set(value)
    if value.get("hash") != partners.hash:
        raise InputError(
            f"the stored hash is {value.get('hash')}, but the contents have the hash {partners.hash}",
            hint=f"use the original file, or {NEW}",
            where=str(path),
        )
    check_files(path.parent, partners.files)
    return partners


def openings_source(partners: PartnerSet, path: str | Path) -> str:
    """Return the file with the openings of a set."""
    return locate(partners.source, locate_set(path).parent)


def partner_bots(partners: PartnerSet, path: str | Path = "", *, trust: Trust = None) -> dict[str, Bot]:
    """Create the partners, and check that their signatures match the set.

    `trust` receives what each partner does besides talking; without it, a set with such partners is refused.
    """
    bots: dict[str, Bot] = {}
    folder = locate_set(path).parent
    for partner in partners.partners:
        with _name_partner_in_errors(partner, str(path)):
            bots[partner.name] = place_bot(create(partner.spec, kind="bot"), folder)
    check_trust(bots, str(path) or "the partner set", trust)
    changed: dict[str, tuple[str, str]] = {}
    for partner in partners.partners:
        with _name_partner_in_errors(partner, str(path)):
            seen = drop_version(bots[partner.name].signature())
        if seen != partner.signature and partners.files:
            changed[partner.name] = partner.signature, seen
        elif seen != partner.signature:
            raise InputError(
                f"partner {partner.name!r} has changed: signature {partner.signature} in the set, now {seen}",
                hint=f"restore it, or {NEW}",
                where=str(path),
            )
    warn_of_changes(changed, partners.name)
    return bots


def check_openings(partners: PartnerSet, openings: Sequence[Opening], path: str | Path = "") -> None:
    """Refuse openings that differ from the partner set's."""
    seen = openings_fingerprint(openings)
    if seen != partners.openings:
        raise InputError(
            f"the set was made for other openings: {partners.openings} from {partners.source or 'a file'}, "
            f"these are {seen}",
            hint=f"use the openings of the set, or {NEW}",
            where=str(path),
        )


def drop_version(signature: Signature | str) -> str:
    """Return a signature without Interloq's version: it includes the fingerprints of rules and weights."""
    return str(signature.without(VERSION) if isinstance(signature, Signature) else signature)


@contextlib.contextmanager
def _name_partner_in_errors(partner: Partner, where: str) -> Iterator[None]:
    try:
        yield
    except InterloqError as error:
        raise InputError(
            f"partner {partner.name!r} cannot be loaded: {error}", hint=f"or {NEW}", where=where
        ) from error


def _parse_set(value: Any) -> PartnerSet:
    if value["kind"] != KIND or value["schema"] != SCHEMA:
        raise ValueError(f"kind {value['kind']!r}, schema {value['schema']!r}")
    partners = tuple(Partner(str(p["name"]), str(p["spec"]), str(p["signature"])) for p in value["partners"])
    for partner in partners:
        check_name(partner.name)
    if len({partner.name for partner in partners}) < len(partners):
        raise ValueError("two partners have the same name")
    openings = value["openings"]
    name, source = str(value.get("name", "")), str(openings["source"])
    files, published = _parse_hashes(value, "files"), _parse_hashes(value, "published")
    return PartnerSet(partners, str(openings["fingerprint"]), int(value["exchanges"]), source, name, files, published)


def _parse_hashes(value: Mapping[str, Any], field: str) -> dict[str, str]:
    return {str(name): str(digest) for name, digest in dict(value.get(field, {})).items()}
