"""Rankings, from files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from interloq import Dialogue, InputError, Rating, Turn, write
from interloq.rank.rank_file import rank_file, read_system_scores
from interloq.rank.rank_options import RankOptions
from interloq.rank.scored_dialogues import read_scored
from tests.made_dialogues import made_dialogues, write_dialogues


@pytest.fixture
def paths(folder: Path) -> list[str]:
    return write_dialogues(folder, *made_dialogues({"low": 0.0, "high": 3.0}))


def _options(paths: list[str]) -> RankOptions:
    return RankOptions(dialogues=paths[1:2], n_bootstrap=20, lower_is_better=False)


def test_systems_are_ranked_and_agreement_is_told(paths: list[str], folder: Path) -> None:
    (folder / "people.csv").write_text("low,1\nhigh,5\n")
    found = rank_file(paths[:1], replace(_options(paths), human="people.csv"))
    (ranking,) = found.rankings
    assert [standing.system for standing in ranking.standings] == ["high", "low"]
    assert ranking.human
    assert not found.unranked


def test_ratings_in_the_dialogues_are_compared_with_the_ranking(folder: Path) -> None:
    dialogues, scores = made_dialogues({"low": 0.0, "high": 3.0})
    rated = [replace(d, ratings=(Rating(5.0 if "high" in d.systems.values() else 1.0),)) for d in dialogues]
    paths = write_dialogues(folder, rated, scores)
    (ranking,) = rank_file(paths[:1], _options(paths)).rankings
    assert ranking.order
    assert (ranking.order.value, ranking.order.n) == (1, 1)
    assert any("as people do in 1.00" in note for note in ranking.notes)


def test_dialogues_are_scored_by_the_judge_or_by_the_given_metric(folder: Path) -> None:
    said = {"dull": "I do not know.", "kind": "I like to read, and you?"}
    talks = []
    for system, reply in said.items():
        for i in range(3):
            turns = [Turn(f"What do you like to do at the weekend, friend {i}?", "you"), Turn(reply, "bot")]
            talks.append(Dialogue(f"{system}/{i}", turns, {"bot": system}))
    write("talks.jsonl", talks, kind="dialogues")
    few = RankOptions(n_bootstrap=20)
    (ranking,) = rank_file(["talks.jsonl"], few).rankings
    assert ranking.metric == "judge(model='ready',aspect='dialogue')"
    assert {standing.system for standing in ranking.standings} == set(said)
    longer = replace(few, metric="long=length", lower_is_better=False)
    (ranking,) = rank_file(["talks.jsonl"], longer).rankings
    assert (ranking.metric, ranking.standings[0].system) == ("long=length", "kind")
    german = [Turn("Was machst du gern, wenn du frei hast?", "you"), Turn("Ich lese gern ein Buch", "bot")]
    write("talks.jsonl", [Dialogue("1", german, {"bot": "bot"})], kind="dialogues")
    with pytest.raises(InputError, match=r"no metric to rank by; judge.*English only"):
        rank_file(["talks.jsonl"], few)


def test_scores_without_dialogues_are_refused(paths: list[str]) -> None:
    for scores in (paths[:1], ["-"]):
        with pytest.raises(InputError, match="no dialogues given"):
            rank_file(scores, RankOptions())


def test_pipes_and_repeated_files_are_refused(paths: list[str]) -> None:
    for scores, dialogues in ((["-"], paths[1:2]), (paths[:1] * 2, paths[1:2]), (paths[:1], paths[1:2] * 2)):
        with pytest.raises(InputError):
            read_scored(scores, dialogues)


@pytest.mark.parametrize(
    "text",
    [
        '{"mine": 4.5, "theirs": -1}',
        "system,score\nmine,4.5\ntheirs,-1\n",
        "mine\t4.5\n\ntheirs\t-1",
        '\ufeff"mine",4.5\ntheirs, -1 ',
    ],
)
def test_every_layout_says_the_same(tmp_path: Path, text: str) -> None:
    (tmp_path / "people").write_text(text, encoding="utf-8")
    assert read_system_scores(tmp_path / "people") == {"mine": 4.5, "theirs": -1.0}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('{"a": 1, "a": 2}', "'a' is listed twice"),
        ("a,1\na,1", ":2: system 'a' is listed twice"),
        ('{"a": true}', "'a' is not a number: True"),
        ('{"a": NaN}', "'a' is nan"),
        ('{"a": 1' + "0" * 400 + "}", "too large"),
        ('{"a": ', "not valid JSON"),
        ("a,1\nb,x", ":2: 'x' is not a number"),
        ("a,1,2", ":1: expected a system and a score, got 3 cells"),
        ("system,score", "no scores of systems"),
        ("", "no scores of systems"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, text: str, what: str) -> None:
    (tmp_path / "people").write_text(text)
    with pytest.raises(InputError, match=what):
        read_system_scores(tmp_path / "people")
