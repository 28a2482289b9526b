"""υBLEU in one call against extend, rate and score run one by one."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from interloq import Rating, Reference, Sample, create, evaluate, load, spec, write
from interloq.cli.main import main
from interloq.errors import InputError, SpecError
from interloq.pipelines import rated as stages
from interloq.pipelines.vbleu import Vbleu
from interloq.rate.gru import Gru
from interloq.rate.human import Human
from interloq.records import Pair
from interloq.registry import full_spec
from tests.made_rater import TOPICS, said, small_rater, write_log

GRU, HUMAN = "gru(model='rater')", "human(ratings='ratings.jsonl')"


def made_samples() -> list[Sample]:
    drawn = random.Random(3)
    samples = []
    for i in range(24):
        topic = drawn.choice(TOPICS)
        context = [said(topic, drawn), f"{said(topic, drawn)} ?"]
        golds = [said(topic, drawn) for _ in range(1 + (i % 5 == 0))]
        samples += [Sample(f"c{i}/{bot}", context, said(topic, drawn), golds, bot) for bot in "ab"]
    samples.append(Sample("no context", (), "i like tea", ["i like tea so"], "a"))
    samples.append(Sample("no gold", ["tea ?"], "i like tea", (), "a"))
    samples.append(Sample("nothing", (), "tea", (), "b"))
    return samples


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vbleu")
    write_log(folder / "pairs.jsonl", 60)
    small_rater(folder, epochs=6, utterances=60)
    write(folder / "samples.jsonl", made_samples(), kind="samples")
    ratings = [
        Rating(1 + (7 * i + place) % 5, "x", item=f"c{i}/{bot}/{place}")
        for i in range(24)
        for bot in "ab"
        for place in range(1, 18)
    ]
    write(folder / "ratings.jsonl", ratings, kind="ratings")
    index = ["index", "build", str(folder / "pairs.jsonl"), "-o", str(folder / "index"), "--retriever", "bm25"]
    assert main([*index, "--quiet"]) == 0
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of index, rater and samples in the working directory, with a cache of its own."""
    shutil.copytree(made, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("INTERLOQ_CACHE", str(tmp_path / "cache"))
    return tmp_path / "here"


def scored(*arguments: str) -> dict[str, tuple[float | None, str]]:
    assert main(["score", *arguments, "-o", "scores.jsonl", "--bootstrap", "0", "--quiet"]) == 0
    return {score.id: (score.value, score.reason) for score in load("scores.jsonl", kind="scores")}


def step_by_step(rater: str, *options: str) -> dict[str, tuple[float | None, str]]:
    assert main(["extend", "samples.jsonl", "--index", "index", "-o", "extended.jsonl", *options, "--quiet"]) == 0
    assert main(["rate", "extended.jsonl", "--rater", rater, "-o", "rated.jsonl", "--quiet"]) < 2  # 1: unused ratings
    return scored("rated.jsonl", "-m", "delta_bleu(order=2)")


# ---- one call is three -----------------------------------------------------------------------------------------------


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
    step_by_step(HUMAN, "-k", "4", "--no-parrot", "--turns", "2")
    expected = scored("rated.jsonl", "-m", "delta_bleu(order=1,mode='corpus',tokenizer='char')")
    options = "k=4,parrot=False,turns=2,order=1,mode='corpus',tokenizer='char'"
    assert scored("samples.jsonl", "-m", f"vbleu(index='index',rater={HUMAN},{options})") == expected


def test_python_gives_what_the_command_gives(here: Path) -> None:
    result = evaluate(Vbleu("index", Gru("rater")), load("samples.jsonl"))
    found = scored("samples.jsonl", "-m", f"vbleu(index='index',rater={GRU})")
    assert {id: value for id, (value, _) in found.items() if value is not None} == {
        id: value for (id, _), value in result.by_sample.items() if value == value
    }


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


# ---- what it keeps ---------------------------------------------------------------------------------------------------


class Counted:
    """Stands before a stage and counts."""

    def __init__(self, patch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
        self.calls, stage = 0, getattr(owner, name)

        def counted(*arguments: Any, **options: Any) -> Any:
            self.calls += 1
            return stage(*arguments, **options)

        patch.setattr(owner, name, counted)


def test_no_stage_runs_twice(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = load("samples.jsonl")
    searches, ratings = Counted(monkeypatch, stages, "extend"), Counted(monkeypatch, Human, "rate")
    first = evaluate(f"vbleu(index='index',rater={HUMAN})", samples)
    assert (searches.calls, ratings.calls) == (1, 1)
    again = evaluate(f"vbleu(index='index',rater={HUMAN})", samples)
    assert (again.value, again.signature) == (first.value, first.signature)
    assert list(again.by_sample.values()) == pytest.approx(list(first.by_sample.values()), abs=0, nan_ok=True)
    evaluate(f"vbleu(index='index',rater={HUMAN},order=1,mode='paper',tokenizer='char')", samples)
    assert (searches.calls, ratings.calls) == (1, 1)
    evaluate("vbleu(index='index',rater=human(ratings='ratings.jsonl',gold=False))", samples)
    assert (searches.calls, ratings.calls) == (1, 2)
    evaluate(f"vbleu(index='index',rater={HUMAN},k=3)", samples)
    assert (searches.calls, ratings.calls) == (2, 3)


def test_nothing_old_is_taken_once_the_index_or_the_ratings_changed(here: Path) -> None:
    metric, samples = f"vbleu(index='index',rater={HUMAN})", load("samples.jsonl")
    results = [evaluate(metric, samples)]
    write("ratings.jsonl", [Rating(5, "x", item="c1/a/1")], kind="ratings")
    results.append(evaluate(metric, samples))
    new = Pair("new", "really about tea today the music rain ?", "a reply that nobody gave before")
    write("more.jsonl", [new], kind="pairs")
    assert main(["index", "add", "index", "more.jsonl", "--quiet"]) == 0
    results.append(evaluate(metric, samples))
    assert len({result.signature for result in results}) == 3
    assert len({result.value for result in results[:2]}) == 2
    fresh = [s.references for s in create(metric).rated(samples)]
    assert any(r.source == "retrieved:new" for references in fresh for r in references)


def test_samples_met_after_the_fit_are_rated_too(here: Path) -> None:
    samples = load("samples.jsonl")
    fitted = create(f"vbleu(index='index',rater={HUMAN})").fit(samples[:10])
    whole = create(f"vbleu(index='index',rater={HUMAN})").fit(samples)
    assert fitted.rated(samples) == whole.rated(samples)
    assert fitted.rated([]) == []


# ---- the component ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rater", [GRU, HUMAN, "gru(model='rater',mode='signed_max',gold='rated',calibrated=True)"])
def test_specs_round_trip(rater: str) -> None:
    metric = create(f"vbleu(index='index',rater={rater},k=3,parrot=False,turns=2,order=4,mode='corpus')")
    assert create(spec(metric)) == create(full_spec(metric)) == metric
    assert create(f"vbleu(index='index',rater={rater!r})") == create(f"vbleu(index='index',rater={rater})")


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
        ("vbleu(index='index')", "rater"),
        ("vbleu(index='index',rater=bm25)", "rater"),
        (f"vbleu(index='index',rater={HUMAN},order=0)", "order"),
        (f"vbleu(index='index',rater={HUMAN},mode='x')", "mode must be one of"),
    ):
        with pytest.raises(SpecError, match=said_):
            create(text)
    for text, said_ in (
        (f"vbleu(index='none',rater={HUMAN})", "none"),
        ("vbleu(index='index',rater=gru(model='none'))", "name a folder of a rater"),
        (f"vbleu(index='index',rater={HUMAN},k=0)", "k must be at least 1"),
    ):
        with pytest.raises(InputError, match=said_):
            evaluate(text, load("samples.jsonl"))
        assert main(["score", "samples.jsonl", "-m", text]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_references_that_were_added_before_are_kept(here: Path) -> None:
    """Samples that went through `extend` already: what is there is not searched for once more."""
    sample = Sample("1", ["i like tea ?"], "tea", ["the tea", Reference("so much tea", source="retrieved:x")])
    (rated,) = create(f"vbleu(index='index',rater={GRU},k=2)").rated([sample])
    assert [r.source for r in rated.references][:2] == ["gold", "retrieved:x"]
    assert len(rated.references) == 2 + 1 + 2
