"""The public names are fixed: a change here is a change for every user."""

from __future__ import annotations

import argparse
import inspect

import interloq
from interloq.cli import score


def test_public_names() -> None:
    records = ["Dialogue", "Rating", "Reference", "Result", "Sample", "Score", "Signature", "Turn"]
    errors = ["InputError", "InterloqError", "MissingDependencyError", "RejectedWarning", "SpecError"]
    verbs = [
        "create",
        "evaluate",
        "evaluate_all",
        "from_columns",
        "load",
        "metric",
        "read",
        "signature",
        "spec",
        "write",
    ]
    assert sorted(interloq.__all__) == sorted([*records, *errors, *verbs, "__version__"])
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
