"""`make mutants`: which share of small faults in 30 modules do their tests notice?

    python -m tests.mutation --mutants 12 --only statistics

Each fault is put into a copy of the package in a temporary folder, and the module's own tests are run on it: those of
the file that mirrors the module, or of its package if there is none. A fault is noticed if a test fails or takes too
long. Some faults change nothing that can be seen (a limit of 1,000 that becomes 1,001), so the share never reaches
100 %. It is for comparing two states of the tree with the same seed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from tests.mutation.mutants import Mutant, draw_mutants

ROOT = Path(__file__).parents[2]
MODULES = (  # one that holds the code of two former modules is listed twice: its share of the faults stays the same
    *("statistics/clustered", "statistics/correlation", "statistics/clustered", "statistics/rounding"),
    *("statistics/significance", "statistics/permutation", "statistics/permutation", "statistics/alpha"),
    *("statistics/bradley_terry", "rank/survival", "statistics/prediction_powered", "statistics/correlation"),
    *("agree/levels", "rank/rank", "compare/compare", "compare/match_versions", "compare/slices"),
    *("compare/gate/gate", "compare/gate/gate_gains", "compare/compare", "agree/judgments"),
    *("score/evaluate", "score/checks", "score/selection", "metrics/overlap/bleu"),
    *("metrics/overlap/delta_bleu", "metrics/overlap/rouge_l", "metrics/overlap/distinct"),
    *("metrics/overlap/ngrams", "data/records/dialogue_names"),
)
SECONDS = 120  # for the tests of one module, which take a few
NO_FAULT = "none"


@dataclass
class Trial:
    """A fault, and whether the tests of its module noticed it."""

    module: str
    mutant: Mutant
    noticed: bool = False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=12, help="faults per module (default 12)")
    parser.add_argument("--only", default="", help="modules whose path contains this")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", metavar="FILE", help="write every fault and whether it was noticed")
    args = parser.parse_args()
    modules = Counter(module for module in MODULES if args.only in module)
    trials = []
    for module, times in modules.items():
        source = (ROOT / "interloq" / f"{module}.py").read_text("utf-8")
        trials.append(Trial(module, Mutant(source, 0, NO_FAULT)))
        trials += [Trial(module, mutant) for mutant in draw_mutants(source, times * args.mutants, args.seed)]
    _try_all(trials)
    failing = [trial.module for trial in trials if trial.mutant.fault == NO_FAULT and trial.noticed]
    if failing:  # they would seem to notice every fault
        print(f"tests that fail without a fault: {', '.join(failing)}")
        return 1
    trials = [trial for trial in trials if trial.mutant.fault != NO_FAULT]
    for module in modules:
        _print_share(module, [trial for trial in trials if trial.module == module])
    _print_share("all", trials)
    if args.json:
        rows = []
        for trial in trials:
            fault = {"module": trial.module, "line": trial.mutant.line, "fault": trial.mutant.fault}
            rows.append({**fault, "noticed": trial.noticed})
        Path(args.json).write_text(json.dumps(rows, indent=1), "utf-8")
    return 0


def _print_share(name: str, trials: Sequence[Trial]) -> None:
    noticed = sum(trial.noticed for trial in trials)
    print(f"{name:<28} {noticed:>3} of {len(trials)}: {noticed / max(1, len(trials)):.0%}")


def _try_all(trials: Sequence[Trial]) -> None:
    """Try the mutants on all cores, each in a copy of the tree that one worker at a time has."""
    copies: SimpleQueue[Path] = SimpleQueue()
    workers = os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(workers) as pool:
        for i in range(workers):
            for part in ("interloq", "tests", "recipes", "benchmarks", "docs", "pyproject.toml"):
                _copy(ROOT / part, Path(folder) / str(i) / part)
            copies.put(Path(folder) / str(i))
        for trial, noticed in zip(trials, pool.map(lambda trial: _try_in_a_copy(trial, copies), trials), strict=True):
            trial.noticed = noticed


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target)


def _try_in_a_copy(trial: Trial, copies: SimpleQueue[Path]) -> bool:
    tree = copies.get()
    path = tree / "interloq" / f"{trial.module}.py"
    original = path.read_text("utf-8")
    try:
        path.write_text(trial.mutant.source, "utf-8")
        return not _pass(tree, trial.module)
    finally:
        path.write_text(original, "utf-8")
        copies.put(tree)


def _pass(tree: Path, module: str) -> bool:
    """Whether the tests of a module pass."""
    mirror = tree / "tests" / Path(module).parent / f"test_{Path(module).name}.py"
    tests = mirror if mirror.exists() else mirror.parent
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", str(tests)]
    environment = {**os.environ, "PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        return subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, timeout=SECONDS, check=False
        ).returncode == 0  # fmt: skip
    except subprocess.TimeoutExpired:
        return False


if __name__ == "__main__":
    sys.exit(main())
