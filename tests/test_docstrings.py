"""Every public function, class and method says in a line what it is for.

Two seams are described once instead of everywhere: the functions of a verb (in cli/main.py), and methods that carry out
what a protocol or a base class describes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import interloq

ROOT = Path(interloq.__file__).parent
TREES = {path: ast.parse(path.read_text()) for path in sorted(ROOT.rglob("*.py"))}
VERB = {"add_arguments", "run"}
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def public(node: ast.Module | ast.ClassDef) -> Iterator[Definition]:
    """What is defined right inside, and neither private nor the signature of an overload."""
    found = (child for child in node.body if isinstance(child, Definition) and not child.name.startswith("_"))
    return (child for child in found if "overload" not in map(ast.unparse, child.decorator_list))


def bases(node: Definition) -> set[str]:
    """The names of the classes that a class is made from."""
    found = node.bases if isinstance(node, ast.ClassDef) else []
    return {ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in found}


@cache
def described_once() -> set[str]:
    """Methods that some protocol or base class describes."""
    classes = [node for tree in TREES.values() for node in public(tree) if isinstance(node, ast.ClassDef)]
    above = {name for node in classes for name in bases(node)}
    seams = [node for node in classes if node.name in above or "Protocol" in bases(node)]
    return {method.name for node in seams for method in public(node) if ast.get_docstring(method)}


def silent(path: Path) -> Iterator[str]:
    """What a module defines without saying what it is for."""
    for node in public(TREES[path]):
        if not ast.get_docstring(node) and not ("cli" in path.parts and node.name in VERB):
            yield node.name
        for method in public(node) if isinstance(node, ast.ClassDef) else ():
            if not ast.get_docstring(method) and method.name not in described_once():
                yield f"{node.name}.{method.name}"


@pytest.mark.parametrize("path", TREES, ids=lambda path: str(path.relative_to(ROOT)))
def test_everything_public_is_documented(path: Path) -> None:
    assert ast.get_docstring(TREES[path]), "the module says what it is about"
    assert list(silent(path)) == []
