"""The recipe of the pooled model on small made-up data in the layouts of the published sets."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import ream_pooled
import ream_pooled_sets
from rated_sets import Floats
from ream_published import BERTSCORE, BLEU_STAR
from results import load_measured

from interloq import Sample
from tests.recipes.test_ream import write_data
from tests.reliability.made_pooled import WordEncoder, WordReader


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_data(tmp_path_factory.mktemp("data"))
    with tarfile.open(folder / "reddit_multiref.tar.gz", "w:gz") as archive:
        lines = [f"hello EOS topic {i}\tabout {i} says {word}\n" for i in range(24) for word in "abcdefghijkl"]
        text = "".join(lines).encode()
        entry = tarfile.TarInfo("reddit_multiref/data/test/part.tsv")
        entry.size = len(text)
        archive.addfile(entry, io.BytesIO(text))
    return folder


@dataclass(frozen=True)
class LengthJudge:
    """Rates replies by their length."""

    def stats(self, samples: Sequence[Sample]) -> Floats:
        return np.array([[len(sample.response)] for sample in samples], dtype=np.float64)

    def value(self, total: Floats) -> Floats:
        return total[:, 0]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ream_pooled, "PairReader", WordReader)
    metrics = {BERTSCORE: "bleu_star(order=1)", BLEU_STAR: "bleu_star"}
    monkeypatch.setattr(ream_pooled, "metrics", lambda _: metrics)
    monkeypatch.setattr(ream_pooled_sets, "Encoder", lambda *_, **__: WordEncoder())
    monkeypatch.setattr(ream_pooled_sets, "create", lambda *_, **__: LengthJudge())
    monkeypatch.setenv("INTERLOQ_VECTOR_CACHE", "")


def test_findings_of_all_sets_and_of_another_file(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = tmp_path / "measured.json"
    options = ["--data", str(data), "--work", str(tmp_path), "--resamples", "20", "--measured", str(measured)]
    assert ream_pooled.main([*options, "--test", str(data / "dstc7_part.jsonl.xz")]) == 0
    output = capsys.readouterr().out
    assert "split judges" in output
    assert "test file" in output
    found = load_measured(measured)
    decisive = [(finding.item, finding.data) for finding in found.findings if finding.decides]
    assert [item for item, _ in decisive] == ["004/58", "004/59"]
    assert all(set_.startswith("DSTC7") for _, set_ in decisive)
    assert {finding.data.split(",")[0] for finding in found.findings} == {*ream_pooled.MOST_QUERIES, "test file"}
    assert [table.item for table in found.tables] == ["004/49", "004/48", "004/50", "004/49"]


def test_replies_to_reddit_are_of_known_kinds(data: Path) -> None:
    queries = list(ream_pooled_sets.reddit_queries(data / "reddit_multiref.tar.gz", "", 20))
    assert len(queries) == 20
    for query in queries:
        assert query.turns[0] == "hello"
        assert len(query.references) == 12 - ream_pooled_sets.REAL
        assert not set(query.references) & set(query.replies)
        assert set(ream_pooled_sets.GENERIC) <= set(query.replies)
        assert query.ratings.tolist() == [len(reply) for reply in query.replies]


def test_references_are_drawn_at_random_but_always_the_same(data: Path) -> None:
    first, again = (ream_pooled_sets.read_judged(data / "dstc7_part.jsonl.xz", 5) for _ in range(2))
    assert [query.references for query in first.queries] == [query.references for query in again.queries]
    assert {len(query.references) for query in first.queries} == {5}


def test_missing_data_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ream_pooled.main(["--data", str(tmp_path), "--work", str(tmp_path)]) == 2
    assert "no dstc7_part.jsonl.xz in" in capsys.readouterr().err
