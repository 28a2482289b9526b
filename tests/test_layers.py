"""Imports go down only, and the package starts light."""

from __future__ import annotations

import ast
import subprocess
import sys
import time
from pathlib import Path

import pytest

import interloq

ROOT = Path(interloq.__file__).parent
LAYERS = [  # from the bottom; a folder that is not named belongs to the one above it
    {
        "version",
        "catalogue",
        "describe",
        "earlier_paths",
        "errors",
        "needs",
        "options",
        "records",
        "registry",
        "signature",
        "spec_text",
        "tabular",
        "trust",
        "unicode_form",
    },
    {"data"},
    {"data.corpus"},
    {"data.sets"},
    {"shards"},
    {"data.tool_logs"},
    {"statistics"},
    {"servers"},
    {"models"},
    {"models.lm"},
    {"learn"},
    {"learn.adapt"},
    {"vectors"},
    {"vectors.glove"},
    {"retrieve"},
    {"rate"},
    {"scorers", "scorers.ruber"},
    {"scorers.bert_ruber", "scorers.relevance"},
    {"scorers.judge"},
    {"scorers.interlocutor"},
    {"play"},
    {"metrics"},
    {"reliability"},
    {"score"},
    {"agree"},
    {"compare"},
    {"rank"},
    {"choose"},
    {"report", "terminal"},
    {"pytest_plugin"},
    {"web"},
    {"demo"},
    {"cli"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
MODULES = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
           for path in sorted(ROOT.rglob("*.py")) if path != ROOT / "__init__.py"}  # fmt: skip


def find_layer(module: str) -> str:
    """Return the narrowest layer that a module belongs to: `data.corpus` for `data.corpus.logs.irc`."""
    parts = module.split(".")
    return next(name for n in range(len(parts), 0, -1) if (name := ".".join(parts[:n])) in LEVEL)


def find_imports(path: Path) -> set[str]:
    """Return the modules of this package that a file imports anywhere, inside functions too."""
    imported = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "interloq":
            module = node.module.removeprefix("interloq").removeprefix(".")
            inner = {f"{module}.{alias.name}".removeprefix(".") for alias in node.names}
            imported |= (inner & MODULES.keys()) or {module}
        elif isinstance(node, ast.Import):
            imported |= {
                alias.name.removeprefix("interloq.") for alias in node.names if alias.name.startswith("interloq.")
            }
    return imported - {""}


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_down_only(module: str) -> None:
    level = LEVEL[find_layer(module)]
    above = {name for name in find_imports(MODULES[module]) if LEVEL[find_layer(name)] > level}
    assert not above, f"{module} imports from above: {above}"


def test_no_two_modules_import_each_other() -> None:
    imports = {module: find_imports(path) for module, path in MODULES.items()}
    both = {(a, b) for a, names in imports.items() for b in names if a < b and a in imports.get(b, ())}
    assert both == set()


@pytest.mark.parametrize("folder", ["recipes", "benchmarks"])
def test_scripts_call_functions_and_not_the_command_line(folder: str) -> None:
    scripts = sorted((ROOT.parent / folder).rglob("*.py"))
    assert scripts
    assert not [path.name for path in scripts if any(name.split(".")[0] == "cli" for name in find_imports(path))]


def test_importing_interloq_loads_nothing_heavy() -> None:
    program = (
        "import sys, interloq; print(*{'torch','scipy','nltk','rich','jinja2','sacrebleu','pandas'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_help_answers_at_once() -> None:
    """A third of a second is the aim; the bound is loose, because a loaded machine is no fault of the code."""
    command = [sys.executable, "-m", "interloq.cli", "--help"]
    times = []
    for _ in range(3):
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        times.append(time.perf_counter() - start)
    assert done.stdout.startswith("usage: interloq VERB")
    assert min(times) < 2.0
