"""The public names are fixed: a change here is a change for every user."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys

import pytest

import interloq


def test_public_names() -> None:
    records = ["Dialogue", "Rating", "Reference", "Result", "Sample", "Score", "Turn"]
    errors = ["InputError", "InterloqError", "MissingDependencyError", "RejectedWarning", "SpecError"]
    verbs = ["create", "evaluate", "evaluate_all", "from_columns", "load", "read", "signature", "spec", "write"]
    assert sorted(interloq.__all__) == sorted([*records, *errors, *verbs, "__version__"])
    for name in interloq.__all__:
        assert getattr(interloq, name) is not None


@pytest.mark.parametrize(("own", "expected"), [(None, "passive"), ("active", "active")])
def test_threads_of_torch_sleep_while_they_wait_unless_the_user_says_otherwise(own: str | None, expected: str) -> None:
    code = "import sys, interloq, os; assert 'torch' not in sys.modules; print(os.environ['OMP_WAIT_POLICY'])"
    given = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    given |= {"OMP_WAIT_POLICY": own} if own else {}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=given, check=True)
    assert done.stdout.strip() == expected


def test_evaluate_signature() -> None:
    assert str(inspect.signature(interloq.evaluate)) == (
        "(metric: 'Metric | str', samples: 'Rows', *, n_bootstrap: 'int' = 0, seed: 'int' = 0) -> 'Result'"
    )


def test_result_fields() -> None:
    names = set(interloq.Result.__dataclass_fields__)
    assert {"value", "ci", "n", "unscored", "signature", "by_sample"} <= names
