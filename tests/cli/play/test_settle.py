"""The verb play settle."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from interloq.agree.dialogue_scores import dialogue_scores
from interloq.cli.main import main
from interloq.cli.play import settle as play_settle
from interloq.data.records.jsonl import header, load
from interloq.play.openings import Opening
from interloq.play.play_options import PlanOptions, PlayOptions, SettleOptions
from interloq.play.run import plan
from interloq.play.talk import PlayTally
from interloq.rank.rank import rank
from interloq.registry import create
from tests.cli.made_runs import refuse_play, run_play
from tests.made_bots import Wordy


@pytest.fixture
def wordy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interloq.play.run.spec", lambda bot: f"wordy(words={bot.words})")
    monkeypatch.setattr("interloq.play.partners.spec", lambda bot: f"wordy(words={bot.words})")


@pytest.mark.usefixtures("wordy")
def test_the_command_says_how_many_dialogues_it_took(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    openings = [Opening(f"opening-{i}", (f"hello {i}", "hi")) for i in range(60)]
    targets = {"short": Wordy(2), "long": Wordy(9), "also long": Wordy(9)}
    planned = plan(targets, openings, PlanOptions(scheme="bipartite"), exchanges=2, partners={"p": Wordy(1)})
    args = argparse.Namespace(output="d.jsonl", scores="s.jsonl", json=False)
    options = SettleOptions(until_settled="length", lower_is_better=False)
    settling = play_settle.Settling("d.jsonl", create("length", kind="metric"), options, quiet=False)
    tally = PlayTally()
    played = settling.play(planned, PlayOptions(tally=tally))
    play_settle.show(args, played, planned, tally)
    captured = capsys.readouterr()
    assert "not settled: the schedule ended after 180 dialogues in 60 of 60 rounds" in captured.out
    assert [line.split()[-1] for line in captured.out.splitlines() if "> short" in line] == ["apart"]
    assert "long > short; 1 of 2 adjacent pairs not yet separated" in captured.err
    assert settling.ranking() in ("also long ? long > short", "long ? also long > short")
    assert (tally.dialogues, tally.resumed) == (180, 0)
    assert header("s.jsonl")["partners"] == header("d.jsonl")["partners"]
    rows = dialogue_scores(load("s.jsonl", kind="scores"), load("d.jsonl", kind="dialogues"))
    found = rank(rows, lower_is_better=False)
    assert [s.rank_range for s in found.standings] == [(1, 2), (1, 2), (3, 3)]
    args.json = True
    play_settle.show(args, played, planned, tally)
    told = json.loads(capsys.readouterr().out)
    assert (told["dialogues"], told["unranked"], told["play"]["short"]) == (180, [], 0)


def test_a_run_ends_as_soon_as_the_ranking_is_settled(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bots = ["--target", "talker=eliza", "--target", "parrot=echo", "--partner", "doctor=eliza", "--exchanges", "3"]
    bots += ["--higher-is-better"]
    options = [*bots, "--until-settled", "length", "--scores", "scores.jsonl", "-o", "talks.jsonl", "--quiet"]
    found = run_play(capsys, "run", *options, "--json")
    played = load("talks.jsonl", kind="dialogues")
    assert found["settled"] is True
    assert found["dialogues"] == len(played) < 80  # all of the schedule: two targets, forty openings
    scores = load("scores.jsonl", kind="scores")
    assert {score.id.rsplit("#", 1)[0] for score in scores} == {dialogue.id for dialogue in played}
    means = {
        name: sum(score.value or 0 for score in scores if score.system == name)
        / sum(score.system == name for score in scores)
        for name in ("talker", "parrot")
    }
    assert found["order"] == sorted(means, key=means.__getitem__, reverse=True)
    assert main(["rank", "scores.jsonl", "--dialogues", "talks.jsonl", "--higher-is-better"]) == 0


def test_a_run_until_settled_shows_what_goes_wrong_and_keeps_its_output_clean(
    talking: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    targets = [f"{name}=function(path='made_for_play:{name}')" for name in ("slow", "bad")]
    bots = ["--target", targets[0], "--target", targets[1], "--partner", "parrot=echo", "--exchanges", "3"]
    run = ["run", *bots, "--until-settled", "length", "--higher-is-better", "-o", "d.jsonl"]
    found = run_play(capsys, *run, code=1)  # one of the bots prints
    assert found["play"]["bots"]["bad"]["failures"] == {"crashed": found["dialogues"] // 2}
    ended = [dialogue for dialogue in load("d.jsonl", kind="dialogues") if dialogue.failure]
    assert len(ended) == found["play"]["short"] == found["dialogues"] // 2
    Path("well").touch()
    again = run_play(capsys, *run, "--again")
    assert again["play"]["short"] == 0
    assert not any(dialogue.failure for dialogue in load("d.jsonl", kind="dialogues"))
    assert main(["play", *run]) == 0
    said = capsys.readouterr()
    assert " adjacent pairs not yet separated" in said.err
    assert " of at most 80 dialogues (" in said.err


def test_a_system_that_never_speaks_is_said_to_have_no_rank(talking: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mute.py").write_text("def speak(turns, seed):\n    return ''\n")
    bots = ["talker=eliza", "parrot=echo", "mute=function(path='mute:speak')"]
    options = [word for bot in bots for word in ("--target", bot)]
    run = ["run", *options, "--partner", "doctor=eliza", "--exchanges", "3", "--until-settled", "length"]
    run += ["--higher-is-better"]
    assert main(["play", *run, "-o", "d.jsonl", "--quiet"]) == 1
    assert "note: not ranked, because no dialogue has a score: mute" in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--watch", "--until-settled"])
def test_a_metric_that_cannot_be_had_is_told_before_anybody_talks(
    talking: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    pytest.importorskip("torch")
    targets = ["--target", "a=function(path='made_for_play:slow')", "--target", "b=echo"]
    run = ["run", "--scheme", "self-play", *targets, option, "fed(model='none')", "-o", "d.jsonl"]
    assert "no model folder or installed model package 'none'" in refuse_play(capsys, *run)
    assert not Path("calls.txt").exists()
