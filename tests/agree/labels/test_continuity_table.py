"""The table of continuity prediction."""

from __future__ import annotations

from interloq.agree.labels.continuity import evaluate_continuity
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
