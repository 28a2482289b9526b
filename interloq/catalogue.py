# SPDX-License-Identifier: Apache-2.0
"""Write the catalogue of components: what must be known about each without importing it.

`python -m interloq.catalogue` writes `catalogue.json`, `registry` reads it, and a test compares it with the classes. A
class enters it by naming itself, `class Bleu(Metric, name="bleu")`, a training job by `Trainable(…, name="rater")`.
"""

from __future__ import annotations

import ast
import importlib
import json
from collections.abc import Iterator
from typing import Any

from interloq.registry import CATALOGUE, JOB, KINDS

COMMAND = "python -m interloq.catalogue"
_PACKAGE = CATALOGUE.parent


def make_catalogue() -> dict[str, dict[str, dict[str, Any]]]:
    """Return what the catalogue should be, from the classes and jobs that name themselves; imports all of them."""
    catalogue: dict[str, dict[str, dict[str, Any]]] = {kind: {} for kind in (*KINDS, JOB)}
    for path in sorted(_PACKAGE.rglob("*.py")):
        source = path.read_text("utf-8")
        if 'name="' not in source:
            continue
        module = ".".join(["interloq", *path.relative_to(_PACKAGE).with_suffix("").parts]).removesuffix(".__init__")
        for attribute in _find_registered(ast.parse(source)):
            registered = getattr(importlib.import_module(module), attribute)
            entry = {"target": f"{module}:{attribute}", **registered.catalogue_facts()}
            others = catalogue[registered.registered_kind]
            if registered.registered_name in others:
                raise ValueError(f"two components are called {registered.registered_name!r}")
            others[registered.registered_name] = entry
    return {kind: dict(sorted(entries.items())) for kind, entries in catalogue.items()}


def _find_registered(tree: ast.Module) -> Iterator[str]:
    """Yield the classes and variables of a module that are registered under a name."""
    for node in tree.body:
        match node:
            case ast.ClassDef(name=attribute, keywords=keywords):
                pass
            case ast.Assign(
                targets=[ast.Name(id=attribute)],
                value=ast.Call(func=ast.Name(id="Trainable" | "replace"), keywords=keywords),
            ):
                pass
            case _:
                continue
        if any(keyword.arg == "name" for keyword in keywords):
            yield attribute


if __name__ == "__main__":
    CATALOGUE.write_text(json.dumps(make_catalogue(), indent=1, ensure_ascii=False) + "\n", "utf-8")
