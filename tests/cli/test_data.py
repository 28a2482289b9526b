from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from interloq import Sample, load, write
from interloq.cli.main import main
from interloq.data.records.jsonl import header
from tests.cli.made_runs import run_json
from tests.published_layouts import packed, write_engagement, write_fed, write_grade, write_gupta, write_usr

Captured = pytest.CaptureFixture[str]


ROOT = Path(__file__).parents[2]
LOGS = ROOT / "tests" / "golden" / "tool_logs"


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


# ---- logs of other tools ---------------------------------------------------------------------------------------------


def test_the_way_from_export_to_verdict_on_the_page_of_logs(folder: Path, capsys: Captured) -> None:
    page = (ROOT / "docs" / "logs.md").read_text()
    commands = page.partition("```sh\n")[2].partition("```")[0].splitlines()
    assert len(commands) == 7
    for month, release in (("june", "v42"), ("july", "v43")):
        rows = (LOGS / "langfuse_observations.jsonl").read_text().replace("v42", release)
        (folder / f"{month}.jsonl").write_text(rows)
        (folder / f"{month}_scores.json").write_bytes((LOGS / "langfuse_scores.json").read_bytes())
    for command in commands:
        assert main(shlex.split(command.replace("judge(model='ready')", "length"))[1:]) == 0, command
    shown = capsys.readouterr()
    assert "v42 → v43" in shown.out
    assert "<phone>" in Path("july_dialogues.jsonl").read_text()
    assert "555" not in Path("july.html").read_text()
    assert "score.length" in Path("july.csv").read_text()
    assert [rating.aspect for sample in load("july.jsonl") for rating in sample.ratings] == ["user-feedback", "helpful"]


def test_a_damaged_log_is_imported_in_part(folder: Path, capsys: Captured) -> None:
    lines = (LOGS / "openai_chat.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "log.jsonl").write_bytes(lines[0] + lines[1][:300])
    arguments = ["data", "import", "log.jsonl", "--from", "openai", "--keep-user-ids", "--redact", "-o", "d.jsonl"]
    assert main(arguments) == 1
    shown = capsys.readouterr()
    assert "bad line: log.jsonl:2: not valid JSON" in shown.err
    assert "1 dialogue of openai" in shown.out
    assert len(load("d.jsonl", kind="dialogues")) == 1
    assert "ann@example.com" not in Path("d.jsonl.rejected.jsonl").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.jsonl"], "cannot read none.jsonl"),
        (["a.json"], "a.json:1: not a log of a known tool: 'x'"),
        (["a.json", "--from", "otel"], "no request with its reply was found"),
        (["usr", "x", "y"], "2 paths for the dataset usr"),
    ],
)
def test_logs_that_cannot_be_read(folder: Path, capsys: Captured, arguments: list[str], message: str) -> None:
    (folder / "a.json").write_text('{"x": 1}')
    assert main(["data", "import", *arguments, "-o", "d.jsonl", "--keep-user-ids"]) == 2
    assert message in capsys.readouterr().err
    assert not Path("d.jsonl").exists()


def test_scores_are_exported(folder: Path, capsys: Captured) -> None:
    write("s.jsonl", [Sample("1", "hi", "hello")], kind="samples")
    assert main(["score", "s.jsonl", "-m", "length", "-o", "scores.jsonl"]) == 0
    capsys.readouterr()
    assert main(["data", "export", "scores.jsonl", "--samples", "s.jsonl", "-o", "events.jsonl"]) == 0
    assert capsys.readouterr().out == "events.jsonl: 1 score of 1 reply\n"
    write("other.jsonl", [Sample("2", "hi", "hello")], kind="samples")
    assert main(["data", "export", "scores.jsonl", "--samples", "other.jsonl", "--json", "-o", "e.jsonl"]) == 1
    assert json.loads(capsys.readouterr().out)["unknown"] == 1
