"""The metric dcp."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError, Sample, create, evaluate, spec
from interloq.interlocutor.dcp import Dcp
from interloq.metrics.context_reply import NO_CONTEXT
from interloq.signature import signature
from tests.interlocutor.made_models import judged


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


def test_its_spec_and_signature(dcp_model: Path) -> None:
    metric = Dcp(str(dcp_model), user="bob")
    assert create(spec(metric)) == metric
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
