"""Relevance and validity."""

from __future__ import annotations

import math
import random
import sys
from pathlib import Path

import pytest
import torch

from interloq import InputError, Sample, evaluate
from interloq.errors import MissingDependencyError, SpecError
from interloq.learn import ready
from interloq.metrics.metric import Metric
from interloq.metrics.trained.relevance import Relevance, Valid
from interloq.models import cross_encoder
from interloq.models.token_rows import TokenRows
from interloq.scorers.relevance.model import RelevanceScorer, ValidScorer
from tests.made_relevance import TOPICS, said
from tests.metrics.made_contracts import UNIT, Contract
from tests.metrics.made_usl_h import REPLIES, chat

CONTRACTS = {
    "relevance": Contract(UNIT, required="model='judge'"),
    "valid": Contract(UNIT, required="model='form'"),
}


def replies(n: int) -> list[Sample]:
    drawn = random.Random(3)
    return [
        Sample(str(i), [said(drawn.choice(TOPICS), drawn) for _ in range(1 + i % 5)], said(drawn.choice(TOPICS), drawn))
        for i in range(n)
    ]


def scores(metric: Metric, samples: list[Sample]) -> list[float]:
    return list(metric.value(metric.stats(samples)).tolist())


def test_empty_replies_and_contexts(follows: str) -> None:
    metric = Relevance(follows)
    samples = [Sample("a", ["tea ?"], " "), Sample("b", [], "tea ."), Sample("c", [" "], "tea ."), Sample("d", [], "")]
    assert metric.unscorable(samples[0]) is None
    assert [metric.unscorable(sample) for sample in samples[1:]] == ["no context"] * 3
    found = scores(metric, samples)
    assert found[0] == 0
    assert all(map(math.isnan, found[1:]))
    assert scores(metric, []) == []


def test_blank_turns_are_left_out(follows: str) -> None:
    metric = Relevance(follows)
    first, second = scores(metric, [Sample("a", ["tea ?", " "], "tea ."), Sample("b", ["tea ?"], "tea .")])
    assert first == second


def test_only_the_last_turns_are_read(follows: str) -> None:
    far, near, other = (
        Sample(name, turns, "we like tea .")
        for name, turns in (
            ("a", ["rain .", "music .", "tea ?", "bread ?"]),
            ("b", ["cats .", "music .", "tea ?", "bread ?"]),
            ("c", ["cats .", "cats .", "cats .", "bread ?"]),
        )
    )
    assert scores(Relevance(follows), [far])[0] == scores(Relevance(follows), [near])[0]  # three turns in training
    one = Relevance(follows, turns=1)
    assert scores(one, [far]) == scores(one, [other])
    assert scores(Relevance(follows), [far]) != scores(Relevance(follows), [other])
    with pytest.raises(SpecError, match="turns must be at least 1"):
        Relevance(follows, turns=0)


def test_a_long_context_loses_its_front_and_a_long_reply_its_end(follows: str) -> None:
    metric = Relevance(follows)
    same = [Sample("a", ["tea " * 90], "rain " * 90), Sample("b", ["music " + "tea " * 90], "rain " * 80 + "cats")]
    assert scores(metric, same)[0] == pytest.approx(scores(metric, same)[1], abs=1e-6)
    assert not math.isnan(scores(metric, [Sample("c", ["ξψ"], "ξψ")])[0])


def test_each_pair_is_read_once(follows: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    outputs = cross_encoder._outputs

    def counted(reader: RelevanceScorer, rows: TokenRows, network: cross_encoder.Network) -> torch.Tensor:
        read.append(len(rows.ids))
        return outputs(reader, rows, network)

    monkeypatch.setattr(cross_encoder, "_outputs", counted)
    samples = [Sample(str(i), ["tea ?"], "tea ." if i % 2 else "rain .") for i in range(10)]
    found = scores(Relevance(follows), samples)
    assert sum(read) == 2
    assert len(set(found)) == 2


def test_a_batch_that_does_not_fit_is_halved(follows: str, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = replies(20)
    wanted = scores(Relevance(follows), samples)
    scorer = Relevance(follows).network()
    network = scorer.network

    def tight(rows: TokenRows) -> torch.Tensor:
        if len(rows.ids) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        result: torch.Tensor = network(rows)
        return result

    monkeypatch.setattr(scorer, "network", tight)
    monkeypatch.setattr(scorer, "tokens", 2**13)
    assert scores(Relevance(follows), samples) == pytest.approx(wanted, abs=1e-5)
    assert scorer.tokens < 2**13
    monkeypatch.setattr(scorer, "network", lambda _: (_ for _ in ()).throw(torch.OutOfMemoryError("no")))
    with pytest.raises(InputError, match="not enough memory for one row"):
        scores(Relevance(follows), samples[:1])


def test_ready_names_the_scorer_of_the_package(follows: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ready.PACKAGED, "ready", Path(follows))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ready").mkdir()  # a folder of that name does not stand in its way
    assert scores(Relevance("ready"), replies(5)) == scores(Relevance(follows), replies(5))
    with pytest.raises(InputError, match="no model in the folder"):
        Relevance("./ready").network()


def test_ready_without_torch_names_its_own_extra(follows: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ready.PACKAGED, "ready", Path(follows))
    monkeypatch.setitem(sys.modules, "interloq.scorers.relevance.model", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'interloq\[ready\]'"):
        Relevance("ready").network()
    with pytest.raises(MissingDependencyError, match=r"pip install 'interloq\[encoder\]'"):
        Relevance(follows).network()


def test_without_ready_weights_a_folder_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ready.PACKAGED, "ready", tmp_path)
    with pytest.raises(InputError, match=r"without the weights of relevance\(model='ready'\)"):
        Relevance("ready").network()


def test_valid_reads_the_reply_alone(form: str) -> None:
    alone = [Sample(sample.id, (), sample.response) for sample in chat()]
    found = scores(Valid(form), chat())
    assert found == pytest.approx(ValidScorer.load(form, device="cpu").of(REPLIES), abs=1e-6)
    assert found == scores(Valid(form), alone)
    assert all(0 < score < 1 for score in found)
    assert found[1] == found[4]
    assert evaluate(Valid(form), chat()).signature.parts["built-with"].startswith("valid-")


def test_an_empty_reply_is_not_valid(form: str) -> None:
    result = evaluate(Valid(form), chat(["", " \u3000", "ξψ", "day " * 500]))
    assert list(result.by_sample.values())[:2] == [0, 0]
    assert all(0 < score < 1 for score in list(result.by_sample.values())[2:])
    assert not any(result.reasons.values())
