"""Evaluation of continuity prediction, from files."""

from __future__ import annotations

from pathlib import Path

from interloq import write
from interloq.meta.continuity import evaluate_continuity
from interloq.meta.continuity_file import evaluate_continuity_file
from tests.meta.made_continuity import informed, part


def test_files_give_what_records_give(folder: Path) -> None:
    parts = {name: part(name, 20, seed=seed) for seed, name in enumerate(("train", "dev", "test"))}
    for name, samples in parts.items():
        write(folder / f"{name}.jsonl", samples, kind="samples")
    scores = [*informed(parts["test"]), *informed(parts["dev"])]
    write(folder / "scores.jsonl", scores, kind="scores")
    found = evaluate_continuity_file(
        ["scores.jsonl"], "test.jsonl", train="train.jsonl", dev="dev.jsonl", groups=2, n_bootstrap=10, seed=3
    )
    expected = evaluate_continuity(
        scores, parts["test"], train=parts["train"], dev=parts["dev"], groups=2, n_bootstrap=10, seed=3
    )
    assert found == expected
    alone = evaluate_continuity_file(["scores.jsonl"], "test.jsonl", n_bootstrap=0)
    assert {row.threshold for row in alone.rows} == {"half"}
