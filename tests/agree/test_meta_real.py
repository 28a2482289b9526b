"""Meta-evaluation on published scores, where INTERLOQ_DATA names a folder that holds them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from interloq.agree.agreement import meta_evaluate
from interloq.data.sets import predictive_engagement

pytestmark = pytest.mark.skipif(
    not os.environ.get("INTERLOQ_DATA"), reason="INTERLOQ_DATA names no folder with the published datasets"
)


def test_stored_scores_have_their_published_correlations() -> None:
    """Ghazarian et al.'s 600 pairs: unreferenced RUBER .237 and .302, BERT .540 and .547 (Pearson, Spearman)."""
    path = Path(os.environ["INTERLOQ_DATA"]) / "predictive_engagement.csv"
    scores, samples = predictive_engagement.scores(path), predictive_engagement.samples(path)
    table = meta_evaluate(scores, samples, n_permutations=200, lower_is_better=False)
    rows = {row.metric: row for row in table.rows}
    found = {
        name: [round(rows[f"stored:{name}"].with_mean[c].value, 3) for c in ("pearson", "spearman")]
        for name in ("Ruber_Unref_Score", "CTX_Unref_Score")
    }
    assert found == {"Ruber_Unref_Score": [0.237, 0.302], "CTX_Unref_Score": [0.540, 0.547]}
    assert (table.counted.rated, table.counted.judgments, table.counted.annotators) == (600, 1800, 0)
    (test,) = [
        c
        for c in table.comparisons
        if {c.first, c.second} == {f"stored:{n}" for n in found} and c.coefficient == "kendall"
    ]
    assert test.first == "stored:CTX_Unref_Score"
    assert test.permutation_p is not None
    assert test.permutation_p < 0.01
