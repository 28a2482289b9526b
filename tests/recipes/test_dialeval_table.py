from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import dialeval_table
import numpy as np
import pytest
from scipy import stats

from interloq import Sample, evaluate
from tests.made_bert import tiny_bert
from tests.made_lm import tiny_lm
from tests.published_layouts import grade_item, packed, usr_item, write_grade, write_usr

GROUND_TRUTH = "Original Ground Truth"
WORDS = ["i", "see", "you", "there", "then", "good", "bye", "."]


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """USR with three systems and the original replies, GRADE with two or three systems; random words and scores."""
    draw = random.Random(7)

    def text() -> str:
        return draw.choice([" ", "  "]).join(draw.choices(WORDS, k=draw.randint(1, 9)))

    def scores() -> list[int]:
        return [draw.randint(1, 5) for _ in range(3)]

    models = [GROUND_TRUTH, "A", "B", "C"]
    contexts = [usr_item(f"context {i}", {model: (text(), scores()) for model in models}) for i in range(8)]
    write_usr(tmp_path / "usr", topical=contexts[:5], persona=contexts[5:])
    cells = (
        [("convai2", m) for m in "xyz"]
        + [("dailydialog", m) for m in "xy"]
        + [("empatheticdialogues", m) for m in "xy"]
    )
    items = [grade_item(0, dataset, model, text(), scores()) for dataset, model in cells for _ in range(6)]
    items = [item | {"ID": i, "Reference": text()} for i, item in enumerate(items)]
    packed(write_grade(tmp_path / "made" / "grade", items, "{Reference}")).rename(tmp_path / "grade.tar.gz")
    return tmp_path


def rows_of_usr(data: Path) -> list[tuple[str, str, str, float]]:
    """(system, reply, reference, mean Overall) straight from the file."""
    rows = []
    for item in json.loads((data / "usr" / "usr_topical_chat.json").read_text()):
        texts = {reply["model"]: reply["response"].strip() for reply in item["responses"]}
        for reply in item["responses"]:
            if reply["model"] != GROUND_TRUTH:
                mean = float(np.mean(reply["Overall"]))
                rows.append((reply["model"], texts[reply["model"]], texts[GROUND_TRUTH], mean))
    return rows


def expected_usr(data: Path, spec: str) -> dict[tuple[str, str], float]:
    rows = rows_of_usr(data)
    scores = [evaluate(spec, [Sample("1", (), h, [r])]).value for _, h, r, _ in rows]
    people = [mean for *_, mean in rows]
    systems = sorted({system for system, *_ in rows})
    means = [
        [float(np.mean([v for v, row in zip(values, rows, strict=True) if row[0] == s])) for s in systems]
        for values in (scores, people)
    ]
    tests: dict[str, Any] = {"pearson": stats.pearsonr, "spearman": stats.spearmanr}
    turn = {("turn", name): test(scores, people).statistic for name, test in tests.items()}
    return turn | {("system", name): test(*means).statistic for name, test in tests.items()}


def test_figures_are_those_of_a_literal_computation(tiny: Path) -> None:
    figures = list(dialeval_table.figures(tiny))
    assert len(figures) == 40
    for name, spec in dialeval_table.METRICS.items():
        expected = expected_usr(tiny, spec)
        found = {(f.level, f.coefficient): f for f in figures if f.dataset == "usr topical" and f.metric == name}
        assert {key: figure.ours for key, figure in found.items()} == pytest.approx(expected, abs=1e-9)
        assert (found["turn", "pearson"].n, found["system", "pearson"].n) == (15, 3)


def test_a_mismatch_is_marked_and_fails(
    tiny: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Made-up replies do not give the published figures; with their own figures as the published ones they agree."""
    monkeypatch.delenv("INTERLOQ_DATA", raising=False)
    assert dialeval_table.main(["--data", str(tiny)]) == 1
    lines = capsys.readouterr().out.splitlines()
    figures = list(dialeval_table.figures(tiny))
    wrong = sum(not figure.agrees for figure in figures)
    assert sum("MISMATCH" in line for line in lines) == wrong > 0
    assert lines[-1] == f"{40 - wrong} of 40 figures agree to 3 decimals"
    ours = np.array([round(figure.ours, 3) for figure in figures]).reshape(10, 4)
    plain = [key for key in dialeval_table.PUBLISHED if key[2] in dialeval_table.METRICS]
    monkeypatch.setattr(dialeval_table, "PUBLISHED", dict(zip(plain, map(tuple, ours), strict=True)))
    monkeypatch.setenv("INTERLOQ_DATA", str(tiny))
    assert dialeval_table.main([]) == 0
    assert "MISMATCH" not in capsys.readouterr().out


def test_metrics_with_models_stand_beside_the_published_ones(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    encoder, lm = str(tiny_bert(tmp_path / "encoder")), str(tiny_lm(tmp_path / "lm"))
    figures = list(dialeval_table.figures(tiny, encoder, lm))
    assert len(figures) == 80
    with_models = [f for f in figures if f.metric in ("BERTScore", "Deep AM-FM")]
    assert len(with_models) == 40
    assert {f.agrees for f in with_models} == {None}
    assert all(abs(f.ours) <= 1 for f in with_models)
    assert dialeval_table.main(["--data", str(tiny), "--encoder", encoder]) == 1
    printed = capsys.readouterr().out
    assert f"BERTScore: ours bertscore(model={encoder!r}); published with" in printed
    assert "Deep AM-FM" not in printed
    assert "of 40 figures agree" in printed


def test_json_holds_every_figure(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dialeval_table.main(["--data", str(tiny), "--json"])
    printed = json.loads(capsys.readouterr().out)
    assert len(printed["figures"]) == 40
    assert {"dataset", "metric", "published", "ours", "agrees", "n", "note"} <= printed["figures"][0].keys()


@pytest.mark.parametrize(
    ("ours", "published", "same"),
    [(0.21596, 0.216, True), (0.2154999, 0.216, False), (-1e-17, 0.0, True), (float("nan"), 0.0, False)],
)
def test_agreement_is_equality_of_rounded_figures(ours: float, published: float, same: bool) -> None:
    assert dialeval_table.agree(ours, published) is same


@pytest.mark.skipif(not os.environ.get("INTERLOQ_DATA"), reason="INTERLOQ_DATA names no folder with USR and GRADE")
def test_all_published_figures_agree(capsys: pytest.CaptureFixture[str]) -> None:
    assert dialeval_table.main([]) == 0
    assert "40 of 40 figures agree to 3 decimals" in capsys.readouterr().out
