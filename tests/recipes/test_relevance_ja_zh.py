"""From Japanese and Chinese logs in the published layouts to a table of figures, with a tiny network."""

from __future__ import annotations

import json
import lzma
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import held_out_figures
import ja_zh_logs
import numpy as np
import pytest
import relevance_ja_zh as recipe

from interloq.learn.adapt.settings import SmallEncoder
from interloq.records import Dialogue, Turn
from tests.published_layouts import write_json

WORDS = {"ja": "お茶 音楽 電車 天気 料理 映画 写真 野球", "zh": "茶叶 音乐 火车 天气 做饭 电影 照片 足球"}
FILLERS = {"ja": "とても 今日は 私も それは 好きな 本当に", "zh": "非常 今天 我也 那个 喜欢 真的"}
RARE = "春夏秋冬東西南北山川海空花鳥風月星雪雨雲"  # what BM25 finds replies by
END = {"ja": "ですね。", "zh": "对吧。"}
Captured = pytest.CaptureFixture[str]


def talks(language: str, n: int, *, seed: int, turns: int = 8) -> list[list[str]]:
    drawn, found = random.Random(seed), []
    for topic in drawn.choices(WORDS[language].split(), k=n):
        texts = [[*drawn.choices(FILLERS[language].split(), k=4), drawn.choice(RARE), topic] for _ in range(turns)]
        found.append(["".join(words) + END[language] for words in texts])
    return found


def turns_of(texts: Sequence[str], *, speaker: str = "speaker", text: str = "text") -> list[dict[str, str]]:
    return [{speaker: "AB"[i % 2], text: said} for i, said in enumerate(texts)]


@pytest.fixture(scope="module", autouse=True)
def small() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recipe, "SHAPE", SmallEncoder(layers=1, dimensions=16, heads=2, vocabulary=200))
        patch.setattr(recipe, "MASKING", replace(recipe.MASKING, batch=64))
        patch.setattr(recipe, "SETTINGS", replace(recipe.SETTINGS, batch=32, context=48, reply=16))
        yield


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("data"))


def write_data(folder: Path) -> Path:
    write_sets(folder)
    (folder / "logs").mkdir()
    for seed, name in enumerate(("kokorochat_ja", "cped_zh", "dialogre_zh", "smile_zh", "cdconv_zh")):
        length = 4 if name == "cdconv_zh" else 8
        found = talks(name[-2:], 60, seed=seed, turns=length)
        lines: list[dict[str, Any]] = [{"id": str(i), "turns": turns_of(texts)} for i, texts in enumerate(found)]
        if name == "cdconv_zh":
            lines = [line | {"contradiction": i % 3} for i, line in enumerate(lines)]
        with lzma.open(folder / "logs" / f"{name}.jsonl.xz", "wt") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
    return folder


def write_sets(folder: Path) -> None:
    for i, texts in enumerate(talks("ja", 60, seed=10)):
        said = [turn | {"timestamp": ""} for turn in turns_of(texts, speaker="interlocutor_id")]
        talk = {"utterances": said, "evaluations": []}
        write_json(folder / "real_persona_chat" / "dialogues" / f"{i:05}.json", talk)
    system = {"dialogue_id": 1, "system_id": "GPT-4", "interlocutor_id": "FQ", "evaluation": {}}
    robot = [{"interlocutor": "user", "text": "やあ"}, {"interlocutor": "system", "text": "ロボットです"}]
    write_json(folder / "real_persona_chat" / "llm_dialogue_system" / "GPT-4.json", [system | {"utterances": robot}])
    daily = [
        {"dialogue_id": i, "utterances": turns_of(texts, text="utterance")}
        for i, texts in enumerate(talks("ja", 60, seed=11))
    ]
    write_json(folder / "japanese_daily_dialogue" / "data" / "topic1.json", daily)
    films = [{"messages": [{"message": text} for text in texts]} for texts in talks("zh", 60, seed=12)]
    write_json(folder / "kdconv" / "data" / "film" / "dev.json", films)


