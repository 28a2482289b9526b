"""vBERTScore in one call against extend, rate and score run one by one, on a small encoder."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from interloq import Rating, Sample, SpecError, create, evaluate, load, write
from interloq.cli.main import main
from tests.conftest import by_id
from tests.made_bert import tiny_bert
from tests.made_rater import TOPICS, said, write_log
from tests.metrics.made_contracts import COSINE, Contract

CONTRACTS = {
    "vbertscore": Contract(
        COSINE,
        variants=[
            "vbertscore(index='replies',rater=human(ratings='ratings.jsonl'),model='bert',weigh=True,weights='inside',idf=True,k=3)",
            "vbertscore(index='replies',rater=by(valid(model='form')),model='bert',best=2,weigh=False)",
        ],
        required="index='replies',rater=human(ratings='ratings.jsonl'),model='bert'",
        referenced=True,
    ),
}

HUMAN = "human(ratings='ratings.jsonl')"
WHOLE = f"index='index',rater={HUMAN},model='encoder'"
PAPER = f"vbertscore({WHOLE},best=None,weigh=True)"


def made_samples() -> list[Sample]:
    drawn = random.Random(5)
    samples = []
    for i in range(8):
        topic = drawn.choice(TOPICS)
        context = [f"{said(topic, drawn)} ?"]
        samples += [Sample(f"c{i}/{bot}", context, said(topic, drawn), [said(topic, drawn)], bot) for bot in "ab"]
    return [*samples, Sample("nothing", (), "tea", (), "b")]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index of a small log, ratings of most of what it finds, samples and an encoder in the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INTERLOQ_CACHE", str(tmp_path / "cache"))
    write_log(tmp_path / "pairs.jsonl", 40)
    tiny_bert(tmp_path / "encoder")
    write("samples.jsonl", made_samples(), kind="samples")
    rated = [
        Rating(1 + (5 * i + place) % 5, "x", item=f"c{i}/{bot}/{place}")
        for i in range(8)
        for bot in "ab"
        for place in range(1, 17)
    ]
    write("ratings.jsonl", rated, kind="ratings")
    assert main(["index", "build", "pairs.jsonl", "-o", "index", "--retriever", "bm25", "--quiet"]) == 0


def step_by_step(metric: str) -> dict[str, float]:
    assert main(["extend", "samples.jsonl", "--index", "index", "-o", "extended.jsonl", "--quiet"]) == 0
    assert main(["rate", "extended.jsonl", "--rater", HUMAN, "-o", "rated.jsonl", "--quiet"]) == 0
    return by_id(evaluate(metric, load("rated.jsonl")).by_sample)


@pytest.mark.parametrize(
    "options",
    ["weights='outside'", "weights='inside'", "idf=True,weights='outside'", "part='r',layer=1,weights='inside'"],
)
def test_one_call_gives_what_three_steps_give(options: str) -> None:
    steps = step_by_step(f"bertscore(model='encoder',{options})")
    whole = evaluate(f"vbertscore({WHOLE},best=None,weigh=True,{options})", made_samples())
    assert by_id(whole.by_sample) == pytest.approx(steps, abs=1e-6, nan_ok=True)
    assert set(by_id(whole.reasons)) == {"nothing"}
    assert whole.n == len(made_samples()) - 1


def test_by_default_the_eight_best_references_count_the_same() -> None:
    assert main(["extend", "samples.jsonl", "--index", "index", "-o", "extended.jsonl", "--quiet"]) == 0
    options = ["--best", "8", "--no-weights", "-o", "best.jsonl", "--quiet"]
    assert main(["rate", "extended.jsonl", "--rater", HUMAN, *options]) == 0
    steps = by_id(evaluate("bertscore(model='encoder')", load("best.jsonl")).by_sample)
    result = evaluate(f"vbertscore({WHOLE})", made_samples())
    assert create("bertscore(model='encoder')").built_with() in result.signature.parts["built-with"]
    whole = by_id(result.by_sample)
    assert whole == pytest.approx(steps, abs=1e-6, nan_ok=True)
    assert whole != pytest.approx(by_id(evaluate(PAPER, made_samples()).by_sample), abs=1e-3, nan_ok=True)


def test_weights_inside_need_weights() -> None:
    with pytest.raises(SpecError, match="add weigh=True"):
        create(f"vbertscore({WHOLE},weights='inside')")
    assert create(f"vbertscore({WHOLE},weights='inside',weigh=True)").best == 8
