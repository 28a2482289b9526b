from __future__ import annotations

import importlib
import io
import json
import lzma
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from interloq import evaluate
from interloq.rate.model import RaterModel
from interloq.retrieve.training_log import TrainingLog
from interloq.vectors.glove.settings import Glove
from tests.made_bert import small_bert_rater, tiny_bert
from tests.made_rater import TOPICS, said, small_rater
from tests.made_relevance import small_scorer
from tests.made_ruber import random_scorer
from tests.published_layouts import GUPTA, grade_item, usr_item, write_grade, write_gupta, write_usr

RECIPES = Path(__file__).parents[2] / "recipes"
MORE = {
    "BERTScore, extended references",
    "relevance",
    "relevance & vBERTScore",
    "vBERTScore, inside",
    "υBLEU, BERT rater and retrieval",
    "υBLEU, gold rated",
    "υBLEU, matched negatives",
    "υBLEU, signed_max",
}
SETS = ["GRADE DailyDialog", "multi-reference DailyDialog", "USR Topical-Chat", "USR PersonaChat"]


@pytest.fixture(scope="module")
def recipe() -> Iterator[ModuleType]:
    """The recipe with small word vectors."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(RECIPES))
        module = importlib.import_module("vbleu_tables")
        patch.setattr(importlib.import_module("retrieval"), "GLOVE", Glove(dimensions=8, epochs=2, min_count=1))
        yield module


def talk(drawn: random.Random, turns: int) -> list[str]:
    topic = drawn.choice(TOPICS)
    return [said(topic, drawn) for _ in range(turns)]


def plusplus_items() -> list[dict[str, Any]]:
    drawn, items = random.Random(9), []
    for _ in range(12):
        topic, other = drawn.sample(TOPICS, 2)
        replies = {
            "positive": [said(topic, drawn) for _ in range(5)],
            "adversarial_negative": [f"{topic} {topic}" for _ in range(5)],
            "random_negative": [said(other, drawn) for _ in range(5)],
        }
        context = [said(topic, drawn), f"{said(topic, drawn)} ?"]
        items.append({"context": context, **{f"{kind}_responses": found for kind, found in replies.items()}})
    return items


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few rated replies in each of the published layouts, and logs on the same topics."""
    drawn, folder = random.Random(5), tmp_path_factory.mktemp("data")
    items = []
    for i in range(20):
        first, second, reference, reply = talk(drawn, 4)
        item = grade_item(i, "dailydialog", "AB"[i % 2], reply, [drawn.randint(1, 5) for _ in range(3)])
        items.append(item | {"Context": f"{first}|||{second}", "Reference": reference})
    write_grade(folder / "grade", items, "{Reference}")
    rows = []
    for i in range(10):
        first, second, *written = talk(drawn, 5)
        for model in "ab":
            row = GUPTA | {"context_id": f"{i}_0", "model": model, "response": said(drawn.choice(TOPICS), drawn)}
            row |= {"context": f"{first}||||{second} ?", "prevgt": written[0], "all_references": "\t".join(written)}
            rows.append(row | {"human_average_rating": f"{drawn.uniform(1, 5):.2f}"})
    write_gupta(folder / "multiref_dailydialog", rows)
    rated = []
    for _ in range(10):
        first, gold, good, bad = talk(drawn, 4)
        replies = {"Original Ground Truth": (gold, [5, 4, 5])}
        for model, reply in (("A (p = 0.3)", good), ("B", bad)):
            replies[model] = (reply, [drawn.randint(1, 5) for _ in range(3)])
        rated.append(usr_item(f"{first}\n", replies))
    write_usr(folder / "usr", rated, rated[:9])
    lines = [" __eou__ ".join(talk(drawn, 4)) + " __eou__\n" for _ in range(40)]
    (folder / "dailydialog" / "train").mkdir(parents=True)
    (folder / "dailydialog" / "train" / "dialogues_train.txt").write_text("".join(lines))
    with lzma.open(folder / "reddit_pairs.jsonl.xz", "wt") as file:
        for i in range(60):
            utterance, response = talk(drawn, 2)
            file.write(json.dumps({"id": str(i), "utterance": utterance, "response": response}) + "\n")
    (folder / "dailydialog_plusplus").mkdir()
    lines = [json.dumps(item) + "\n" for item in plusplus_items()]
    (folder / "dailydialog_plusplus" / "test.json").write_text("".join(lines))
    return folder


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    small_rater(folder, epochs=12, utterances=160)
    small_rater(folder / "second", seed=1)
    random_scorer(folder / "ruber")
    small_bert_rater(folder / "bert")
    return {
        "rater": folder / "rater",
        "matched": folder / "second" / "rater",
        "ruber": folder / "ruber",
        "bert-rater": folder / "bert" / "rater",
        "encoder": tiny_bert(folder / "encoder"),
        "relevance": small_scorer(folder / "scorer"),
    }


