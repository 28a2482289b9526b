"""Rating a file of samples."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from interloq import InputError, Rating, Reference, Sample, Signature, load, write
from interloq.cli.main import main
from interloq.data.records.jsonl import header
from interloq.rate.rate_file import rate_chunk, rate_file
from interloq.rate.rate_options import RateOptions
from interloq.shards.shard_options import ShardOptions
from interloq.shards.task import ShareComputed
from tests.made_pipeline import GRU

RATER = "human(ratings='ratings.jsonl')"
SAMPLES = [Sample(str(i), ["hi"], "x", [Reference("y")]) for i in range(5)]


FOUND = [Reference("they like tea .", source="retrieved:p1"), Reference("the cats !", source="retrieved:p2")]
GOLD = Reference("i never like tea .")
SAMPLE = Sample("0", ["we like the tea ?"], "so so", [Reference("tea ?", source="parrot"), GOLD, *FOUND], "bot")


@pytest.fixture
def votes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """People's ratings of all references of SAMPLE but the gold reply."""
    monkeypatch.chdir(tmp_path)
    ratings = [Rating(value, "ann", item=f"0/{place}") for place, value in ((0, 2), (2, 3), (3, 5))]
    write("ratings.jsonl", ratings, kind="ratings")


@pytest.mark.usefixtures("votes")
def test_rate_says_how_many_references_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    write("some.jsonl", [SAMPLE, replace(SAMPLE, id="2", references=(GOLD,))], kind="samples", extended=["before"])
    facts = rate_file("some.jsonl", "whole.jsonl", RateOptions(rater=RATER))
    assert "kept" not in facts
    assert main(["rate", "some.jsonl", "-r", RATER, "--best", "1", "-o", "best.jsonl", "--quiet"]) == 0
    assert "kept: 3 references" in capsys.readouterr().out
    stored = header("best.jsonl")["rated"][-1]
    assert (stored["kept"], stored["counts"]) == (3, facts["counts"])
    assert (stored["signature"]["parts"]["best"], stored["signature"]["parts"]["weigh"]) == ("1", "True")
    assert header("best.jsonl")["extended"] == ["before"]
    (whole, _), (best, _) = load("whole.jsonl"), load("best.jsonl")
    assert [r.weight for r in whole.references] == [-0.5, 1.0, 0.0, 1.0]
    assert best.references == (whole.references[1], whole.references[3])


@pytest.mark.usefixtures("votes")
def test_a_run_that_stopped_may_be_finished_with_another_choice() -> None:
    """Shards hold all rated references; what is kept is chosen at the end."""
    write("many.jsonl", [replace(SAMPLE, id=str(i)) for i in range(6)], kind="samples")
    steps: list[int] = []

    def stop(_: str, __: int | None) -> Any:
        def step(n: int) -> None:
            steps.append(n)
            if len(steps) == 2:
                raise KeyboardInterrupt

        return nullcontext(step)

    with pytest.raises(KeyboardInterrupt):
        rate_file("many.jsonl", "kept.jsonl", RateOptions(rater=RATER, batch=2), progress=stop)
    facts = rate_file("many.jsonl", "kept.jsonl", RateOptions(rater=RATER, batch=2, best=1, weigh=False))
    assert facts["resumed"] == 4
    assert [len(sample.references) for sample in load("kept.jsonl")] == [2] * 6


class Half:
    """Gives every reference the weight .5, and notes what it was asked."""

    def __init__(self, lose: int = 0) -> None:
        self.seen: list[list[str]] = []  # contexts of each batch
        self.lose = lose

    def rate(self, samples: Sequence[Sample]) -> list[Sample]:
        self.seen.append([sample.context[-1].text for sample in samples])
        rated = [replace(s, references=tuple(replace(r, weight=0.5) for r in s.references)) for s in samples]
        return rated[self.lose :]

    def signature(self) -> Signature:
        return Signature.of("half", {})


def test_a_rater_of_another_package_gets_the_defaults(tmp_path: Path) -> None:
    write(tmp_path / "samples.jsonl", SAMPLES, kind="samples")
    facts = rate_file(tmp_path / "samples.jsonl", tmp_path / "out.jsonl", RateOptions(rater=Half()))
    assert facts["counts"]["sources"]["gold"] == {"references": 5, "judged": 5, "mean": 0.5, "positive": 1.0}
    assert facts["warnings"] == []


def test_a_rater_that_loses_samples_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the rater returned"):
        rate_chunk(Half(lose=1), SAMPLES)
    with pytest.raises(InputError, match="batch must be at least 1"):
        RateOptions(rater=Half(), batch=0)


def test_weights_do_not_depend_on_who_computes_them(here: Path) -> None:
    def rate(name: str, **shards: Any) -> bytes:
        options = RateOptions(rater=GRU, batch=7)
        rate_file("samples.jsonl", name, options, shards=ShardOptions(**shards))
        return Path(name).read_bytes()

    plain = rate("plain.jsonl")
    assert rate("workers.jsonl", workers=2) == plain
    for i in (1, 2, 3):
        with pytest.raises(ShareComputed):
            rate("shares.jsonl", shard=f"{i}/3", parts="parts")
    assert main(["data", "join", "parts"]) == 2  # computed from Python
    assert rate("shares.jsonl", parts="parts", only_join=True) == plain
    assert [path.name for path in here.glob("*parts")] == ["parts"]


def test_samples_of_several_systems_are_rated_together_and_written_in_their_order(tmp_path: Path) -> None:
    contexts = ["b", "a", "c"] * 4
    samples = [Sample(str(i), [context], "x", [Reference(context)]) for i, context in enumerate(contexts)]
    write(tmp_path / "samples.jsonl", samples, kind="samples")
    rater = Half()
    rate_file(tmp_path / "samples.jsonl", tmp_path / "out.jsonl", RateOptions(rater=rater, batch=4))
    assert rater.seen == [["a"] * 4, ["b"] * 4, ["c"] * 4]
    assert [sample.id for sample in load(tmp_path / "out.jsonl")] == [str(i) for i in range(12)]
