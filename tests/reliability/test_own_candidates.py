"""Candidates from the same query and from a bot, without copies of the test item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from interloq import InputError, Sample, write
from interloq.play.bot import Bot
from interloq.records import Pair, Turn
from interloq.reliability import candidates
from interloq.reliability.candidates import find_candidates, open_finder
from interloq.reliability.own_candidates import SameQuery, Written
from interloq.reliability.reliability_options import AnnotateOptions, CandidateOptions, draw_group
from interloq.retrieve.extend import SearchTally
from interloq.servers.replies import Reply

TEA = "Do you want tea?"
SAMPLE = Sample("t3_1", [Turn("Hi.", "a"), Turn(TEA, "b")], "No thanks.", ["Yes, please."], "owl")
PAIRS = [
    Pair("t3_2", "do you want tea", "Only with milk.", "t3_1", "t3_0"),
    Pair("t3_3", TEA, "yes please", "t3_1"),  # the gold reply
    Pair("t3_4", TEA, "No thanks", "t3_1"),  # the reply being judged
    Pair("t3_5", "Do you want some tea?", "I have had enough.", "t3_9"),
    Pair("t3_6", TEA, "Later.", "t3_7"),
    Pair("t3_7", " ", "Later.", "t3_8"),
]


@dataclass(frozen=True)
class Poet(Bot, name="made-poet"):
    """Writes the number of turns and the seed; nothing for odd seeds, the gold reply for 4."""

    asked: ClassVar[list[int]] = []

    def replies(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Reply]:
        self.asked.append(len(dialogues))
        texts = [f"{len(turns)} {seed}" for turns, seed in zip(dialogues, seeds, strict=True)]
        return [
            Reply("", "tired") if seed % 2 else Reply("Yes, please!" if seed == 4 else text)
            for text, seed in zip(texts, seeds, strict=True)
        ]

    def signature(self) -> str:
        return "made-poet"


def found(source: CandidateOptions, samples: list[Sample], written: Path | None = None) -> list[list[str]]:
    finder, _ = open_finder(source, written=written)
    assert isinstance(finder, SameQuery | Written)
    (batch,) = find_candidates(samples, finder, source, SearchTally())
    if isinstance(finder, Written):
        finder.close()
    return [[reference.text for reference in request.candidates] for _, request in batch]


def test_other_replies_to_the_same_utterance_are_candidates(folder: Path) -> None:
    write("pairs.jsonl", PAIRS, kind="pairs")
    empty = Sample("e", [" "], "x", ["y"])
    source = CandidateOptions(log=["pairs.jsonl"], origin="query", own=False)
    assert found(source, [SAMPLE, empty]) == [["Only with milk.", "Later."], []]
    assert found(CandidateOptions(log=["pairs.jsonl"], origin="query", k=1), [SAMPLE]) == [["Only with milk."]]
    Path("ids.txt").write_text("t3_0\n")  # a thread
    assert found(CandidateOptions(log=["pairs.jsonl"], origin="query", exclude="ids.txt"), [SAMPLE]) == [
        ["No thanks", "Later."]
    ]


@pytest.mark.filterwarnings("ignore:4 replies were not written")
def test_a_bot_writes_candidates_once_without_seeing_references(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "create", lambda *_, **__: Poet())
    other = Sample("t3_8", ["A walk?"], "No.", ["Yes."])
    source = CandidateOptions(llm="made-poet", replies=5)
    Poet.asked.clear()
    first = found(source, [SAMPLE, other, SAMPLE], written=folder / "replies")
    assert first == [["2 0", "2 2"], ["1 0", "1 2", "Yes, please!"], ["2 0", "2 2"]]  # 4 is a copy of the gold reply
    assert Poet.asked == [10]
    assert found(source, [SAMPLE, other], written=folder / "replies") == first[:2]
    assert Poet.asked == [10]
    with pytest.raises(InputError, match="replies"):
        open_finder(CandidateOptions(llm="made-poet", replies=4), written=folder / "replies")


def test_a_bot_that_writes_nothing_is_reported() -> None:
    @dataclass(frozen=True)
    class Mute(Poet, name="made-mute"):
        def replies(self, dialogues: Sequence[Sequence[Turn]], _: Sequence[int]) -> list[Reply]:
            return [Reply("", "the limit of 3 calls is reached")] * len(dialogues)

    with pytest.raises(InputError, match="the bot wrote nothing: the limit of 3 calls is reached"):
        Written(Mute(), 2).find([SAMPLE])


@pytest.mark.parametrize(
    "wrong",
    [{"llm": "echo", "log": ["l"]}, {"index": "i", "origin": "query"}, {"log": ["l"], "origin": "llm"}],
)
def test_the_origin_must_go_with_what_is_named(wrong: dict[str, str]) -> None:
    with pytest.raises(InputError, match=r"candidates come from|does not go with"):
        CandidateOptions(**wrong)  # type: ignore[arg-type]
    assert CandidateOptions(llm="echo").origin == "llm"


def test_one_of_each_two_annotators_is_unassisted() -> None:
    drawn = [draw_group(number, seed=7) for number in range(1, 41)]
    pairs = list(zip(drawn[::2], drawn[1::2], strict=True))
    assert set(map(frozenset, pairs)) == {frozenset({"assisted", "unassisted"})}
    assert len(set(pairs)) == 2  # in both orders
    assert drawn != [draw_group(number, seed=8) for number in range(1, 41)]
    assert AnnotateOptions(model="m", annotator=3, seed=7).group == drawn[2]
    assert (AnnotateOptions(model="m").group, AnnotateOptions(model="m", unassisted=True).group) == (
        "assisted", "unassisted",
    )  # fmt: skip
    with pytest.raises(InputError, match="exclude each other"):
        AnnotateOptions(model="m", annotator=3, unassisted=True)
