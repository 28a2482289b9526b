# SPDX-License-Identifier: Apache-2.0
"""`interloq corpus`: raw logs in, dialogues and utterance–response pairs out."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from interloq.cli.corpus import pairs as corpus_pairs
from interloq.cli.corpus import samples as corpus_samples
from interloq.cli.corpus.options import CompressOptions, add_build, settings
from interloq.cli.corpus.samples import print_parts
from interloq.cli.shared import arguments
from interloq.cli.shared.output import confirm_removal, mark_incomplete, phases
from interloq.data.pseudonyms import UserIdOptions
from interloq.errors import InputError, count
from interloq.options import option, user_key_option
from interloq.signature import Signature
from interloq.terminal.console import print_json, print_line, print_signatures, print_stderr, print_table

EXAMPLES = """\
  interloq corpus build posts.jsonl.gz -o corpus --lang ja
  interloq corpus build RC_2015-01.zst RS_2015-01.zst -o corpus --lang en --pairs all
  interloq corpus settings > corpus.toml                            # all settings, with their defaults
  interloq corpus build irc-logs/ -o corpus --settings corpus.toml --split none
  interloq corpus show corpus
  interloq corpus import dailydialog dailydialog.tar.gz -o dailydialog
  interloq corpus pairs dialogues.jsonl -o pairs.jsonl
  interloq corpus testset corpus -o testset --draw 100               # utterances with several real replies
  interloq corpus pairs corpus/train/pairs.jsonl.zst -o train.jsonl --draw 2400000 --without testset
  interloq corpus continuity dialogues.jsonl -o continuity          # which replies were answered
  interloq corpus ratings rated.jsonl -o rated                      # replies rated by the person in the dialogue
  interloq corpus forget ann dialogues.jsonl                        # remove one person's data"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    add_build(actions.add_parser("build", help="build a corpus from logs of posts"))
    actions.add_parser("settings", help="print all settings of a build and their defaults as TOML")
    showing = actions.add_parser("show", help="print the contents of a corpus and what its filters dropped")
    arguments.add_input(showing, "folder", "FOLDER", "a folder written by `corpus build`")
    showing.add_argument("--examples", action="store_true", help="also print examples of what each filter dropped")
    arguments.add_json(showing, "tables")
    _add_import(actions.add_parser("import", help="convert a published dialogue corpus to dialogues and pairs"))
    corpus_pairs.add_arguments(actions)
    corpus_samples.add_arguments(actions)
    forget = actions.add_parser("forget", help="remove one user's dialogues, ratings and profile, in place")
    forget.add_argument("user", metavar="USER", help="their id, or its pseudonym")
    arguments.add_input(forget, "corpus", "CORPUS", "a folder of a corpus or of samples, or a JSONL file")
    arguments.add_options(forget, ForgetOptions)
    arguments.add_json(forget)


def _add_import(importing: argparse.ArgumentParser) -> None:
    from interloq.data.sets.registry import CORPORA

    importing.add_argument("corpus", metavar="NAME", help=", ".join(corpus.name for corpus in CORPORA))
    arguments.add_input(
        importing, "path", "PATH", "its folder or archive (default: looked up in $INTERLOQ_DATA)", nargs="?"
    )
    arguments.add_output(importing, "the folder to write", metavar="FOLDER")
    arguments.add_options(importing, CompressOptions)
    arguments.add_options(importing, UserIdOptions)
    arguments.add_json(importing)


def run(args: argparse.Namespace) -> None:
    actions = {
        "build": _build,
        "settings": _settings,
        "show": _show,
        "import": _import,
        "pairs": corpus_pairs.run,
        "testset": corpus_pairs.run,
        "forget": _forget,
        "continuity": corpus_samples.run,
        "ratings": corpus_samples.run,
    }
    actions[args.action](args)


def _build(args: argparse.Namespace) -> None:
    from interloq.data.corpus.build import build
    from interloq.data.corpus.settings import BuildOptions

    chosen = settings(args)
    if not chosen.cleaning.target_scripts() and not args.quiet:
        print_stderr("interloq: without --lang, posts in all languages and scripts are kept")
    with phases(quiet=args.quiet) as progress:
        options = arguments.make_options(BuildOptions, args, strict=args.strict)
        facts = build(args.posts, args.output, chosen, options, progress=progress)
    _print(facts, args)
    mark_incomplete(facts["posts"]["bad_lines"])
    if facts["posts"]["bad_lines"]:
        print_stderr(f"interloq: bad lines are in {args.output}/posts.rejected.jsonl")


def _settings(_: argparse.Namespace) -> None:
    from interloq.data.corpus.settings import default_toml

    print_line(default_toml().rstrip())


