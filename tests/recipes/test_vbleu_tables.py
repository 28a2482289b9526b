from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import vbleu_tables as recipe
from reference_claims import EIGHT, VARIANTS
from reference_pool import GUPTA, MANNER, sets_with_one_reference, sets_with_references, with_random
from results import load_measured
from scipy.stats import spearmanr

from interloq import Sample, evaluate
from interloq.registry import create
from tests.made_relevance import small_scorer
from tests.recipes.test_reference_pool import write_all
from tests.recipes.test_relevance import plusplus_items

Printed = tuple[str, dict[str, Any]]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_all(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def scorer(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"relevance(model={str(small_scorer(tmp_path_factory.mktemp('model'), epochs=3, n=80))!r})"


@pytest.fixture(scope="module")
def options(data: Path, scorer: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    work = tmp_path_factory.mktemp("work")
    encoder = str(Path(scorer.split("'")[1]).parent / "encoder")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTERLOQ_CACHE", str(work / "cache"))
        patch.setenv("INTERLOQ_VECTOR_CACHE", "")
        arguments = ["--data", str(data), "--work", str(work), "--scorer", scorer]
        yield [*arguments, "--encoder", encoder, "--resamples", "30"]


@pytest.fixture(scope="module")
def printed(options: list[str]) -> Printed:
    """The tables, and the same as JSON from stored scores."""
    shown = []
    for more in ([], ["--json"]):
        with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as error:
            code = recipe.main([*options, *more])
        assert code == 0, error.getvalue()
        shown.append(out.getvalue())
    return shown[0], json.loads(shown[1])


def test_scores_for_other_recipes_are_those_of_the_table(
    printed: Printed, options: list[str], data: Path, scorer: str
) -> None:
    parts = recipe.Parts.of(data, Path(options[3]), scorer, encoder=options[7])
    scores, sets = recipe.default_bertscore(data, parts), sets_with_references(data)
    rows = [row for row in printed[1]["rows"] if row["scorer"] == f"{recipe.BERTSCORE}, {EIGHT}"]
    found = {row["set"]: row["value"] for row in rows if row["measure"] == "spearman"}
    del sets[GUPTA]  # has four gold replies there
    assert {name: found[name] for name in sets} == pytest.approx(
        {name: spearmanr(scores[name], own.human)[0] for name, own in sets.items()}
    )


def test_every_row_claim_and_choice_is_there(printed: Printed, data: Path) -> None:
    text, tables = printed
    sets = list(sets_with_one_reference(data))
    claims = {(claim.higher, claim.lower) for claim in recipe.claims("relevance")}
    assert {(v["claim"]["higher"], v["claim"]["lower"]) for v in tables["verdicts"]} == claims
    assert len(tables["verdicts"]) == len(claims) * (len(sets) + 1)
    assert [choice["set"] for choice in tables["choices"]] == 2 * sets
    for name in sets:
        rows = {row["scorer"] for row in tables["rows"] if row["set"] == name}
        wanted = {row for claim in claims for row in claim}
        wanted |= {f"{metric}, {v}" for metric in (recipe.BLEU, recipe.BERTSCORE) for v in VARIANTS}
        assert wanted <= rows
        assert (f"{recipe.BLEU_4}, SCARCE" in rows) == (name == GUPTA)
    assert list(tables["gold_shares"]) == sets
    for title in ("Spearman with people", "Claims", "BLEU-2: chosen on the other sets", "The rater on DailyDialog++"):
        assert f"\n{title}\n" in text


def test_figures_of_the_tables_are_printed(printed: Printed) -> None:
    text, tables = printed
    for row in tables["rows"]:
        if row["measure"] == "spearman" and row["value"] is not None:
            line = next(line for line in text.splitlines() if line.startswith(f"| {row['scorer']} |"))
            assert f" {row['value']:.3f} " in line
    for v in tables["verdicts"]:
        start = f"| {v['claim']['text']}: {v['claim']['higher']} > {v['claim']['lower']} |"
        line = next(line for line in text.splitlines() if line.startswith(start))
        if v["difference"] is not None:
            assert f"{v['difference']:+.3f} [" in line


def test_findings_are_those_of_the_whole_pool(
    printed: Printed, options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert recipe.main([*options, "--rated", "--measured", str(tmp_path / "whole.json")]) == 0
    assert recipe.main([*options, "--rated", "--manner", "--measured", str(tmp_path / "manner.json")]) == 0
    assert "001/34" in capsys.readouterr().out
    whole, manner = (load_measured(tmp_path / f"{name}.json") for name in ("whole", "manner"))
    deciding = [finding for finding in whole.findings if finding.decides]
    assert {finding.item for finding in deciding} == {"000/73", "000/77", "000/78", "000/80", "000/81", "001/34"}
    assert not any(finding.decides for finding in manner.findings)
    assert all("mean of " in finding.data for finding in deciding)
    (table,) = whole.tables
    assert next(iter(table.rows)) == "BLEU-2, gold"
    assert table.rows["ΔBLEU, rated by people"][0].ours is None
    assert [cell.published for cell in table.rows["υBLEU"]] == [0.334, 0.33, 0.281, 0.371, 0.394, 0.332]
    sets = {row["set"] for row in printed[1]["rows"]}
    values = [
        row["value"] for name in sets for row in spearman_rows(printed[1], name) if row["scorer"] == "BLEU-2, gold"
    ]
    expected = None if None in values else pytest.approx(np.mean(values))
    assert table.rows["BLEU-2, gold"][0].ours == expected
    assert sets == set(MANNER)


FIELDS = {
    "all weighted": "parrot=False,weigh=True,best=None",
    "all": "parrot=False,weigh=False,best=None",
    "best 5": "parrot=False,weigh=False,best=5",
    "best 3 weighted, parrot": "weigh=True,best=3",
}


@pytest.mark.parametrize("label", [*FIELDS, "gold", "15 random"])
def test_a_row_is_the_correlation_of_its_metric(
    printed: Printed, data: Path, scorer: str, options: list[str], label: str
) -> None:
    own, work = sets_with_one_reference(data)["USR PersonaChat"], Path(options[3])
    found = f"index={str(work / 'bm25')!r},rater=by({scorer}),{FIELDS.get(label, '')}"
    plain = {"BLEU-2": "tokenizer='13a(lowercase=True)',order=2", "BERTScore": f"model={options[7]!r}"}
    given = with_random({"a": own}, work / "pairs.jsonl")["a"] if label == "15 random" else own.samples
    rows = {r["scorer"]: r["value"] for r in spearman_rows(printed[1], "USR PersonaChat")}
    for metric, pipeline, name in (("delta_bleu", "vbleu", "BLEU-2"), ("bertscore", "vbertscore", "BERTScore")):
        spec = f"{pipeline}({found},{plain[name]})" if label in FIELDS else f"{metric}({plain[name]})"
        scores = evaluate(spec, given).by_sample
        wanted = spearmanr([scores[sample.key] for sample in own.samples], own.human).statistic
        assert rows[f"{name}, {label}"] == pytest.approx(wanted)


def test_a_joined_row_is_that_of_ruber(printed: Printed, data: Path, scorer: str) -> None:
    own = sets_with_references(data)["USR PersonaChat"]
    gold = "delta_bleu(order=2,tokenizer='13a(lowercase=True)')"
    scores = evaluate(f"ruber(referenced={gold},unreferenced={scorer})", own.samples).by_sample
    wanted = spearmanr([scores[sample.key] for sample in own.samples], own.human).statistic
    rows = {r["scorer"]: r["value"] for r in spearman_rows(printed[1], "USR PersonaChat")}
    assert rows["relevance & BLEU-2, gold"] == pytest.approx(wanted)


def test_shares_count_replies_that_only_gold_replies_decide() -> None:
    gold = np.array([0.5, 0.6, 0.7, 0.8])
    scores = {
        f"{recipe.BERTSCORE}, {label}": gold + np.array([0, 0.1, 0.1, 0.1]) for label in ("15 random", "all weighted")
    }
    scores |= {"BERTScore, gold": gold, "BERTScore, all": gold + 0.1, "BERTScore, best 8, parrot": gold}
    shares = {"15 random": 0.25, "all": 0.0, "best 8, parrot": 1.0, "all weighted": 0.25}
    assert recipe.gold_shares(scores) == shares


def spearman_rows(tables: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [row for row in tables["rows"] if (row["set"], row["measure"]) == (name, "spearman")]


def test_the_raters_auc_is_that_of_a_literal_count(printed: Printed, scorer: str) -> None:
    metric = create(scorer)

    def scores(kind: str) -> list[float]:
        asked = [
            Sample("1", item["context"], reply)
            for item in plusplus_items()
            for reply in item[f"{kind}_responses"][kind == "positive" :]
        ]
        return [float(value) for value in metric.value(metric.stats(asked))]

    good = scores("positive")
    assert len(printed[1]["rater"]) == 2
    for row in printed[1]["rater"]:
        bad = scores(row["measure"].removeprefix("auc "))
        wins = sum((g > b) + (g == b) / 2 for g in good for b in bad)
        assert row["value"] == pytest.approx(wins / (len(good) * len(bad)), abs=1e-3)
        assert row["ci"][0] <= row["value"] <= row["ci"][1]
