"""The ranking so far."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq.agree.dialogue_scores import dialogue_scores, means
from interloq.data.records.jsonl import load
from interloq.errors import InputError
from interloq.play.openings import Opening
from interloq.play.play_options import PlanOptions, PlayOptions
from interloq.play.run import plan, play
from interloq.rank.running_ranking import Running, score_dialogues
from interloq.records import Dialogue
from interloq.registry import create
from tests.made_bots import Wordy


@pytest.fixture
def wordy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interloq.play.run.spec", lambda bot: f"wordy(words={bot.words})")
    monkeypatch.setattr("interloq.play.partners.spec", lambda bot: f"wordy(words={bot.words})")


@pytest.mark.usefixtures("wordy")
def test_the_ranking_so_far_is_that_of_all_dialogues_heard(folder: Path) -> None:
    openings = [Opening(f"opening-{i}", (f"hello {i}", "hi")) for i in range(7)]
    targets = {"short": Wordy(2), "long": Wordy(9)}
    planned = plan(targets, openings, PlanOptions(scheme="bipartite"), exchanges=2, partners={"p": Wordy(1)})
    metric = create("length", kind="metric")
    running, lower = (Running(metric, lower_is_better=lower) for lower in (False, True))
    seen: list[list[tuple[str, float]]] = []

    def hear(dialogue: Dialogue) -> None:
        running.hear(dialogue)
        lower.hear(dialogue)
        seen.append(running.standings() if len(seen) % 3 else [])

    play(planned, folder / "d.jsonl", PlayOptions(batch=2), hear=hear)
    dialogues = load(folder / "d.jsonl", kind="dialogues")
    expected = means(dialogue_scores(score_dialogues(metric, dialogues), dialogues))
    assert [name for name, _ in running.standings()] == ["long", "short"]
    assert dict(running.standings()) == pytest.approx(expected)
    assert [name for name, _ in lower.standings()] == ["short", "long"]
    assert running.dialogues == len(seen) == 14
    assert running.line().startswith("length over 14 dialogues: long ")
    resumed = Running(metric, lower_is_better=False)
    play(planned, folder / "d.jsonl", hear=resumed.hear)  # dialogues from before count as well
    assert dict(resumed.standings()) == pytest.approx(expected)
    assert Running(metric, lower_is_better=False).line() == ""
    with pytest.raises(InputError, match="cannot rank by length"):
        Running(metric)
