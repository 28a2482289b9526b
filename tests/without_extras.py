"""Runs commands as if the packages of some extras were not installed.

    python -m tests.without_extras EXTRA,… < commands.json

The commands are lists of arguments; exit codes and standard error are printed as JSON. The extra `all` is every one.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.metadata
import io
import json
import sys
from collections.abc import Sequence
from typing import Any

from interloq.cli import doctor
from interloq.cli.doctor import Extra, _extras, module_of


class Blocker(importlib.abc.MetaPathFinder):
    """Finds no module of these packages."""

    def __init__(self, modules: set[str]) -> None:
        self.modules = modules

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:  # noqa: ARG002
        if (module := name.split(".")[0]) in self.modules:
            raise ModuleNotFoundError(f"No module named {module!r}", name=module)


def block(extras: Sequence[str]) -> None:
    known: dict[str, Extra] = {extra.name: extra for extra in _extras()}
    core = {package.name for package in known[""].packages}
    wanted = known if list(extras) == ["all"] else extras
    packages = {package.name for name in wanted if name for package in known[name].packages} - core - {"interloq"}
    sys.meta_path.insert(0, Blocker({module_of(name) for name in packages}))
    real = importlib.metadata.version

    def version(name: str) -> str:
        if name in packages:
            raise importlib.metadata.PackageNotFoundError(name)
        return real(name)

    for module in (importlib.metadata, doctor):
        vars(module)["version"] = version


def outcome(command: list[str]) -> tuple[int, str]:
    from interloq.cli.main import main

    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        try:
            code = main(command)
        except SystemExit as ended:  # --help, or an argument that the parser refuses
            code = int(ended.code or 0)
    return code, errors.getvalue()


if __name__ == "__main__":
    block(sys.argv[1].split(","))
    print(json.dumps([outcome(command) for command in json.load(sys.stdin)]))
