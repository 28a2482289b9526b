"""The options of `interloq corpus build`, and the settings that they stand for. Defaults are the papers' values."""

from __future__ import annotations

import argparse
from typing import Any

from interloq.cli.output import add_common
from interloq.cli.paths import InputPath, OutputPath


def add_build(build: argparse.ArgumentParser) -> None:
    build.add_argument(
        "posts", nargs="+", type=InputPath, metavar="POSTS", help="files, folders or tar archives of logs; - for a pipe"
    )
    build.add_argument("-o", "--output", type=OutputPath, required=True, metavar="FOLDER", help="where the corpus goes")
    build.add_argument(
        "--format", default="auto", help="posts, twitter, reddit, irc, telegram, … (default: told by the file)"
    )
    build.add_argument(
        "--field", action="append", default=[], metavar="PART=NAME", help="user=author.name: which field it is"
    )
    _add_cleaning(build.add_argument_group("cleaning posts"))
    _add_users(build.add_argument_group("copies and bots"))
    _add_threads(build.add_argument_group("threads, dialogues and pairs"))
    _add_split(build.add_argument_group("parts"))
    running = build.add_argument_group("running")
    running.add_argument("--workers", type=int, default=0, metavar="N", help="processes (default: one a core)")
    running.add_argument("--memory", default="2GB", metavar="SIZE", help="limit of the joins (default 2GB)")
    running.add_argument(
        "--block", type=int, default=4, metavar="MIB", help="megabytes a worker takes at a time (default 4)"
    )
    running.add_argument("--fresh", action="store_true", help="begin again instead of going on")
    running.add_argument("--examples", type=int, default=5, metavar="N", help="of what each filter drops (default 5)")
    running.add_argument(
        "--compress", choices=("zst", "gz", "none"), default="zst", help="of the outputs (default zst)"
    )
    add_common(running)  # type: ignore[arg-type]


