"""`interloq rate`: weights on references, a summary, and a run that may be killed."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pytest

from interloq import Rating, Reference, Sample, load, write
from interloq.cli.main import main
from interloq.data.records.jsonl import header
from interloq.rate.human import Human
from interloq.rate.rate_file import Spool, rate_into
from interloq.signature import Signature
from tests.cli.made_pool import printed

Captured = pytest.CaptureFixture[str]
HUMAN = "human(ratings='ratings.jsonl')"
RATE = ["rate", "extended.jsonl", "--rater", HUMAN, "-o", "rated.jsonl"]
PAGE = Path(__file__).parents[2] / "docs" / "rate.md"
# the command line in a process that is killed, as by `kill -9`, within its third batch
KILLED = """
import os, signal, sys
from interloq.cli.main import main
from interloq.rate.human import Human
rate, seen = Human.rate, []
def dying(self, samples):
    seen.append(samples)
    if len(seen) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return rate(self, samples)
Human.rate = dying
sys.exit(main(sys.argv[1:]))
"""


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


def test_weights_signature_and_counts(extended: Path, capsys: Captured) -> None:
    facts = printed(capsys, *RATE)
    before, after = load("extended.jsonl"), load("rated.jsonl")
    assert after == Human("ratings.jsonl").rate(before)
    assert [[r.text for r in s.references] for s in after] == [[r.text for r in s.references] for s in before]
    head = header("rated.jsonl")
    assert (head["dataset"], head["extended"]) == ("made", [{"signature": "extend|x"}])
    (history,) = head["rated"]
    assert history == {"signature": asdict(Human("ratings.jsonl").signature()), "counts": facts["counts"]}
    counts = facts["counts"]
    assert (counts["samples"], counts["references"]) == (50, 149)
    assert (counts["without_gold"], counts["without_references"]) == (1, 0)
    rated = {rating.item for rating in load("ratings.jsonl", kind="ratings")}
    for source, row in counts["sources"].items():
        of_source = [
            (r.weight, f"{s.id}/{i}" in rated)
            for s in after
            for i, r in enumerate(s.references)
            if r.source.split(":")[0] == source
        ]
        weights = [weight for weight, is_judged in of_source if is_judged]
        assert (row["references"], row["judged"]) == (len(of_source), len(weights))
        assert row["mean"] == (pytest.approx(sum(weights) / len(weights)) if weights else None)
        assert row["positive"] == (sum(w > 0 for w in weights) / len(weights) if weights else None)
    assert counts["without_positive"] == sum(max(r.weight for r in s.references) <= 0 for s in after) == 1
    assert (counts["unrated_gold"], counts["unrated"], counts["unknown_items"]) == (49, 26, 0)
    assert not Path("rated.jsonl.part").exists()


def test_the_summary_for_people(extended: Path, capsys: Captured) -> None:
    assert main(RATE) == 0
    said = capsys.readouterr().out
    assert "rated.jsonl: 50 samples with 149 references: 74 judged, 75 with a default weight\n" in said
    assert re.search(r"gold +49 +0 +n/a +n/a", said)
    assert re.search(r"parrot +50 +49 +-1\.000 +0\.0 %", said)
    assert "samples without a gold reply: 1" in said
    assert "unrated references (weight 0): 26" in said
    assert f"signature: {Human('ratings.jsonl').signature().short}" in said


def test_ratings_that_belong_to_no_reference_are_refused(extended: Path, capsys: Captured) -> None:
    write(
        "ratings.jsonl", [Rating(4, "x", item=f"c{i}/2") for i in range(50)], kind="ratings"
    )  # ids of a file without systems
    assert main(RATE) == 2
    said = capsys.readouterr().err
    assert "of these samples: rated items are like 'c0/2', references like 'c0/bot/0'" in said
    assert not list(Path().glob("rated*"))


def test_ratings_that_belong_to_some_references_are_counted(extended: Path, capsys: Captured) -> None:
    write("ratings.jsonl", [Rating(4, item="c1/bot/1"), Rating(2, item="c0/bot/2")], kind="ratings")  # c0 has two
    assert main(RATE) == 1
    said = capsys.readouterr().out
    assert "149 references: 1 judged, 148 with a default weight" in said
    assert re.search(r"parrot +50 +1 +0\.500 +100\.0 %", said)
    assert "ratings of other items, which were ignored: 1" in said


def test_samples_rated_before_say_what_is_replaced(extended: Path, capsys: Captured) -> None:
    first = printed(capsys, *RATE)
    assert first["replaced"] == {"weights": 0, "signature": ""}
    again = ["rate", "rated.jsonl", "--rater", "human(ratings='ratings.jsonl',gold=False)", "-o", "again.jsonl.gz"]
    facts = printed(capsys, *again)
    other = sum(r.weight != 1 for s in load("rated.jsonl") for r in s.references)
    assert facts["replaced"] == {"weights": other, "signature": first["signature"]}
    assert [h["signature"] for h in header("again.jsonl.gz")["rated"]] == [first["signature"], facts["signature"]]
    assert main(again) == 0
    assert f"replaced: the weights of {Signature.from_json(first['signature'])}" in capsys.readouterr().out
    write("by_hand.jsonl", [Sample("c1/bot", ["x"], "y", [Reference("z", 0.5), "w"])], kind="samples")
    assert main(["rate", "by_hand.jsonl", "--rater", HUMAN, "-o", "out.jsonl"]) == 1  # most ratings are of others
    assert "replaced: 1 weight other than 1" in capsys.readouterr().out


def killed(*options: str) -> Path:
    done = subprocess.run([sys.executable, "-c", KILLED, *RATE, "--batch", "7", *options], check=False)
    assert done.returncode == -signal.SIGKILL
    return Path("rated.jsonl.part")


def test_a_killed_run_goes_on_where_it_stopped(
    extended: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main([*RATE[:-1], "whole.jsonl"]) == 0
    part = killed()
    assert not Path("rated.jsonl").exists()
    with part.open("ab") as file:  # killed while a line was written
        file.write(b'{"id":"c14/bot","con')
    rated: list[str] = []
    rate = Human.rate

    def noting(self: Human, samples: Sequence[Sample]) -> list[Sample]:
        rated.extend(sample.id for sample in samples)
        return rate(self, samples)

    monkeypatch.setattr(Human, "rate", noting)
    capsys.readouterr()
    facts = printed(capsys, *RATE, "--batch", "5")
    assert facts["resumed"] == 14  # two batches of seven
    assert rated == [f"c{i}/bot" for i in range(14, 50)]
    assert Path("rated.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()
    assert not part.exists()


def test_a_part_with_everything_or_half_a_first_line(extended: Path, capsys: Captured) -> None:
    part = killed()
    first, whole = part.read_bytes().split(b"\n")[0], load("extended.jsonl")
    spool = Spool(part, json.loads(first)["job"])
    rate_into(spool, whole, Human("ratings.jsonl"))
    spool.close()
    assert printed(capsys, *RATE)["resumed"] == 50  # killed after the last batch
    finished = Path("rated.jsonl").read_bytes()
    part.write_bytes(first[:20])
    assert printed(capsys, *RATE)["resumed"] == 0
    assert Path("rated.jsonl").read_bytes() == finished


def test_a_part_of_another_job_is_neither_used_nor_lost(extended: Path, capsys: Captured) -> None:
    part = killed()
    kept = part.read_bytes()
    other = [*RATE[:3], "human(ratings='ratings.jsonl',high=6)", *RATE[4:]]
    assert main(other) == 2
    said = capsys.readouterr().err
    assert "an unfinished run with human(ratings='',low=1,high=5" in said
    assert "discard it with force" in said
    write("extended.jsonl", [*load("extended.jsonl"), Sample("new")], kind="samples")
    assert main(RATE) == 2
    assert "an unfinished run on other samples" in capsys.readouterr().err
    assert part.read_bytes() == kept
    assert printed(capsys, *RATE, "--force")["resumed"] == 0
    assert len(load("rated.jsonl")) == 51
    part.write_text("my own notes\n")
    assert main(RATE) == 2
    assert "with something else" in capsys.readouterr().err
    assert part.read_text() == "my own notes\n"


def test_force_keeps_what_this_very_command_has_done(extended: Path, capsys: Captured) -> None:
    killed()
    assert printed(capsys, *RATE, "--force")["resumed"] == 14


def test_two_runs_at_once(extended: Path, capsys: Captured) -> None:
    spool = Spool(Path("rated.jsonl.part"), {"rater": "x", "samples": "y"})
    assert main(RATE) == 2
    assert "another process is writing here" in capsys.readouterr().err
    spool.close()


def test_pipes(extended: Path) -> None:
    command = [sys.executable, "-m", "interloq.cli", "rate", "-", "--rater", HUMAN, "-o", "-"]
    done = subprocess.run(command, input=Path("extended.jsonl").read_bytes(), capture_output=True, check=True)
    Path("piped.jsonl").write_bytes(done.stdout)
    assert load("piped.jsonl") == Human("ratings.jsonl").rate(load("extended.jsonl"))
    assert not list(extended.glob("*.part"))


def test_bad_lines_do_not_shift_a_resumed_run(extended: Path, capsys: Captured) -> None:
    lines = Path("extended.jsonl").read_text().splitlines()
    Path("extended.jsonl").write_text("\n".join([*lines[:5], "{", *lines[5:]]) + "\n")
    killed()
    facts = printed(capsys, *RATE, code=1)
    assert (facts["resumed"], facts["counts"]["samples"]) == (14, 50)
    assert [s.id for s in load("rated.jsonl")] == [f"c{i}/bot" for i in range(50)]
    assert Path("rated.jsonl.rejected.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["extended.jsonl", "--rater", HUMAN, "-o", "extended.jsonl"], "is also an input"),
        (["none.jsonl", "--rater", HUMAN, "-o", "rated.jsonl"], "cannot read none.jsonl"),
        (["extended.jsonl", "--rater", "humans", "-o", "rated.jsonl"], "did you mean 'human'?"),
        (["extended.jsonl", "--rater", "human(ratings='no.jsonl')", "-o", "rated.jsonl"], "cannot read no.jsonl"),
        (["extended.jsonl", "--rater", HUMAN, "-o", "rated.jsonl", "--batch", "0"], "batch must be at least 1"),
    ],
)
def test_mistakes_are_one_line_and_leave_no_file(
    extended: Path, capsys: Captured, arguments: list[str], said: str
) -> None:
    assert main(["rate", *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not list(extended.glob("rated*"))


def test_a_run_that_rated_nothing_is_in_nobodys_way(extended: Path, capsys: Captured) -> None:
    part, first = killed(), Path("rated.jsonl.part").read_bytes().splitlines()[0]
    part.write_bytes(first.replace(b"high=5", b"high=9") + b"\n")  # killed before its first batch
    assert printed(capsys, *RATE)["resumed"] == 0
    write("ratings.jsonl", [Rating(9, item="c1/bot/0")], kind="ratings")
    assert main(RATE) == 2
    assert "is outside 1 to 5" in capsys.readouterr().err
    assert not part.exists()


# ---- the page --------------------------------------------------------------------------------------------------------


def test_the_commands_of_people_s_ratings_on_the_page_run(extended: Path, capsys: Captured) -> None:
    blocks = re.findall(r"```sh\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    commands = [line for block in blocks for line in block.splitlines() if "human(" in line or "delta_bleu" in line]
    assert len(commands) >= 2
    for command in commands:
        assert main(shlex.split(command)[1:]) == 0, f"{command}: {capsys.readouterr().err}"


def test_the_code_of_the_page_runs(folder: Path, capsys: Captured) -> None:
    honest, people = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    exec(compile(honest, "rate.md", "exec"), {})  # noqa: S102
    assert re.fullmatch(r"error 0\.1\d, temperature 3\.0, then 0\.0\d\n", capsys.readouterr().out)
    exec(compile(people, "rate.md", "exec"), {})  # noqa: S102
    assert capsys.readouterr().out == "[1.0, 0.25]\n"


def test_the_page_explains_every_option(capsys: Captured) -> None:
    with pytest.raises(SystemExit):
        main(["rate", "--help"])
    for option in set(re.findall(r"--[a-z][a-z0-9-]+", capsys.readouterr().out)) - {
        "--help",
        "--output",
        "--table-format",
    }:
        assert option in PAGE.read_text("utf-8"), option
