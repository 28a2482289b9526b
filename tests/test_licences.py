"""The project's licence, and the list of its dependencies' licences: `python -m tests.test_licences` rewrites it."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

from tests.conftest import missing

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "licences.md"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TABLE = re.compile(r"(<!-- licences -->\n\n)((?:\|.*\n)+)")
WITHOUT = {"ipadic": "NAIST/ICOT"}  # no licence in the metadata
SHORT = {
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache 2.0 License": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "MIT License": "MIT",
    "BSD License": "BSD",
}


def needed() -> dict[str, list[str]]:
    """Package → the extras that need it; none if it is always needed."""
    found: dict[str, list[str]] = {name(text): [] for text in PROJECT["dependencies"]}
    for extra, texts in PROJECT["optional-dependencies"].items():
        for text in texts:
            if name(text) != "interloq":
                found.setdefault(name(text), []).append(extra)
    return found


def name(requirement: str) -> str:
    found = re.match(r"[\w.-]+", requirement)
    assert found
    return found[0]


def licence(package: str) -> str:
    """The licence in a package's metadata: an SPDX expression, a classifier, or a text."""
    facts = metadata(package)
    classified = [text.split(" :: ")[-1] for text in facts.get_all("Classifier") or [] if text.startswith("License")]
    given = facts["License-Expression"] or (classified[0] if classified else facts["License"])
    return SHORT.get(given, given) if given else WITHOUT[package]


def table() -> str:
    lines = ["| package | licence | extra |", "|---|---|---|"]
    for package, extras in sorted(needed().items()):
        lines.append(f"| `{package}` | {licence(package)} | {', '.join(f'`{extra}`' for extra in extras)} |")
    return "\n".join(lines)


def rewrite_table(text: str) -> str:
    return TABLE.sub(lambda found: f"{found[1]}{table()}\n", text)


def test_the_list_of_licences_is_true() -> None:
    for package in needed():
        try:
            metadata(package)
        except PackageNotFoundError:
            missing(package)
    assert PAGE.read_text() == rewrite_table(PAGE.read_text()), "run: python -m tests.test_licences"


def test_the_project_has_the_apache_licence() -> None:
    assert (PROJECT["license"], PROJECT["license-files"]) == ("Apache-2.0", ["LICENSE", "NOTICE"])
    text = (ROOT / "LICENSE").read_text()
    assert text.lstrip().startswith("Apache License\n                           Version 2.0, January 2004")
    assert "END OF TERMS AND CONDITIONS" in text


def test_every_module_states_its_licence_in_its_first_line() -> None:
    modules = sorted((ROOT / "interloq").rglob("*.py"))
    assert modules
    line = "# SPDX-License-Identifier: Apache-2.0\n"
    assert [path.name for path in modules if not path.read_text("utf-8").startswith(line)] == [], f"first line: {line}"


def test_every_file_that_is_not_code_is_accounted_for() -> None:
    """Data of a new folder need a line in the list."""
    # written for this project
    ours = ("catalogue.json", "report/templates", "web/", "py.typed", "metrics/llm_judge/rubrics", "demo/project")
    listed = re.findall(r"^\| `interloq/(\S+)` \|", PAGE.read_text(), re.MULTILINE)
    files = [
        path.relative_to(ROOT / "interloq").as_posix() for path in (ROOT / "interloq").rglob("*") if path.is_file()
    ]
    data = [path for path in files if not path.endswith(".py") and "__pycache__" not in path]
    assert data
    assert [path for path in data if not path.startswith((*ours, *listed))] == []


if __name__ == "__main__":
    PAGE.write_text(rewrite_table(PAGE.read_text()))
