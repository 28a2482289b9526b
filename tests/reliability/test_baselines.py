"""What a model is compared with, in words."""

from __future__ import annotations

from interloq.reliability.baselines import advise_adding_all, describe_baselines


def test_every_comparison_is_one_line() -> None:
    found = {
        "queries": 12, "error": {"pooled": 0.1, "mean": 0.2}, "random": {"1": 0.25, "3": 0.5}, "all": None,
        "chosen": {"pooled": {"1": 0.5, "3": None}, "longest": {"1": 0.0, "3": 0.75}},
    }  # fmt: skip
    assert describe_baselines(found) == [
        "squared error on 12 held-out queries: pooled 0.1000, mean 0.2000",
        "agreement with people by 1 / 3 chosen references: pooled 0.500 / n/a, longest 0.000 / 0.750, "
        "random 0.250 / 0.500; by all references n/a",
    ]


def test_adding_all_is_advised_unless_choosing_is_clearly_better() -> None:
    same = {
        "against_all": {"3": {"value": 0.01, "low": -0.02, "high": 0.04}, "1": {"value": -0.2, "low": -1, "high": 0}}
    }
    assert advise_adding_all(same) == (
        "adding all replies to a query is expected to be as good as choosing: --add-all "
        "(3 chosen − all: 0.010 [-0.020, 0.040])"
    )
    better = {"against_all": {"3": {"value": 0.05, "low": 0.02, "high": 0.08}}}
    assert advise_adding_all(better).startswith("choosing is expected to be better than adding all replies")
    assert advise_adding_all({}) == ""
    assert describe_baselines({}) == []
