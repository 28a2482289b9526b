"""Imitated bots and the comparison of schemes, on made dialogues in the published layouts, with made scores."""

from __future__ import annotations

import json
import lzma
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import imitated_bots
import numpy as np
import pytest
import schemes_people
from fed_follow_ups import Floats
from results import interval_by_unit, load_measured

from interloq import Dialogue, Turn
from tests.recipes.test_spot_the_bot import write_dialogues

BOTS = ("A", "B", "C", "QualityControl")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Spot the Bot with three bots, conversations with three others, and openings."""
    folder = write_dialogues(tmp_path)
    (folder / "logs").mkdir()
    talks = []
    for number, bot in enumerate(BOTS * 4):
        said = [("person", "hello word"), ("bot", f"i am {bot} number {number}")] * 2
        ratings = dict.fromkeys(("interesting", "fun", "consistent", "fluent", "topic"), 10 * number)
        ratings |= {"robotic": 100 - 10 * number, "repetitive": 100 - 10 * number}
        turns = [{"speaker": who, "text": text} for who, text in said]
        talks.append({"id": f"t{number}", "worker": f"w{number}", "system": bot, "turns": turns, "ratings": ratings})
    with lzma.open(folder / "ji2022_part.jsonl.xz", "wt") as file:
        file.writelines(json.dumps(talk) + "\n" for talk in talks)
    openings = [{"id": f"e{i}", "turns": [{"text": f"word number {i}"}, {"text": "why ?"}]} for i in range(4)]
    with lzma.open(folder / "logs" / "empathetic.jsonl.xz", "wt") as file:
        file.writelines(json.dumps(opening) + "\n" for opening in openings)
    return folder


def _length(dialogues: Sequence[Dialogue]) -> Mapping[str, Floats]:
    """Score targets by the number of characters they say."""
    values = []
    for dialogue in dialogues:
        own = [len(turn.text) for turn in dialogue.turns[dialogue.given :] if turn.speaker == dialogue.id.split("~")[0]]
        values.append(float(np.mean(own)) if own else np.nan)
    return {imitated_bots.RELEVANCE: np.array(values)}


def test_an_imitation_says_what_its_bot_said(data: Path, tmp_path: Path) -> None:
    replies = imitated_bots.ji_replies(data)
    assert list(replies) == ["A", "B", "C"]
    bot = imitated_bots.imitate(replies["B"], tmp_path / "bot")
    near, unknown = bot.replies([[Turn("hello")], [Turn("zzz")]], [1, 2])
    assert near.text.startswith("i am B number")
    assert unknown.text.startswith("i am B number")
    again = imitated_bots.imitate(replies["B"], tmp_path / "bot")
    assert again.replies([[Turn("hello")]], [1])[0].text == near.text


def test_people_rank_the_bots(data: Path) -> None:
    ranking = imitated_bots.ji_ranking(data)
    assert ranking == {"A": 60.0, "B": 70.0, "C": 80.0}
    assert imitated_bots.spot_ranking(data) == {"fair": 0.5, "good": 1.0, "poor": 0.0}


def test_schemes_are_compared_over_the_same_openings(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(schemes_people, "relevance", _length)
    monkeypatch.setattr(schemes_people, "interval_by_unit", partial(interval_by_unit, resamples=10))
    monkeypatch.setattr(schemes_people, "METRIC", "length")
    monkeypatch.setattr(schemes_people, "PARTNERS", 1)
    result = tmp_path / "schemes_people.json"
    options = ["--data", str(data), "--work", str(tmp_path / "work"), "--openings", "3", "--fed-openings", "0"]
    assert schemes_people.main([*options, "--measured", str(result)]) == 0
    measured = load_measured(result)
    assert [finding.way for finding in measured.findings if finding.decides] == [
        "bipartite − all-play-all, real bots, relevance, mean over 15 sets of two partners",
        "all-play-all − self-play, real bots",
    ]
    recorded, unrecorded, *imitated = measured.findings
    assert (recorded.item, recorded.threshold, recorded.value, recorded.units) == ("002/39", -0.05, 0.0, 9)
    assert (unrecorded.item, unrecorded.value, unrecorded.verdict) == ("002/38", None, "cannot be told here")
    assert [(finding.item, finding.units) for finding in imitated] == [("002/38", 3), ("002/39", 3), ("002/38", 3)] * 2
    systems, real, *tables = measured.tables
    assert [cell.ours for cell in systems.rows["pairs, all-play-all"]] == [6, 6]
    assert [cell.ours for cell in systems.rows["dialogues per pair, self-play"]] == [9, 9]
    assert real.rows["all-play-all, all six"][0].ours == pytest.approx(1), "good, fair and poor differ in length"
    assert [table.item for table in tables] == ["002/33", "002/33"]
    assert tables[0].rows["self-play"][0].published == 0.83
    capsys.readouterr()
    assert schemes_people.main(options) == 0
    assert "scored" not in capsys.readouterr().err, "all dialogues and scores are kept"


def test_missing_openings_are_one_line(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (data / "logs" / "empathetic.jsonl.xz").unlink()
    assert schemes_people.main(["--data", str(data), "--work", str(tmp_path)]) == 2
    assert "no empathetic.jsonl.xz" in capsys.readouterr().err
