"""Tests mirror the package: `interloq/a/b.py` is tested in `tests/a/test_b.py` or in `tests/a/test_a.py`, the tests of
its package, which import `b` or name it in quotes. `recipes/c.py` is tested in `tests/recipes`.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.test_layers import find_imports

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "interloq"
UNTESTED = {  # modules without logic of their own
    "catalogue.py": "compared with the classes in test_registry.py",
    "cli/__main__.py": "calls main",
    "score/attack_texts.py": "texts, used in score/test_perturb.py",
    "statistics/estimate.py": "a number with its uncertainty",
    "version.py": "a constant",
    "web/migrations/env.py": "run by Alembic, tested in web/test_database.py",
    "web/migrations/versions/0001_first_tables.py": "compared with the schema in web/test_database.py",
    "web/migrations/versions/0002_quick_choice.py": "compared with the schema in web/test_database.py",
    "web/migrations/versions/0003_roles.py": "tested in web/test_database.py",
    "web/migrations/versions/0004_browsers.py": "compared with the schema in web/test_database.py",
    "web/migrations/versions/0005_bot_calls.py": "compared with the schema in web/test_database.py",
    "web/migrations/versions/0006_owners.py": "compared with the schema in web/test_database.py",
    "web/migrations/versions/0007_groups.py": "compared with the schema in web/test_database.py",
    "web/migrations/versions/0008_several_processes.py": "compared with the schema in web/test_database.py",
    "web/schema.py": "the tables, compared with the migrations in web/test_database.py",
}
SUITES = {  # tests of several modules at once
    "cli/test_corpus_forget.py": "corpus forget, as a user runs it",
    "cli/test_exit_codes.py": "one rule for the exit codes of all verbs",
    "cli/test_identity.py": "ids and systems from score to report",
    "cli/test_train_jobs.py": "train adapt, encoder, judge and ruber, as a user runs them",
    "cli/test_train_rater.py": "train rater, as a user runs it",
    "cli/test_train_relevance.py": "train relevance and train valid, as a user runs them",
    "cli/test_without_extras.py": "every verb without optional packages",
    "data/corpus/test_build_real.py": "real logs",
    "data/sets/test_loaders_real.py": "real data sets",
    "data/test_datasets.py": "real datasets of Hugging Face",
    "decisions/test_decisions.py": "simulated decisions whose truth is known",
    "fuzz/test_fuzz.py": "random input for every reader",
    "scorers/interlocutor/test_samples_real.py": "real dialogues and ratings",
    "kill/test_kill.py": "kills of every verb",
    "learn/test_jobs_contract.py": "one contract for all jobs",
    "mutation/test_mutants.py": "faults that `make mutants` puts into modules",
    "compare/test_units_of_scores.py": "scores in other units, for every verb that decides",
    "models/test_damaged_models.py": "damaged folders in every loader",
    "score/test_stage_files.py": "stages as functions and as verbs",
    "report/test_browser.py": "the page in a browser",
    "report/test_palette.py": "the colours of the style sheet",
    "retrieve/test_damaged_index.py": "damaged index folders",
    "retrieve/test_qdrant_cluster.py": "a cluster of servers",
    "retrieve/test_stores_contract.py": "one contract for all stores",
    "scorers/relevance/test_valid.py": "scorers that read the reply alone",
    "web/test_route_rights.py": "who may use each route",
    "web/test_browser.py": "the pages of annotators in a browser",
    "web/test_offline.py": "the service worker in a browser",
    "web/test_proxy.py": "the app behind a reverse proxy",
}
MODULES = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"} | {
    f"{path.parent.relative_to(PACKAGE).as_posix()}.py" for path in PACKAGE.glob("*/**/__init__.py")
}
PLAIN = sorted(module for module in MODULES if (PACKAGE / module).exists())
FILES = sorted(path.relative_to(TESTS).as_posix() for path in TESTS.glob("*/**/test_*.py"))


def namesake(module: str) -> str:
    """Return the file that tests a module under its own name."""
    folder, _, name = module.rpartition("/")
    return f"{folder}/test_{name}".lstrip("/")


def package_tests(module: str) -> str:
    """Return the file that tests the package of a module as a whole."""
    folder = Path(module).parent
    return (folder / f"test_{folder.name or 'interloq'}.py").as_posix()


def names_module(path: Path, module: str) -> bool:
    """Return whether a test file imports a module, quotes its name (`"cite"`) or lists it in its docstring."""
    source, name = path.read_text(), Path(module).stem
    if module.removesuffix(".py").replace("/", ".") in find_imports(path) or re.search(rf"[\"'`]{name}\b", source):
        return True
    docstring = " ".join((ast.get_docstring(ast.parse(source)) or "").split())
    return re.search(rf"\b{name.replace('_', ' ')}\b", docstring) is not None


def is_declaration(module: str) -> bool:
    """Whether a module declares the options of a verb, which are tested with the functions that take them."""
    return module.endswith("_options.py")


@pytest.mark.parametrize("module", [m for m in PLAIN if m not in UNTESTED and not is_declaration(m)])
def test_every_module_has_tests_under_its_name(module: str) -> None:
    path = TESTS / namesake(module)
    if not path.exists():
        path = TESTS / package_tests(module)
        assert path.exists(), f"write tests/{namesake(module)} or tests/{package_tests(module)}"
        assert names_module(path, module), f"test it in tests/{package_tests(module)}, which does not name it yet"
    names = [node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)]
    assert any(name.startswith("test_") for name in names)


@pytest.mark.parametrize("file", [file for file in FILES if file not in SUITES])
def test_every_test_file_names_a_module_or_a_recipe(file: str) -> None:
    module = file.replace("test_", "", 1)
    recipe = TESTS.parent / module
    of_package = file == package_tests(module)
    of_recipe = module.startswith("recipes/") and recipe.exists()
    assert module in MODULES or of_package or of_recipe, f"no module interloq/{module}"


def test_the_lists_of_exceptions_are_needed() -> None:
    assert UNTESTED.keys() <= set(PLAIN)
    assert SUITES.keys() <= set(FILES)
    assert not [module for module in UNTESTED if (TESTS / namesake(module)).exists()]
    assert not [file for file in SUITES if file.replace("test_", "", 1) in MODULES]


def test_slow_files_exist() -> None:
    names = (TESTS / "slow_files.txt").read_text().splitlines()[1:]
    assert not [name for name in names if not (TESTS / name).exists()]
    assert names == sorted(set(names))
