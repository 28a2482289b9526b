"""`interloq rate`: weights on references, a summary, and a run that may be killed."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from interloq import Rating, Reference, Sample, load, write
from interloq.cli.main import main
from interloq.data.records.jsonl import header
from interloq.rate.human import Human
from interloq.records import Turn
from interloq.signature import Signature
from tests.cli.made_runs import run_json
from tests.made_pages import page_commands, run_code, run_commands

Captured = pytest.CaptureFixture[str]
HUMAN = "human(ratings='ratings.jsonl')"
RATE = ["rate", "extended.jsonl", "--rater", HUMAN, "-o", "rated.jsonl"]


@pytest.fixture
def extended(folder: Path) -> Path:
    """50 samples; people rated the second reference of all, and the third of the even ones that have one."""
    samples = [
        Sample(
            f"c{i}/bot",
            ["how was it ?"],
            f"it was {i}",
            [
                *([Reference(f"gold {i}")] if i else []),
                Reference("how was it ?", 1.0, "parrot"),
                Reference("fine", 1.0, f"retrieved:p{i}"),
            ],
        )
        for i in range(50)
    ]
    write("extended.jsonl", samples, kind="samples", dataset="made", extended=[{"signature": "extend|x"}])
    ratings = [Rating(1, "x", item=f"c{i}/bot/1") for i in range(50)]
    ratings += [Rating(2 + i % 4, "x", item=f"c{i}/bot/2") for i in range(2, 50, 2)]
    write("ratings.jsonl", ratings, kind="ratings")
    return folder


def test_weights_are_compared_with_people(extended: Path, capsys: Captured) -> None:
    samples = [replace(sample, context=(Turn(f"how was {sample.id}"),)) for sample in load(extended / "extended.jsonl")]
    write("extended.jsonl", samples, kind="samples")
    facts = run_json(capsys, *RATE, "--compare", "ratings.jsonl", "--bootstrap", "50")
    row = facts["agreement"]["table"]["rows"][0]
    assert row["with_mean"]["pearson"]["value"] == pytest.approx(1)
    assert list(facts["agreement"]["people"]) == ["x"]
    assert main([*RATE, "--compare", "ratings.jsonl", "--bootstrap", "0"]) == 0
    shown = capsys.readouterr().out
    assert "weights against" in shown
    assert "not compared: " in shown
    assert main([*RATE, "--compare", "ratings.jsonl", "--best", "1"]) == 2
    assert "--compare needs all weights" in capsys.readouterr().err


def test_weights_signature_and_counts(extended: Path, capsys: Captured) -> None:
    facts = run_json(capsys, *RATE)
    assert load("rated.jsonl") == Human("ratings.jsonl").rate(load("extended.jsonl"))
    head = header("rated.jsonl")
    assert (head["dataset"], head["extended"]) == ("made", [{"signature": "extend|x"}])
    assert head["rated"] == [{"signature": asdict(Human("ratings.jsonl").signature()), "counts": facts["counts"]}]
    counts = facts["counts"]
    assert (counts["samples"], counts["references"], counts["without_gold"], counts["without_positive"]) == (
        50,
        149,
        1,
        1,
    )
    assert (counts["unrated_gold"], counts["unrated"], counts["unknown_items"]) == (49, 26, 0)
    assert not Path("rated.jsonl.parts").exists()


def test_the_summary_for_people(extended: Path, capsys: Captured) -> None:
    assert main(RATE) == 0
    said = capsys.readouterr().out
    assert "rated.jsonl: 50 samples with 149 references: 74 judged, 75 with a default weight\n" in said
    assert re.search(r"gold +49 +0 +n/a +n/a", said)
    assert re.search(r"parrot +50 +49 +-1\.000 +0\.0 %", said)
    assert "samples without a gold reply: 1" in said
    assert "unrated references (weight 0): 26" in said
    assert f"signature: {Human('ratings.jsonl').signature().short}" in said


def test_ratings_that_belong_to_some_references_are_counted(extended: Path, capsys: Captured) -> None:
    write("ratings.jsonl", [Rating(4, item="c1/bot/1"), Rating(2, item="c0/bot/2")], kind="ratings")  # c0 has two
    assert main(RATE) == 1
    said = capsys.readouterr().out
    assert "149 references: 1 judged, 148 with a default weight" in said
    assert re.search(r"parrot +50 +1 +0\.500 +100\.0 %", said)
    assert "ratings of other items, which were ignored: 1" in said


def test_samples_rated_before_say_what_is_replaced(extended: Path, capsys: Captured) -> None:
    first = run_json(capsys, *RATE)
    assert first["replaced"] == {"weights": 0, "signature": ""}
    again = ["rate", "rated.jsonl", "--rater", "human(ratings='ratings.jsonl',gold=False)", "-o", "again.jsonl.gz"]
    facts = run_json(capsys, *again)
    other = sum(r.weight != 1 for s in load("rated.jsonl") for r in s.references)
    assert facts["replaced"] == {"weights": other, "signature": first["signature"]}
    assert [h["signature"] for h in header("again.jsonl.gz")["rated"]] == [first["signature"], facts["signature"]]
    assert main(again) == 0
    assert f"replaced: the weights of {Signature.from_json(first['signature'])}" in capsys.readouterr().out
    write("by_hand.jsonl", [Sample("c1/bot", ["x"], "y", [Reference("z", 0.5), "w"])], kind="samples")
    assert main(["rate", "by_hand.jsonl", "--rater", HUMAN, "-o", "out.jsonl"]) == 1  # most ratings are of others
    assert "replaced: 1 weight other than 1" in capsys.readouterr().out


def interrupt_run(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Interrupt a run in its third batch of seven samples, and return the folder that it leaves."""
    rate, batches = Human.rate, []

    def interrupted(self: Human, samples: Sequence[Sample]) -> list[Sample]:
        batches.append(samples)
        if len(batches) == 3:
            raise KeyboardInterrupt
        return rate(self, samples)

    with monkeypatch.context() as patch:
        patch.setattr(Human, "rate", interrupted)
        assert main([*RATE, "--batch", "7"]) == 130
    return Path("rated.jsonl.parts")


