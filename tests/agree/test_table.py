"""Tables of meta-evaluation for readers."""

from __future__ import annotations

from dataclasses import replace

from interloq import Sample, Score
from interloq.agree.agreement import meta_evaluate
from interloq.agree.table import MetaTable

LONG = "bleu(level='sentence',order=2)"


def table(samples: list[Sample]) -> MetaTable:
    scores = [Score(s.id, f"short={LONG}", float(s.id), system=s.system) for s in samples]
    scores += [Score(s.id, "length", float(len(s.response)), system=s.system) for s in samples]
    return meta_evaluate(scores, samples, n_bootstrap=0, n_permutations=10)


def test_labels_stand_for_metrics_in_rows_comparisons_and_notes(samples: list[Sample]) -> None:
    noted = replace(table(samples), notes=(f"short={LONG}: a note",))
    shown = noted.labelled()
    assert [row.metric for row in shown.rows] == ["length", "short"]
    assert {name for c in shown.comparisons for name in (c.first, c.second)} == {"length", "short"}
    assert shown.notes == ("short: a note",)
    assert noted.rows[1].metric == f"short={LONG}", "the table itself keeps the specs"


def test_there_is_one_row_per_metric_and_coefficient(samples: list[Sample]) -> None:
    found = table(samples)
    rows = found._shown_rows()
    assert [(row["metric"], row["coefficient"]) for row in rows] == [
        (row.metric, name) for row in found.rows for name in ("pearson", "spearman", "kendall")
    ]
    assert rows[0]["value"] == found.rows[0].with_mean["pearson"].value
    assert "6 rated samples" in repr(found)