def _show(args: argparse.Namespace) -> None:
    from interloq.data.files.opening import read_json, reading_saved

    path = f"{args.folder.rstrip('/')}/corpus.json"
    hint = "name a folder written by `interloq corpus build`"
    facts = read_json(path, hint=hint)
    if facts.get("kind") != "corpus":
        raise InputError("does not describe a corpus", hint=hint, where=path)
    with reading_saved(path, hint=hint):
        _print(facts, args)


def _print(facts: dict[str, Any], args: argparse.Namespace) -> None:
    """Print the contents of a corpus as tables."""
    if args.json:
        print_json(facts)
        return
    posts = facts["posts"]
    rows = [["posts read", f"{posts['read']:,}", ""], ["bad lines", f"{posts['bad_lines']:,}", ""]]
    for reason, drops in posts["dropped"].items():
        if drops["count"]:
            rows.append([f"dropped: {reason}", f"{drops['count']:,}", drops["what"]])
    rows.append(["posts kept", f"{posts['kept']:,}", f"by {count(posts['users'], 'user')}"])
    rows += _thread_rows(facts)
    print_table("", ["", "count", "meaning"], rows)
    print_parts(facts["parts"], digits=2)
    for name, time_ in facts["split"].items():
        print_line(f"{name.replace('_', ' begins ').replace('from', 'at')} {time_}")
    if getattr(args, "examples", False) is True:
        for reason, drops in posts["dropped"].items():
            for example in drops["examples"]:
                print_line(f"{reason}: {example['user']}: {' '.join(example['text'].split())}")
    print_signatures(Signature(facts["signature"]))


def _thread_rows(facts: dict[str, Any]) -> list[list[str]]:
    from interloq.data.corpus.threads import BROKEN

    threads = facts["threads"]
    rows = [["replies", f"{facts['replies']['all']:,}", ""]]
    for reason, n in facts["replies"]["broken"].items():
        if n:
            rows.append([f"broken: {reason}", f"{n:,}", BROKEN[reason]])
    reasons = {
        "orphan": "starts with a reply to a missing post",
        "crosses": "crosses the boundary between two parts",
        "too_large": "has more posts than fit in memory",
    }
    for reason, what in reasons.items():
        if threads[reason]:
            rows.append([f"threads dropped: {reason}", f"{threads[reason]:,}", what])
    return [*rows, ["threads kept", f"{threads['kept']:,}", f"with {count(facts['thread_posts']['kept'], 'post')}"]]


def _import(args: argparse.Namespace) -> None:
    from interloq.data.sets.imports import import_corpus, import_names

    names = import_names(args.corpus, arguments.make_options(UserIdOptions, args))
    facts = import_corpus(args.corpus, args.output, path=args.path, compress=args.compress, names=names)
    if args.json:
        print_json(facts)
    else:
        rows = []
        for part, counts in facts["parts"].items():
            rows.append([part, *(f"{n:,}" for n in counts.values())])
        print_table("", [facts["corpus"], "dialogues", "turns", "pairs", "pairs in groups"], rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetOptions:
    """Where else to remove a user, and how the user's id was hashed."""

    models: Sequence[str] = option(
        (),
        "a model of train dcp or train interlocutor, from which their token is removed too",
        flag="--model",
        path=True,
        metavar="FOLDER",
    )
    user_key: str | None = user_key_option()
    yes: bool = option(False, "do not ask for confirmation")


def _forget(args: argparse.Namespace) -> None:
    from interloq.data.pseudonyms import names_of
    from interloq.scorers.interlocutor.forget_file import find, forget_in_models

    options = arguments.make_options(ForgetOptions, args)
    users = names_of(args.user, options.user_key)
    user_data = find(users, args.corpus)
    if not options.yes and (user_data.found or options.models):
        also = f" and their token in {count(len(options.models), 'model')}" if options.models else ""
        confirm_removal(f"{count(user_data.found, 'record')} of {args.user!r} in {args.corpus}{also}")
    models: dict[str, bool] = {}
    if options.models:
        models = dict(zip(options.models, forget_in_models(users, options.models), strict=True))
    user_data.remove()
    if not (user_data.found or any(models.values())):
        mark_incomplete()
        print_stderr(f"interloq: nothing of the user {args.user!r} was found")
    if args.json:
        files = {str(path): {"removed": gone, "of": of} for path, (gone, of) in user_data.records.items()}
        print_json({"removed": user_data.found, "files": files, "models": models, "not_undone": user_data.notes})
        return
    rows = [[str(path), f"{gone:,}", f"{of:,}"] for path, (gone, of) in user_data.records.items()]
    print_table("", ["file", "removed", "of"], rows)
    for model, known in models.items():
        result = "the user was removed" if known else "the model does not know this user"
        print_line(f"{model}: {result}")
    print_line("not undone:")
    for note in user_data.notes:
        print_line(f"- {note}")
