"""Text files that belong together line by line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from interloq import InputError, Reference, Sample, load
from interloq.data.records.line_files import LineFiles, line_samples, lines_file


@pytest.fixture
def files(folder: Path) -> Path:
    Path("old.txt").write_text("fine .\n\nyes\n")
    Path("new.v2.txt.gz").write_bytes(gzip.compress(b"very fine .\nno\nyes !\r\n"))
    Path("contexts.txt").write_text("hi\thow are you ?\nreally ?\n\n")
    Path("gold.txt").write_text("good .\nno , never\tnot at all\n\n")
    Path("more.txt").write_text("so so .\n\n\n")
    return folder


def test_systems_share_contexts_and_references(files: Path) -> None:
    found = list(
        line_samples(
            ["old.txt", "new.v2.txt.gz"], LineFiles(contexts="contexts.txt", references=["gold.txt", "more.txt"])
        )
    )
    assert found[0] == Sample("1", ["hi", "how are you ?"], "fine .", ["good .", "so so ."], "old")
    assert found[1] == Sample("2", ["really ?"], "", ["no , never", "not at all"], "old")
    assert found[2] == Sample("3", (), "yes", (), "old")
    assert [(s.id, s.system, s.response) for s in found[3:]] == [
        ("1", "new.v2", "very fine ."),
        ("2", "new.v2", "no"),
        ("3", "new.v2", "yes !"),
    ]
    assert found[4].references == (Reference("no , never"), Reference("not at all"))


def test_names_and_separators_can_be_given(files: Path) -> None:
    Path("contexts.txt").write_text("a ||| b\nc\nd\n")
    found = list(line_samples(["mine=old.txt"], LineFiles(contexts="contexts.txt", separator="|||")))
    assert [turn.text for turn in found[0].context] == ["a", "b"]
    assert {sample.system for sample in found} == {"mine"}
    Path("x=y.txt").write_text("a\n")
    assert next(line_samples(["x=y.txt"])).system == "x=y"


def test_a_file_of_samples_is_written(files: Path) -> None:
    facts = lines_file(["old.txt"], "samples.jsonl", LineFiles(references=["gold.txt"]))
    assert (facts["kind"], facts["records"]) == ("samples", 3)
    assert load("samples.jsonl") == list(line_samples(["old.txt"], LineFiles(references=["gold.txt"])))
    with pytest.raises(InputError, match="is also an input"):
        lines_file(["mine=old.txt"], "old.txt")


@pytest.mark.parametrize(
    ("responses", "options", "why"),
    [
        (["old.txt"], {"references": ["short.txt"]}, "short.txt has 1 line, but old.txt has more"),
        (["old.txt", "short.txt"], {}, "short.txt has 1 line, but old.txt has 3"),
        (["short.txt", "old.txt"], {}, "old.txt has 3 lines, but short.txt has 1"),
        (["short.txt"], {"contexts": "contexts.txt"}, "short.txt has 1 line, but contexts.txt has more"),
        (["empty.txt"], {}, "empty.txt: the file is empty"),
        (["bad.txt"], {}, "bad.txt:2: byte 1 is not valid UTF-8"),
        (["old.txt", "old.txt"], {}, "two files of replies belong to 'old'"),
        (["absent.txt"], {}, "absent.txt"),
        (["old.txt"], {"separator": ""}, "the separator is empty"),
        ([], {}, "there is no file of replies"),
    ],
)
def test_files_that_do_not_belong_together(
    responses: list[str], options: dict[str, object], why: str, files: Path
) -> None:
    Path("short.txt").write_text("one\n")
    Path("empty.txt").touch()
    Path("bad.txt").write_bytes(b"good\n\xff\n")
    with pytest.raises(InputError, match=why):
        lines_file(responses, "samples.jsonl", LineFiles(**options))  # type: ignore[arg-type]
    assert not Path("samples.jsonl").exists()
