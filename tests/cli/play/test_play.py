"""Bots named on the command line, the view of a run, and play audit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interloq import InputError, spec
from interloq.cli.play import make_bots
from interloq.cli.play.view import _View, watching
from interloq.play.talk import PlayTally
from interloq.records import Dialogue
from tests.cli.made_runs import LEVELS, run_audit
from tests.made_dialogues import made_dialogues, write_dialogues


def test_names_come_from_the_option_or_the_component() -> None:
    found = make_bots(["mine=eliza", "echo", " x = echo"], None, "target")
    assert {name: spec(bot) for name, bot in found.items()} == {"mine": "eliza", "echo": "echo", "x": "echo"}
    assert found["echo"] is found["x"], "equal specs are one bot"


@pytest.mark.parametrize(
    ("file", "text"), [("b.toml", 'a = "eliza"\nb = "echo"\n'), ("b.json", '{"a": "eliza", "b": "echo"}')]
)
def test_a_file_names_bots_too(folder: Path, file: str, text: str) -> None:
    (folder / file).write_text(text)
    assert list(make_bots(["c=echo"], file, "partner")) == ["c", "a", "b"]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("b.json", '{"a": "echo", "a": "eliza"}'),
        ("b.json", "[1]"),
        ("b.json", '"a"'),
        ("b.json", '{"a": 1}'),
        ("b.json", "{"),
        ("b.toml", "a = [\n"),
        ("b.toml", "a = 1\n"),
    ],
)
def test_what_names_no_bots_is_refused(folder: Path, file: str, text: str) -> None:
    (folder / file).write_text(text)
    with pytest.raises(InputError):
        make_bots([], file, "partner")


def test_a_name_is_used_once() -> None:
    with pytest.raises(InputError, match="two targets are called 'a'"):
        make_bots(["a=echo", "a=eliza"], None, "target")


def test_the_view_counts_what_is_done_and_what_will_not_come(capsys: pytest.CaptureFixture[str]) -> None:
    tally = PlayTally()
    with watching(tally, 4, 10) as progress:
        tally.add(Dialogue("1", ["u"] * 12, given=2), 5, resumed=True)
        tally.add(Dialogue("2", ["u"] * 4, {"a": "a"}, given=2, failure="a: crashed: [b]x[/b] at turn 5"), 5)
        progress(2)
        view = _View(tally, 4, 10)
        view.hear(2)
        assert view.share() == pytest.approx(10 / 30)  # 2 utterances, and 8 that one dialogue lacks, of 3 dialogues'
        assert view.left() > 0
    said = capsys.readouterr().err
    assert said.startswith("2 of 4 dialogues (1 from earlier runs), 6.0 utterances each")
    assert said.endswith("; a: crashed 1\n")
    tally.failures.update({("a", f"lost {i}"): 1 for i in range(9)})
    assert view.failures() == ["a: crashed 1, lost 0 1, lost 1 1, lost 2 1, lost 3 1, others 5"]
    with watching(tally, 4, 10, quiet=True) as progress:
        progress(2)
    assert capsys.readouterr().err == ""


def test_partners_can_be_audited(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = write_dialogues(folder, *made_dialogues(LEVELS, partners=("p", "q", "r")))
    run_audit(paths[0], "--dialogues", paths[1], "--pool", "r")
    shown = capsys.readouterr().out
    assert "ranks with 2 partners, and their ranges" in shown
    assert "of 5 changes do not move any rank" in shown
    run_audit(paths[0], "--dialogues", paths[1], "--json")
    found = json.loads(capsys.readouterr().out)
    assert found["partners"] == ["p", "q", "r"]
    assert [change["kind"] for change in found["changes"]] == ["drop"] * 3


def test_cheating_can_be_audited(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("a", "b", "x", "y", "z")
    parts = [made_dialogues({name: i}, [n for n in names if n != name], 2) for i, name in enumerate(names)]
    dialogues, scores = ([record for part in parts for record in part[k]] for k in (0, 1))
    paths = write_dialogues(folder, dialogues, scores)  # type: ignore[arg-type]
    run_audit(paths[0], "--dialogues", paths[1], "--unfavoured", "x", "--alike", "y", "--alike", "z")
    shown = capsys.readouterr().out
    assert "overturned 0 of 2 rankings" in shown
    assert ["favoured", "loses", "0", "2"] in [line.split() for line in shown.splitlines()]
    run_audit(paths[0], "--dialogues", paths[1], "--unfavoured", "x", "--alike", "y", "--json")
    assert json.loads(capsys.readouterr().out)["table"] == [[1, 0], [0, 2]]