@pytest.fixture
def part(extended: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> Path:
    path = interrupt_run(monkeypatch)
    capsys.readouterr()
    return path


@pytest.mark.parametrize("more", [[], ["--force"]])  # force discards other jobs only
def test_an_interrupted_run_resumes(part: Path, capsys: Captured, more: list[str]) -> None:
    assert not Path("rated.jsonl").exists()
    assert run_json(capsys, *RATE, "--batch", "7", *more)["resumed"] == 14
    assert load("rated.jsonl") == Human("ratings.jsonl").rate(load("extended.jsonl"))
    assert not part.exists()


def test_shards_of_another_job_are_neither_used_nor_lost(part: Path, capsys: Captured) -> None:
    kept = {path.name: path.read_bytes() for path in part.glob("*.shard")}
    assert len(kept) == 2
    other = [*RATE[:3], "human(ratings='ratings.jsonl',high=6)", *RATE[4:], "--batch", "7"]
    assert main(other) == 2
    said = capsys.readouterr().err
    assert "the shards are from another job: rater was" in said
    assert "remove the folder" in said
    write("extended.jsonl", [*load("extended.jsonl"), Sample("new")], kind="samples")
    assert main([*RATE, "--batch", "7"]) == 2
    assert "another job: input was" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in part.glob("*.shard")} == kept
    assert run_json(capsys, *RATE, "--force")["resumed"] == 0
    assert len(load("rated.jsonl")) == 51
    part.mkdir()
    (part / "my own notes").touch()
    assert main([*RATE, "--force"]) == 2
    assert "not a folder of shards" in capsys.readouterr().err
    assert (part / "my own notes").exists()


def test_ratings_of_other_references_leave_no_shards(extended: Path, capsys: Captured) -> None:
    write("ratings.jsonl", [Rating(1, "x", item="other/0")], kind="ratings")
    assert main(RATE) == 2
    assert "none of the 1 rated items is a reference of these samples" in capsys.readouterr().err
    assert not list(extended.glob("rated.jsonl*"))


def test_pipes(extended: Path) -> None:
    command = [sys.executable, "-m", "interloq.cli", "rate", "-", "--rater", HUMAN, "-o", "-"]
    done = subprocess.run(command, input=Path("extended.jsonl").read_bytes(), capture_output=True, check=True)
    Path("piped.jsonl").write_bytes(done.stdout)
    assert load("piped.jsonl") == Human("ratings.jsonl").rate(load("extended.jsonl"))
    assert not list(extended.glob("*.parts"))


def test_bad_lines_do_not_shift_a_resumed_run(
    extended: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    lines = Path("extended.jsonl").read_text().splitlines()
    Path("extended.jsonl").write_text("\n".join([*lines[:5], "{", *lines[5:]]) + "\n")
    interrupt_run(monkeypatch)
    capsys.readouterr()
    facts = run_json(capsys, *RATE, "--batch", "7", code=1)
    assert (facts["resumed"], facts["counts"]["samples"]) == (14, 50)
    assert [s.id for s in load("rated.jsonl")] == [f"c{i}/bot" for i in range(50)]
    assert Path("rated.jsonl.rejected.jsonl").exists()


@pytest.mark.parametrize("rater", ["humans", "human(ratings='no.jsonl')"])
def test_mistakes_leave_no_file(extended: Path, rater: str) -> None:
    assert main([*RATE[:3], rater, *RATE[4:]]) == 2
    assert not list(extended.glob("rated*"))


def test_a_run_that_rated_nothing_is_in_nobodys_way(part: Path, capsys: Captured) -> None:
    for path in part.glob("*.shard"):  # killed before its first batch
        path.unlink()
    assert run_json(capsys, *RATE)["resumed"] == 0
    write("ratings.jsonl", [Rating(9, item="c1/bot/0")], kind="ratings")
    assert main(RATE) == 2
    assert "is outside 1 to 5" in capsys.readouterr().err
    assert not part.exists()


# ---- the page --------------------------------------------------------------------------------------------------------


def test_the_commands_and_the_code_of_the_page_run(extended: Path, capsys: Captured) -> None:
    commands = [line for line in page_commands("rate.md") if "human(" in line or "delta_bleu" in line]
    assert len(commands) >= 2
    run_commands(commands, capsys)
    honest, people = run_code("rate.md", capsys)
    assert re.fullmatch(r"error 0\.1\d, temperature 3\.0, then 0\.0\d", honest)
    assert people == "[1.0, 0.25]"
