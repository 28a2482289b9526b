"""The public names are fixed: a change here is a change for every user."""

from __future__ import annotations

import inspect

import interloq


def test_public_names() -> None:
    records = ["Dialogue", "Rating", "Reference", "Result", "Sample", "Score", "Turn"]
    errors = ["InputError", "InterloqError", "MissingDependencyError", "RejectedWarning", "SpecError"]
    verbs = ["create", "evaluate", "evaluate_all", "from_columns", "load", "read", "signature", "spec", "write"]
    assert sorted(interloq.__all__) == sorted([*records, *errors, *verbs, "__version__"])
    for name in interloq.__all__:
        assert getattr(interloq, name) is not None


def test_evaluate_signature() -> None:
    assert str(inspect.signature(interloq.evaluate)) == (
        "(metric: 'Metric | str', samples: 'Rows', *, n_bootstrap: 'int' = 0, seed: 'int' = 0) -> 'Result'"
    )


def test_result_fields() -> None:
    names = set(interloq.Result.__dataclass_fields__)
    assert {"value", "ci", "n", "unscored", "signature", "by_sample"} <= names
