# SPDX-License-Identifier: Apache-2.0
"""The options of `interloq corpus build`: flags for the most important settings, and a settings file for all."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

from interloq.cli.shared.arguments import InputPath, add_common, add_input, add_list, add_options, add_output
from interloq.errors import InputError
from interloq.options import option

FLAGS = {  # the settings that are also flags, with the same help texts
    "--lang": "cleaning.lang",
    "--users": "shape.users",
    "--min-posts": "shape.min_posts",
    "--pairs": "shape.pairs",
    "--format": "format",
    "--compress": "compression",
}
METAVARS: dict[type, str] = {int: "N", str: "NAME"}
MOVED = {  # flags of earlier versions
    "--detectors": "cleaning.detectors",
    "--script": "cleaning.scripts",
    "--script-share": "cleaning.script_share",
    "--min-chars": "cleaning.min_characters",
    "--keep-urls": "cleaning.urls",
    "--keep-users": "cleaning.users",
    "--keep-emoji": "cleaning.emoji",
    "--hashtags": "cleaning.hashtags",
    "--markdown": "cleaning.markdown",
    "--repeated-letters": "cleaning.repeated_letters",
    "--repeated-words": "cleaning.repeated_words",
    "--quotes": "cleaning.quotes",
    "--duplicates": "joining.duplicates",
    "--utc-offset": "joining.utc_offset",
    "--orphans": "joining.orphans",
    "--max-gap": "joining.max_gap",
    "--bot-rate": "bots.per_day",
    "--bot-posts": "bots.posts",
    "--bot-repeats": "bots.repeats",
    "--bot-names": "bots.names",
    "--drop-user": "bots.users",
    "--max-posts": "shape.max_posts",
    "--branches": "shape.branches",
    "--no-others": "shape.others",
    "--merge": "shape.merge",
    "--dev-from": "split.dev_from",
    "--test-from": "split.test_from",
    "--unseen": "split.unseen",
    "--examples": "examples",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressOptions:
    """Compression of the files that `corpus import`, `corpus continuity` and `corpus ratings` write."""

    compress: Literal["zst", "gz", "none"] = option("zst", "compression of the outputs")


def add_build(build: argparse.ArgumentParser) -> None:
    """Add the options of `interloq corpus build`."""
    from interloq.data.corpus.settings import BuildOptions

    add_input(build, "posts", "POSTS", "files, folders or tar archives of logs; - for a pipe", nargs="+")
    add_output(build, "the folder to write", metavar="FOLDER")
    build.add_argument(
        "--settings", type=InputPath, metavar="FILE", help="TOML (see: interloq corpus settings); flags override it"
    )
    from interloq.data.corpus.settings import keys

    known = keys()
    for flag, name in FLAGS.items():
        key = known[name]
        default = f" (default {key.default})" if key.default != "" else ""
        values: dict[str, Any] = {"choices": key.choices} if key.choices else {"metavar": METAVARS[type(key.default)]}
        build.add_argument(flag, dest=name, type=type(key.default), help=key.help + default, **values)
    add_list(build, "--field", metavar="PART=NAME", help="name of a field in the logs, e.g. user=author.name")
    build.add_argument(
        "--split", metavar="SHARES", help="shares of train, dev and test in order of time, e.g. 0.8,0.1,0.1; or none"
    )
    running = build.add_argument_group("running")
    add_options(running, BuildOptions)  # type: ignore[arg-type]
    add_common(running)  # type: ignore[arg-type]
    for flag in MOVED:
        build.add_argument(flag, nargs="?", action=_Moved, help=argparse.SUPPRESS)


class _Moved(argparse.Action):
    """Refuses a flag of an earlier version and names the setting that replaced it."""

    def __call__(self, *_: object) -> NoReturn:
        (flag,) = self.option_strings
        group, _dot, field = MOVED[flag].rpartition(".")
        place = f"{field} under [{group}]" if group else field
        hint = f"set {place} in a file and name it with --settings; `interloq corpus settings` prints all keys"
        raise InputError(f"{flag} is no longer an option but a setting", hint=hint)


def settings(args: argparse.Namespace) -> Any:
    """Return the settings from the settings file, overridden by flags."""
    from dataclasses import replace

    from interloq.data.corpus.settings import CorpusSettings, log_names, read_settings, with_values

    chosen = read_settings(args.settings) if args.settings else CorpusSettings()
    if args.field:
        chosen = replace(chosen, fields=log_names(dict(chosen.fields) | _fields(args.field)))
    values = {name: vars(args)[name] for name in FLAGS.values() if vars(args)[name] is not None}
    return with_values(chosen, values | _split(args.split))


def _split(given: str | None) -> dict[str, Any]:
    if given is None:
        return {}
    shares: tuple[float, ...] = ()
    if given != "none":
        try:
            shares = tuple(map(float, given.split(",")))
        except ValueError:
            hint = "write --split 0.8,0.1,0.1 or --split none"
            raise InputError(f"cannot read --split {given!r}", hint=hint) from None
    return {"split.shares": shares, "split.dev_from": "", "split.test_from": ""}


def _fields(given: Sequence[str]) -> dict[str, str]:
    fields = {}
    for text in given:
        part, _, name = text.partition("=")
        if not name:
            raise InputError(f"cannot read --field {text!r}", hint="write --field user=author")
        fields[part] = name
    return fields
