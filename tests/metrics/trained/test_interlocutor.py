"""What the interlocutor would do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interloq import InputError, Sample, create, evaluate, write
from interloq.cli.main import main
from interloq.metrics.network_metric import NO_CONTEXT
from interloq.metrics.trained.interlocutor import Dcp, InterlocutorScore
from interloq.signature import signature
from tests.metrics.made_contracts import REAL, UNIT, Contract
from tests.scorers.interlocutor.made_models import judged

CONTRACTS = {
    "dcp": Contract(
        UNIT, variants=["dcp(model='answers',user='ann')", "dcp(model='answers',user='')"], required="model='answers'"
    ),
    "interlocutor_score": Contract(
        REAL, variants=["interlocutor_score(model='ratings',user='bob')"], required="model='ratings'"
    ),
}


def test_it_is_the_probability_that_the_judge_answers(dcp_model: Path) -> None:
    samples = judged(10)
    found = {user: evaluate(Dcp(str(dcp_model), user), samples, n_bootstrap=0) for user in (None, "", "ann", "bob")}
    assert found["bob"].value < 0.6 < found["ann"].value
    assert found["bob"].value < found[None].value < found["ann"].value
    assert found[None].unscored == 0


def test_samples_without_a_context_are_unscored_and_empty_replies_are_not_answered(dcp_model: Path) -> None:
    metric = Dcp(str(dcp_model))
    result = evaluate(metric, [Sample("a", (), "tea"), Sample("b", ["tea ?"], " ")], n_bootstrap=0)
    assert result.reasons == {("a", ""): NO_CONTEXT}
    assert result.by_sample["b", ""] == 0


def test_its_signature_names_the_user(dcp_model: Path) -> None:
    metric = Dcp(str(dcp_model), user="bob")
    assert "dcp-" in str(signature(metric))
    assert str(signature(metric)) != str(signature(Dcp(str(dcp_model))))


def test_users_and_folders_that_do_not_fit(dcp_model: Path, score_model: Path) -> None:
    with pytest.raises(InputError, match="the model does not know the user 'zoe'"):
        evaluate(Dcp(str(dcp_model), user="zoe"), judged(1))
    with pytest.raises(InputError, match="contains a 'interlocutor', not a 'dcp'"):
        evaluate(Dcp(str(score_model)), judged(1))


def test_it_is_used_in_blends_and_as_a_rater(dcp_model: Path) -> None:
    blend = f"ruber(referenced=length,unreferenced=dcp(model={str(dcp_model)!r}))"
    assert 0 < evaluate(blend, judged(4), n_bootstrap=0).value < 1
    rater = create(f"by(dcp(model={str(dcp_model)!r},user='ann'))", kind="rater")
    (sample,) = rater.rate([Sample("1", ["tea ?"], "rain", ["tea ."])])
    assert -1 <= sample.references[0].weight <= 1


def test_unknown_judges_are_counted_in_a_note(dcp_model: Path) -> None:
    samples = [*judged(2), *judged(1, seed=1, judges=("zoe",))]
    (note,) = evaluate(Dcp(str(dcp_model)), samples, n_bootstrap=0).notes
    assert "2 of 6 replies (bot 2) are judged by users unknown to the model of dcp" in note.text
    assert not evaluate(Dcp(str(dcp_model), user=""), samples, n_bootstrap=0).notes


def test_the_course_of_a_dialogue(dcp_model: Path) -> None:
    metric, sample = Dcp(str(dcp_model)), judged(1, judges=("bob",))[1]
    found = metric.course(sample)
    assert [(each.turn, each.text) for each in found] == [(1, sample.context[1].text), (3, sample.response)]
    assert found[-1].score == pytest.approx(float(metric.value(metric.stats([sample]))[0]), abs=1e-6)
    short = [(each.turn, each.score) for each in metric.course(Sample("1", ["tea ?", " ", "so ?"], "rain"))]
    assert short[0] == (1, 0.0)  # an empty reply


def test_explain_names_the_turn_where_it_fell_most(
    dcp_model: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write("samples.jsonl", judged(3), kind="samples")
    metric = f"dcp(model={str(dcp_model)!r})"
    assert main(["explain", "d0-1#3", "samples.jsonl", "-m", metric]) == 0
    printed = capsys.readouterr().out
    assert "turn" in printed
    assert ("fell most at turn 3, by " in printed) != ("the score never fell" in printed)
    assert main(["explain", "d0-1#3", "samples.jsonl", "-m", metric, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [each["turn"] for each in facts["course"]] == [1, 3]
    assert facts["course"][1]["score"] == pytest.approx(facts["score"], abs=1e-6)


def test_it_is_a_rating_on_the_scale_of_the_training_and_nobody_rates_an_empty_reply(score_model: Path) -> None:
    metric = InterlocutorScore(str(score_model))
    assert not metric.is_probability
    assert 3 < evaluate(metric, judged(10), n_bootstrap=0).value < 6
    samples = [Sample("a", ["tea ?"], ""), Sample("b", (), "tea"), Sample("c", ["tea ?"], "rain")]
    result = evaluate(InterlocutorScore(str(score_model)), samples, n_bootstrap=0)
    assert result.reasons == {("a", ""): "empty reply", ("b", ""): "no context"}
    assert result.n == 1
