"""Metrics chosen by spec, with labels."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError, SpecError, create
from interloq.registry import full_spec, title
from interloq.score.parse_metrics import choose, file_metrics, spec_files


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


def test_a_file_stands_for_the_metrics_it_names(folder: Path) -> None:
    (folder / "mine.json").write_text('{"metrics": ["chosen=chrf", "bleu(order=2)"]}')
    assert [one.name for one in choose(["length,@mine.json"])[0]] == ["length", "chosen=chrf", "bleu(order=2)"]
    assert spec_files(["length,@mine.json", create("bleu")]) == ["mine.json"]
    assert file_metrics(["length,own=mine.py:f", create("bleu")]) == ["own=mine.py:f"]


@pytest.mark.parametrize("text", ['{"metrics": []}', '{"metrics": [1]}', "{}", "[]", "{"])
def test_a_file_without_metrics_is_refused(folder: Path, text: str) -> None:
    (folder / "mine.json").write_text(text)
    with pytest.raises(InputError, match="interloq choose RATED -o FILE"):
        choose(["@mine.json"])
