# SPDX-License-Identifier: Apache-2.0
"""`interloq completion`: a script that completes commands in bash, zsh or fish, without calling Python at each key.

The three scripts do the same: they find the verb and action typed so far, then offer the values of the option before
the cursor, options after a dash, actions, or files.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from interloq.terminal.console import print_line

EXAMPLES = """\
  interloq completion bash > ~/.local/share/bash-completion/completions/interloq
  interloq completion zsh > ~/.zsh/completions/_interloq
  interloq completion fish > ~/.config/fish/completions/interloq.fish"""

PROGRAM = "interloq"
Shell = Literal["bash", "zsh", "fish"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="bash, zsh or fish")


def run(args: argparse.Namespace) -> None:
    print_line(completion(program(), args.shell).rstrip())


@dataclass(frozen=True, slots=True)
class Option:
    """An option: its names, help and possible values."""

    names: tuple[str, ...]
    help: str
    values: tuple[str, ...] = ()
    takes_value: bool = True


@dataclass(frozen=True, slots=True)
class Command:
    """A verb or an action of a verb; the program itself has no name. `words` are values of its first argument."""

    name: str
    help: str
    options: tuple[Option, ...] = ()
    actions: tuple[Command, ...] = ()
    words: tuple[str, ...] = ()


def program() -> Command:
    """Return every verb with its actions and options."""
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
    from interloq.registry import names

    values: Any = action.choices or ()
    if "--metric" in action.option_strings:
        values = names("metric")
    help = (action.help or "").replace("%%", "%")
    return Option(tuple(action.option_strings), help, tuple(map(str, values)), action.nargs != 0)


def completion(program: Command, shell: Shell) -> str:
    """Return the script of a shell."""
    if shell == "fish":
        return _fish_script(program)
    script = _BASH if shell == "bash" else _ZSH
    every = list(_commands(program))
    commands = "|".join(f'"{path}"' for path, _ in every if path)
    values: list[str] = []
    words: list[str] = []
    for path, command in every:
        values += _value_cases(path, command, shell)
        words.append(_word_case(path, command, shell))
    return script.format(commands=commands, values="\n".join(values), words="\n".join(words))


_BASH = """\
# bash completion of interloq; load it with: source <(interloq completion bash)
_interloq() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}" command="" i options="" words=""
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "${{command:+$command }}${{COMP_WORDS[i]}}" in
            {commands}) command="${{command:+$command }}${{COMP_WORDS[i]}}" ;;
        esac
    done
    case "$command $prev" in
{values}
    esac
    case "$command" in
{words}
    esac
    if [[ "$cur" == -* ]]; then words="$options"; fi
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -o default -o bashdefault -F _interloq interloq
"""
_ZSH = """\
#compdef interloq
# zsh completion of interloq; load it with: source <(interloq completion zsh)
_interloq() {{
    local command="" word
    local -a options=() found=()
    for word in "${{(@)words[2,CURRENT-1]}}"; do
        case "${{command:+$command }}$word" in
            {commands}) command="${{command:+$command }}$word" ;;
        esac
    done
    case "$command ${{words[CURRENT-1]}}" in
{values}
    esac
    case "$command" in
{words}
    esac
    if [[ "$PREFIX" == -* ]]; then compadd -- $options
    elif (( $#found )); then compadd -- $found
    else _files; fi
}}
compdef _interloq interloq
"""


def _commands(command: Command, path: str = "") -> Iterator[tuple[str, Command]]:
    """Yield every command with its path, such as `data import`."""
    yield path, command
    for action in command.actions:
        yield from _commands(action, f"{path} {action.name}".strip())


def _value_cases(path: str, command: Command, shell: Shell) -> Iterator[str]:
    for option in command.options:
        if option.values:
            names, values = "|".join(f'"{path} {name}"' for name in option.names), " ".join(option.values)
            reply = f"compadd -- {values}"
            if shell == "bash":
                reply = f'COMPREPLY=($(compgen -W "{values}" -- "$cur"))'
            yield f"        {names}) {reply}; return ;;"


def _word_case(path: str, command: Command, shell: Shell) -> str:
    options = " ".join(name for option in command.options for name in option.names)
    words = " ".join([action.name for action in command.actions] or command.words)
    if shell == "bash":
        return f'        "{path}") options="{options}"; words="{words}" ;;'
    return f'        "{path}") options=({options}); found=({words}) ;;'


def _fish_script(program: Command) -> str:
    lines = ["# fish completion of interloq; load it with: interloq completion fish | source"]
    for path, command in _commands(program):
        seen = "; and ".join(f"__fish_seen_subcommand_from {name}" for name in path.split())
        condition = _quote_for_fish(seen or "__fish_use_subcommand")
        for arguments, help in _fish_parts(command):
            described = f" -d {_quote_for_fish(help)}" if help else ""
            lines.append(f"complete -c {PROGRAM} -n {condition} {arguments}{described}")
    return "\n".join(lines) + "\n"


def _fish_parts(command: Command) -> Iterator[tuple[str, str]]:
    """Yield arguments of `complete`, and the help."""
    for action in command.actions:
        yield f"-f -a {action.name}", action.help
    if command.words:
        yield f"-a {shlex.quote(' '.join(command.words))}", ""
    for option in command.options:
        words = []
        for name in option.names:
            kind = "-l" if name.startswith("--") else "-s"
            words.append(f"{kind} {name.lstrip('-')}")
        if option.values:
            words.append(f"-x -a {shlex.quote(' '.join(option.values))}")
        elif option.takes_value:
            words.append("-r")
        yield " ".join(words), option.help


def _quote_for_fish(text: str) -> str:
    """Return text in single quotes, in which fish escapes only backslashes and quotes."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
