"""`interloq explain`: the parts of a score make up the score that `interloq score` gives."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from interloq import Rating, Reference, Sample, evaluate, load, registry, write
from interloq.cli.main import main
from interloq.data.embedded import embedded_path
from interloq.metrics.overlap.delta_bleu import DeltaBleu
from interloq.records import Pair
from interloq.registry import Component
from tests.cli.made_runs import run_json
from tests.conftest import by_id
from tests.made_explained import SAMPLE
from tests.made_pages import page_commands, run_code, run_commands

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def file(folder: Path) -> Path:
    others = [replace(SAMPLE, id=f"c{i}/bot", response=f"no {i}") for i in range(2, 6)]
    bare = Sample("bare", ["x"], "y", [Reference("y", 0.0)])
    write("rated.jsonl", [*others, SAMPLE, bare], kind="samples")
    return folder


@pytest.mark.parametrize("text", ["delta_bleu(order=2)", "bleu(level='sentence')", "rouge_l", "nist", "length"])
def test_the_score_is_the_one_that_score_prints(file: Path, capsys: Captured, text: str) -> None:
    assert main(["score", "rated.jsonl", "-m", text, "--bootstrap", "0", "-o", "scores.jsonl"]) == 0
    capsys.readouterr()
    scores = {score.id: score.value for score in load("scores.jsonl", kind="scores")}
    facts = run_json(capsys, "explain", "c1/bot", "rated.jsonl", "-m", text)
    assert facts["score"] == scores["c1/bot"]
    assert main(["explain", "c1/bot", "rated.jsonl", "-m", text]) == 0
    said = capsys.readouterr().out
    assert f"= {scores['c1/bot']:.4f}" in said
    assert ("are explained in detail" in said) == ("bleu" not in text)
    assert ("orders" in facts) == ("bleu" in text)


def test_what_a_reader_sees(file: Path, capsys: Captured) -> None:
    assert main(["explain", "c1/bot", "rated.jsonl"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("c1/bot (bot): delta_bleu = 0.7881\n")
    assert re.search(r"very +2 +2 +2 +0\.700 +1\.400", said)
    assert re.search(r"3  a very long story \. +retrieved:p2 +-0\.800 +3 +1 +no", said)
    assert "p1 = credit 7.400 / (8 n-grams × largest weight 1.000) = 0.9250" in said
    assert "no credit: a very; very good" in said
    assert "reply 8, the closest reference (0, 2) 6 → brevity penalty 1.0000" in said
    assert "score = 1.0000 × (0.9250 × 0.6714)^(1/2) = 0.7881" in said
    assert re.search(r"3  a very long story \. +-0\.800 +a; very; \.; a very", said)


def test_json_says_who_is_trusted(file: Path, capsys: Captured) -> None:
    facts = run_json(capsys, "explain", "c1/bot", "rated.jsonl")
    assert [row["trusted"] for row in facts["references"]] == [True, True, True, False]
    assert facts["references"][3]["shared"] == [["a", "very", "."], ["a very"]]
    assert [order["ngrams"] for order in facts["orders"]] == [8, 7]
    assert "trusted" not in run_json(capsys, "explain", "c1/bot", "rated.jsonl", "-m", "bleu")["references"][0]


def test_why_a_sample_has_no_score_or_no_credit(file: Path, capsys: Captured) -> None:
    assert main(["explain", "bare", "rated.jsonl"]) == 0
    assert "unscored: no positive weight" in capsys.readouterr().out
    assert run_json(capsys, "explain", "bare", "rated.jsonl")["reason"] == "no positive weight"
    assert main(["explain", "c3/bot", "rated.jsonl"]) == 0
    assert "the reply shares no n-gram with a reference of positive weight" in capsys.readouterr().out


def test_an_id_that_is_like_no_other_is_answered_with_the_first_ids(file: Path, capsys: Captured) -> None:
    assert main(["explain", "zzzzzzzz", "rated.jsonl"]) == 2
    assert "the first are 'c2/bot' or 'c3/bot' or 'c4/bot'" in capsys.readouterr().err


@dataclass(frozen=True)
class Halving(Component):
    """A pipeline that rates by halving weights."""

    order: int = 1

    def metric(self) -> DeltaBleu:
        return DeltaBleu(order=self.order)

    def rated(self, samples: list[Sample]) -> list[Sample]:
        return [
            replace(s, references=tuple(replace(r, weight=r.weight / 2) for r in s.references[1:])) for s in samples
        ]


def test_a_pipeline_is_explained_with_the_weights_it_gives(
    file: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(registry._targets()["metric"], "halving", f"{__name__}:Halving")
    registry._find_registered.cache_clear()
    facts = run_json(capsys, "explain", "c1/bot", "rated.jsonl", "-m", "halving")
    assert facts["metric"] == "halving"
    assert [row["weight"] for row in facts["references"]] == [0.2, 0.35, -0.4]
    assert facts["largest_weight"] == 0.35
    (rated,) = Halving().rated([SAMPLE])
    assert facts["score"] == by_id(evaluate("delta_bleu(order=1)", [rated]).by_sample)["c1/bot"]
    registry._find_registered.cache_clear()


@pytest.mark.parametrize("mode", ["sentence", "paper"])
def test_vbleu_is_explained_with_the_references_it_finds(file: Path, capsys: Captured, mode: str) -> None:
    pairs = [Pair(f"p{i}", f"how was the {what} ?", f"a very good {what} .") for i, what in enumerate(["play", "song"])]
    write("pairs.jsonl", pairs, kind="pairs")
    assert main(["index", "build", "pairs.jsonl", "-o", "index", "--retriever", "bm25"]) == 0
    places = range(len(SAMPLE.references) + 2)
    write("ratings.jsonl", [Rating(1 + i % 5, item=f"c1/bot/{i}") for i in places], kind="ratings")
    text = f"vbleu(index='index',rater=human(ratings='ratings.jsonl'),order=1,mode='{mode}')"
    capsys.readouterr()
    assert main(["score", "rated.jsonl", "-m", text, "--bootstrap", "0", "-o", "scores.jsonl"]) == 0
    capsys.readouterr()
    scores = {score.id: score.value for score in load("scores.jsonl", kind="scores")}
    facts = run_json(capsys, "explain", "c1/bot", "rated.jsonl", "-m", text)
    assert facts["score"] == scores["c1/bot"]
    assert ("orders" in facts) == (mode == "sentence")
    found = {row["source"]: row["weight"] for row in facts["references"]}
    assert found["gold"] == -1
    assert found["retrieved:p0"] in (0.0, 0.5, 1.0, -0.5, -1.0)
    assert len(facts["references"]) == 6


def test_the_commands_and_the_code_of_the_page_run(file: Path, capsys: Captured) -> None:
    (file / "samples.jsonl").write_bytes(embedded_path("en").read_bytes())
    commands = page_commands("explain.md")
    assert len(commands) >= 3
    run_commands(commands, capsys)
    assert run_code("explain.md", capsys)[0].startswith("0.7881")
