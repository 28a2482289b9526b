from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import relevance
from rated_sets import KNOWN, rated_sets

from interloq.scorers.relevance.model import RelevanceScorer
from tests.made_relevance import TOPICS, said, small_scorer
from tests.published_layouts import GUPTA, grade_item, usr_item, write_fed, write_grade, write_gupta, write_usr


def plusplus_items() -> list[dict[str, Any]]:
    drawn, items = random.Random(9), []
    for _ in range(12):
        topic, other = drawn.sample(TOPICS, 2)
        item: dict[str, Any] = {"context": [said(topic, drawn), said(topic, drawn)]}
        item["positive_responses"] = [said(topic, drawn) for _ in range(5)]
        item["adversarial_negative_responses"] = [f"{topic} {topic} ." for _ in range(5)]
        item["random_negative_responses"] = [said(other, drawn) for _ in range(5)]
        items.append(item)
    return items


def fed_items(drawn: random.Random) -> list[dict[str, Any]]:
    """Twelve replies and ten dialogues of two exchanges."""
    items: list[dict[str, Any]] = []
    for i in range(22):
        lines = [f"{who}: {said(drawn.choice(TOPICS), drawn)}" for who in ("User", "System") * 2]
        item = {"context": "\n".join(lines), "system": "Meena", "annotations": {"Overall": [drawn.randint(0, 4)] * 2}}
        items.append(item | ({"response": f"System: {said(drawn.choice(TOPICS), drawn)}"} if i < 12 else {}))
    return items


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rated_sets(tmp_path_factory.mktemp("data"))


def write_rated_sets(folder: Path) -> Path:
    drawn = random.Random(5)

    def talk(n: int) -> list[str]:
        return [said(drawn.choice(TOPICS), drawn) for _ in range(n)]

    items = []
    for i in range(36):
        first, second, reply = talk(3)
        name = ("convai2", "dailydialog", "empatheticdialogues")[i % 3]
        item = grade_item(i, name, "AB"[i % 2], reply, [drawn.randint(1, 5) for _ in range(3)])
        items.append(item | {"Context": f"{first}|||{second}"})
    write_grade(folder / "grade", items)
    rows = []
    for i in range(10):
        first, second, reply = talk(3)
        row = GUPTA | {"context_id": f"{i}_0", "response": reply, "context": f"{first}||||{second}"}
        rows.append(row | {"human_average_rating": f"{drawn.uniform(1, 5):.2f}"})
    write_gupta(folder / "multiref_dailydialog", rows)
    rated = []
    for _ in range(10):
        first, gold, one, two = talk(4)
        replies = {"Original Ground Truth": (gold, [5, 4, 5])}
        replies |= {name: (text, [drawn.randint(1, 5) for _ in range(3)]) for name, text in (("A", one), ("B", two))}
        rated.append(usr_item(f"{first}\n", replies))
    write_usr(folder / "usr", rated, rated[:9])
    write_fed(folder / "fed", fed_items(drawn))
    (folder / "dailydialog_plusplus").mkdir()
    lines = [json.dumps(item) + "\n" for item in plusplus_items()]
    (folder / "dailydialog_plusplus" / "test.json").write_text("".join(lines))
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_scorer(tmp_path_factory.mktemp("model"), epochs=3, n=80)


@pytest.fixture
def options(data: Path, model: Path) -> list[str]:
    named = [part for name in ("one", "two") for part in ("-m", f"{name}=relevance(model={str(model)!r})")]
    named += ["-m", "cosine", "-m", "length"]
    return ["--data", str(data), "--encoder", str(model.parent / "encoder"), "--resamples", "20", *named]


def test_tables_have_every_scorer_blend_and_set(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert relevance.main([*options, "--blend", "one, cosine", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    seen = {(row["set"], row["scorer"], row["measure"]) for row in found["rows"]}
    scorers = ("one", "two", "cosine", "length", "blend of all", "blend without length", "one & cosine")
    wanted = {(name, s, c) for name in KNOWN for s in scorers for c in ("spearman", "pearson")}
    wanted |= {("DailyDialog++", s, f"auc {kind}") for s in scorers[:3] for kind in relevance.KINDS}
    assert seen == wanted
    assert found["weights"]["one & cosine"].keys() == KNOWN.keys()
    assert relevance.main(options) == 0
    text = capsys.readouterr().out
    for row in found["rows"]:
        if row["scorer"] == "one & cosine":
            continue
        part = text.split(f"\n{row['set']} (")[1].split("\n\n")[0]
        line = next(line for line in part.splitlines() if line.startswith(f"{row['scorer']:<32}"))
        assert f"{row['value']:.3f}  [" in line
    assert "best published                  0.604  DSTC10 team 8" in text


def test_a_model_trained_again_in_place_is_scored_again(data: Path, model: Path, tmp_path: Path) -> None:
    samples, spec = rated_sets(data)["FED turn"].samples, f"relevance(model={str(tmp_path / 'model')!r})"
    seen = []
    for temperature in (1.0, 3.0):
        shutil.copytree(model, tmp_path / "model", dirs_exist_ok=True)
        facts = json.loads((tmp_path / "model" / "model.json").read_text())
        (tmp_path / "model" / "model.json").write_text(json.dumps(facts | {"temperature": temperature}))
        seen += [relevance.scorers({"one": spec}, keep=tmp_path / "scores")["one"](samples).tolist() for _ in range(2)]
    assert seen[0] == seen[1] != seen[2] == seen[3]
    assert len(list((tmp_path / "scores").iterdir())) == 2


def test_figures_are_those_of_a_literal_count(
    options: list[str], data: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert relevance.main([*options, "--json"]) == 0
    found = {
        (row["set"], row["measure"]): row
        for row in json.loads(capsys.readouterr().out)["rows"]
        if row["scorer"] == "one"
    }
    scorer = RelevanceScorer.load(model)
    samples = rated_sets(data)["USR Topical-Chat"].samples
    assert found["USR Topical-Chat", "pearson"]["n"] == len(samples) == 20  # without the original replies
    ours = scorer.scores([[t.text for t in s.context] for s in samples], [s.response for s in samples]).tolist()
    people = [np.mean([r.value or 0 for r in s.ratings if r.aspect == "overall"]) for s in samples]
    expected = np.corrcoef(ours, people)[0, 1]
    assert found["USR Topical-Chat", "pearson"]["value"] == pytest.approx(expected, abs=1e-5)
    rated: dict[str, list[float]] = {}
    for item in plusplus_items():
        for kind in ("positive", *relevance.KINDS):
            replies = item[f"{kind}_responses"]
            rated.setdefault(kind, []).extend(scorer.scores([item["context"]] * 5, replies).round(9).tolist())
    for kind in relevance.KINDS:
        pairs = [(g > b) + (g == b) / 2 for g in rated["positive"] for b in rated[kind]]
        row = found["DailyDialog++", f"auc {kind}"]
        assert row["value"] == pytest.approx(np.mean(pairs), abs=2e-3)
        assert row["ci"][0] <= row["value"] <= row["ci"][1]


def test_wrong_options_are_one_line(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, says in (
        (["--data", str(data), "-m", "folder"], "write -m NAME=SPEC"),
        (["--data", str(data), "-m", f"a=relevance(model={str(data)!r})"], "no model in the folder"),
        (["--data", str(data), "--rated", "-m", "length", "--blend", "length,blue"], "'blue', which is not a scorer"),
    ):
        assert relevance.main(arguments) == 2
        told = capsys.readouterr().err
        assert says in told
        assert told.count("\n") == 1
