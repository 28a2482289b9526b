# SPDX-License-Identifier: Apache-2.0
"""`interloq completion`: a script that completes commands in bash, zsh or fish."""

from __future__ import annotations

import argparse
from typing import Any

from interloq.cli.shared.completion_scripts import Command, Option, completion
from interloq.terminal.console import print_line

EXAMPLES = """\
  interloq completion bash > ~/.local/share/bash-completion/completions/interloq
  interloq completion zsh > ~/.zsh/completions/_interloq
  interloq completion fish > ~/.config/fish/completions/interloq.fish"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="bash, zsh or fish")


def run(args: argparse.Namespace) -> int:
    print_line(completion(program(), args.shell).rstrip())
    return 0


def program() -> Command:
    """Every verb with its actions and options."""
    from interloq.cli.main import VERBS, verb_parser

    verbs = (_command(verb, help, verb_parser(verb)) for verb, help in VERBS.items())
    options = (Option(("--help",), "list the verbs", takes_value=False),)
    return Command("", "", (*options, Option(("--version",), "print the version", takes_value=False)), tuple(verbs))


def _command(name: str, help: str, parser: argparse.ArgumentParser) -> Command:
    options = [_option(action) for action in parser._actions if action.option_strings]
    actions: list[Command] = []
    words: tuple[str, ...] = ()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            actions = [_command(name, helps.get(name, ""), inner) for name, inner in action.choices.items()]
        elif not action.option_strings and action.choices:
            words = tuple(map(str, action.choices))
    return Command(name, help, tuple(options), tuple(actions), words)


def _option(action: argparse.Action) -> Option:
    values: Any = action.choices or (_metrics() if "--metric" in action.option_strings else ())
    help = (action.help or "").replace("%%", "%")
    return Option(tuple(action.option_strings), help, tuple(map(str, values)), action.nargs != 0)


def _metrics() -> list[str]:
    from interloq.registry import names

    return names("metric")