@pytest.fixture(scope="module")
def options(data: Path, models: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    work = tmp_path_factory.mktemp("work")
    folders = [part for name, path in models.items() for part in (f"--{name}", str(path))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTERLOQ_CACHE", str(work / "cache"))
        yield ["--data", str(data), "--work", str(work), "--resamples", "30", *folders]


@pytest.fixture(scope="module")
def printed(recipe: ModuleType, options: list[str]) -> tuple[str, dict[str, Any]]:
    """The tables, and the same as JSON."""
    shown = []
    for more in ([], ["--json"]):
        with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as error:
            code = recipe.main([*options, *more])
        assert code == 0, error.getvalue()
        shown.append(out.getvalue())
    return shown[0], json.loads(shown[1])


def test_every_table_is_there(printed: tuple[str, dict[str, Any]], recipe: ModuleType) -> None:
    text, tables = printed
    assert list(tables["metrics"]) == SETS
    assert list(tables["retrieval"]) == SETS[:2]
    assert list(tables["rater"]) == ["Bi-GRU", "Bi-GRU, matched negatives", "BERT"]
    for name in SETS:
        assert f"Metrics: {name} (" in text
        rows = {row["metric"] for row in tables["metrics"][name]["rows"]}
        assert rows == {*recipe.PUBLISHED, *MORE} - {recipe.DELTA}
    for name in SETS[:2]:
        assert f"References by retrieval, BLEU-2: {name}" in text
        forms = [row["form"] for row in tables["retrieval"][name]]
        assert {*recipe.PLAIN_FORMS, recipe.ENCODER} < set(forms)
    assert text.count("n/a") >= len(SETS)  # ΔBLEU
    assert text.count("people  ") == 2  # USR names its annotators


def test_figures_of_the_tables_are_printed(printed: tuple[str, dict[str, Any]]) -> None:
    text, tables = printed
    for name in SETS:
        part = text.split(f"Metrics: {name} (")[1].split("findings of the paper")[0]
        for row in tables["metrics"][name]["rows"]:
            line = next(line for line in part.splitlines() if line.startswith(f"{row['metric']:<34}"))
            assert len(line) == len(part.splitlines()[1])  # under its heading
            value = row["with_mean"]["spearman"]["value"]
            assert f"{math.nan if value is None else value:.3f}" in line
    for name, found in tables["rater"].items():
        part = text.split(f"DailyDialog++, {name}:")[1].split("\nThe rater")[0]
        for each in found:
            assert f"AUC {each['auc']:.3f}" in part


def test_claims_are_marked_where_they_do_not_hold(printed: tuple[str, dict[str, Any]], recipe: ModuleType) -> None:
    text, tables = printed
    marks = []
    for name in SETS:
        rows = {row["metric"]: row["with_mean"] for row in tables["metrics"][name]["rows"]}
        part = text.split(f"Metrics: {name} (")[1].split("findings of the paper")[1].split("\n\n")[0]
        for higher, lower in recipe.CLAIMS:
            line = next(line for line in part.splitlines() if line.startswith(f"  {higher} > {lower}  "))
            for coefficient in ("spearman", "pearson"):
                first, second = (rows[metric][coefficient]["value"] for metric in (higher, lower))
                if first is not None and second is not None and abs(first - second) > 1e-9:  # -0.000 and +0.000
                    mark = f"{coefficient} {first - second:+.3f}"
                    assert (f"{mark} " in line) or line.endswith(mark)
                    said_ = line.split(mark)[1].split("   ")[0]
                    assert said_.endswith("NO") == (first - second <= 0)
                    marks.append(said_.endswith("NO"))
    assert {True, False} == set(marks)


def test_a_row_is_the_correlation_of_its_metric(
    printed: tuple[str, dict[str, Any]], recipe: ModuleType, data: Path, models: Mapping[str, Path], options: list[str]
) -> None:
    rows = {row["metric"]: row for row in printed[1]["metrics"]["GRADE DailyDialog"]["rows"]}
    samples = recipe.every_set(data)["GRADE DailyDialog"]
    people = [sum(r.value for r in s.ratings) / len(s.ratings) for s in samples]
    (index,) = Path(options[3]).glob("*/GloVe-utterance")
    metric = f"vbleu(index={str(index)!r},rater=gru(model={str(models['rater'])!r}),tokenizer='13a(lowercase=True)')"
    scores = evaluate(metric, samples).by_sample
    ours = [scores[s.key] for s in samples]
    assert rows["υBLEU"]["with_mean"]["spearman"]["value"] == pytest.approx(correlation(ranks(ours), ranks(people)))
    assert rows["υBLEU"]["with_mean"]["pearson"]["value"] == pytest.approx(correlation(ours, people))


def ranks(values: Sequence[float]) -> list[float]:
    """Equal values share the mean of their places."""
    return [sum(other < value for other in values) + (values.count(value) + 1) / 2 for value in values]


def correlation(first: Sequence[float], second: Sequence[float]) -> float:
    means = [sum(values) / len(values) for values in (first, second)]
    a, b = ([value - mean for value in values] for values, mean in zip((first, second), means, strict=True))
    return sum(x * y for x, y in zip(a, b, strict=True)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


def test_auc_and_rho_are_those_of_a_literal_count(
    printed: tuple[str, dict[str, Any]], models: Mapping[str, Path]
) -> None:
    items, kinds = plusplus_items(), ("positive", "adversarial_negative", "random_negative")
    asked = [
        (kind, (item["context"][1], item["positive_responses"][0], reply))
        for item in items
        for kind in kinds
        for reply in (item["positive_responses"][1:] if kind == "positive" else item[f"{kind}_responses"])
    ]
    chances = RaterModel.load(models["rater"]).chances([triplet for _, triplet in asked]).tolist()
    rated = [(kind, chance) for (kind, _), chance in zip(asked, chances, strict=True)]
    good = [chance for kind, chance in rated if kind == "positive"]
    for found in printed[1]["rater"]["Bi-GRU"]:
        bad = [chance for kind, chance in rated if kind == found["against"]]
        wins = sum((g > b) + (g == b) / 2 for g in good for b in bad)
        assert found["auc"] == pytest.approx(wins / (len(good) * len(bad)))
        labels = [1.0] * len(good) + [0.0] * len(bad)
        assert found["spearman"] == pytest.approx(correlation(ranks([*good, *bad]), ranks(labels)))
        assert found["mean_positive"] == pytest.approx(sum(good) / len(good))
        assert found["mean_other"] == pytest.approx(sum(bad) / len(bad))
        low, high = found["auc_ci"]
        assert low <= found["auc"] <= high
    adversarial, far = printed[1]["rater"]["Bi-GRU"]
    assert (adversarial["against"], far["against"]) == ("adversarial_negative", "random_negative")
    assert far["auc"] > 0.8  # the rater has learned topics


def test_a_second_run_says_the_same(
    recipe: ModuleType,
    options: list[str],
    printed: tuple[str, dict[str, Any]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert recipe.main([*options, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == printed[1]


def test_networks_that_are_not_given_are_trained_without_the_test_sets(
    recipe: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Any, Path]] = []
    monkeypatch.setattr(recipe, "train", lambda job, folder, **_: asked.append((job, folder)))
    for name in ("log.jsonl", "tested.jsonl"):
        (tmp_path / name).write_text(json.dumps({"id": "1", "utterance": "a", "response": "b"}) + "\n")
    log, tested = str(tmp_path / "log.jsonl"), tmp_path / "tested.jsonl"
    assert recipe.trained("ruber", None, [log], tested, tmp_path) == tmp_path / "ruber"
    ((job, folder),) = asked
    assert folder == tmp_path / "ruber"
    assert job.source == TrainingLog([log], [str(tested)]).fingerprint != TrainingLog([log]).fingerprint


def test_missing_data_are_said_in_one_line(
    recipe: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("INTERLOQ_DATA", raising=False)
    monkeypatch.setenv("INTERLOQ_CACHE", "off")
    for arguments, message in (([], "set INTERLOQ_DATA"), (["--data", str(tmp_path)], "no grade in")):
        assert recipe.main(arguments) == 2
        said_ = capsys.readouterr().err
        assert message in said_
        assert said_.count("\n") == 1
