"""The recipe on a few lines in the published layout."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import spot_the_bot
from scipy import stats

WORDS = {"good": 6, "fair": 4, "poor": 2, "human": 8}
VOTES: dict[str, list[bool | None]] = {
    "good": [True, True],
    "fair": [True, None],
    "poor": [False, False],
    "human": [True, True],
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_dialogues(tmp_path)


def write_dialogues(folder: Path) -> Path:
    """Nine dialogues of bots and three of people, with votes."""
    dialogues, annotations = [], []
    pairs = [("good", "fair"), ("good", "poor"), ("fair", "poor"), ("human", "human")]
    for first, second in pairs:
        for i in range(3):
            id = f"{first}{second}{i}"
            dialogues.append(_dialogue(id, first, second, i))
            votes = zip(VOTES[first], VOTES[second], strict=True)
            annotations += [{"convo_id": id, **_votes(*pair)} for pair in votes]
    for name, values in (("dialogues", dialogues), ("annotations", annotations)):
        with gzip.open(folder / f"spot_the_bot_convai2.{name}.jsonl.gz", "wt") as file:
            file.writelines(json.dumps(value) + "\n" for value in values)
    return folder


def _dialogue(id: str, first: str, second: str, i: int) -> dict[str, Any]:
    def said(name: str) -> str:
        return " ".join(["word"] * (WORDS[name] + i)) + (" < /s ><pad><pad >" if name == "fair" else "")

    turns = [{"id": name, "exchange_nr": n, "text": said(name)} for n in range(2) for name in (first, second)]
    return {"_id": {"$oid": id}, "system_type0": first, "system_type1": second, "convo": turns}


def _votes(first: bool | None, second: bool | None) -> dict[str, Any]:
    return {f"entity{i}_annotation": {"is_human": vote} for i, vote in enumerate((first, second))}


def test_dialogues_are_read_and_cleaned(data: Path) -> None:
    found = spot_the_bot.read_dialogues(data)
    assert len(found) == 9
    assert not any("<" in turn.text for dialogue in found for turn in dialogue.turns)
    assert len(spot_the_bot.read_dialogues(data, limit=2)) == 6
    people = spot_the_bot.read_dialogues(data, humans=True)[-1]
    assert people.systems == {"human": "human", "human (2)": "human"}
    assert [turn.speaker for turn in people.turns] == ["human", "human (2)"] * 2


def test_undecided_votes_are_not_human(data: Path) -> None:
    assert spot_the_bot.judged_human(data) == {"fair": 0.5, "good": 1.0, "human": 1.0, "poor": 0.0}


def test_bots_are_ranked_beside_people(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert spot_the_bot.main(["--data", str(data), "-m", "length", "--bootstrap", "50", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    mean, strength = printed["rankings"]
    for ranking in (mean, strength):
        assert [s["system"] for s in ranking["standings"]] == ["good", "fair", "poor"]
        scores = [s["score"] for s in ranking["standings"]]
        expected = stats.pearsonr(scores, [1, 0.5, 0]).statistic
        assert ranking["human"]["pearson"]["value"] == pytest.approx(expected)
    assert [s["score"] for s in mean["standings"]] == [7, 5, 3]
    assert spot_the_bot.main(["--data", str(data), "--humans", "--bootstrap", "20"]) == 0
    said = capsys.readouterr().out
    assert "agreement with people over 4 systems" in said
    assert "people over sides of" in said.replace("\n", " ")
    (agreement,) = printed["dialogues"]
    assert (agreement["metric"].partition("(")[0], agreement["sides"]) == ("length", 18)
    lengths = [7 + i - 1 for i in range(3)] * 2 + [5 + i - 1 for i in range(3)] * 2 + [3 + i - 1 for i in range(3)] * 2
    expected = stats.spearmanr(lengths, [1.0] * 6 + [0.5] * 6 + [0.0] * 6).statistic
    assert agreement["spearman"] == pytest.approx(expected)
