"""Dialogues that a speaker ends: the bot, a mark in its text, or words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from interloq import InputError, load, write
from interloq.play.bot import ask_bot, check_reply
from interloq.play.endings import EndRules, is_farewell
from interloq.play.play_options import PlanOptions
from interloq.play.run import plan, play
from interloq.play.schedule import bipartite
from interloq.play.talk import PlayTally, talk
from interloq.records import Dialogue, Turn
from interloq.registry import Component
from interloq.scorers.interlocutor.continuity_labels import label_turns
from interloq.servers.replies import Reply
from tests.made_bots import Teller
from tests.play.made_talks import BOTS, OPENINGS


@dataclass(frozen=True)
class Says(Component):
    """Gives these replies, one after the other."""

    given: tuple[Reply, ...] = ()

    def replies(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Reply]:  # noqa: ARG002
        return [self.given[(len(turns) - 2) // 2] for turns in dialogues]

    def signature(self) -> str:
        return "says"


def played(bot: Says, tally: PlayTally | None = None, endings: EndRules | None = None) -> Dialogue:
    matches = bipartite(["s"], ["x"], OPENINGS[:1], exchanges=3)
    (dialogue,) = talk(matches, {"s": bot, "x": Teller("x")}, tally=tally, endings=endings or EndRules())
    return dialogue


FINE = Reply("fine")


@pytest.mark.parametrize(
    ("replies", "rules", "texts", "ended_by"),
    [
        ([FINE, Reply("done", ends=True)], EndRules(), ["fine", "done"], "s: ended the dialogue"),
        ([FINE, Reply("", ends=True)], EndRules(), ["fine"], "s: ended the dialogue"),
        ([Reply("ok [END]")], EndRules(mark="[END]"), ["ok"], "s: ended the dialogue"),
        ([Reply("[END]")], EndRules(mark="[END]"), [], "s: ended the dialogue"),
        ([FINE, Reply("OK, bye!")], EndRules(("goodbye",)), ["fine", "OK, bye!"], "s: said goodbye"),
        ([Reply("It is THE END now")], EndRules(("the end",)), ["It is THE END now"], "s: said 'the end'"),
        ([FINE, FINE, Reply("bye")], EndRules(("goodbye",)), ["fine", "fine", "bye"], "s: said goodbye"),
        ([FINE, Reply("bye [END]"), FINE], EndRules(), ["fine", "bye [END]", "fine"], ""),
    ],
)
def test_who_ends_a_dialogue_and_why(replies: list[Reply], rules: EndRules, texts: list[str], ended_by: str) -> None:
    tally = PlayTally()
    dialogue = played(Says(tuple(replies)), tally, rules)
    assert [turn.text for turn in dialogue.turns[2:] if turn.speaker == "s"] == texts
    assert dialogue.ended_by == ended_by
    assert dialogue.failure == ""
    assert tally.failed == 0
    why = ended_by.removeprefix("s: ")
    assert tally.facts()["ended"] == ({"s": {why: 1}} if why else {})


def test_a_failure_is_no_ending() -> None:
    tally = PlayTally()
    dialogue = played(Says((FINE, Reply("", "HTTP 500", ends=True))), tally, EndRules(("goodbye",), "[END]"))
    assert (dialogue.ended_by, dialogue.failure) == ("", "s: HTTP 500 at turn 5")
    assert (tally.failed, tally.facts()["ended"]) == (1, {})
    assert check_reply(Reply(" ", ends=True)) == Reply("", ends=True)
    assert check_reply(Reply(" ")) == Reply("", "empty")
    assert check_reply(Reply("x", ends="yes")).ends is False  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "Bye!", "ok bye", "Goodbye.", "Good-bye? Good bye!", "Well, see you later!", "See ya :)",
        "I have to run, talk to you soon.", "Thanks, have a nice day!", "Take care!", "Fun! I'll see you tomorrow",
        "さようなら。", "うん、じゃあまたね！", "おやすみなさい", "それでは失礼します。", "好的，再见！", "晚安",
    ],
)  # fmt: skip
def test_farewells(text: str) -> None:
    assert is_farewell(text)


@pytest.mark.parametrize(
    "text",
    [
        "We said goodbye.", "I will see you later if it rains.", "Take care of the dog", "It was a good night.",
        "Hello", "Goodbye is a sad word, I think.", "", "昨日はおやすみなさいと言った", "再见面的时候",
    ],
)  # fmt: skip
def test_no_farewells(text: str) -> None:
    assert not is_farewell(text)


def test_rules_are_kept_in_the_header_and_resumed(tmp_path: Path) -> None:
    path, bots = tmp_path / "d.jsonl", {"s": Says((FINE, Reply("bye"), FINE))}

    def made(**options: object):  # type: ignore[no-untyped-def]
        chosen = PlanOptions(**options)  # type: ignore[arg-type]
        return plan(bots, OPENINGS[:2], chosen, exchanges=3, partners={"x": Teller("x")})

    assert play(made(end=("goodbye",)), path).ended == {("s", "said goodbye"): 2}
    assert [dialogue.ended_by for dialogue in load(path, kind="dialogues")] == ["s: said goodbye"] * 2
    again = play(made(end=("goodbye",)), path)
    assert (again.resumed, again.ended, again.failed) == (2, {("s", "said goodbye"): 2}, 0)
    with pytest.raises(InputError, match="rules was"):
        play(made(), path)
    assert made().run["rules"] == {"repeats": 3, "stop_repeating": False}, "as before, so that old files are resumed"
    with pytest.raises(InputError, match="must not be empty"):
        made(end=("",))


def test_labels_say_who_chose_to_end(tmp_path: Path) -> None:
    turns = [Turn("hi", "ann"), Turn("hello", "bob"), Turn("well", "ann")]
    labels = {}
    for who in ("", "ann", "bob: left"):
        path = tmp_path / "d.jsonl"
        write(path, [Dialogue("d", turns, ended_by=who)], kind="dialogues")
        (dialogue,) = load(path, kind="dialogues", strict=True)
        assert dialogue.ended_by == who
        labels[who] = [judged.replied for judged in label_turns(dialogue)]
    assert labels == {"": [True, True, False], "ann": [True, True, None], "bob: left": [True, True, False]}


def test_equal_bots_end_their_own_dialogues_only() -> None:
    bots = {**BOTS, "s": Says((Reply("bye", ends=True),))}
    found = {d.id: d for d in talk(bipartite(["s", "a"], ["x"], OPENINGS, exchanges=2), bots)}
    assert {len(d.turns) for d in found.values() if d.id.startswith("s~")} == {3}
    assert {len(d.turns) for d in found.values() if d.id.startswith("a~")} == {6}
    assert ask_bot(bots["s"], [[Turn("x")] * 2], [0]) == [Reply("bye", ends=True)]
