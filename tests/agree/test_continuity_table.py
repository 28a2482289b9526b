"""The table of continuity prediction."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import orjson
import pytest

from interloq import InputError, write
from interloq.agree.continuity import evaluate_continuity, evaluate_continuity_file
from interloq.agree.continuity_table import read_continuity
from interloq.agree.meta_options import LabelOptions
from interloq.data.records.jsonl import to_json
from tests.made_continuity import informed, part


def test_it_shows_one_row_per_metric_and_threshold() -> None:
    test = part("t", 10)
    table = evaluate_continuity(informed(test, "mine=dcp(model='a')"), test, train=part("a", 10), n_bootstrap=0)
    lines = repr(table.labelled()).splitlines()
    assert lines[0].startswith(f"ContinuityTable: prediction of 'continued', {len(test)} samples")
    assert [line.split()[:2] for line in lines[2:6]] == [
        ["global_majority", "half"],
        ["mine", "half"],
        ["private_majority", "half"],
        ["turn_index", "half"],
    ]
    assert {row.metric for row in table.labelled().groups[0].rows} == {
        "mine", "global_majority", "private_majority", "turn_index"
    }  # fmt: skip


def test_files_give_what_records_give(folder: Path) -> None:
    parts = {name: part(name, 20, seed=seed) for seed, name in enumerate(("train", "dev", "test"))}
    for name, samples in parts.items():
        write(folder / f"{name}.jsonl", samples, kind="samples")
    scores = [*informed(parts["test"]), *informed(parts["dev"])]
    write(folder / "scores.jsonl", scores, kind="scores")
    options = LabelOptions(samples="test.jsonl", train="train.jsonl", dev="dev.jsonl", groups=2, n_bootstrap=10, seed=3)
    found = evaluate_continuity_file(["scores.jsonl"], options)
    expected = evaluate_continuity(
        scores, parts["test"], train=parts["train"], dev=parts["dev"], groups=2, n_bootstrap=10, seed=3
    )
    assert found == expected
    alone = evaluate_continuity_file(["scores.jsonl"], LabelOptions(samples="test.jsonl", n_bootstrap=0))
    assert {row.threshold for row in alone.rows} == {"half"}


def test_a_printed_table_is_read_back(folder: Path) -> None:
    test = part("t", 20)
    scores = [*informed(test), *informed(test, "raw", scale=9)]
    table = evaluate_continuity(scores, test, train=part("a", 20), n_bootstrap=10, lower_is_better=False)
    (folder / "table.json").write_bytes(orjson.dumps(to_json(asdict(table))))
    assert repr(read_continuity("table.json")) == repr(table)  # NaN is not equal to itself
    assert read_continuity("table.json").groups[0].rows[0] == table.groups[0].rows[0]


@pytest.mark.parametrize("content", ["{", "[]", '{"groups": []}', '{"rows": [{}]}'])
def test_other_files_are_refused(folder: Path, content: str) -> None:
    (folder / "table.json").write_text(content)
    with pytest.raises(InputError, match=r"table\.json: not a table of predicted labels"):
        read_continuity("table.json")
