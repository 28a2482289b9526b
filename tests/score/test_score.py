"""The modules of `interloq.score`: check file, parse metrics, selection, signatures, stages, transposed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interloq import InputError, Rating, Sample, Score, SpecError, create, evaluate, from_columns, load, write
from interloq.cli.main import main
from interloq.data.records.read_options import ReadOptions
from interloq.metrics.combined import rated_references
from interloq.registry import full_spec, spec, title
from interloq.score.check_file import check_file
from interloq.score.evaluate import score_samples
from interloq.score.parse_metrics import allow_any_language, choose, file_metrics, spec_files
from interloq.score.score_file import score_file
from interloq.score.score_options import CheckOptions
from interloq.score.selection import SampleFilter
from interloq.score.signatures import read_signatures
from interloq.score.stages import extend_samples, find_pipelines, rate_samples, with_rated
from tests.made_pipeline import HUMAN
from tests.made_scored import score
from tests.metrics.made_given import OWN, REPLIES


def test_records_are_counted_and_what_metrics_cannot_use_is_noted(folder: Path) -> None:
    made = [Sample(str(i), ["hi"], "same text", ["same text"], "a") for i in range(3)]
    write("samples.jsonl", made, kind="samples")
    facts, notes = check_file("samples.jsonl", CheckOptions(metrics=["bleu(order=4)"]))
    assert (facts["kind"], facts["records"], facts["systems"]) == ("samples", 3, {"a": 3})
    assert {note.name for note in notes} >= {"own references", "length"}
    assert not any(note.metric for note in check_file("samples.jsonl")[1])


def test_other_kinds_have_no_notes(folder: Path) -> None:
    write("scores.jsonl", [Score("1", "bleu", 0.5)], kind="scores")
    facts, notes = check_file("scores.jsonl", CheckOptions(metrics=["bleu"]))
    assert (facts["kind"], facts["metrics"], notes) == ("scores", {"bleu": 1}, [])
    with pytest.raises(InputError):
        check_file("scores.jsonl", kind="samples", reading=ReadOptions(strict=True))


def test_raters_on_different_scales_are_noted_in_every_kind_of_file(folder: Path) -> None:
    ratings = [
        Rating(factor * i, rater, item=str(i)) for rater, factor in (("ann", 1), ("dan", 20)) for i in range(1, 6)
    ]
    write("ratings.jsonl", ratings, kind="ratings")
    samples = [Sample(str(i), [], "reply", ratings=[r for r in ratings if r.item == str(i)]) for i in range(1, 6)]
    write("samples.jsonl", samples, kind="samples")
    for name in ("ratings.jsonl", "samples.jsonl"):
        assert any("different scales" in note.text for note in check_file(name)[1])


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


def test_any_language_is_set_in_every_part_of_a_metric() -> None:
    blend = allow_any_language(create("blend(metrics=(chrf,relevance(model='ready')))"))
    assert spec(blend) == "blend(metrics=(chrf,relevance(model='ready',any_language=True)))"
    rated = allow_any_language(create("vbleu(index='index',rater=by(judge(model='ready'),pairs='log.jsonl'))"))
    assert rated.rater.scorer.any_language
    assert allow_any_language(create("bleu(order=3)")) == create("bleu(order=3)")


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


SAMPLES = [
    Sample("1", ["x"], "I did .", ["i did", "no"], "human"),
    Sample("2", ["x"], "Yes !", ["yes"], "human"),
    Sample("3", ["x"], "Yes !", ["no"], "bot"),
    Sample("4", ["x"], "Yes !", ["no"]),
]


def test_everything_passes_where_nothing_is_asked() -> None:
    selection = SampleFilter()
    assert list(selection.samples(SAMPLES)) == SAMPLES
    assert (selection.facts(), list(selection.notes())) == ({}, [])


def test_copies_of_the_reply_are_dropped_and_counted_by_system() -> None:
    selection = SampleFilter(drop_own_replies=True)
    kept = list(selection.samples(SAMPLES))
    assert [[r.text for r in sample.references] for sample in kept] == [["no"], [], ["no"], ["no"]]
    assert selection.facts() == {"own-replies": "dropped"}
    (note,) = selection.notes()
    assert (note.count, note.of, note.by_system) == (2, 4, (("human", 2),))
    assert note.text.endswith("dropped from them; 1 have no other reference")


def test_systems_are_left_out_by_name() -> None:
    selection = SampleFilter(without=["human", "(none)"])
    assert [sample.id for sample in selection.samples(SAMPLES)] == ["3"]
    assert selection.excluded == [("1", "human"), ("2", "human"), ("4", "")]
    (note,) = selection.notes()
    assert note.text == "3 of 4 replies (human 2, (none) 1) were excluded as requested"
    assert selection.facts() == {"without": "(none),human"}


def test_an_unknown_system_is_refused() -> None:
    with pytest.raises(InputError, match=r"no sample is of system 'humans'; did you mean 'human'\?"):
        list(SampleFilter(without=["humans"]).samples(SAMPLES))


def test_scores_of_excluded_samples_are_told_from_unknown_ones() -> None:
    selection = SampleFilter(without=["human", "(none)"])
    list(selection.samples(SAMPLES))
    scores = [Score("9", "m", 1.0, system="human"), Score("9", "m", 1.0), Score("3", "m", 1.0, system="bot")]
    assert [selection.excludes(score) for score in scores] == [True, True, False]
    some = SampleFilter(without=["human"])
    list(some.samples(SAMPLES))
    assert [some.excludes(Score(id, "m", 1.0)) for id in ("1", "3", "9")] == [True, False, False]  # without a system


@pytest.fixture
def scored(folder: Path) -> None:
    samples = [Sample(str(i), ["hi"], "hello there you", ["hello you there"]) for i in range(3)]
    write("samples.jsonl", samples, kind="samples")
    score("bleu,length", "first.jsonl")


@pytest.mark.usefixtures("scored")
def test_python_and_the_command_line_sign_alike() -> None:
    assert main(["score", "samples.jsonl", "-m", "bleu", "-o", "second.jsonl", "--quiet"]) == 0
    found = read_signatures("second.jsonl")["bleu"]
    assert found == evaluate("bleu", load("samples.jsonl")).signature
    assert found == score_file("samples.jsonl", ["bleu"]).results[0][""].signature


VBLEU = f"vbleu(index='index',rater={HUMAN})"
NESTED = f"blend(metrics=(length,{VBLEU}))"


@pytest.fixture
def here(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(made)
    monkeypatch.setenv("INTERLOQ_CACHE", "off")


def test_pipelines_are_found_inside_other_metrics(here: None) -> None:
    metrics = [create(text) for text in ("bleu", VBLEU, NESTED)]
    assert find_pipelines(metrics) == [create(VBLEU)] * 2
    assert find_pipelines(metrics[:1]) == []


def test_without_a_pipeline_no_sample_is_read() -> None:
    metrics = [create("bleu")]
    rated = rate_samples(extend_samples(metrics, iter(lambda: pytest.fail("a sample was read"), None)))
    assert rated == {}
    assert with_rated(metrics, rated) == metrics


@pytest.mark.parametrize("text", [VBLEU, NESTED])
def test_scoring_neither_searches_nor_rates(here: None, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    samples, metric = load("samples.jsonl"), create(text)
    in_one_call = evaluate(metric, samples)
    rated = rate_samples(extend_samples([metric], samples))

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("scoring searched in the index")

    monkeypatch.setattr(rated_references, "open_index", refuse)
    ((scored, *_),) = (list(results.values()) for results in score_samples(with_rated([metric], rated), samples))
    assert (scored.value, scored.ci, scored.signature) == (in_one_call.value, in_one_call.ci, in_one_call.signature)
    assert list(scored.by_sample.values()) == pytest.approx(list(in_one_call.by_sample.values()), abs=0, nan_ok=True)


def test_transposed_columns_are_refused() -> None:
    streams = [list(column) for column in zip(*OWN, strict=True)]
    with pytest.raises(InputError, match="references look transposed: 2 lists of 3 texts for 3 responses"):
        from_columns(REPLIES, streams)
    with pytest.raises(InputError, match="2 references for 3 responses"):
        from_columns(REPLIES, OWN[:2])
    with pytest.raises(InputError, match="1 contexts for 3 responses"):
        from_columns(REPLIES, OWN, contexts=["a"])


def test_every_sample_holding_all_references_is_refused() -> None:
    """The silent perfect score: each reply finds itself among the references of all replies."""
    samples = [Sample(str(i), f"context {i}", reply, REPLIES) for i, reply in enumerate(REPLIES)]
    with pytest.raises(InputError, match="references look transposed: 3 samples with 3 references each"):
        evaluate("bleu", samples)


@pytest.mark.parametrize("n_streams", [2, 3])
def test_transposed_records_are_refused(n_streams: int) -> None:
    full = [[*refs, refs[0] + " indeed"] for refs in OWN]
    streams = [[refs[k] for refs in full] for k in range(n_streams)]
    samples = [Sample(str(i), "", REPLIES[i], stream) for i, stream in enumerate(streams)]
    with pytest.raises(InputError, match="references look transposed"):
        evaluate("delta_bleu", samples)


def test_a_square_that_is_right_is_scored() -> None:
    full = [[*refs, refs[0] + " indeed"] for refs in OWN]
    samples = [Sample(str(i), "", reply, refs) for i, (reply, refs) in enumerate(zip(REPLIES, full, strict=True))]
    assert evaluate("bleu", samples).n == 3
    same = [Sample(str(i), "one context", reply, OWN[0]) for i, reply in enumerate(REPLIES[:2])]
    assert evaluate("bleu", same).n == 2, "two systems that answer one context share its references"
