"""The ranking and the dialogues to read, read back from the report's HTML."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from interloq import Dialogue, Score, Turn
from interloq.agree.dialogue_scores import DialogueScore, dialogue_scores, extremes
from interloq.cli.main import main
from interloq.rank.rank import rank
from interloq.report.text import score as shown
from interloq.report.text import visible
from tests.made_dialogues import made_dialogues, write_dialogues
from tests.report.parsed_html import Element, parse

EVIL = "</script><script>alert(1)</script>\"'&lt;<b onload=x>\u202eevil\u202c\x00\x1b[31m"
LEVELS = {"low": 0.0, "high": 3.0}


def _report(folder: Path, dialogues: list[Dialogue], scores: list[Score], *options: str) -> Element:
    paths = write_dialogues(folder, dialogues, scores)
    arguments = [paths[0], "--samples", paths[2], "--dialogues", paths[1], "-o", str(folder / "r.html")]
    assert main(["report", *arguments, "--bootstrap", "50", *options]) == 0
    return parse((folder / "r.html").read_text(encoding="utf-8"))


def _cards(page: Element, number: int) -> list[list[Element]]:
    sides = page.one(id="dialogues").all("details", cls="reading")[number].all("div", cls="side")
    return [side.all("article") for side in sides]


def test_the_ranking_is_that_of_meta(folder: Path) -> None:
    dialogues, scores = made_dialogues(LEVELS)
    page = _report(folder, dialogues, scores)
    ranking = rank(dialogue_scores(scores, dialogues), n_bootstrap=50, n_permutations=50)
    rows = page.one(id="ranking").one("table", cls="ranking").rows()
    assert [row[0] for row in rows] == ["1", "2"]
    for row, standing in zip(rows, ranking.standings, strict=True):
        low, high = standing.rank_range or (0, 0)
        assert row[1] == (str(low) if low == high else f"{low}–{high}")
        assert row[2:4] == [standing.system, shown(standing.score)]
        assert row[6:] == ["12", "0", "0"]
    assert "partners:0123456789abcdef" in page.one(id="source").text
    links = [link.attributes["href"] for link in page.one("nav").all("a")]
    assert "#ranking" in links
    assert "#dialogues" in links
    assert "--dialogues dialogues.jsonl" in page.one(id="source").text


def test_best_and_worst_dialogues_are_shown_with_each_turns_score(folder: Path) -> None:
    dialogues, scores = made_dialogues(LEVELS)
    page = _report(folder, dialogues, scores, "--read", "1")
    rows = [row for row in dialogue_scores(scores, dialogues) if row.system == "high"]
    values = {score.id: score.value for score in scores}
    best, worst = (cards[0] for cards in _cards(page, 0))
    for card, chosen in ((best, max(rows, key=lambda r: r.value)), (worst, min(rows, key=lambda r: r.value))):
        assert card.one("span", cls="id").text == chosen.dialogue
        assert card.one("span", cls="difference").text == shown(chosen.value)
        bubbles = card.all("div", cls="bubble")
        assert [("given" in b.classes, "right" in b.classes) for b in bubbles] == [
            (True, True), (True, False), (False, True), (False, False), (False, True), (False, False),
        ]  # fmt: skip
        told = {i: b.one("ul", cls="turn-scores").text for i, b in enumerate(bubbles) if b.all("ul")}
        assert told == {i: f"made {shown(values[f'{chosen.dialogue}#{i}'])}" for i in (2, 4)}


def test_failures_are_shown_where_they_happened(folder: Path) -> None:
    dialogues, scores = made_dialogues({"low": 0.0}, partners=["p"], openings=1)
    failure = "low: repeats itself at turn 5; p: timed out at turn 7"
    (card,) = _cards(_report(folder, [replace(dialogues[0], failure=failure)], scores), 0)[0]
    assert [p.text for p in card.all("div", cls="bubble")[4].all("p", cls="failure")] == ["low: repeats itself"]
    assert [p.text for p in card.all("p", cls="ended")] == ["p: timed out"]
    assert card.one("strong", cls="failure").text == "failure"


def test_unscored_turns_and_dialogues_say_why(folder: Path) -> None:
    dialogues, scores = made_dialogues({"low": 0.0}, openings=2)
    scores[0] = replace(scores[0], value=None, reason="too short")
    lost = Dialogue("gone~p/o/1", [], {"gone": "gone", "p": "p"}, failure="gone: crashed at turn 1")
    page = _report(folder, [*dialogues, lost], scores)
    assert "made n/a too short" in page.one(id="dialogues").text
    assert page.one(id="ranking").one("table", cls="ranking").rows()[-1][:4] == ["–", "", "gone", "n/a"]
    assert "gone: 1 dialogue without a score, gone: crashed" in page.one(id="ranking").text


def test_what_bots_said_is_never_markup(folder: Path) -> None:
    dialogues, scores = made_dialogues({"low": 0.0, "high": 1.0}, openings=2)
    plain = _report(folder, dialogues, scores)
    evil = "high <script>alert(2)</script>"
    mean = [
        Dialogue(
            d.id + EVIL,
            [Turn(t.text + EVIL, t.speaker if t.speaker != "high" else evil) for t in d.turns],
            {evil if k == "high" else k: evil if v == "high" else v for k, v in d.systems.items()},
            given=2,
            failure=f"{evil}: {EVIL} at turn 3".replace(";", ","),
        )
        for d in dialogues
    ]
    turned = [
        replace(
            s,
            id=f"{s.id.rpartition('#')[0]}{EVIL}#{s.id.rpartition('#')[2]}",
            metric=f"made{EVIL}",
            system=evil if s.system == "high" else s.system,
        )
        for s in scores
    ]
    page = _report(folder, mean, turned, "--higher-is-better")
    html = (folder / "r.html").read_text(encoding="utf-8")
    assert len(page.all("script")) == len(plain.all("script"))
    assert not [e for e in page.all() for name in e.attributes if name.startswith("on") or name == "style"]
    assert not any(sign in html for sign in "\u202e\u202c\x00\x1b")
    said = [e.raw for e in page.one(id="dialogues").all("div", cls="said")]
    assert "ok" + visible(EVIL) in said
    assert "⟨RLO⟩evil⟨PDF⟩␀␛[31m" in visible(EVIL)


def test_self_play_has_two_sides(folder: Path) -> None:
    turns = [Turn("hi", "a"), Turn("yes", "a (2)"), Turn("well", "a"), Turn("so", "a (2)")]
    dialogue = Dialogue("a~a/o/1", turns, {"a": "a", "a (2)": "a"}, given=2)
    scores = [Score(f"a~a/o/1#{i}", "made", float(i), system="a") for i in (2, 3)]
    (card,) = _cards(_report(folder, [dialogue], scores), 0)[0]
    assert ["right" in b.classes for b in card.all("div", cls="bubble")] == [True, False, True, False]
    assert len(card.all("ul", cls="turn-scores")) == 2


def test_best_and_worst_never_overlap() -> None:
    rows = [DialogueScore(f"d{i}", "a", "p", float(i % 3), f"p|{i}") for i in range(5)]
    found = extremes(rows, 3)["a"]
    assert [row.dialogue for row in found.best] == ["d2", "d1", "d4"]
    assert [row.dialogue for row in found.worst] == ["d3", "d0"]
    assert extremes(rows, 1, lower_is_better=True)["a"].best[0].dialogue == "d0"
    assert extremes(rows[:1], 2)["a"].worst == ()
