# SPDX-License-Identifier: Apache-2.0
"""`interloq doctor`: what is installed, which models work offline, and how to get the rest."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from interloq.cli.shared.output import mark_incomplete
from interloq.terminal.console import print_json, print_line

if TYPE_CHECKING:
    from interloq.cli.shared.installation import Installation

EXAMPLES = """\
  interloq doctor
  interloq doctor --json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def run(args: argparse.Namespace) -> int:
    from interloq.cli.shared.installation import installation

    installed = installation()
    mark_incomplete(not installed.is_sound)
    print_json(installed.facts()) if args.json else print_installation(installed)
    return 0


def print_installation(installed: Installation) -> None:
    """Print packages, models, metrics and folders; each problem with the command that solves it."""
    print_line(", ".join(f"{name} {version}" for name, version in installed.versions.items()))
    print_line(f"GPU: {installed.gpu}")
    print_line("\npackages:")
    width = max((len(extra.name) for extra in installed.extras), default=0)
    for extra in (installed.core, *installed.extras):
        state = "ok" if extra.is_complete else extra.command
        unmet = "; ".join(str(package) for package in extra.packages if not package.is_met)
        print_line(f"  {extra.name or 'required':<{width}}  {state}{f'  ({unmet})' if unmet else ''}")
    print_line("\nmodels that need no network:")
    for model in installed.models:
        print_line(f"  {model.name}: {model.where or f'not installed; {model.command}'}")
    _print_metrics(installed)
    print_line("\nfolders:")
    for folder in installed.folders:
        print_line(f"  {folder.purpose}: {folder.path}{'' if folder.is_usable else '  CANNOT BE USED'}")
    if installed.is_sound:
        print_line("\nEverything that is installed works.")
    else:
        print_line("\nSomething does not work, see above.")


def _print_metrics(installed: Installation) -> None:
    ready = [name for name, missing in installed.metrics.items() if not missing]
    print_line("\nmetrics whose packages are installed (see `interloq score --list` for the models they need):")
    print_line(f"  {', '.join(ready)}")
    for command in dict.fromkeys(missing for missing in installed.metrics.values() if missing):
        names = ", ".join(name for name, missing in installed.metrics.items() if missing == command)
        print_line(f"  {names}: {command}")