def _add_cleaning(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--lang", default="", help="keep posts of this language, as ja or en (default: all)")
    group.add_argument(
        "--detectors",
        default="label,fasttext",
        metavar="NAMES",
        help="label, fasttext, lingua: all must agree (label,fasttext)",
    )
    group.add_argument(
        "--script", default="", metavar="NAMES", help="scripts of the language (default: told by --lang)"
    )
    group.add_argument(
        "--script-share", type=float, default=0.6, metavar="SHARE", help="least share in them (default 0.6)"
    )
    group.add_argument("--min-chars", type=int, default=5, metavar="N", help="least characters of a post (default 5)")
    group.add_argument("--keep-urls", action="store_true", help="leave URLs in the texts")
    group.add_argument("--keep-users", action="store_true", help="leave @names in the texts")
    group.add_argument("--keep-emoji", action="store_true", help="leave emoji in the texts")
    group.add_argument("--hashtags", choices=("keep", "word", "remove"), default="keep", help="(default keep)")
    group.add_argument("--markdown", action="store_true", help="texts are Markdown: drop quoted lines and link targets")
    group.add_argument(
        "--repeated-letters", type=int, default=3, metavar="N", help="cut soooooo to N (default 3; 0: leave)"
    )
    group.add_argument(
        "--repeated-words", type=int, default=3, metavar="N", help="cut no no no no to N (default 3; 0: leave)"
    )
    group.add_argument(
        "--quotes", choices=("drop", "keep", "reply"), default="drop", help="posts that quote (default drop)"
    )


def _add_users(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--duplicates",
        choices=("user", "any", "off"),
        default="user",
        help="same-day copies by one user or anybody (user)",
    )
    group.add_argument("--utc-offset", type=float, default=0.0, metavar="HOURS", help="when days begin: 9 for Japan")
    group.add_argument(
        "--bot-rate", type=int, default=300, metavar="N", help="a bot posts more on a day (default 300; 0: off)"
    )
    group.add_argument(
        "--bot-posts", type=int, default=20, metavar="N", help="a bot has at least this many posts (20) …"
    )
    group.add_argument(
        "--bot-repeats",
        type=float,
        default=0.5,
        metavar="SHARE",
        help="… of which this share repeats others (0.5; 0: off)",
    )
    group.add_argument("--bot-names", action="store_true", help="users with 'bot' as a part of their name are bots")
    group.add_argument(
        "--drop-user", action="append", default=[], metavar="NAME", help="drop this user too; repeat for more"
    )


def _add_threads(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--orphans", action="store_true", help="a reply to a missing post may begin a thread")
    group.add_argument(
        "--max-gap", type=float, default=0.0, metavar="HOURS", help="a later reply is none (default: no limit)"
    )
    group.add_argument(
        "--users", type=int, default=2, metavar="N", help="users of a dialogue, exactly (default 2; 0: any)"
    )
    group.add_argument("--min-posts", type=int, default=3, metavar="N", help="least posts of a dialogue (default 3)")
    group.add_argument(
        "--max-posts", type=int, default=1000, metavar="N", help="a longer one ends there (default 1000)"
    )
    group.add_argument("--branches", choices=("all", "longest"), default="all", help="of a thread (default all)")
    group.add_argument("--no-others", action="store_true", help="only threads in which no further user takes part")
    group.add_argument("--merge", action="store_true", help="posts of one user in a row become one turn")
    group.add_argument(
        "--pairs",
        choices=("first", "all"),
        default="first",
        help="replies to the first post of a thread, or to any (first)",
    )


def _add_split(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--split", default="0.8,0.1,0.1", metavar="SHARES", help="train, dev, test in time order; none")
    group.add_argument("--dev-from", default="", metavar="DATE", help="dev begins here, instead of at a share")
    group.add_argument("--test-from", default="", metavar="DATE", help="test begins here")
    group.add_argument(
        "--unseen", action="store_true", help="drop posts of dev and test whose text is in an earlier part"
    )


def settings(args: argparse.Namespace) -> Any:
    from interloq.data.corpus.clean import Cleaning
    from interloq.data.corpus.dialogues import Shape
    from interloq.data.corpus.settings import Settings
    from interloq.data.corpus.threads import Bots, Joining

    cleaning = Cleaning(
        lang=args.lang,
        detectors=_names(args.detectors),
        scripts=_names(args.script),
        script_share=args.script_share,
        min_characters=args.min_chars,
        urls=not args.keep_urls,
        users=not args.keep_users,
        emoji=not args.keep_emoji,
        hashtags=args.hashtags,
        markdown=args.markdown,
        repeated_letters=args.repeated_letters,
        repeated_words=args.repeated_words,
        quotes=args.quotes,
    )
    bots = Bots(args.bot_rate, args.bot_posts, args.bot_repeats, args.bot_names, tuple(sorted(args.drop_user)))
    shape = Shape(
        users=args.users,
        min_posts=args.min_posts,
        max_posts=args.max_posts,
        branches=args.branches,
        others=not args.no_others,
        merge=args.merge,
        pairs=args.pairs,
    )
    joining = Joining(args.duplicates, args.utc_offset, args.orphans, args.max_gap)
    return Settings(
        cleaning, bots, joining, shape, _split(args), args.format, _fields(args.field), args.examples, args.compress
    )


def _split(args: argparse.Namespace) -> Any:
    from interloq.data.corpus.split import Split
    from interloq.errors import InputError

    if args.dev_from or args.test_from:
        return Split((), args.dev_from, args.test_from, args.unseen)
    if args.split == "none":
        return Split(())
    try:
        return Split(tuple(float(share) for share in args.split.split(",")), unseen=args.unseen)
    except ValueError:
        raise InputError(f"cannot read the shares {args.split!r}", cure="write --split 0.8,0.1,0.1 or none") from None


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _fields(given: list[str]) -> tuple[tuple[str, str], ...]:
    from interloq.data.corpus.logs.named_fields import NAMES
    from interloq.errors import InputError, nearest

    fields = []
    for text in given:
        part, equals, name = text.partition("=")
        if not equals or not name or part not in NAMES:
            raise InputError(f"cannot read --field {text!r}{nearest(part, NAMES)}", cure="write --field user=author")
        fields.append((part, name))
    return tuple(sorted(fields))
