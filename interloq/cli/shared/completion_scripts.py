# SPDX-License-Identifier: Apache-2.0
"""Scripts that complete commands in bash, zsh and fish, without a call of Python at each key.

The three scripts do the same: they find the verb and action typed so far, then offer the values of the option before
the cursor, options after a dash, actions, or files.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

PROGRAM = "interloq"
Shell = Literal["bash", "zsh", "fish"]


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


def completion(program: Command, shell: Shell) -> str:
    """The script of a shell."""
    return _fish(program) if shell == "fish" else (_BASH if shell == "bash" else _ZSH).format(**_cases(program, shell))


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


def _cases(program: Command, shell: Shell) -> dict[str, str]:
    """The variable parts of a script: all commands, values of options, and words of each command."""
    every = list(_commands(program))
    commands = "|".join(f'"{path}"' for path, _ in every if path)
    values = [line for path, command in every for line in _value_cases(path, command, shell)]
    words = [_word_case(path, command, shell) for path, command in every]
    return {"commands": commands, "values": "\n".join(values), "words": "\n".join(words)}


def _commands(command: Command, path: str = "") -> Iterator[tuple[str, Command]]:
    """Every command with its path, such as `data import`."""
    yield path, command
    for action in command.actions:
        yield from _commands(action, f"{path} {action.name}".strip())


def _value_cases(path: str, command: Command, shell: Shell) -> Iterator[str]:
    for option in command.options:
        if option.values:
            names, values = "|".join(f'"{path} {name}"' for name in option.names), " ".join(option.values)
            reply = f'COMPREPLY=($(compgen -W "{values}" -- "$cur"))' if shell == "bash" else f"compadd -- {values}"
            yield f"        {names}) {reply}; return ;;"


def _word_case(path: str, command: Command, shell: Shell) -> str:
    options = " ".join(name for option in command.options for name in option.names)
    words = " ".join(_words(command))
    if shell == "bash":
        return f'        "{path}") options="{options}"; words="{words}" ;;'
    return f'        "{path}") options=({options}); found=({words}) ;;'


def _words(command: Command) -> Sequence[str]:
    return [action.name for action in command.actions] or command.words


def _fish(program: Command) -> str:
    lines = ["# fish completion of interloq; load it with: interloq completion fish | source"]
    for path, command in _commands(program):
        seen = "; and ".join(f"__fish_seen_subcommand_from {name}" for name in path.split())
        lines += [_fish_line(seen or "__fish_use_subcommand", *part) for part in _fish_parts(command)]
    return "\n".join(lines) + "\n"


def _fish_parts(command: Command) -> Iterator[tuple[str, str]]:
    """Arguments of `complete`, and the help."""
    for action in command.actions:
        yield f"-f -a {action.name}", action.help
    if command.words:
        yield f"-a {shlex.quote(' '.join(command.words))}", ""
    for option in command.options:
        names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
        values = f" -x -a {shlex.quote(' '.join(option.values))}" if option.values else " -r" * option.takes_value
        yield names + values, option.help


def _fish_line(condition: str, arguments: str, help: str) -> str:
    described = f" -d {_fish_quoted(help)}" if help else ""
    return f"complete -c {PROGRAM} -n {_fish_quoted(condition)} {arguments}{described}"


def _fish_quoted(text: str) -> str:
    """Text in single quotes, in which fish escapes only backslashes and quotes."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
