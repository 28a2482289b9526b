"""Metrics chosen by spec, with labels."""

from __future__ import annotations

import pytest

from interloq import SpecError, create
from interloq.metrics.chosen import choose
from interloq.registry import full_spec, title


def test_titles_and_signatures_do_not_depend_on_where_a_model_lies() -> None:
    metric = create("ruber(referenced=bertscore(model='models/june/encoder/'),unreferenced=relevance(model='scorer'))")
    assert title(metric) == "ruber(referenced=bertscore(model='encoder'),unreferenced=relevance(model='scorer'))"
    assert full_spec(metric, places="blank").startswith("ruber(referenced=bertscore(model='',layer=None,")
    for kept in ("hub:org/name@1", "postgresql://host/logs", "."):
        assert title(create(f"bertscore(model={kept!r})")) == f"bertscore(model={kept!r})"
    with pytest.raises(SpecError, match=r"are both called bertscore\(model='enc'\); give each its own label"):
        choose(["bertscore(model='a/enc')", "bertscore(model='b/enc')"])
    named, _ = choose(["A=bertscore(model='a/enc')", "B=bertscore(model='b/enc')"])
    assert [one.name for one in named] == ["A=bertscore(model='enc')", "B=bertscore(model='enc')"]


@pytest.mark.parametrize(
    ("specs", "said"),
    [
        (["x=bleu", "x=chrf"], "bleu and chrf are both labelled 'x'; give each its own label"),
        (["x=bleu,x=chrf"], "both labelled 'x'"),
        (["chrf=bleu"], "'chrf' is the name of a metric other than 'bleu'; choose another label"),
        (["bleu,"], "cannot read spec ''"),
    ],
)
def test_labels_that_would_mislead_are_refused(specs: list[str], said: str) -> None:
    with pytest.raises(SpecError) as caught:
        choose(specs)
    assert said in str(caught.value)
