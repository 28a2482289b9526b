"""Every public function and class says in a line what it is for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import interloq

ROOT = Path(interloq.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))
VERB = {"add_arguments", "run"}  # the seam of a verb, described in cli/main.py
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def definitions(path: Path) -> Iterator[tuple[str, Definition]]:
    """Public functions and classes at the top of a module."""
    for node in ast.parse(path.read_text()).body:
        of_verb = path.parent.name == "cli" and getattr(node, "name", "") in VERB
        if isinstance(node, Definition) and not node.name.startswith("_") and not of_verb:
            yield node.name, node


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_public_functions_and_classes_are_documented(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text())), "the module says what it is about"
    silent = [name for name, node in definitions(path) if not ast.get_docstring(node)]
    assert silent == []
