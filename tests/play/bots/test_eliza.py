"""The bot `eliza`."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from interloq import create
from interloq.play.bot import guarded
from interloq.records import Turn
from interloq.servers.replies import Reply
from tests.play.made_turns import dialogue


@given(st.lists(st.text(), min_size=1, max_size=4), st.integers(0, 2**63), st.sampled_from(["auto", "en", "ja", "zh"]))
def test_eliza_always_answers(texts: list[str], seed: int, language: str) -> None:
    eliza = create(f"eliza(language={language!r})", kind="bot")
    turns = [Turn(text) for text in texts]
    (reply,) = guarded(eliza, [turns], [seed])
    assert reply.text
    assert "{x}" not in reply.text or "{x}" in texts[-1]
    assert guarded(eliza, [dialogue("other"), turns], [3, seed])[1] == reply


def answers(text: str, language: str = "auto") -> set[str]:
    eliza = create(f"eliza(language={language!r})", kind="bot")
    return {reply.text for reply in eliza.replies([dialogue(text)] * 100, range(100))}


def test_eliza_turns_words_round() -> None:
    assert any("your mother" in answer for answer in answers("I want to see my mother."))
    assert any("feel you can trust me" in answer for answer in answers("I feel I can trust you"))
    assert any("ラーメンのどこ" in answer for answer in answers("ラーメンが好きです"))
    assert any("我的歌" in answer for answer in answers("我喜欢你的歌"))


def test_eliza_knows_the_language_by_its_letters() -> None:
    assert answers("寒い", "ja") == answers("寒いです", "ja")
    assert all(any("\u3040" <= c <= "\u30ff" for c in answer) for answer in answers("今日は寒いです"))
    assert all(any("\u4e00" <= c <= "\u9fff" for c in answer) for answer in answers("今天很冷"))
    assert all(answer.isascii() for answer in answers("It is cold"))


def test_eliza_says_nothing_twice_while_something_is_left() -> None:
    eliza = create("eliza", kind="bot")
    turns = dialogue("It rains.")
    said = []
    for _ in range(5):
        (reply,) = eliza.replies([turns], [1])
        said.append(reply.text)
        turns = [*turns, Turn(reply.text, "b"), Turn("It rains.", "a")]
    assert len(set(said)) == 5
    assert eliza.replies([turns], [1])[0].text in said
    assert eliza.replies([[]], [1]) == [Reply("", "nothing to answer")]
