"""The result of choosing a metric."""

from __future__ import annotations

from dataclasses import replace

import pytest

from interloq.choose.choice import Candidate, Choice, paper
from interloq.signature import Signature
from interloq.statistics.estimate import Estimate

GOOD, BAD = Estimate(0.5, 40, (0.3, 0.7)), Estimate(0.1, 40, (-0.2, 0.4))
ROWS = (
    Candidate("chrf", "metric", GOOD, {"length": GOOD}, None),
    Candidate("rouge_l", "metric", GOOD, {"length": BAD}, None, p=0.8, needed=900),
    Candidate("bleu", "metric", BAD, {"length": BAD}, None, p=0.01),
    Candidate("length", "baseline", BAD, {}, None, p=0.4, needed=50),
)


@pytest.fixture
def choice() -> Choice:
    return Choice("overall", ROWS, "chrf", "chrf", GOOD, None, 40, 20, 2, Signature("choose"))


def test_which_candidates_are_as_good(choice: Choice) -> None:
    assert [row.name for row in choice.rows if row.as_good] == ["chrf", "rouge_l"]
    assert choice.best is ROWS[0]


def test_warnings_if_agreement_or_a_margin_is_not_shown(choice: Choice) -> None:
    assert not any("warning" in line for line in choice.summary())
    weak = replace(choice, expected=BAD, rows=(replace(ROWS[0], over={"length": BAD}), *ROWS[1:]))
    warnings = [line for line in weak.summary() if line.startswith("warning")]
    assert len(warnings) == 2
    assert "not shown to agree better than length" in warnings[1]


def test_the_ceiling_is_named_or_unknown(choice: Choice) -> None:
    assert choice.summary()[-1].endswith("unknown: no sample was judged twice")
    noise = replace(choice, ceiling=Estimate(float("nan"), 40, note="the halves of the judgments do not agree"))
    assert noise.summary()[-1].endswith("unknown: the halves of the judgments do not agree")
    known = replace(choice, ceiling=Estimate(0.9, 40))
    assert known.summary()[-1].endswith("0.900")
    assert "to about 0.90" in paper(known)


def test_the_text_names_the_group_and_counts(choice: Choice) -> None:
    text = paper(choice)
    assert "We compared 3 metrics with human judgments (overall) of 40 samples in 20 contexts." in text
    assert "rouge_l is not distinguishable from it" in text
    assert "bleu " not in text


def test_the_text_of_one_metric_without_intervals(choice: Choice) -> None:
    plain = Estimate(0.5, 40)
    alone = replace(choice, rows=(replace(ROWS[0], agreement=plain, over={"length": replace(plain, value=-0.1)}),))
    assert paper(alone) == (
        "We compared 1 metric with human judgments (overall) of 40 samples in 20 contexts. We chose chrf (Spearman's "
        "ρ = 0.50). Its margin over length is -0.10."
    )


def test_it_is_shown_as_a_table(choice: Choice) -> None:
    lines = repr(choice).splitlines()
    assert lines[0] == "Choice: agreement with 'overall' by people, 40 rated samples"
    assert lines[2].split() == ["chrf", "metric", "0.5", "0.3", "0.7", "0.5", "–", "–", "–"]
