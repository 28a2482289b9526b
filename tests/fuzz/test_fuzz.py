"""Every reader and verb on hostile variants of a valid file: a few in each run, a million with `make fuzz`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.fuzz_cases import Case, cases
from tests.fuzz.fuzz_project import make_project
from tests.fuzz.fuzz_run import lay_out, try_bytes, try_seed
from tests.fuzz.fuzz_sandbox import ForbiddenError, confine
from tests.fuzz.fuzz_verbs import VERBS

EXAMPLES = int(os.environ.get("INTERLOQ_FUZZ_EXAMPLES", "30"))
CASES = {case.name: case for case in cases()}
budget = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module", params=CASES)
def arranged(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Case, Path]:
    case, folder = CASES[request.param], tmp_path_factory.mktemp("fuzz")
    lay_out(case, folder)
    return case, folder


def test_the_valid_file_is_read(arranged: tuple[Case, Path]) -> None:
    case, folder = arranged
    assert try_bytes(case, folder, *next(iter(case.files.items())))


@budget
@given(seed=st.integers(0, 2**64 - 1))
def test_variants_give_project_errors_only(arranged: tuple[Case, Path], seed: int) -> None:
    try_seed(*arranged, seed)


@settings(budget, max_examples=max(5, EXAMPLES // 8))
@given(data=st.binary(max_size=300), which=st.integers(0, 99))
def test_any_bytes_give_project_errors_only(arranged: tuple[Case, Path], data: bytes, which: int) -> None:
    case, folder = arranged
    names = sorted(case.files)
    try_bytes(case, folder, names[which % len(names)], data)


# ---- verbs -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=VERBS, ids=lambda verb: verb.title)
def verb(
    request: pytest.FixtureRequest,
    made_once: Callable[[str, Callable[[Path], object]], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Case, Path]:
    case, folder = request.param.case(made_once("fuzz-project", make_project)), tmp_path_factory.mktemp("verb")
    lay_out(case, folder)
    return case, folder


def test_verbs_read_the_valid_files(verb: tuple[Case, Path]) -> None:
    case, folder = verb
    assert try_bytes(case, folder, *next(iter(case.files.items())))


@settings(budget, max_examples=max(3, EXAMPLES // 10))
@given(seed=st.integers(0, 2**64 - 1))
def test_verbs_refuse_variants_in_one_line(verb: tuple[Case, Path], seed: int) -> None:
    try_seed(*verb, seed)


def test_verbs_cannot_leave_their_folder(tmp_path: Path) -> None:
    """The fuzz would see it."""
    inner = tmp_path / "inner"
    inner.mkdir()
    with confine(inner):
        (inner / "a").write_text("allowed")
        with pytest.raises(ForbiddenError):
            (tmp_path / "b").write_text("outside")
        with pytest.raises(ForbiddenError):
            (inner / "a").rename(tmp_path / "c")
        with pytest.raises(ForbiddenError):
            subprocess.run(["true"], check=False)  # noqa: S607
    assert [path.name for path in tmp_path.rglob("*")] == ["inner", "a"]


# ---- bombs -----------------------------------------------------------------------------------------------------------

BOMBS = """
import sys
from tests.fuzz.fuzz_bombs import read_bombs
from tests.fuzz.fuzz_run import peak_mebibytes
before = peak_mebibytes()
print(read_bombs(sys.argv[1]), peak_mebibytes() - before)
"""


def test_files_that_expand_without_end_take_little_memory(tmp_path: Path) -> None:
    """In a process of its own, because memory once used counts for good."""
    paths = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", BOMBS, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert done.returncode == 0, done.stderr
    refused, taken = done.stdout.split()
    assert int(refused) >= 20
    assert float(taken) < 400, "MiB for files that expand to 256 each"
