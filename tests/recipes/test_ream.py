"""The recipe of REAM# on small made-up data in the layouts of the published sets."""

from __future__ import annotations

import io
import json
import lzma
import random
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ream
import ream_augment
import ream_curves
import ream_labels
import ream_sets
import ream_simulation
from ream_tables import print_simulation
from results import load_measured

from interloq import write
from interloq.records import Pair
from interloq.reliability.labels import NONE, QueryScores, RatedQuery, compute_labels
from interloq.reliability.settings import TRAINING, ReliabilitySettings
from tests.made_relevance import TOPICS, said, small_scorer
from tests.published_layouts import GUPTA, write_gupta

SYSTEMS = ("human", "hredf", "CVAEf", "seq2seqf", "dualencoder_train")
CONTEXTS = 8
SETS = DSTC7, RATED, PLUSPLUS = "DSTC7", "Gupta", "DailyDialog++"
SMALL = ReliabilitySettings(hidden=8, ensemble=2, foreign=3, sizes="1,2,3", per_size=5, context=24, reply=12)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("data"))


def write_data(folder: Path) -> Path:
    """Gupta's rated replies and test set, SCARCE's references, and DailyDialog++ with one of Gupta's contexts."""
    drawn, rows, dialogues, scarce = random.Random(0), [], [], []
    for i in range(CONTEXTS):
        topic, other = drawn.sample(TOPICS, 2)
        context, texts = [said(topic, drawn) for _ in range(2)], [said(topic, drawn) for _ in range(5)]
        four = "\t".join([*texts[1:4], texts[0]])
        for system, about, rating in zip(SYSTEMS, [topic, topic, other, other, topic], "54213", strict=True):
            facts = {"model": system, "context_id": f"{i}_1", "human_average_rating": rating, "prevgt": texts[0]}
            reply = {"response": said(about, drawn), "all_references": four, "context": "||||".join(context)}
            rows.append(GUPTA | facts | reply)
            more = [said(topic, random.Random(n + 100 * i)) for n in range(6)]
            scarce.append({"context_id": f"{i}_1", "model": system, "all_references": [*texts[:4], *more]})
        turns = [{"text": context[0], "responses": ["-"]}, {"text": context[1], "responses": texts}, {"text": "bye"}]
        dialogues.append({"index": i, "dialogue": turns})
    write_gupta(folder / "multiref_dailydialog", rows)
    _lines(folder / "multiref_dailydialog" / "multireftest.json", dialogues)
    (folder / "scarce").mkdir()
    (folder / "scarce" / "scarce.multiref.json").write_text(json.dumps(scarce))
    (folder / "dailydialog_plusplus").mkdir()
    for part in ("dev", "test"):
        items = [_plusplus(drawn) for _ in range(9)]
        items[0]["context"] = [dialogues[0]["dialogue"][1]["text"].upper()]  # type: ignore[index]
        _lines(folder / "dailydialog_plusplus" / f"{part}.json", items)
    with lzma.open(folder / "dstc7_part.jsonl.xz", "wt") as file:
        file.writelines(json.dumps(_dstc7(drawn)) + "\n" for _ in range(CONTEXTS))
    return folder


def _dstc7(drawn: random.Random) -> dict[str, Any]:
    topic, other = drawn.sample(TOPICS, 2)
    references = [f"{said(topic, drawn)} {i}" for i in range(14)]
    replies = []
    for i, system in enumerate(("Human", "Constant", "TeamA", "TeamB", "TeamC", "TeamD")):
        response = references[0].upper() if system == "Human" else said(topic if i % 2 else other, drawn)
        answers = [[f"judge {n}", 4.0 if i % 2 else 2.0, float(drawn.randint(1, 5))] for n in range(3)]
        replies.append({"system": system, "response": response, "ratings": answers})
    return {"grounding": said(topic, drawn), "references": [*references, replies[1]["response"]], "replies": replies}


def _plusplus(drawn: random.Random) -> dict[str, Any]:
    topic, other = drawn.sample(TOPICS, 2)
    return {
        "context": [said(topic, drawn), said(topic, drawn)],
        "positive_responses": [said(topic, drawn) for _ in range(5)],
        "adversarial_negative_responses": [said(other, drawn) for _ in range(5)],
        "random_negative_responses": [said(other, drawn) for _ in range(5)],
    }


