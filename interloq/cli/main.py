# SPDX-License-Identifier: Apache-2.0
"""`interloq VERB …`: runs the verb, and turns errors into one line and an exit code.

docs/command-line.md lists the exit codes.

Any error other than an InterloqError is a bug: one line is printed that names a file with the traceback. If it passed
through a metric given as FILE.py:NAME, the metric's line is named instead.

A verb's module has EXAMPLES, `add_arguments(parser)` and `run(args)`; only the module of this verb is imported. `run`
returns an exit code only if it has codes of its own, as `gate` has.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
import tempfile
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path

from interloq.cli.shared.arguments import check_paths
from interloq.cli.shared.output import exit_code, mark_incomplete, verb_output
from interloq.data.files.write_errors import format_error_line, hint, is_of_files
from interloq.errors import InputError, InterloqError, RejectedWarning, nearest
from interloq.shards.task import ShareComputed
from interloq.terminal.console import print_line, print_stderr, table_format
from interloq.version import __version__

VERB_GROUPS = {
    "judge replies": {
        "score": "score replies with metrics",
        "reply": "let systems reply to the contexts of samples or prompts",
        "explain": "show why a reply got its score",
        "report": "write one self-contained HTML report",
    },
    "decide between systems": {
        "compare": "compare two versions of a system: which is better, and by how much",
        "gate": "decide whether a new version may be released: pass, regression or undecided",
        "play": "let systems talk to each other or to a fixed set of partners",
        "rank": "rank systems from the scores of their dialogues",
    },
    "collect ratings": {
        "serve": "let people rate, compare, chat and add references in the browser",
    },
    "study metrics": {
        "meta": "measure how well metrics agree with people",
        "choose": "choose the metric that agrees best with people on your rated samples",
        "probe": "test which changes of replies a metric notices",
        "describe": "describe a metric, rater, retriever, tokenizer or bot and its fields",
        "signature": "show how the scores in a file were computed, or compare two files",
        "cite": "print BibTeX of metrics, or of every metric in score files",
    },
    "use logs": {
        "data": "import published datasets, check and convert files",
        "corpus": "turn raw logs into dialogues and utterance–response pairs",
        "index": "build a searchable index of pairs",
        "extend": "add replies from your logs to the references",
        "rate": "rate how good each reference is as a reply",
        "reliability": "predict how reliable references are, and make them better",
        "train": "train models on your own logs",
    },
    "set up": {
        "new": "write a folder with samples, commands and a metric to start from",
        "doctor": "show what is installed, which models work offline, and how to get the rest",
        "demo": "run the main workflow: score, compare, add and rate references from a log, explain, report",
        "completion": "print a script that completes commands in bash, zsh or fish",
    },
}
VERBS = {verb: summary for verbs in VERB_GROUPS.values() for verb, summary in verbs.items()}
JOBS = {
    "judge replies": "interloq score samples.jsonl",
    "compare two versions": "interloq compare old.jsonl new.jsonl",
    "gate a release": "interloq gate old.jsonl new.jsonl --margin 0.02",
    "collect ratings": "interloq serve add study.db samples.jsonl --task rate",
    "study metrics": "interloq choose rated.jsonl -o chosen.json",
}
INTERRUPTED = 130
DEBUG = "INTERLOQ_DEBUG"  # if set, unexpected errors are raised with their traceback


def main(argv: Sequence[str] | None = None) -> int:
    """Run the console command and return its exit code."""
    try:
        return _main(argv)
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        return _fail(_bug_report(error))


def _bug_report(error: Exception) -> str:
    """Return one line for an unexpected error; the traceback goes to a file that the user can attach to a report."""
    if isinstance(error, MemoryError):
        return "not enough memory; use smaller files or models, or a machine with more memory"
    from interloq.metrics.function import find_failed_line  # imports numpy

    what = f"{type(error).__name__}: {format_error_line(error)}"
    if where := find_failed_line(error):
        return str(InputError(f"your metric failed: {what}", where=where))
    with (
        contextlib.suppress(OSError),
        tempfile.NamedTemporaryFile(
            "w", prefix="interloq-", suffix=".txt", delete=False, encoding="utf-8", errors="replace"
        ) as file,
    ):
        file.write(f"interloq {__version__}, Python {sys.version}\n{' '.join(sys.argv)}\n")
        traceback.print_exception(error, file=file)
        where = f" with {file.name}"
    return f"this is a bug in Interloq: {what}; please report it{where} (or run again with {DEBUG}=1)"


def _main(argv: Sequence[str] | None) -> int:
    _replace_closed_streams()
    code = 0
    try:
        code = _dispatch(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
        return code
    except InterloqError as error:
        return _fail(str(error))
    except KeyboardInterrupt:
        print_stderr("\ninterrupted; files already written are complete")
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output has exited, as with `| head`
        _discard_output()
        return code
    except OSError as error:  # a file error that nothing else caught, or standard output
        if not is_of_files(error):
            raise
        _discard_output()
        return _fail(
            f"cannot read or write {error.filename or 'standard output or a file'}: "
            f"{format_error_line(error)}; {hint(error)}"
        )


def _dispatch(arguments: list[str]) -> int:
    if arguments[:1] == ["help"]:  # `interloq help score` is `interloq score --help`
        arguments = [*arguments[1:], "--help"]
    if not arguments:
        print_line(_format_jobs())
        return 0
    if arguments[0] in ("-h", "--help"):
        print_line(_format_verbs())
        return 0
    if arguments[0] in ("--version", "version"):
        print_line(f"interloq {__version__}")
        return 0
    verb, *rest = arguments
    if verb not in VERBS:
        return _fail(f"unknown verb {verb!r}{nearest(verb, VERBS)}")
    warnings.showwarning = _show_warning
    return exit_code(lambda: _run(verb, rest))


def _run(verb: str, arguments: Sequence[str]) -> int | None:
    args = verb_parser(verb, next(iter(arguments), "--help")).parse_args(arguments)
    args.command_line = (verb, *arguments)
    return run_verb(verb, args)


def run_verb(verb: str, args: argparse.Namespace) -> int | None:
    """Run a verb with its arguments, and return its exit code if it has codes of its own."""
    check_paths(args)
    with table_format(getattr(args, "table_format", "text")), verb_output(getattr(args, "output", None)):
        try:
            code: int | None = importlib.import_module(f"interloq.cli.{verb}").run(args)
        except ShareComputed as share:
            print_stderr(f"interloq: {share}")
            return None
        except ModuleNotFoundError as error:
            from interloq.cli.doctor import missing_dependency

            if missing := missing_dependency(f"interloq {verb}", error):
                raise missing from error
            raise
    return code


def verb_parser(verb: str, part: str = "") -> argparse.ArgumentParser:
    """Return the parser of a verb's arguments; if a part of `train` is given, only this part has arguments."""
    module = importlib.import_module(f"interloq.cli.{verb}")
    parser = argparse.ArgumentParser(
        prog=f"interloq {verb}",
        description=VERBS[verb][0].upper() + VERBS[verb][1:] + ".",
        epilog=f"examples:\n{module.EXAMPLES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if verb == "train":
        module.add_arguments(parser, part)
    else:
        module.add_arguments(parser)
    examples = module.EXAMPLES.splitlines()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, actor in action.choices.items():
                of_action = [line for line in examples if line.startswith(f"  {parser.prog} {name} ")]
                if of_action:
                    actor.epilog = "\n".join(("examples:", *of_action))
                actor.formatter_class = argparse.RawDescriptionHelpFormatter
    return parser


def _replace_closed_streams() -> None:
    """Write to /dev/null if the stream was closed by the caller (`>&-`), because Python then has no stream object."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115


def _discard_output() -> None:
    """Redirect standard output to /dev/null; otherwise flushing it when Python exits would fail again."""
    with contextlib.suppress(OSError, ValueError):  # in tests standard output may have no file descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _format_jobs() -> str:
    """Return what most people come for, with one command each."""
    lines = ["Evaluate open-domain dialogue systems. What would you like to do?", ""]
    for job, command in JOBS.items():
        lines.append(f"  {job:<22}{command}")
    lines += [
        "",
        "No files yet? `interloq new trial` writes a folder with examples of all of them.",
        "`interloq --help` lists all verbs, and `interloq help VERB` explains one.",
        "Nothing leaves your machine unless you name a server.",
    ]
    return "\n".join(lines)


def _format_verbs() -> str:
    """Return all verbs by group."""
    lines = ["usage: interloq VERB …", "", "Evaluate open-domain dialogue systems."]
    for group, verbs in VERB_GROUPS.items():
        lines += ["", f"{group}:"]
        for verb, summary in verbs.items():
            lines.append(f"  {verb:<12} {summary}")
    lines += [
        "",
        "examples:",
        "  interloq score samples.jsonl -m 'bleu(order=2)' -m distinct -o scores.jsonl",
        "  interloq meta scores.jsonl --samples samples.jsonl",
        "  interloq report scores.jsonl --samples samples.jsonl -o report.html",
        "",
        "See `interloq help VERB` for a verb's options; `interloq version` prints the version.",
    ]
    return "\n".join(lines)


def _fail(message: str) -> int:
    print_stderr(f"interloq: {message}")
    return 2


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    mark_incomplete(isinstance(message, RejectedWarning))
    print_stderr(f"interloq: warning: {message}")
