from __future__ import annotations

import json
import lzma
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import retrieval
from scipy import stats

from interloq import Sample, evaluate, load
from interloq.records import Pair
from interloq.vectors.glove.settings import Glove
from tests.published_layouts import GUPTA, grade_item, packed, write_grade, write_gupta

WORDS = ["i", "see", "you", "there", "then", "good", "bye", "day", "rain", "dog"]
COPY = ["we met at the lake .", "which lake was it ?", "the deep one in the hills ."]
FORMS = {
    "BM25, utterance": "bm25",
    "GloVe, utterance": "dense(vectors='{glove}')",
    "encoder, utterance": "dense(encoder='fake32')",
}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer forms, small vectors and a fake encoder."""
    monkeypatch.setattr(retrieval, "FORMS", FORMS)
    monkeypatch.setattr(retrieval, "CLAIMS", (("GloVe, utterance", "BM25, utterance"),))
    monkeypatch.setattr(retrieval, "GLOVE", Glove(dimensions=8, epochs=2, min_count=1))
    monkeypatch.setattr(retrieval, "ENCODER_SEGMENT", 20)


def text(draw: random.Random) -> str:
    return " ".join(draw.choices(WORDS, k=draw.randint(3, 8)))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """24 and 20 rated replies, a pool of 60 dialogues and 80 pairs; the first test dialogue stands in the pool."""
    draw, folder = random.Random(5), tmp_path / "data"
    items = [grade_item(i, "dailydialog", "AB"[i % 2], text(draw), [draw.randint(1, 5)] * 3) for i in range(24)]
    items = [item | {"Context": f"{text(draw)}|||{text(draw)}", "Reference": text(draw)} for item in items]
    items[0] |= {"Context": "|||".join(COPY[:2]), "Reference": COPY[2]}
    write_grade(folder / "grade", items, "{Reference}")
    replies = [
        GUPTA | {"context_id": f"{i}_0", "model": model, "response": text(draw), "context": f"{text(draw)} ?"}
        for i in range(10)
        for model in ("a", "b")
    ]
    replies = [reply | {"human_average_rating": f"{draw.uniform(1, 5):.2f}"} for reply in replies]
    packed(write_gupta(tmp_path / "made" / "multiref_dailydialog", replies)).rename(
        folder / "multiref_dailydialog.tar.gz"
    )
    dialogues = [[text(draw) for _ in range(4)] for _ in range(59)] + [["hello", *COPY, "ah , that one ."]]
    lines = [" __eou__ ".join(turns) + " __eou__\n" for turns in dialogues]
    (folder / "dailydialog" / "train").mkdir(parents=True)
    (folder / "dailydialog" / "train" / "dialogues_train.txt").write_text("".join(lines))
    pairs = [{"thread": "t5", "utterance": text(draw), "response": text(draw), "forum": "x"} for _ in range(80)]
    with lzma.open(folder / "reddit_pairs.jsonl.xz", "wt") as file:
        file.writelines(json.dumps(pair) + "\n" for pair in pairs)
    return folder


@pytest.fixture
def run(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    def printed(*options: str) -> Any:
        arguments = ["--data", str(data), "--work", str(tmp_path / "work"), "--resamples", "50", "--json", *options]
        assert retrieval.main(arguments) == 0
        return json.loads(capsys.readouterr().out)

    return printed


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("I ' ll go , it ' s late", "I'll go , it's late"),
        ("i do n't know", "i don't know"),
        ("Don’t", "Don't"),
        ("we 've 'no' tea", "we've 'no' tea"),
    ],
)
def test_clitics_become_one_word(raw: str, cleaned: str) -> None:
    assert retrieval.clean(raw) == cleaned


def test_the_test_items_are_not_in_the_pool(run: Callable[..., Any], tmp_path: Path) -> None:
    own, both = run()["pools"].values()
    assert own["copied_dialogues"] == both["copied_dialogues"] == 1
    assert own["dropped"]["dailydialog"]["id"] == 4
    assert own["kept"] == {"dailydialog": 59 * 3}
    assert both["kept"] == {"dailydialog": 59 * 3, "reddit": 80}
    kept = load(tmp_path / "work" / "dailydialog_reddit.jsonl", kind="pairs")
    assert not {pair.utterance for pair in kept} & {*COPY, "hello"}
    assert {pair.thread for pair in kept if pair.id.startswith("reddit")} == {""}


def test_figures_are_those_of_scipy(data: Path, run: Callable[..., Any]) -> None:
    rows = {row["form"]: row for row in run()["tables"]["GRADE DailyDialog, pool DailyDialog"]["rows"]}
    samples = retrieval.test_sets(data)["GRADE DailyDialog"]
    people = {s.key: sum(r.value or 0 for r in s.ratings) / len(s.ratings) for s in samples}
    cases: dict[str, list[Sample]] = {"single reference": samples, "parrot": retrieval.with_parrot(samples)}
    for form, extended in cases.items():
        scores = evaluate(retrieval.METRIC, extended).by_sample
        ours, theirs = [scores[key] for key in people], list(people.values())
        assert rows[form]["spearman"] == pytest.approx(stats.spearmanr(ours, theirs).statistic)
        assert rows[form]["pearson"] == pytest.approx(stats.pearsonr(ours, theirs).statistic)


def test_every_form_has_a_row_and_every_claim_a_verdict(run: Callable[..., Any]) -> None:
    printed = run()
    rows = printed["tables"]["multi-reference DailyDialog, pool DailyDialog and reddit"]["rows"]
    forms = [row["form"] for row in rows]
    assert forms == ["single reference", "parrot", "parrot, 15 random replies", *FORMS, "references by people"]
    by_form = {row["form"]: row for row in rows}
    assert by_form["GloVe, utterance"]["published"] == [0.297, 0.338]
    assert by_form["GloVe, utterance"]["counts"]["retrieved"] == 20 * 15
    difference = by_form["GloVe, utterance"]["spearman"] - by_form["BM25, utterance"]["spearman"]
    verdict = printed["tables"]["multi-reference DailyDialog, pool DailyDialog and reddit"]["verdicts"][0]
    assert verdict["difference"] == pytest.approx(difference, abs=1e-9)


def test_the_tables_are_printed(
    data: Path, tmp_path: Path, run: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    tables = run()["tables"]
    assert retrieval.main(["--data", str(data), "--work", str(tmp_path / "work"), "--resamples", "50"]) == 0
    printed = capsys.readouterr().out
    for title, table in tables.items():
        assert title in printed
        for row in table["rows"]:
            value = float("nan") if row["spearman"] is None else row["spearman"]  # the same score for every reply
            assert f"{row['form']:<31}{value:>10.3f}" in printed
    for verdict in [verdict for table in tables.values() for verdict in table["verdicts"]]:
        assert f"{verdict['coefficient']} {verdict['difference']:+.3f}" in printed


def test_random_replies_are_shared_by_all_replies_to_a_context() -> None:
    samples = [Sample(f"{c}/{s}", [f"context {c}"], s, ["gold"]) for c in range(3) for s in "ab"]
    pairs = [Pair(str(i), "u", f"reply {i}") for i in range(50)]
    found = {sample.id: [r.text for r in sample.references[1:]] for sample in retrieval.drawn(samples, pairs)}
    assert all(found[f"{c}/a"] == found[f"{c}/b"] for c in range(3))
    assert found["0/a"] != found["1/a"]
    assert len(set(found["0/a"])) == 15
    turned = {sample.id: [r.text for r in sample.references[1:]] for sample in retrieval.drawn(samples[::-1], pairs)}
    assert turned == found
