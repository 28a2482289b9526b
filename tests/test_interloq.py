"""The public names, and the small modules of `interloq`: describe, earlier paths, errors, needs."""

from __future__ import annotations

import argparse
import importlib
import inspect
import sys

import pytest

import interloq
from interloq.cli import score
from interloq.describe import REQUIRED, Description, describe, describe_all
from interloq.earlier_paths import MOVED, MovedModuleFinder, install
from interloq.errors import InputError, MissingDependencyError, SpecError, count, nearest, short_repr
from interloq.needs import Needs


def test_public_names() -> None:
    records = ["Dialogue", "Rating", "Reference", "Result", "Sample", "Score", "Signature", "Turn"]
    errors = ["InputError", "InterloqError", "MissingDependencyError", "RejectedWarning", "SpecError"]
    read_and_write = ["from_columns", "load", "read", "write"]
    score_samples = ["create", "evaluate", "evaluate_all", "metric", "signature", "spec"]
    assert sorted(interloq.__all__) == sorted([*records, *errors, *read_and_write, *score_samples, "__version__"])
    for name in interloq.__all__:
        assert getattr(interloq, name) is not None


def test_evaluate_signature() -> None:
    assert str(inspect.signature(interloq.evaluate)) == (
        "(metric: 'MetricLike | str', samples: 'Rows', *, n_bootstrap: 'int' = 1000, seed: 'int' = 0) -> 'Result'"
    )


def test_python_and_the_command_line_draw_the_same_number_of_resamples() -> None:
    parser = argparse.ArgumentParser()
    score.add_arguments(parser)
    for function in (interloq.evaluate, interloq.evaluate_all):
        assert inspect.signature(function).parameters["n_bootstrap"].default == parser.get_default("n_bootstrap")


def test_result_fields() -> None:
    names = set(interloq.Result.__dataclass_fields__)
    assert {"value", "ci", "n", "unscored", "signature", "by_sample"} <= names


@pytest.mark.parametrize("found", describe_all(), ids=lambda found: found.name)
def test_every_component_and_every_field_has_help(found: Description) -> None:
    assert found.summary.endswith((".", "?", "…"))
    for setting in found.settings:
        assert setting.help, f"{found.name}: say what {setting.name} is, with Annotated[type, help]"
        assert "\n" not in setting.help
        assert not setting.help.endswith(".")
    assert found.example.split("(")[0] == found.name


def test_a_spec_or_another_spelling_names_a_component() -> None:
    assert describe("BLEU(order=2)") == describe("bleu")
    with pytest.raises(SpecError, match="'bertscor'; did you mean 'bertscore'"):
        describe("bertscor")


def test_settings_are_a_table() -> None:
    found = describe("length")
    assert found.table().splitlines()[0] == "| field | type | default | meaning |"
    assert len(found.table().splitlines()) == 2 + len(found.settings)
    required = [setting.name for setting in describe("bertscore").settings if setting.default == REQUIRED]
    assert required == ["model"]
    assert describe("bertscore").example == "bertscore(model=…)"


def test_a_message_says_where_what_and_what_to_do() -> None:
    error = InputError("no id", hint="add one", where="a.jsonl:3")
    assert str(error) == "a.jsonl:3: no id; add one"
    assert (error.what, error.hint, error.where) == ("no id", "add one", "a.jsonl:3")
    assert str(InputError("no id")) == "no id"
    assert "pip install 'interloq[meteor]'" in str(MissingDependencyError("meteor", "nltk", "meteor"))


def test_values_are_short_whatever_their_size_and_depth() -> None:
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]
    for value in ("x" * 1000, 10**999, nested, {i: i for i in range(999)}):
        assert len(short_repr(value)) <= 60
    assert short_repr("a") == "'a'"


@pytest.mark.parametrize(
    ("n", "words", "text"),
    [(1, ("pair",), "1 pair"), (0, ("pair",), "0 pairs"), (2000, ("pair",), "2,000 pairs"), (2, ("a", "bs"), "2 bs")],
)
def test_counts_agree_with_their_noun(n: int, words: tuple[str, ...], text: str) -> None:
    assert count(n, *words) == text


def test_the_nearest_word_or_all() -> None:
    assert nearest("blue", ["bleu", "chrf"]) == "; did you mean 'bleu'?"
    assert nearest("xyz", ["chrf", "bleu"]) == "; known: bleu, chrf"
    assert nearest("xyz", []) == ""


@pytest.mark.parametrize("earlier", MOVED)
def test_modules_can_be_imported_from_their_earlier_path(earlier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, earlier, raising=False)
    with pytest.warns(DeprecationWarning, match=f"has moved to {MOVED[earlier]}"):
        module = importlib.import_module(earlier)
    assert module is importlib.import_module(MOVED[earlier])


def test_modules_that_never_existed_are_not_found_and_one_finder_is_installed() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"interloq\.meta\.nothing"):
        importlib.import_module("interloq.meta.nothing")
    install()
    assert sum(isinstance(finder, MovedModuleFinder) for finder in sys.meta_path) == 1


def test_the_line_is_short() -> None:
    assert Needs().line() == "nothing"
    needs = Needs(references=True, context=True, fields={"model": "an encoder: a folder", "x": "y; z"}, extra="encoder")
    assert needs.line() == "references; a context; model: an encoder; x: y; interloq[encoder]"
