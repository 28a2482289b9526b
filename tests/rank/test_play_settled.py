"""Bots play until their ranking is settled."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from interloq.data.records.jsonl import load
from interloq.errors import InputError
from interloq.play.openings import Opening
from interloq.play.run import plan
from interloq.rank.play_settled import facts, play_until_settled
from interloq.rank.settle import Look, Rule
from interloq.records import Turn
from interloq.registry import create
from interloq.servers.replies import Reply
from tests.made_arena import Wordy


@pytest.fixture
def wordy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interloq.play.run.spec", lambda bot: f"wordy(words={bot.words})")
    monkeypatch.setattr("interloq.play.partners.spec", lambda bot: f"wordy(words={bot.words})")


class Silent(Wordy):
    """Gives no answer at all."""

    def replies(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Reply]:
        assert len(dialogues) == len(seeds)
        return [Reply("", "no answer") for _ in dialogues]


@pytest.mark.usefixtures("wordy")
def test_bots_play_only_as_long_as_needed(folder: Path) -> None:
    openings = [Opening(f"opening-{i}", (f"hello {i}", "hi")) for i in range(200)]
    targets, partners = {"short": Wordy(2), "long": Wordy(9)}, {"p": Wordy(1)}
    planned = plan("bipartite", targets, openings, exchanges=2, partners=partners)
    metric = create("length", kind="metric")
    found = play_until_settled(planned, folder / "d.jsonl", metric, Rule(lower_is_better=False))
    assert found.settled.settled
    assert found.settled.order == ("long", "short")
    kept = load(folder / "d.jsonl", kind="dialogues")
    assert len(kept) == found.settled.dialogues < 100
    assert len(found.scores) == 2 * len(kept)
    assert facts(found.settled)["order"] == ("long", "short")
    again = play_until_settled(planned, folder / "d.jsonl", metric, Rule(lower_is_better=False))
    assert again == found


@pytest.mark.usefixtures("wordy")
def test_what_was_said_is_heard_and_not_read_from_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    openings = [Opening(f"opening-{i}", (f"hello {i}", "hi")) for i in range(60)]
    planned = plan("bipartite", {"a": Wordy(4), "b": Wordy(4)}, openings, exchanges=2, partners={"p": Wordy(1)})
    monkeypatch.setattr("interloq.play.run.read", lambda *_, **__: pytest.fail("the file was read"))
    looks: list[Look] = []
    metric = create("length", kind="metric")
    rule = Rule(lower_is_better=False)
    found = play_until_settled(planned, folder / "d.jsonl", metric, rule, on_look=looks.append)
    assert len(looks) > 2
    assert found.settled.dialogues == len(load(folder / "d.jsonl", kind="dialogues")) == 120
    assert not (folder / "d.jsonl.journal").exists()


@pytest.mark.usefixtures("wordy")
def test_the_dialogues_are_kept_where_no_target_says_anything(folder: Path) -> None:
    openings = [Opening(f"opening-{i}", (f"hello {i}", "hi")) for i in range(60)]
    planned = plan("bipartite", {"a": Silent(0), "b": Silent(1)}, openings, exchanges=2, partners={"p": Wordy(1)})
    with pytest.raises(InputError, match="no target said anything in the dialogues after round 0"):
        play_until_settled(planned, folder / "d.jsonl", create("length", kind="metric"), Rule(lower_is_better=False))
    assert {dialogue.failure for dialogue in load(folder / "d.jsonl", kind="dialogues")} != {""}


@pytest.mark.usefixtures("wordy")
def test_metrics_of_the_whole_set_are_refused(folder: Path) -> None:
    planned = plan("self-play", {"a": Wordy(1), "b": Wordy(2)}, [Opening("o", ("hi",))], exchanges=1)
    with pytest.raises(InputError, match="is fitted to the whole set"):
        play_until_settled(planned, folder / "d.jsonl", create("nist", kind="metric"))