@pytest.fixture(scope="module")
def work(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("work")
    assert recipe.main(["examples", "--data", str(data), "--work", str(folder)]) == 0
    return folder


def test_from_logs_to_figures(work: Path, tmp_path: Path, capsys: Captured) -> None:
    own = ["--work", str(work), "--language", "zh", "--device", "cpu"]
    assert recipe.main(["train", *own, "--encoder-epochs", "1", "--epochs", "1"]) == 0
    capsys.readouterr()
    assert recipe.main(["test", *own, "--resamples", "20", "--json", str(tmp_path / "figures.json")]) == 0
    printed = capsys.readouterr().out
    assert "kdconv, auc (" in printed
    assert (
        "| wrong replies | n | relevance | overlap | tf-idf | length | untrained cosine | encoder cosine |" in printed
    )
    rows = json.loads((tmp_path / "figures.json").read_text())["rows"]
    assert {row["log"] for row in rows if row["kind"] == "contradiction"} == {"cdconv_zh"}
    kinds = {"random", "retrieved", "other place", "generic", "parrot", "shuffled turns"}
    assert {row["kind"] for row in rows if row["log"] == "kdconv" and row["scorer"] == "relevance"} == kinds
    parrots = {row["scorer"]: row["value"] for row in rows if (row["kind"], row["measure"]) == ("parrot", "wins")}
    assert parrots["encoder cosine"] == parrots["untrained cosine"] == 0  # nothing is more similar than the same
    assert all(0 <= row["ci"][0] <= row["ci"][1] <= 1 for row in rows)


def objects(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_parts_share_no_dialogue(work: Path) -> None:
    for language in recipe.LANGUAGES:
        learned = [talk for path in (work / language / "logs").iterdir() for talk in objects(path)]
        said = [[turn["text"] for turn in talk["turns"]] for talk in learned]
        runs = {run for texts in said for run in zip(texts, texts[1:], texts[2:], strict=False)}
        items = objects(work / language / "held_out.jsonl")
        assert len(items) > 20
        for item in items:
            replies = item["replies"]
            turns = [*item["context"], replies.get("true") or replies["contradiction"]]
            assert runs.isdisjoint(zip(turns, turns[1:], turns[2:], strict=False))
    assert "ロボット" not in "".join(p.read_text() for p in (work / "ja" / "logs").iterdir())


def test_wrong_replies_are_wrong(work: Path) -> None:
    for item in objects(work / "ja" / "held_out.jsonl"):
        true = item["replies"].pop("true")
        assert true not in item["replies"].values()
        assert item["replies"].get("parrot", true) == item["context"][-1]
        assert item["replies"]["other place"] not in item["context"]
        if item["shuffled"]:
            assert sorted(item["shuffled"]) == sorted(item["context"])
            assert item["shuffled"][-1] != item["context"][-1]


def talk(id: str, *texts: str, **label: bool) -> Any:
    return ja_zh_logs.Talk(Dialogue(id, [Turn(text, "AB"[i % 2]) for i, text in enumerate(texts)]), **label)


def test_copies_of_held_out_dialogues_and_wrong_replies_are_not_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    middle = ("a long turn in the middle", "and the long reply to it", "and more")
    found = [talk(str(i), f"hello {i}", *middle) for i in range(30)]
    found += [talk(f"own{i}", f"hi {i}", f"my own turn number {i}", "yes", "no", wrong=True) for i in range(30)]
    learned, held_out = ja_zh_logs.split(found, 1000)
    assert {kept.id[:3] for kept in learned} == {"own"}  # all others share three turns with those held out
    assert {len(kept.turns) for kept in learned} == {3}
    assert 0 < len(held_out) < 20
    monkeypatch.setattr(ja_zh_logs, "COPIED", 100)
    assert len(ja_zh_logs.split(found, 1000)[0]) + len(held_out) == 60
    assert sum(len(kept.turns) for kept in ja_zh_logs.split(found, 17)[0]) in (14, 15, 16, 17)


def test_dialogues_with_the_same_beginning_stay_together_if_labelled() -> None:
    first, second = (talk(end, "hello", "hi there", end, labelled=True) for end in "ab")
    assert first.key == second.key
    assert replace(first, labelled=False).key != replace(second, labelled=False).key


def test_measures_equal_their_definitions() -> None:
    rng = np.random.default_rng(1)
    true, wrong = rng.integers(4, size=(2, 12)).astype(float)
    true[3] = wrong[5] = wrong[6] = np.nan
    weights = np.stack([np.ones(12), rng.integers(3, size=12)])
    aucs, wins = held_out_figures.aucs(true, wrong, weights), held_out_figures.wins(true, wrong, weights)
    assert wins is not None
    for row, auc, won in zip(weights, aucs, wins, strict=True):
        pairs = [(t, w, a * b) for t, a in zip(true, row, strict=True) for w, b in zip(wrong, row, strict=True)]
        assert auc == pytest.approx(share_above(pairs))
        assert won == pytest.approx(share_above(list(zip(true, wrong, row, strict=True))))
    assert held_out_figures.wins(true, np.full(12, np.nan), weights) is None


def share_above(pairs: Sequence[tuple[float, float, float]]) -> float:
    known = [(true, wrong, weight) for true, wrong, weight in pairs if not np.isnan(true + wrong)]
    above = sum(weight * ((true > wrong) + (true == wrong) / 2) for true, wrong, weight in known)
    return float(above / sum(weight for *_, weight in known))


def test_bigram_cosines() -> None:
    found = held_out_figures.bigram_cosines([["お茶が", "好き。"], ["雨"], ["雨"]], ["お茶が好き", "雨！", "。"], {})
    assert found.tolist() == pytest.approx([3 / 12**0.5, 1.0, 0.0])
    weighted = held_out_figures.bigram_cosines([["abc"]], ["ab"], {"ab": 3.0, "bc": 4.0})
    assert weighted.tolist() == pytest.approx([0.6])
