"""The papers' tables with the papers' parts, on small made-up data."""

from __future__ import annotations

import io
import json
import random
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
import vbleu_published as recipe
import vbleu_tables
from reference_pool import sets_with_references
from results import load_measured
from scipy.stats import spearmanr

from interloq import Rating, evaluate, load, write
from interloq.vectors.glove.job import train
from interloq.vectors.glove.settings import Glove
from tests.made_relevance import TOPICS, said, small_scorer
from tests.recipes.test_reference_pool import write_all

PERSONA = "USR PersonaChat"


@pytest.fixture(scope="module")
def arguments(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    data, work = write_all(tmp_path_factory.mktemp("data")), tmp_path_factory.mktemp("work")
    model = small_scorer(tmp_path_factory.mktemp("model"), epochs=2, n=60)
    scorer, encoder = f"relevance(model={str(model)!r})", str(model.parent / "encoder")
    drawn = random.Random(0)
    texts = [said(topic, drawn) for topic in TOPICS for _ in range(20)]
    train(texts, work / "glove", Glove(dimensions=8, epochs=2, min_count=1))
    named = ["--vectors", str(work / "glove"), "--rater", f"by({scorer})", "--scorer", scorer, "--encoder", encoder]
    return ["--data", str(data), "--work", str(work), *named, "--resamples", "20", "--as-published"]


def run(arguments: list[str], *more: str) -> str:
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as error:
        code = vbleu_tables.main([*arguments, *more])
    assert code == 0, error.getvalue()
    return out.getvalue()


def test_rows_are_the_correlations_of_their_metrics(arguments: list[str]) -> None:
    found = json.loads(run(arguments, "--json"))
    data, work = Path(arguments[1]), Path(arguments[3])
    own = sets_with_references(data)[PERSONA]
    rows = {row["metric"]: row for row in found["tables"][PERSONA]["rows"]}
    assert recipe.DELTA_BLEU not in rows
    assert recipe.V_BERTSCORE not in rows
    options = dict(zip(arguments[::2], arguments[1::2], strict=False))
    (index,) = work.glob("index-*")
    bleu = "order=2,tokenizer='13a(lowercase=True)'"
    referenced = f"ruber_referenced(vectors={options['--vectors']!r})"
    specs = {
        recipe.V_BLEU: f"vbleu(index={str(index)!r},rater={options['--rater']},{bleu})",
        recipe.GOLD_BLEU: f"delta_bleu({bleu})",
        recipe.REFERENCED: referenced,
        recipe.RUBER: f"ruber(referenced={referenced},unreferenced={options['--scorer']})",
    }
    for row, spec in specs.items():
        scores = evaluate(spec, own.samples).by_sample
        expected = spearmanr([scores[sample.key] for sample in own.samples], own.human).statistic
        assert rows[row]["with_mean"]["spearman"]["value"] == pytest.approx(expected)
    (claim, *_) = [v for v in found["verdicts"] if v["set"] == PERSONA]
    values = [rows[claim["claim"][side]]["with_mean"]["spearman"]["value"] for side in ("higher", "lower")]
    assert claim["difference"] == pytest.approx(values[0] - values[1])


def test_ratings_of_references_add_delta_bleu(arguments: list[str], tmp_path: Path) -> None:
    run(arguments)
    ratings = []
    for sample in load(Path(arguments[3]) / "extended.jsonl"):
        for place, reference in enumerate(sample.references):
            worst = 1 if len(reference.text) % 2 else 5
            ratings.append(Rating(worst, "a", item=f"{sample.id}/{place}", system=sample.system))
    write(tmp_path / "ratings.jsonl", ratings, kind="ratings")
    text = run(arguments, "--references-ratings", str(tmp_path / "ratings.jsonl"))
    assert "| ΔBLEU, rated by people | " in text
    assert "comparable to people's weights: υBLEU > ΔBLEU, rated by people" in text
    assert "0.359 (0.366, 0.300)" in text


def test_highest_and_lowest_annotator_are_given_where_raters_have_names(arguments: list[str]) -> None:
    text = run(arguments)
    persona, grade = (text.split(f"\n{name}\n")[1].split("\n\n")[0] for name in (PERSONA, "GRADE ConvAI2"))
    cells: list[list[str]] = []
    for table in (persona, grade):
        (line,) = [line for line in table.splitlines() if line.startswith(f"| {recipe.V_BLEU} |")]
        cells.append([cell.strip() for cell in line.split("|")[2:-1]])
    assert float(cells[0][1]) >= float(cells[0][2])
    assert cells[1][1:3] == ["–", "–"]
    assert f"\n| {recipe.PEOPLE} |" in persona


def test_findings_and_tables_of_all_sets_are_written(arguments: list[str], tmp_path: Path) -> None:
    path = tmp_path / "vbleu_published.json"
    own = [argument for argument in arguments if argument != "--as-published"]
    rater = arguments[arguments.index("--rater") + 1]
    retriever = f"dense(vectors={arguments[arguments.index('--vectors') + 1]!r})"
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as error:
        more = ["--bert-rater", rater, "--bert-retriever", retriever, "--note", "made", "--measured", str(path)]
        assert recipe.main([*own, *more]) == 0, error.getvalue()
    found = load_measured(path)
    deciding = [(finding.item, finding.published) for finding in found.findings if finding.decides]
    assert deciding == [("001/37", 0.057)], "this scorer knows nothing, so it decides nothing"
    items = {finding.item for finding in found.findings}
    assert items == {"000/82", "000/83", "000/84", "001/36", "001/37", "001/38"}
    table_5, table_3 = found.tables
    assert list(table_5.rows) == [*recipe.TABLE_5, recipe.PEOPLE]
    assert table_5.note == "made"
    assert table_3.rows[recipe.DELTA_BLEU][0].ours is None
    assert table_3.rows[recipe.PEOPLE][1].ours is not None
    scorer, joined = (table_5.rows[row][0].ours for row in (recipe.UNREFERENCED, recipe.RUBER))
    assert scorer is not None
    assert joined is not None
    assert found.findings[0].item == "000/82"
    assert found.findings[0].value == pytest.approx(scorer - joined)


def test_the_parts_must_be_named(arguments: list[str], capsys: Any) -> None:
    assert vbleu_tables.main([*arguments[:4], "--as-published"]) == 2
    assert "--as-published needs --vectors and --rater" in capsys.readouterr().err
