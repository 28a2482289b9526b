"""Data sets written as records."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError
from interloq.data.jsonl import header, load
from interloq.data.sets.imports import import_corpus, import_dataset
from tests.data.sets.made_sets import write_text
from tests.published_layouts import write_usr


def test_a_rated_set_is_written_and_counted(tmp_path: Path) -> None:
    facts = import_dataset("usr", tmp_path / "a.jsonl", path=write_usr(tmp_path / "usr"), subset="topical")
    assert (facts["dataset"], facts["subset"], facts["kind"], facts["records"]) == ("usr", "topical", "samples", 4)
    assert len(load(tmp_path / "a.jsonl")) == 4
    told = header(tmp_path / "a.jsonl")
    assert (told["dataset"], told["source"]) == ("usr", facts["source"])


@pytest.mark.parametrize(("compress", "suffix"), [("zst", ".jsonl.zst"), ("none", ".jsonl")])
def test_a_corpus_is_written_with_pairs_and_groups(tmp_path: Path, compress: str, suffix: str) -> None:
    yaml = "conversations:\n- - Hi\n  - Hello\n- - Hi\n  - Hey\n- - Bye\n  - Ciao\n"
    write_text(tmp_path / "data" / "english" / "greetings.yml", yaml)
    facts = import_corpus("chatterbot", tmp_path / "out", path=tmp_path / "data", compress=compress)
    ((part, counts),) = facts["parts"].items()
    assert counts == {"dialogues": 3, "turns": 6, "pairs": 3, "group_pairs": 2}
    folder = tmp_path / "out" / ("" if part == "all" else part)
    assert len(load(folder / f"groups{suffix}", kind="pairs")) == 2
    assert header(folder / f"pairs{suffix}")["corpus"] == "chatterbot"


def test_an_unknown_set_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="usrr"):
        import_dataset("usrr", tmp_path / "a.jsonl")
