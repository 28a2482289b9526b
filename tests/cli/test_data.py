from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from interloq import Sample, load, write
from interloq.cli.main import main
from interloq.data.records.jsonl import header
from tests.cli.made_runs import run_json
from tests.published_layouts import packed, write_engagement, write_fed, write_grade, write_gupta, write_usr

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def data(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of datasets, some unpacked and some not, named by INTERLOQ_DATA."""
    place = folder / "datasets"
    write_grade(place / "grade")
    packed(write_usr(folder / "made" / "usr")).rename(place / "usr.tar.gz")
    packed(write_gupta(folder / "made" / "multiref_dailydialog"), ".tar.xz").rename(
        place / "multiref_dailydialog.tar.xz"
    )
    write_fed(place / "fed")
    write_engagement(place)
    monkeypatch.setenv("INTERLOQ_DATA", str(place))
    return place


def imported(capsys: Captured, *arguments: str) -> dict[str, object]:
    facts: dict[str, object] = run_json(capsys, "data", "import", *arguments)
    return facts


def test_list_names_every_dataset_and_subset(capsys: Captured) -> None:
    assert main(["data", "list"]) == 0
    shown = capsys.readouterr().out
    for word in ("grade", "usr", "fed", "predictive_engagement", "gupta", "topical | persona", "dailydialog"):
        assert word in shown
    listed = run_json(capsys, "data", "list")["datasets"]
    assert {entry["name"]: entry["aliases"] for entry in listed}["multiref_dailydialog"] == ["gupta"]


@pytest.mark.parametrize(
    ("arguments", "kind", "records"),
    [
        (["usr", "--subset", "topical"], "samples", 4),
        (["fed", "--subset", "dialogue"], "dialogues", 1),
        (["predictive_engagement", "--subset", "scores"], "scores", 8),
    ],
)
def test_import_from_the_folder_of_datasets(
    data: Path, capsys: Captured, arguments: list[str], kind: str, records: int
) -> None:
    facts = imported(capsys, *arguments, "-o", "out.jsonl.gz")
    assert (facts["kind"], facts["records"]) == (kind, records)
    assert len(load("out.jsonl.gz", kind=kind, strict=True)) == records
    written = header("out.jsonl.gz")
    assert (written["kind"], written["dataset"]) == (kind, facts["dataset"])
    assert written["source"] == facts["source"]


def test_import_prints_counts_for_people(data: Path, capsys: Captured) -> None:
    assert main(["data", "import", "usr", "-o", "s.jsonl"]) == 0
    shown = capsys.readouterr().out
    assert "6 samples of usr" in shown
    assert "references: 6 samples with 1" in shown
    assert "raters: 3 named" in shown
    assert "maintains context" in shown


def test_import_to_a_pipe_prints_records_only(data: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["data", "import", "gupta", "-o", "-"]) == 0
    first, *rest = capfdbinary.readouterr().out.splitlines()
    assert json.loads(first)["dataset"] == "multiref_dailydialog"
    assert [json.loads(line)["system"] for line in rest] == ["hredf", "human"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["import", "usr", "--subset", "persons", "-o", "x.jsonl"], "usr has no subset 'persons'; did you mean"),
        (["import", "usr", "nowhere", "-o", "x.jsonl"], "no file or folder 'nowhere'"),
        (["convert", "a.jsonl", "-o", "x.csv"], "records are written as JSONL"),
    ],
)
def test_mistakes_are_one_line_and_exit_2(data: Path, capsys: Captured, arguments: list[str], message: str) -> None:
    assert main(["data", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert not Path("x.jsonl").exists()


def test_a_malformed_dataset_leaves_no_output(folder: Path, capsys: Captured) -> None:
    write_fed(folder / "fed", [{"context": "User: hi", "system": "A", "annotations": {"Overall": ["bad"]}}])
    assert main(["data", "import", "fed", "fed", "--subset", "dialogue", "-o", "d.jsonl"]) == 2
    assert "fed_data.json:0: 'Overall' must be a number, got 'bad'" in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["fed"]


def test_check_counts_and_says_what_is_bad(folder: Path, capsys: Captured) -> None:
    Path("s.csv").write_text("id,context,response,reference,rating:overall:ann\n1,hi,hello,hey,4\n2,hi,ok,,\n3,hi\n")
    assert main(["data", "check", "s.csv", "--json"]) == 1
    captured = capsys.readouterr()
    facts = json.loads(captured.out)
    assert (facts["records"], facts["bad_lines"], facts["not_applicable"]) == (2, 1, 1)
    assert facts["references"] == {"0": 1, "1": 1}
    assert "s.csv:4: 2 cells for 5 columns" in captured.err
    assert main(["data", "check", "s.csv", "--strict"]) == 2


def test_check_takes_the_kind_from_the_header(data: Path, capsys: Captured) -> None:
    imported(capsys, "fed", "--subset", "dialogue", "-o", "d.jsonl")
    assert run_json(capsys, "data", "check", "d.jsonl")["kind"] == "dialogues"
    assert main(["data", "check", "d.jsonl", "--kind", "samples"]) == 2
    assert "the file contains dialogues, expected samples" in capsys.readouterr().err


def test_check_names_a_bad_first_line(folder: Path, capsys: Captured) -> None:
    Path("s.jsonl").write_text('{broken\n{"id": "1", "context": ["hi"], "response": "ok"}\n')
    assert main(["data", "check", "s.jsonl"]) == 1
    captured = capsys.readouterr()
    assert "s.jsonl:1: not valid JSON" in captured.err
    assert "1 sample in s.jsonl" in captured.out


def test_convert_gives_the_same_records(folder: Path, capsys: Captured) -> None:
    text = "id\tcontext\tresponse\treferences\tsystem\n1\ta|||b\tyes\tno|||maybe\tS\n"
    Path("s.tsv.gz").write_bytes(gzip.compress(text.encode()))
    assert main(["data", "convert", "s.tsv.gz", "-o", "s.jsonl.xz"]) == 0
    assert load("s.jsonl.xz") == load("s.tsv.gz")
    assert header("s.jsonl.xz") == {"kind": "samples", "schema": 1}
    assert "1 sample of s.tsv.gz" in capsys.readouterr().out


@pytest.mark.filterwarnings("default::interloq.errors.ReadWarning")
def test_a_chat_export_goes_to_samples(folder: Path, capsys: Captured) -> None:
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    Path("chat.json").write_text(json.dumps([{"model": "gpt", "messages": messages}], indent=1))
    assert main(["data", "check", "chat.json"]) == 0
    assert "1 dialogue in chat.json" in capsys.readouterr().out
    assert main(["data", "convert", "chat.json", "-o", "dialogues.jsonl"]) == 0
    assert main(["play", "samples", "dialogues.jsonl", "-o", "samples.jsonl"]) == 0
    (sample,) = load("samples.jsonl")
    assert (sample.response, sample.system) == ("hello", "gpt")


def test_text_files_are_joined_line_by_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in (("a", "yes\nno\n"), ("b", "well\nso\n"), ("contexts", "one\ntwo\n"), ("gold", "yes\nno\n")):
        Path(f"{name}.txt").write_text(text)
    options = ["--contexts", "contexts.txt", "--references", "gold.txt", "-o", "samples.jsonl"]
    assert main(["data", "lines", "a.txt", "mine=b.txt", *options]) == 0
    assert "4 samples of 2 files" in capsys.readouterr().out
    assert [(s.id, s.system) for s in load("samples.jsonl")] == [("1", "a"), ("2", "a"), ("1", "mine"), ("2", "mine")]
    assert main(["data", "lines", "a.txt", "--references", "a.txt", "-o", "a.txt"]) == 2
    Path("gold.txt").write_text("yes\n")
    assert main(["data", "lines", "a.txt", *options]) == 2
    assert "gold.txt has 1 line, but a.txt has more" in capsys.readouterr().err


def test_tasks_are_written_and_annotations_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    write("samples.jsonl", [Sample("1", ["hi"], "yes", system="bot")], kind="samples")
    assert main(["data", "to-label-studio", "samples.jsonl", "--aspect", "fit", "-o", "tasks.json"]) == 0
    assert "tasks.json: 1 task; configuration in tasks.xml\nkeep tasks.key.json" in capsys.readouterr().out
    tasks = json.loads(Path("tasks.json").read_text())
    results = [{"from_name": "fit", "type": "rating", "value": {"rating": 3}}, {"type": "relation"}]
    tasks[0]["annotations"] = [{"completed_by": 7, "result": results}, {"result": [], "was_cancelled": True}]
    Path("export.json").write_text(json.dumps(tasks))
    reading = ["data", "from-label-studio", "export.json", "--key", "tasks.key.json", "-o", "rated.jsonl"]
    assert main(reading) == 1
    shown = capsys.readouterr()
    assert "rated.jsonl: 1 sample; 1 annotation skipped as cancelled" in shown.out
    assert "1 result of type 'relation' not imported" in shown.err
    (rating,) = load("rated.jsonl")[0].ratings
    assert (rating.aspect, rating.value, rating.rater[0], len(rating.rater)) == ("fit", 3.0, "u", 17)
    assert run_json(capsys, *reading, "--keep-user-ids", code=1)["records"] == 1
    assert load("rated.jsonl")[0].ratings[0].rater == "7"
    assert main(["data", "from-label-studio", "export.json", "-o", "again.jsonl"]) == 2
    assert "export.json: task 1: the task was written by Interloq; name its key file" in capsys.readouterr().err
