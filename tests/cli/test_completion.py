"""`interloq completion` knows every verb, action and option; the script of bash is run."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from interloq.cli.completion import Command, Option, completion, program
from interloq.cli.main import VERBS, main
from interloq.registry import names
from tests.conftest import missing

JSON = Option(("--json",), "print JSON; don't print a table", takes_value=False)
LANGUAGE = Option(("-l", "--language"), "language", ("en", "ja"))
OUTPUT = Option(("-o", "--output"), "file to write")
PROGRAM = Command(
    "",
    "",
    (Option(("--version",), "print the version", takes_value=False),),
    (
        Command("data", "work with files", (), (Command("import", "import a set", (JSON,)), Command("list", "list"))),
        Command("demo", "run a demo", (LANGUAGE, JSON, OUTPUT)),
        Command("shell", "print a script", (), (), ("bash", "zsh")),
    ),
)


@pytest.fixture(scope="module")
def verbs() -> dict[str, Command]:
    return {command.name: command for command in program().actions}


def test_every_verb_is_known(verbs: dict[str, Command]) -> None:
    assert verbs.keys() == VERBS.keys()
    assert {action.name for action in verbs["data"].actions} >= {"list", "import", "check", "convert"}
    assert verbs["completion"].words == ("bash", "zsh", "fish")


def test_options_with_their_values(verbs: dict[str, Command]) -> None:
    options = {name: option for option in verbs["score"].options for name in option.names}
    assert options["-m"].values == tuple(names("metric"))
    assert (options["--json"].takes_value, options["--seed"].takes_value) == (False, True)
    assert {option.names: option.values for option in verbs["demo"].options}[("--language",)] == ("en", "ja", "zh")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    out = capsys.readouterr().out
    assert all(verb in out for verb in VERBS)


def test_unknown_shells_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["completion", "tcsh"])
    assert stopped.value.code == 2


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not shutil.which("bash"):
        missing("bash")
    path = tmp_path_factory.mktemp("completion") / "interloq.bash"
    path.write_text(completion(PROGRAM, "bash"))
    return path


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("interloq ''", "data demo shell"),
        ("interloq d", "data demo"),
        ("interloq --", "--version"),
        ("interloq data ''", "import list"),
        ("interloq data import --", "--json"),
        ("interloq data import ''", ""),  # files
        ("interloq demo --l", "--language"),
        ("interloq demo --language ''", "en ja"),
        ("interloq demo -l j", "ja"),
        ("interloq demo --json -", "-l --language --json -o --output"),
        ("interloq demo --output ''", ""),
        ("interloq shell z", "zsh"),
        ("interloq unknown ''", "data demo shell"),
    ],
)
def test_bash_offers_what_may_follow(script: Path, typed: str, offered: str) -> None:
    last = "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))"
    program = f'source "$0"; COMP_WORDS=({typed}); {last}; _interloq; echo "${{COMPREPLY[*]}}"'
    done = subprocess.run(["bash", "-c", program, str(script)], capture_output=True, text=True, check=True)  # noqa: S607
    assert (done.stdout.strip(), done.stderr) == (offered, "")


def test_zsh_has_the_same_cases() -> None:
    text = completion(PROGRAM, "zsh")
    assert text.startswith("#compdef interloq\n")
    assert '"demo -l"|"demo --language") compadd -- en ja; return ;;' in text
    assert '"data") options=(); found=(import list) ;;' in text
    assert '"data import") options=(--json); found=() ;;' in text
    assert text.count("{") == text.count("}")


def test_fish_has_a_line_for_each_word() -> None:
    lines = completion(PROGRAM, "fish").splitlines()
    use, seen = (
        "complete -c interloq -n '__fish_use_subcommand'",
        "complete -c interloq -n '__fish_seen_subcommand_from",
    )
    assert f"{use} -f -a data -d 'work with files'" in lines
    assert f"{seen} demo' -s l -l language -x -a 'en ja' -d 'language'" in lines
    assert f"{seen} demo' -s o -l output -r -d 'file to write'" in lines
    nested = "data; and __fish_seen_subcommand_from import'"
    assert f"{seen} {nested} -l json -d 'print JSON; don\\'t print a table'" in lines
    assert f"{seen} shell' -a 'bash zsh'" in lines
