"""The recipe for test sets on tiny logs."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest
import test_sets
from test_sets import count_openings, is_greeting, without_greetings

from interloq import Dialogue, Turn, load


@pytest.mark.parametrize(
    "text",
    [
        "こんにちは",
        "こんばんはー！",
        "おはようございます。",
        "本日はよろしくお願いいたします",
        "はじめまして、田中です",
    ],
)
def test_greetings(text: str) -> None:
    assert is_greeting(text)


@pytest.mark.parametrize("text", ["趣味は何ですか？", "こんにちは。お昼はもう食べましたか？", "何かお探しですか？"])
def test_what_is_no_greeting(text: str) -> None:
    assert not is_greeting(text)


def test_dialogues_begin_after_greetings() -> None:
    turns = [
        Turn("こんにちは", "a"),
        Turn("よろしくお願いします", "b"),
        Turn("はい", "b"),
        Turn("趣味は何ですか？", "a"),
    ]
    rest = without_greetings(Dialogue("d", [*turns, Turn("映画です", "b"), Turn("いいですね", "b")]))
    assert [turn.text for turn in rest.turns] == ["趣味は何ですか？", "映画です いいですね"]
    assert without_greetings(Dialogue("d", [Turn("こんにちは", "a")])).turns == ()


def test_openings_are_counted() -> None:
    talks = [["Hi!", "yes"], ["hi", "no"], ["hi", "No."], ["so?", "yes"], ["alone"]]
    found = count_openings(Dialogue(str(i), talk) for i, talk in enumerate(talks))
    assert found == {"openings": 4, "distinct": 2, "with two replies": 1, "replies to these": 2}


def _row(utterance: str, response: str, date: str) -> dict[str, str]:
    return {"thread": "forum", "utterance": utterance, "response": response, "date": date}


def test_reddit_pairs_of_first_utterances(tmp_path: Path) -> None:
    rows = []
    for i in range(12):
        date = "2015-04-10" if i % 2 else "2015-02-10"
        rows += [_row(f"first {i}", f"reply {i} {k}", date) for k in range(3)]
        rows.append(_row(f"reply {i} 1", f"answer {i}", date))
        rows += [_row(f"answer {i}", f"more {i} {k}", date) for k in range(2)]
    with lzma.open(tmp_path / "reddit_pairs.jsonl.xz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    found = test_sets.make_set("reddit_pairs", tmp_path, tmp_path / "out", draw=4, seed=0)
    assert found["usable utterances"] == 6
    assert found["replies per utterance"] == 3
    assert found["training pairs"] == 36, "those of February"
    samples = load(tmp_path / "out" / "testset" / "samples.jsonl")
    assert len(samples) == 4
    for sample in samples:
        i = sample.context[0].text.removeprefix("first ")
        assert int(i) % 2
        assert sample.references[0].text == f"reply {i} 1", "the reply that was answered"


def test_a_japanese_test_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def dialogues(_: Any, name: str) -> list[Dialogue]:
        return [
            Dialogue(f"{name}/{i}", [
                Turn("こんにちは", "a"), Turn(f"趣味の{i // 2}は何ですか？", "b"), Turn(f"映画の{name}{i}です", "a"),
                Turn("いいですね", "b"),
            ])
            for i in range(8)
        ]  # fmt: skip

    monkeypatch.setattr(test_sets, "japanese_dialogues", dialogues)
    arguments = ["--data", str(tmp_path), "--out", str(tmp_path / "out"), "--only", "ja", "--draw", "3"]
    assert test_sets.main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["sets"]["ja"]["usable utterances"] == 4
    assert found["sets"]["ja"]["drawn"] == 3
    assert found["sets"]["ja"]["candidates"] == 6
    assert found["openings"]["kokorochat_ja, after greetings"]["with two replies"] == 4
    assert test_sets.main(arguments) == 0
    assert "test set ja: usable utterances 4, replies per utterance 4.0" in capsys.readouterr().out
    assert test_sets.main([*arguments[:-3], "nothing"]) == 2
    assert "no log 'nothing'" in capsys.readouterr().err


def test_a_leak_stops_the_recipe(tmp_path: Path) -> None:
    (tmp_path / "samples.jsonl").write_text(
        '{"id": "1", "context": ["Hi you"], "response": "b", "references": ["c"]}\n'
    )
    (tmp_path / "train.jsonl").write_text('{"id": "p", "utterance": "hi, you!", "response": "d"}\n')
    with pytest.raises(SystemExit, match="the training pair p is in the test set"):
        test_sets.check_no_leak(tmp_path, tmp_path / "train.jsonl")
