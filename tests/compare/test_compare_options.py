"""Options of comparisons and gates."""

from __future__ import annotations

from interloq.compare.compare_options import CompareOptions


def test_length_is_compared_beside_a_judge_unless_metrics_are_named() -> None:
    assert CompareOptions().scoring_metrics == ()
    assert CompareOptions(judge="llm_judge()").scoring_metrics == ("length",)
    assert CompareOptions(judge="llm_judge()", metrics=["chrf"]).scoring_metrics == ["chrf"]


def test_repeats_have_the_system_of_the_new_version() -> None:
    options = CompareOptions(old_system="june", new_system="july")
    assert [options.system(side) for side in ("old", "new", "repeat 1")] == ["june", "july", "july"]
