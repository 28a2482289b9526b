"""The loop in which bots speak: full batches, the same dialogues whatever the batches, and no bot stops the others."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interloq.errors import InputError
from interloq.play.bot import BotLike
from interloq.play.openings import Opening
from interloq.play.schedule import BotMatch, all_play_all, bipartite, self_play
from interloq.play.talk import PlayTally, failures, talk
from interloq.records import Turn
from interloq.servers.replies import Reply
from tests.made_bots import Bad, Teller
from tests.play.made_talks import BOTS, OPENINGS, by_id


def literally(match: BotMatch, bots: Mapping[str, BotLike]) -> list[str]:
    """One dialogue on its own, by the shortest loop that plays it."""
    from interloq.play.schedule import seed_of

    speakers = [match.target, match.partner if match.partner != match.target else f"{match.partner} (2)"]
    turns = [Turn(text, speakers[i % 2]) for i, text in enumerate(match.opening)]
    for _ in range(match.exchanges):
        for speaker, bot in zip(speakers, [match.target, match.partner], strict=True):
            seed = seed_of(match.seed, str(len(turns)))
            turns.append(Turn(bots[bot].replies([turns], [seed])[0].text, speaker))
    return [turn.text for turn in turns]


@settings(deadline=None, max_examples=15)
@given(st.integers(1, 9), st.integers(1, 40), st.randoms())
def test_batches_and_order_change_nothing(batch: int, together: int, shuffle: object) -> None:
    matches = [
        *bipartite("ab", "xyz", OPENINGS, exchanges=3),
        *self_play("ab", OPENINGS, exchanges=2),
        *all_play_all("xyz", OPENINGS, exchanges=1),
    ]
    shuffled = list(matches)
    shuffle.shuffle(shuffled)  # type: ignore[attr-defined]
    found = by_id(shuffled, BOTS, batch=batch, together=together)
    assert set(found) == {match.id for match in matches}
    for match in matches:
        dialogue = found[match.id]
        assert [turn.text for turn in dialogue.turns] == literally(match, BOTS)
        assert len(dialogue.turns) == 2 + 2 * match.exchanges
        assert dialogue.given == 2
        assert dialogue.failure == ""


def test_speakers_systems_and_who_is_first() -> None:
    (dialogue,) = talk(self_play(["a"], OPENINGS[:1], exchanges=1), BOTS)
    assert [turn.speaker for turn in dialogue.turns] == ["a", "a (2)", "a", "a (2)"]
    assert dialogue.systems == {"a": "a", "a (2)": "a"}
    (dialogue,) = talk(bipartite(["b"], ["x"], OPENINGS[:1], exchanges=1), BOTS)
    assert [turn.speaker for turn in dialogue.turns] == ["b", "x", "b", "x"]
    assert list(dialogue.systems.items()) == [("b", "b"), ("x", "x")]
    match = BotMatch("m", "b", "x", ("one",), 1, False, 0)
    (dialogue,) = talk([match], BOTS)
    assert [turn.speaker for turn in dialogue.turns] == ["b", "x", "b"]
    assert list(dialogue.systems.items()) == [("b", "b"), ("x", "x")]


def test_batches_are_full() -> None:
    a, x = Teller("a", batch=12), Teller("x")
    list(talk(bipartite(["a"], ["x"], OPENINGS, exchanges=2, repeats=8), {"a": a, "x": x}))
    assert a.batches == [12] * 8
    assert sum(x.batches) == 96
    assert max(x.batches) > 12


def test_equal_bots_share_batches() -> None:
    one, other = Teller("same"), Teller("same")
    list(talk(self_play("ab", OPENINGS, exchanges=1), {"a": one, "b": other}))
    assert one.batches == [12, 12]
    assert other.batches == []


def test_finished_dialogues_come_before_all_are_finished() -> None:
    tally = PlayTally()
    stream = talk(self_play(["a"], OPENINGS, repeats=50), BOTS, batch=10, together=40, tally=tally)
    next(stream)
    assert tally.replies["a"] <= 40 * 10
    assert len(list(stream)) == 299


@pytest.mark.parametrize(
    ("bot", "turns", "said"),
    [
        (Bad("crash"), 2, "bad: crashed: RuntimeError: out of [ideas], sorry indeed at turn 3"),
        (Bad("crash", 4), 4, "bad: crashed: RuntimeError: out of [ideas], sorry indeed at turn 5"),
        (Bad("empty", 4), 4, "bad: empty at turn 5"),
        (Bad("no reply", 6), 6, "bad: the bot gave int, not a Reply at turn 7"),
        (Bad("repeat"), 12, "bad: repeats itself at turn 7"),
    ],
)
def test_a_bad_bot_harms_only_its_own_dialogues(bot: BotLike, turns: int, said: str) -> None:
    bots, tally = {**BOTS, "bad": bot}, PlayTally()
    matches = [*bipartite(["bad", "a"], ["x"], OPENINGS), *self_play("b", OPENINGS)]
    found = {dialogue.id: dialogue for dialogue in talk(matches, bots, tally=tally)}
    assert len(found) == 18
    for id, dialogue in found.items():
        bad = id.startswith("bad~")
        assert dialogue.failure == (said if bad else "")
        assert len(dialogue.turns) == (turns if bad else 12)
    assert tally.with_failures == 6
    assert tally.short == (6 if turns < 12 else 0)
    assert {who for who, _ in tally.failures} == {"bad"}
    assert failures(found["bad~x/opening-1/repeat-1"]) == [("bad", said.removeprefix("bad: "))]


def test_a_repeating_bot_can_be_stopped() -> None:
    matches = bipartite(["bad"], ["x"], OPENINGS[:1])
    (dialogue,) = talk(matches, {**BOTS, "bad": Bad("repeat")}, stop_repeating=True)
    assert len(dialogue.turns) == 7
    (dialogue,) = talk(matches, {**BOTS, "bad": Bad("repeat")}, repeats=2)
    assert dialogue.failure == "bad: repeats itself at turn 5"


def test_given_openings_are_no_repeats_of_the_bot() -> None:
    opening = Opening("o", ("again", "again"))
    (dialogue,) = talk(bipartite(["bad"], ["x"], [opening], exchanges=2), {**BOTS, "bad": Bad("repeat")})
    assert dialogue.failure == ""


def test_a_bot_that_hangs_is_left_behind() -> None:
    bad = Bad("hang", 4)
    matches = [*bipartite(["bad", "a"], ["x"], OPENINGS)]
    found = by_id(matches, {**BOTS, "bad": bad}, batch=3, patience=1)
    bad.stop.set()
    said = sorted(dialogue.failure.rpartition(" at turn ")[0] for dialogue in found.values())
    assert said == [""] * 6 + ["bad: given up: a batch took over 1 s"] * 3 + ["bad: timed out"] * 3
    assert all((len(dialogue.turns) == 12) == id.startswith("a~") for id, dialogue in found.items())


def test_a_bot_that_never_answers_is_given_up() -> None:
    bots = {**BOTS, "bad": Bad("empty")}
    found = by_id(self_play(["bad", "a"], OPENINGS, repeats=10), bots, batch=10, give_up=20)
    said = [dialogue.failure.rpartition(" at turn ")[0] for dialogue in found.values() if dialogue.failure]
    assert sorted(set(said)) == ["bad: empty", "bad: given up: 20 missing replies in a row"]
    assert said.count("bad: empty") == 20
    assert sum(dialogue.failure == "" for dialogue in found.values()) == 60


class Meeting:
    """Two bots that are asked at the same time the first time, whenever later."""

    def __init__(self) -> None:
        self.barrier, self.met = threading.Barrier(2), False

    def wait(self, timeout: float) -> None:
        if not self.met:
            self.barrier.wait(timeout)
            self.met = True


@dataclass(frozen=True)
class Remote(Teller):
    """Waits for something else: a time of its own, or until the others have been asked as well."""

    seconds: float = 0.0
    meet: threading.Barrier | Meeting | None = field(default=None, compare=False)
    waits: ClassVar[bool] = True

    def replies(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Reply]:
        time.sleep(self.seconds)
        if self.meet:
            self.meet.wait(10)  # broken, and so a crash, if the others are asked one after the other
        return super().replies(dialogues, seeds)


def test_bots_that_wait_are_asked_side_by_side_and_beside_one_that_calculates() -> None:
    meet = threading.Barrier(3)
    bots: dict[str, BotLike] = {name: Remote(name, meet=meet) for name in "abc"}
    found = by_id(bipartite("abc", "x", OPENINGS, exchanges=1), {**bots, "x": Teller("x")})
    assert [dialogue.failure for dialogue in found.values()] == [""] * 18
    meeting = Meeting()
    bots = {"a": Remote("a", meet=meeting), "x": Here("x", meeting), "y": Here("y", None)}
    list(talk([*self_play("a", OPENINGS, exchanges=1), *self_play("x", OPENINGS, exchanges=1)], bots, patience=20))
    assert meeting.met


def test_bots_that_calculate_are_asked_one_after_the_other() -> None:
    x, y = Here("x", None), Here("y", None)
    matches = [*bipartite("xy", "a", OPENINGS, exchanges=2), *self_play("xy", OPENINGS, exchanges=1)]
    found = by_id(matches, {"x": x, "y": y, "a": Remote("a", seconds=0.01)}, patience=20, batch=3)
    assert len(found) == 24
    assert Here.most == 1


class Here:
    """A bot that calculates in this process, and counts how many of its kind do so at a time."""

    now: ClassVar[int] = 0
    most: ClassVar[int] = 0
    one: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, name: str, meet: Meeting | None) -> None:
        self.teller, self.meet = Teller(name), meet

    def replies(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Reply]:
        if self.meet:
            self.meet.wait(10)
        with Here.one:
            Here.now += 1
            Here.most = max(Here.most, Here.now)
        time.sleep(0.002)
        with Here.one:
            Here.now -= 1
        return self.teller.replies(dialogues, seeds)

    def signature(self) -> str:
        return self.teller.signature()


def test_nobodys_speed_changes_a_dialogue_or_a_batch() -> None:
    matches = [*bipartite("ab", "xyz", OPENINGS, exchanges=2), *all_play_all("xyz", OPENINGS, exchanges=1)]
    seen = []
    for delays in ({"a": 0.02}, {"b": 0.01, "y": 0.02}, {}):
        bots: dict[str, BotLike] = {name: Remote(name, seconds=delays.get(name, 0.0)) for name in "abxy"}
        bots["z"] = Teller("z")
        found = by_id(matches, bots, batch=5, together=20)
        assert {id: [turn.text for turn in d.turns] for id, d in found.items()} == {
            match.id: literally(match, BOTS) for match in matches
        }
        seen.append({name: bot.batches for name, bot in bots.items()})  # type: ignore[attr-defined]
    assert seen[0] == seen[1] == seen[2]


def test_a_bot_that_hangs_stops_nobody_beside_it() -> None:
    hung = Remote("a", meet=threading.Barrier(2))  # the second never comes
    found = by_id(bipartite("ab", "x", OPENINGS, exchanges=1), {**BOTS, "a": hung, "b": Remote("b")}, patience=0.5)
    assert {id[0]: d.failure for id, d in found.items()} == {"a": "a: timed out at turn 3", "b": ""}


def test_a_bot_that_fails_slowly_is_given_up_after_the_time_of_one_batch() -> None:
    bots = {**BOTS, "bad": Slow("bad", seconds=0.25)}
    found = by_id(self_play(["bad", "a"], OPENINGS, repeats=5, exchanges=1), bots, batch=2, patience=1)
    said = [dialogue.failure.rpartition(" at turn ")[0] for dialogue in found.values() if dialogue.failure]
    assert 2 <= said.count("bad: empty") <= 8  # four batches, or fewer on a busy machine
    assert said.count("bad: given up: no reply for 1 s") == 30 - said.count("bad: empty")


@dataclass(frozen=True)
class Slow(Remote):
    """Takes its time to say nothing."""

    def replies(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Reply]:
        return [Reply("") for _ in super().replies(dialogues, seeds)]


def test_a_match_without_its_bot_is_an_error() -> None:
    with pytest.raises(InputError, match="no bot is called 'y'"):
        list(talk(bipartite(["a"], ["y"], OPENINGS), {"a": Teller()}))


@pytest.mark.parametrize(
    ("option", "value"),
    [("batch", 0), ("together", 0), ("repeats", 0), ("give_up", 0), ("patience", -1.0), ("patience", float("nan"))],
)
def test_options_out_of_range_are_refused(option: str, value: float) -> None:
    with pytest.raises(InputError, match=f"{option} must be . .*or more"):
        list(talk([], {}, **{option: value}))  # type: ignore[arg-type]
