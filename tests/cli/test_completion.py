"""`interloq completion` knows every verb, action and option."""

from __future__ import annotations

import pytest

from interloq.cli.completion import program
from interloq.cli.main import VERBS, main
from interloq.cli.shared.completion_scripts import Command
from interloq.registry import names


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
