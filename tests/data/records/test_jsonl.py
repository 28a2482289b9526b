"""Files: every way a line can be bad is named and set aside, and the rest is used."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from interloq import InputError, RejectedWarning, Sample, Score, Turn, load, read, write
from interloq.data.files import opening as files
from interloq.data.records.jsonl import Rejected, header, header_after, rejected_path, write_then_head
from interloq.errors import ReadWarning
from tests.made_files import put

GOOD = b'{"id": "good", "context": ["hi"], "response": "hey", "references": ["hello"]}'


def test_what_is_written_is_read_again(tmp_path: Path, samples: list[Sample]) -> None:
    path = tmp_path / "samples.jsonl"
    assert write(path, samples, kind="samples", source="made here") == len(samples)
    assert load(path) == samples
    assert header(path) == {"kind": "samples", "schema": 1, "source": "made here"}


def test_headerless_files_crlf_bom_and_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD + b'\r\n\r\n{"response": "no id", "context": "one turn"}\r\n')
    first, second = load(path)
    assert first.response == "hey"
    assert (second.id, second.context) == ("3", (Turn("one turn"),)), "a record without id is named by its line"


BAD_LINES: list[tuple[bytes, str]] = [
    (b'{"id": "x", "response": "cut', "not valid JSON"),
    (b"[1, 2]", "expected a JSON object, got list"),
    (b'{"id": "x"}', "response is missing"),
    (b'{"id": "x", "respons": "y"}', "response is missing; the record has 'id', 'respons'"),
    (b'{"id": "x", "response": 5}', "response must be text, got a number 5"),
    (b'{"id": ["x"], "response": "r"}', "id must be text"),
    (b'{"id": "x", "response": "r", "context": {"a": 1}}', "context must be a list"),
    (b'{"id": "x", "response": "r", "context": [3]}', "context[0] must be text or an object"),
    (
        b'{"id": "x", "response": "r", "references": [["a"], ["b"]]}',
        "references[0] must be text or an object, got a list",
    ),
    (b'{"id": "x", "response": "r", "references": [{"weight": 1}]}', "references[0].text is missing"),
    (
        b'{"id": "x", "response": "r", "references": [{"text": "a", "weight": "1"}]}',
        "weight must be a number, got text",
    ),
    (b'{"id": "x", "response": "r", "ratings": [NaN]}', "write null for 'not applicable'"),
    (b'{"id": "x", "response": "r", "ratings": [{"value": Infinity}]}', "write null for 'not applicable'"),
    (b'{"id": "x", "response": "r", "ratings": [1e999]}', "infinity"),
    (b'{"id": "x", "response": "r", "ratings": ["5"]}', "ratings[0] must be a number or an object, got text '5'"),
    (b'{"id": "x", "response": "r", "ratings": [{"rater": "a"}]}', "ratings[0] has no value"),
    (b'{"id": "x", "response": "r", "ratings": [{"value": true}]}', "value must be a number, got true/false"),
    (b'{"id": "good", "response": "again"}', "duplicate id 'good', first seen in line 1"),
    (b'{"id": "x", "response": "\xff\xfe"}', "not valid UTF-8"),
]


@pytest.mark.parametrize(("line", "message"), BAD_LINES)
def test_a_bad_line_is_named_set_aside_and_passed_over(tmp_path: Path, line: bytes, message: str) -> None:
    path = put(tmp_path / "a.jsonl", GOOD + b"\n" + line + b'\n{"id": "last", "response": "r"}\n')
    with pytest.warns(RejectedWarning, match="1 of 3 lines not used") as caught:
        assert [sample.id for sample in load(path)] == ["good", "last"]
    assert f"{path}:2: " in str(caught[0].message)
    assert message in str(caught[0].message)
    assert [file.name for file in tmp_path.iterdir()] == ["a.jsonl"], "reading writes nothing"
    rejected: list[Rejected] = []
    assert len(list(read(path, on_reject=rejected.append))) == 2
    record = json.loads(rejected[0].as_json())
    assert record["where"] == f"{path}:2"
    assert record["hint"]
    assert ("base64" in record) if b"\xff" in line else (record["line"].encode() == line)
    with pytest.raises(InputError) as stopped:
        load(path, strict=True)
    assert message in str(stopped.value)
    assert str(stopped.value).startswith(f"{path}:2: ")


def test_nothing_usable_is_an_error(tmp_path: Path) -> None:
    path = put(tmp_path / "a.jsonl", b"garbage\n")
    with pytest.raises(InputError, match="no usable record among 1 line"):
        load(path)
    path.write_bytes(b"")
    with pytest.raises(InputError, match="no usable record"):
        load(path)


def test_missing_files_folders_and_kinds(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*No such file"):
        load(tmp_path / "absent.jsonl")
    with pytest.raises(InputError, match="is a folder"):
        load(tmp_path)
    with pytest.raises(InputError, match=r"unknown kind of record 'sample'; did you mean 'samples'\?"):
        load(tmp_path / "absent.jsonl", kind="sample")


def test_header_of_another_kind_or_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write(path, [Score("1", "bleu", 0.5)], kind="scores")
    with pytest.raises(InputError, match="contains scores, expected samples"):
        load(path)
    assert load(path, kind="scores") == [Score("1", "bleu", 0.5)]
    path.write_bytes(b'{"kind": "samples", "schema": 99}\n' + GOOD)
    with pytest.raises(InputError, match="schema 99; this version reads schema 1"):
        load(path)


def test_a_megabyte_on_one_line_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write(path, [Sample("1", "c", "long " * 200_000)], kind="samples")
    assert len(load(path)[0].response) == 1_000_000


def test_a_line_without_end_is_set_aside_in_bounded_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_LINE", 1000)
    monkeypatch.setattr("interloq.data.records.jsonl.MAX_LINE", 1000)
    path = put(tmp_path / "a.jsonl", b'{"id": "' + b"x" * 10_000 + b'"}\n' + GOOD + b"\n")
    rejected: list[Rejected] = []
    assert [sample.id for sample in read(path, on_reject=rejected.append)] == ["good"]
    assert "longer than" in rejected[0].what
    assert len(rejected[0].as_json()) < 3000


def test_many_lines_stream_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    with path.open("w") as file:
        for i in range(200_000):
            file.write(f'{{"id":"{i}","context":["how are you today?"],"response":"fine, and you?"}}\n')
    program = (
        "import resource, sys, interloq\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "count = sum(1 for _ in interloq.read(sys.argv[1]))\n"
        "print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    count, grown_kib = map(int, done.stdout.split())
    assert count == 200_000
    # the samples would take over 200 MiB; what stays is the table that finds duplicate ids
    assert grown_kib < 50 * 1024


def test_standard_input_is_a_dash(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(GOOD + b"\nbad\n")))
    with pytest.warns(RejectedWarning):
        assert [sample.id for sample in load("-")] == ["good"]
    assert not list(folder.iterdir())


def failing() -> Iterator[Sample]:
    yield Sample("2", "c", "r")
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "rewrite", [partial(write, kind="samples"), lambda path, rows: write_then_head(path, rows, dict, kind="samples")]
)
def test_writing_is_atomic(tmp_path: Path, rewrite: Callable[[Path, Iterator[Sample]], object]) -> None:
    path = tmp_path / "out" / "samples.jsonl"
    write(path, [Sample("1", "c", "r")], kind="samples")
    before = path.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        rewrite(path, failing())
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["samples.jsonl"], "no half-written file stays behind"


def test_bad_lines_go_beside_the_output() -> None:
    assert rejected_path("folder/scores.jsonl.gz") == Path("folder/scores.jsonl.gz.rejected.jsonl")
    assert rejected_path("model-1.2") == Path("model-1.2.rejected.jsonl")
    for output in ("-", "postgresql://host/pairs", ".", "/dev/null", "/dev/stdout"):
        assert rejected_path(output) is None


ARRAY = [{"id": "a", "response": "x"}, {"id": "b", "respons": "y"}, {"id": "c", "response": "z"}]


@pytest.mark.parametrize("text", [json.dumps(ARRAY), "\n" + json.dumps(ARRAY, indent=2) + "\n"])
def test_a_json_array_is_read_item_by_item(tmp_path: Path, text: str) -> None:
    path = put(tmp_path / "a.json", text)
    with pytest.warns(RejectedWarning, match=r"a\.json:2: response is missing"):
        assert [sample.id for sample in load(path)] == ["a", "c"]
    assert header(path) == {}


def test_an_array_that_is_broken_or_too_large_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path / "a.json", json.dumps(ARRAY, indent=2)[:-1])
    with pytest.raises(InputError, match=r"a\.json: not valid JSON"):
        load(path)
    monkeypatch.setattr("interloq.data.records.jsonl.MAX_LINE", 50)
    path.write_text(json.dumps(ARRAY, indent=2))
    with pytest.raises(InputError, match="one JSON array larger than"):
        load(path)


@pytest.mark.parametrize("kind", ["samples", "dialogues"])
def test_further_fields_are_kept(tmp_path: Path, kind: str) -> None:
    path, text = tmp_path / "a.jsonl", {"samples": '"response": "x"', "dialogues": '"turns": ["x"]'}[kind]
    path.write_text(
        f'{{{text}, "topic": "food", "year": 2020, "ok": true}}\n{{{text}, "topic": null, "more": ["a"]}}\n'
    )
    records = load(path, kind=kind)
    assert [record.fields for record in records] == [{"topic": "food", "year": 2020, "ok": True}, {}]
    write(tmp_path / "b.jsonl", records, kind=kind)
    assert load(tmp_path / "b.jsonl", kind=kind) == records
    assert '"topic":"food"' in (tmp_path / "b.jsonl").read_text()


def test_the_same_id_of_two_systems_keeps_both_fields(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f'{{"sample_id": "1", "response": "x", "model": "{s}", "topic": "{s}"}}\n' for s in "pq"))
    with pytest.warns(ReadWarning):
        assert [(s.key, s.fields) for s in load(path)] == [(("1", s), {"topic": s}) for s in "pq"]


def test_the_dialogue_is_in_ids_of_earlier_files_that_we_wrote_and_of_no_others(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    for facts, dialogue in (({"partners": "0"}, "d"), ({"holds": "continuity"}, "d"), ({}, "")):
        write(path, [Sample("d#1", (), "a"), Sample("ticket", (), "a")], kind="samples", **facts)
        assert [sample.dialogue for sample in load(path)] == [dialogue, ""]
        write(path, [Score("d#1", "chrf", 1.0)], kind="scores", **facts)
        assert load(path, kind="scores")[0].dialogue == dialogue


SAMPLES = [Sample(str(i), ["hi"], "yes …") for i in range(5)]


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_the_file_is_what_write_makes_of_the_same_facts(tmp_path: Path, name: str) -> None:
    seen: list[str] = []

    def passing() -> Iterator[Sample]:
        for sample in SAMPLES:
            seen.append(sample.id)
            yield sample

    late, early = tmp_path / name, tmp_path / f"early-{name}"
    write_then_head(late, passing(), lambda: {"seen": len(seen)}, kind="samples")
    write(early, SAMPLES, kind="samples", seen=5)
    assert load(late) == SAMPLES
    assert header(late) == header(early) == {"kind": "samples", "schema": 1, "seen": 5}


def test_a_stage_adds_its_facts_and_keeps_the_others() -> None:
    before = {"kind": "samples", "schema": 1, "source": "x", "rated": [{"signature": "a"}]}
    assert header_after(before, "rated", {"signature": "b"}) == {
        "source": "x",
        "rated": [{"signature": "a"}, {"signature": "b"}],
    }
    assert header_after({}, "extended", {"k": 1}) == {"extended": [{"k": 1}]}
