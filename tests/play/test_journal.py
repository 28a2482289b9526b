"""The journal of a run: resumed, damaged, shared."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interloq.data.records.jsonl import load, write
from interloq.errors import InputError
from interloq.play.journal import Journal, journal_path
from interloq.play.schedule import self_play
from interloq.play.talk import PlayTally, talk
from interloq.records import Dialogue, Turn
from interloq.servers.replies import Reply
from tests.made_bots import Teller
from tests.play.made_talks import BOTS, OPENINGS, by_id

RUN = {"seed": 0, "bots": {"a": "signature"}}
TEXT = "[bold red]x[/] <script> \x1b[31m \u2028 \x00 \x07 \ud83d 終わり\r\n\t"


def test_any_text_survives_the_journal_and_the_file(tmp_path: Path) -> None:
    class Said:
        def replies(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Reply]:  # noqa: ARG002
            return [Reply(TEXT)]

        def signature(self) -> str:
            return "said"

    (dialogue,) = talk(self_play("a", OPENINGS[:1], exchanges=1), {"a": Said()})
    assert dialogue.turns[2].text == TEXT.replace("\x00", "\ufffd").replace("\ud83d", "\ufffd")  # no JSON holds these
    path = tmp_path / "dialogues.jsonl"
    with Journal(journal_path(path), RUN) as journal:
        journal.add(dialogue)
        assert journal[dialogue.id] == dialogue
        journal.finish(path, journal.dialogues([dialogue.id]), seed=0)
    assert load(path, kind="dialogues", strict=True) == [dialogue]
    assert not journal_path(path).exists()


@settings(deadline=None, max_examples=30)
@given(text=st.text(), given=st.integers(0, 2), failure=st.text())
def test_given_and_failure_survive_the_file(
    tmp_path_factory: pytest.TempPathFactory, text: str, given: int, failure: str
) -> None:
    path = tmp_path_factory.mktemp("dialogues") / "d.jsonl"
    dialogue = Dialogue("d", [Turn(text, "a"), "x"], {"a": "b"}, given=given, failure=failure)
    write(path, [dialogue], kind="dialogues")
    assert load(path, kind="dialogues", strict=True) == [dialogue]


def test_a_file_from_before_is_read(tmp_path: Path) -> None:
    path = tmp_path / "old.jsonl"
    path.write_text('{"kind":"dialogues","schema":1}\n{"id":"d","turns":["a","b"],"systems":{"A":"x"}}\n')
    assert load(path, kind="dialogues", strict=True) == [Dialogue("d", ["a", "b"], {"A": "x"}, given=0, failure="")]


@pytest.mark.parametrize("given", [-1, 3, "1", True, 0.5])
def test_a_wrong_number_of_given_turns_is_refused(tmp_path: Path, given: object) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(json.dumps({"id": "d", "turns": ["a", "b"], "given": given}))
    with pytest.raises(InputError, match="given must be a number of turns from 0 to 2"):
        load(path, kind="dialogues", strict=True)


def test_resuming_plays_only_what_is_missing(tmp_path: Path) -> None:
    matches = self_play("ab", OPENINGS)
    whole = by_id(matches, BOTS)
    with Journal(tmp_path / "j", RUN) as journal:
        stream = talk(matches, BOTS, journal=journal, batch=4, together=4)
        first = [next(stream) for _ in range(3)]
    counting = Teller("a")
    with Journal(tmp_path / "j", RUN) as journal:
        before = len(journal)
        tally = PlayTally()
        rest = list(talk(matches, {"a": counting, "b": Teller("b")}, journal=journal, tally=tally))
        assert before >= 3
        assert tally.resumed == before
        assert len(rest) == 12 - before
        assert {d.id: d for d in journal.dialogues(m.id for m in matches)} == whole
    assert not {d.id for d in first} & {d.id for d in rest}


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_cut_line_is_dropped_and_played_again(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "j"
    one, two = Dialogue("1", ["a"] * 9), Dialogue("2", ["b"] * 9)
    with Journal(path, RUN) as journal:
        journal.add(one)
        journal.add(two)
    path.write_bytes(path.read_bytes()[:-cut])
    with Journal(path, RUN) as journal:
        assert "1" in journal
        assert "2" not in journal
        journal.add(two)
    with Journal(path, RUN) as journal:
        assert list(journal.dialogues(["2", "1"])) == [two, one]


def test_a_damaged_line_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "j"
    with Journal(path, RUN) as journal:
        for i in range(3):
            journal.add(Dialogue(str(i), ["a"]))
    rows = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([rows[0], rows[1], b"\0" * len(rows[2]), rows[3], b""]))
    with Journal(path, RUN) as journal:
        assert [i for i in "012" if i in journal] == ["0", "2"]


def test_a_journal_of_another_run_is_refused_and_kept(tmp_path: Path) -> None:
    with Journal(tmp_path / "j", RUN) as journal:
        journal.add(Dialogue("1", ["a"]))
    before = (tmp_path / "j").read_bytes()
    with pytest.raises(InputError, match=r'another run: bots was {"a":"signature"}, is {"a":"new"}'):
        Journal(tmp_path / "j", {**RUN, "bots": {"a": "new"}})
    (tmp_path / "k").write_text("something else\n")
    with pytest.raises(InputError, match="not a journal of dialogues"):
        Journal(tmp_path / "k", RUN)
    assert (tmp_path / "j").read_bytes() == before
    assert (tmp_path / "k").read_text() == "something else\n"


def test_a_journal_without_dialogues_is_not_left_behind(tmp_path: Path) -> None:
    Journal(tmp_path / "j", RUN).close()
    assert not (tmp_path / "j").exists()
    with Journal(tmp_path / "j", RUN) as journal:
        journal.add(Dialogue("1", ["a"], failure="a: empty at turn 2"))
    with Journal(tmp_path / "j", RUN) as journal:
        journal.forget_failed(["1"])  # to be played again, but not lost
    with Journal(tmp_path / "j", RUN) as journal:
        assert "1" in journal


def test_failed_dialogues_can_be_played_again(tmp_path: Path) -> None:
    with Journal(tmp_path / "j", RUN) as journal:
        journal.add(Dialogue("1", ["a"], failure="a: empty at turn 2"))
        journal.add(Dialogue("2", ["a"]))
        journal.add(Dialogue("3", ["a"], failure="a: empty at turn 2"))
    with Journal(tmp_path / "j", RUN) as journal:
        journal.forget_failed(["1", "2"])
        assert "1" not in journal
        assert "3" in journal
        assert "2" in journal
        journal.add(Dialogue("1", ["a", "b"]))
    with Journal(tmp_path / "j", RUN) as journal:
        assert journal["1"].turns == (Turn("a"), Turn("b"))
