"""υBLEU in one call against extend, rate and score run one by one."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from interloq import create, evaluate, load
from interloq.cli.main import main
from interloq.errors import InputError, SpecError
from interloq.metrics.combined.vbleu import Vbleu
from interloq.rate.network_rater import Gru
from tests.made_pipeline import GRU, HUMAN
from tests.metrics.made_contracts import UNIT, Contract

CONTRACTS = {
    "vbleu": Contract(
        UNIT,
        variants=[
            "vbleu(index='replies',rater=human(ratings='ratings.jsonl'),mode='paper',k=3)",
            "vbleu(index='replies',rater=human(ratings='ratings.jsonl'),mode='corpus',order=4,parrot=False,turns=2)",
            "vbleu(index='replies',rater=by(valid(model='form')),parrot=False,best=3)",
        ],
        required="index='replies',rater=human(ratings='ratings.jsonl')",
        referenced=True,
    ),
}


def scored(*arguments: str) -> dict[str, tuple[float | None, str]]:
    assert main(["score", *arguments, "-o", "scores.jsonl", "--bootstrap", "0", "--quiet"]) == 0
    return {score.id: (score.value, score.reason) for score in load("scores.jsonl", kind="scores")}


def step_by_step(
    rater: str, extend: Sequence[str] = (), rate: Sequence[str] = ()
) -> dict[str, tuple[float | None, str]]:
    assert main(["extend", "samples.jsonl", "--index", "index", "-o", "extended.jsonl", *extend, "--quiet"]) == 0
    options = ["--rater", rater, *rate, "-o", "rated.jsonl", "--quiet"]
    assert main(["rate", "extended.jsonl", *options]) < 2  # 1: unused ratings
    return scored("rated.jsonl", "-m", "delta_bleu(order=2)")


@pytest.mark.parametrize("rater", [GRU, "gru(model='rater',mode='signed_max',gold='rated')", HUMAN])
def test_one_call_gives_what_the_three_verbs_give(here: Path, rater: str) -> None:
    expected = step_by_step(rater)
    found = scored("samples.jsonl", "-m", f"vbleu(index='index',rater={rater})")
    assert found.keys() == expected.keys()
    for id, (value, reason) in expected.items():
        assert found[id] == ((value, reason) if rater == HUMAN else (pytest.approx(value, abs=1e-6), reason)), id
    values = {value for value, _ in found.values() if value is not None}
    assert len(values) > 10
    if rater != HUMAN:
        assert found["no gold"][1] == found["no context"][1] == "no positive weight"
    assert found["nothing"] == (None, "no references")


def test_its_options_are_those_of_extend_and_delta_bleu(here: Path) -> None:
    step_by_step(HUMAN, ["-k", "4", "--no-parrot", "--turns", "2"])
    expected = scored("rated.jsonl", "-m", "delta_bleu(order=1,mode='corpus',tokenizer='char')")
    options = "k=4,parrot=False,turns=2,order=1,mode='corpus',tokenizer='char'"
    assert scored("samples.jsonl", "-m", f"vbleu(index='index',rater={HUMAN},{options})") == expected


@pytest.mark.parametrize(
    ("options", "fields"),
    [(["--best", "2"], "best=2"), (["--best", "2", "--no-weights"], "best=2,weigh=False")],
)
def test_its_selection_is_that_of_rate(here: Path, options: list[str], fields: str) -> None:
    expected = step_by_step(HUMAN, rate=options)
    assert scored("samples.jsonl", "-m", f"vbleu(index='index',rater={HUMAN},{fields})") == expected
    weights = {s.id: [r.weight for r in s.references] for s in load("rated.jsonl")}
    assert len(weights["c1/a"]) == 3
    assert "--no-weights" not in options or set(weights["c1/a"]) == {1.0}


def test_it_may_be_half_of_ruber(here: Path) -> None:
    inner = f"vbleu(index='index',rater={GRU})"
    parts = [scored("samples.jsonl", "-m", metric) for metric in (inner, "length")]
    ids = [id for id, (value, _) in parts[0].items() if value is not None]
    sides: list[list[float]] = []
    for part in parts:
        values = [float(part[id][0] or 0) for id in ids]
        sides.append([(value - min(values)) / (max(values) - min(values)) for value in values])
    blended = scored("samples.jsonl", "-m", f"ruber(referenced={inner},unreferenced=length)")
    expected = {id: (first + second) / 2 for id, first, second in zip(ids, *sides, strict=True)}
    assert {id: value for id, (value, _) in blended.items() if value is not None} == pytest.approx(expected, abs=1e-9)
    assert blended["nothing"] == (None, "no references")


def test_the_signature_names_the_index_and_the_rater_by_content(here: Path, tmp_path: Path) -> None:
    samples = load("samples.jsonl")
    metric = Vbleu("index", Gru("rater"))
    signature = evaluate(metric, samples).signature
    assert f"|model:{metric.rater.signature().parts['model']}]" in signature.parts["built-with"]
    assert "|pairs:240|sources:" in signature.parts["built-with"]
    assert {"torch", "sentencepiece"} <= signature.parts.keys()
    shutil.copytree("index", tmp_path / "i")
    shutil.copytree("rater", tmp_path / "r")
    moved = Vbleu(str(tmp_path / "i"), Gru(str(tmp_path / "r")))
    assert evaluate(moved, samples).signature == signature
    assert moved.built_with() == metric.built_with() == signature.parts["built-with"]
    assert Vbleu("index", Gru("rater", mode="signed_max")).built_with() != moved.built_with()


def test_mistakes_are_said(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text, said_ in (
        ("vbleu", "write vbleu"),
        ("vbleu(index='index',rater=bm25)", "rater"),
        (f"vbleu(index='index',rater={HUMAN},order=0)", "order"),
        (f"vbleu(index='index',rater={HUMAN},mode='x')", "mode must be one of"),
    ):
        with pytest.raises(SpecError, match=said_):
            create(text)
    for text, said_ in (
        (f"vbleu(index='none',rater={HUMAN})", "none"),
        ("vbleu(index='index',rater=gru(model='none'))", "use the folder of a rater"),
        (f"vbleu(index='index',rater={HUMAN},k=0)", "k must be at least 1"),
    ):
        with pytest.raises(InputError, match=said_):
            evaluate(text, load("samples.jsonl"))
        assert main(["score", "samples.jsonl", "-m", text]) == 2
        assert capsys.readouterr().err.count("\n") == 1