def _lines(path: Path, items: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(item) + "\n" for item in items))


@pytest.fixture(scope="module")
def options(data: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    work, model = tmp_path_factory.mktemp("work"), small_scorer(tmp_path_factory.mktemp("model"), epochs=2, n=80)
    drawn = random.Random(1)
    topics = [drawn.choice(TOPICS) for _ in range(400)]
    pairs = [Pair(f"p/{i}", said(topic, drawn), said(topic, drawn)) for i, topic in enumerate(topics)]
    write(work / "pairs.jsonl", pairs, kind="pairs")
    encoder = str(model.parent / "encoder")
    named = ["--encoder", encoder, "--sentences", encoder, "--scorer", f"relevance(model={str(model)!r})"]
    return ["--data", str(data), "--work", str(work), *named, "--epochs", "1", "--resamples", "20"]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The recipe with small networks."""
    monkeypatch.setattr(ream, "SETTINGS", dict.fromkeys(SETS, SMALL))
    monkeypatch.setattr(ream, "SIZES", {DSTC7: (3, 5), RATED: (3, 5), PLUSPLUS: (1, 2, 3)})
    monkeypatch.setattr(ream_augment, "DRAWS", 2)
    monkeypatch.setattr(ream, "FOLDS", dict.fromkeys(SETS, 2))
    monkeypatch.setattr(ream, "SWEEP", {"negatives": (0,), "weight_decay": (0.0,)})
    monkeypatch.setenv("INTERLOQ_VECTOR_CACHE", "")


def printed(options: list[str], *more: str) -> str:
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as error:
        code = ream.main([*options, *more])
    assert code == 0, error.getvalue()
    return out.getvalue()


def test_labels_errors_and_sweep(small: None, options: list[str]) -> None:
    found = json.loads(printed(options, "--only", "labels,errors,sweep", "--json"))
    assert found["labels"]["Gupta, BLEU*"]["queries"] == CONTEXTS
    assert found["labels"]["Gupta, BLEU*"]["halves"] is None
    assert found["labels"]["DailyDialog++, BLEU*"]["halves"] is not None
    rows = found["errors"]["Gupta, BERTScore"]
    assert [row["size"] for row in rows] == [3, 5, 0]
    assert rows[-1]["gains"]["mean"][0] == pytest.approx(rows[-1]["mse"]["mean"] - rows[-1]["mse"]["REAM#"])
    ways = ["default", "negatives 0", "weight_decay 0.0", "margin 0.02", "margin 0.02, residual True"]
    assert list(found["sweep"])[:6] == [f"BERTScore, {way}" for way in (*ways, "test.json, default")]
    assert len({row["mse"]["REAM#"] for row in found["sweep"].values()}) >= 10


def test_augmentation_and_annotators(small: None, options: list[str]) -> None:
    text = printed(options, "--only", "augment,annotators")
    for row in ("BERTScore precision; gold + logs: REAM#(BS), DailyDialog++ |", "BLEU-4; people + logs: Mix of 4 |",
                "BERTScore; gold + logs: Mix, DailyDialog++ |", "BLEU*; SCARCE |",
                "BERTScore; assisted, round 10 |", "gold + logs: rater |"):  # fmt: skip
        assert row in text


def test_growth_starts_from_the_same_reply_and_ends_at_what_was_chosen(small: None, options: list[str]) -> None:
    every = json.loads(printed(options, "--only", "growth", "--json"))["growth"]
    assert list(every) == [DSTC7, RATED]
    for name, trained_on in ((DSTC7, DSTC7), (RATED, PLUSPLUS)):
        found = every[name]["ways"]
        ways = ["random", *(f"REAM#({m}), {trained_on}{end}" for m in ("BS", "BLEU*") for end in ("", ", half random"))]
        metrics = ("BERTScore", "BLEU*")
        assert [(row["metric"], row["way"]) for row in found] == [(metric, way) for metric in metrics for way in ways]
        for row in found:
            assert len(row["points"]) == ream_augment.LIMIT
            assert row["gains"][0] == [0, 0, 0]
            assert row["gains"][-1][0] == pytest.approx(row["points"][-1][0] - row["points"][0][0])
        for metric in metrics:
            assert len({row["points"][0][0] for row in found if row["metric"] == metric}) == 1
        assert {row["arm"] for row in every[name]["ends"]} == {"one reference", "Mix", "all", *ways}


def test_findings_and_tables(small: None, options: list[str], tmp_path: Path) -> None:
    path = tmp_path / "ream.json"
    text = printed(options, "--only", "labels,errors,growth,annotators", "--measured", str(path))
    assert "queries): pearson per query by number of references" in text
    measured = load_measured(path)
    assert {finding.item for finding in measured.findings} == {f"004/{n}" for n in (58, 59, 60, 61, 62)}
    deciding = [(one.item, one.data) for one in measured.findings if one.decides]
    assert deciding == [
        ("004/61", "DSTC7"), ("004/60", "DSTC7"), ("004/61", "DSTC7"), ("004/60", "DSTC7"),
        ("004/62", "Gupta, simulated annotators"),
    ]  # fmt: skip
    assert {table.item for table in measured.tables} == {f"004/{n}" for n in (45, 48, 49, 50, 51, 54)}
    chosen = next(table for table in measured.tables if table.item == "004/50")
    raw = next(cells for name, cells in chosen.rows.items() if name.startswith("Raw"))
    assert [cell.published for cell in raw] == [0.246, 0.165, 0.288, 0.209]


def test_differences_per_query_are_over_the_queries_of_both_arms() -> None:
    values = {"a": [0.2, 0.4, np.nan, 0.9], "b": [0.1, np.nan, 0.5, 0.7]}
    found = []
    for arm, by_query in values.items():
        figures = {"spearman": 0.5, "pearson per query": float(np.nanmean(by_query))}
        resampled = {"spearman": np.zeros(10), "pearson per query": np.zeros(10)}
        found.append(ream_augment.Agreement("m", arm, 1, figures, {}, resampled, np.array(by_query)))
    difference = ream_augment.compared(found, [("a", "b")])[1]
    assert difference.difference == pytest.approx(0.15)  # (.1 + .2) / 2
    assert 0.1 - 1e-9 <= difference.ci[0] <= difference.ci[1] <= 0.2 + 1e-9


def test_tables_of_the_simulation(small: None, capsys: Any) -> None:
    found = ream_simulation.simulate(30, SMALL, replace(TRAINING, epochs=1), "cpu", 20)
    print_simulation({"small": found})
    assert "true reliability, chosen by REAM#" in capsys.readouterr().out


def test_curves(data: Path, options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    sizes = {ream_curves.DSTC7: (1, 3, 10), ream_curves.GUPTA: (1, 3, 5), ream_curves.PLUSPLUS: (1, 2, 3)}
    monkeypatch.setattr(ream_curves, "SIZES", sizes)
    monkeypatch.setattr(ream_curves, "OWN", {**ream_curves.OWN, ream_curves.GUPTA: 3})
    monkeypatch.setenv("INTERLOQ_VECTOR_CACHE", "")
    path, encoder = tmp_path / "curves.json", options[options.index("--sentences") + 1]
    given = ["--data", str(data), "--sentences", encoder, "--resamples", "20", "--measured", str(path)]
    assert ream_curves.main(given) == 0
    assert "DailyDialog++, BLEU, not smoothed (16 queries, " in capsys.readouterr().out
    measured = load_measured(path)
    deciding = [(one.item, one.way.partition(":")[0]) for one in measured.findings if one.decides]
    assert deciding == [
        ("004/55", "BLEU*"), ("004/55", "BERTScore"), ("004/56", "BLEU, not smoothed"),
        ("004/57", "BLEU*"), ("004/57", "BERTScore"),
    ]  # fmt: skip
    assert [(table.item, len(table.rows)) for table in measured.tables] == [("004/46", 5)] * 3
    assert ream_curves.main(["--data", str(tmp_path)]) == 2


def test_dstc7_has_no_human_and_no_copies(data: Path) -> None:
    queries = ream_sets.dstc7_queries(data)
    assert [len(query.replies) for query in queries] == [5] * CONTEXTS
    assert all(query.copies.any() for query in queries)
    kept = [ream_sets.drop_copies(query) for query in queries]
    assert not any(query.copies.any() for query in kept)
    assert [len(query.references) for query in kept] == [14] * CONTEXTS


def test_unknown_part_and_missing_data(small: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ream.main(["--data", str(tmp_path), "--only", "tables"]) == 2
    assert "--only names 'tables'" in capsys.readouterr().err
    assert ream.main(["--data", str(tmp_path), "--work", str(tmp_path), "--only", "labels"]) == 2


def test_references_by_source(data: Path) -> None:
    found = ream_sets.gupta(data)
    assert len(found) == CONTEXTS
    for one in found:
        assert len(one.texts["people"]) == 5
        assert one.texts["people"][0] == one.texts["gold"][0]
        assert set(one.texts["people"][:4]) < set(one.texts["SCARCE"])
        assert one.texts["people"][4] not in one.texts["SCARCE"]
        assert one.query.references[one.columns(one.texts["SCARCE"])[0]] == one.texts["SCARCE"][0]


def test_plusplus_excludes_contexts_of_others(data: Path) -> None:
    sets = ream_sets
    every, without = (sets.plusplus_queries(data, "dev", some) for some in ([], [q.query for q in sets.gupta(data)]))
    assert (len(every), len(without)) == (9, 8)
    assert not set(every[0].references) & set(every[0].replies)
    assert every[1].ratings.tolist() == [1.0, 1.0, *[0.0] * 10]


# ---- labels ----------------------------------------------------------------------------------------------------------


def noisy_queries(true: np.ndarray[Any, Any], replies: int) -> list[QueryScores]:
    """Queries whose two references have scores with these correlations."""
    rng, found = np.random.default_rng(0), []
    for r in true:
        ratings = rng.standard_normal(replies)
        scores = r * ratings[:, None] + np.sqrt(1 - r * r) * rng.standard_normal((replies, 2))
        query = RatedQuery(("q",), tuple(map(str, range(replies))), ratings, ("a", "b"))
        found.append(QueryScores(query, scores, "mean"))
    return found


def test_labels_that_differ_only_by_chance_have_nothing_to_learn() -> None:
    same = ream_labels.label_noise(noisy_queries(np.full(400, 0.0), 5), 50)
    assert same.by_chance == pytest.approx(1 / 4, abs=0.01)  # 1 / (n − 1) without correlation
    assert same.learnable < 0.1
    assert same.halves is None


def test_labels_of_queries_that_differ_can_be_learned() -> None:
    true = np.where(np.arange(300) % 2, 0.9, -0.9)
    found = ream_labels.label_noise(noisy_queries(true, 12), 20)
    assert found.learnable > 0.8
    assert (found.halves or 0) > 0.8
    assert found.differences is not None
    assert abs(found.differences) < 0.5


# ---- simulation ------------------------------------------------------------------------------------------------------


def test_truth_of_the_simulation_is_the_limit_of_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ream_simulation
    monkeypatch.setattr(module, "REPLIES", 20_000)
    world = module.World(4)
    sets = np.full((3, 8), NONE, dtype=np.int32)
    sets[0, :1], sets[1, :3], sets[2] = [0], [3, 4, 5], range(8)
    for number, one in enumerate(world.scored()):
        clusters = np.where(sets == NONE, NONE, world.references[number][np.maximum(sets, 0)])
        truth = world.truth(np.full(3, number), clusters)
        np.testing.assert_allclose(compute_labels(one, sets), truth, atol=0.03)


# ---- arms ------------------------------------------------------------------------------------------------------------


def test_arms() -> None:
    module = ream_augment
    start, candidates = [("a",), ("b", "c")], [tuple(f"x{i}" for i in range(30)), ("b", "y")]
    random_ones = module.at_random(start, candidates, 0)
    assert [len(texts) for texts in random_ones] == [10, 3]
    assert module.first_ones(start, candidates)[0] == ("a", *(f"x{i}" for i in range(9)))
    assert module.half_random([tuple("abcdefg")], [("h", "i")], 0)[0][:5] == tuple("abcde")
    assert module.union([("a", "b")], [("b", "c")]) == [("a", "b", "c")]
