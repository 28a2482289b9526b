# SPDX-License-Identifier: Apache-2.0
"""Uploaded files: previews, bad lines, and names that point elsewhere."""

from __future__ import annotations

import asyncio
import io
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.datastructures import FormData, UploadFile

from interloq.data.files.compression import compress
from interloq.errors import InputError
from interloq.web.messages import render
from interloq.web.studies.upload import Upload, check_local, prepare, with_chat_fields
from tests.web.bots import FLAKY
from tests.web.conftest import chat_task

SAMPLES = (
    b'{"id": "1", "context": ["Hi"], "response": "Hello!", "system": "owl"}\n'
    b'{"id": "1", "context": ["Hi"], "response": "Squawk", "system": "parrot"}\n'
    b'{"id": "2", "context": ["Hi"]}\n'
)
FIELDS = {"bots": "old = eliza\n\n parrot=echo \n", "topics": "Travel\nFood", "turns": "7", "guess": "yes"}


def receive_file(folder: Path, records: bytes, filename: str = "in.jsonl", **fields: str) -> Upload:
    file = UploadFile(io.BytesIO(records), filename=filename)
    return asyncio.run(Upload.receive(FormData([("records", file), *fields.items()]), folder))


def receive_form(folder: Path, **fields: str) -> Upload:
    return asyncio.run(Upload.receive(FormData([("records", ""), *fields.items()]), folder))


def test_a_chat_needs_no_file_but_trust_for_bots_that_do_more_than_talk(tmp_path: Path) -> None:
    fields = {"kind": "chat", "name": "t", "topics": "Travel\nFood"}
    prepared, preview = prepare(receive_form(tmp_path, **fields, bots="old = eliza\nnew = echo", per_item="5"))
    shown = render(preview, "en")
    assert shown["questions"] == ["How good is it? (each reply)", "How good is it? (the whole)"]
    assert "4 pages with old = eliza; new = echo; each page goes to 5" in shown["summary"][0]
    assert (len(prepared.items), shown["pages"]) == (4, [])
    given, effects = receive_form(tmp_path, **fields, bots=f"own = {FLAKY}"), list[str]()
    with pytest.raises(InputError, match="--trust-administrators"):
        prepare(given)
    assert len(prepare(given, effects.append)[0].items) == 2
    assert effects[0].startswith("trusted: the form: 'own'")
    with pytest.raises(InputError, match="unknown bot 'elisa'"):
        prepare(receive_form(tmp_path, **fields, bots="old = elisa"))


def test_a_preview_shows_pages_without_systems_and_counts_bad_lines(tmp_path: Path) -> None:
    prepared, preview = prepare(receive_file(tmp_path, SAMPLES, kind="rate", name="t", per_item="2"))
    assert (preview["items"], preview["records"], preview["per_item"]) == (1, 2, 2)
    assert render(preview["summary"], "ja")[0].startswith("t（評価）：2 件のレコードから 1 ページ")
    (page,) = preview["pages"]
    assert page == {"context": [{"speaker": "A", "text": "Hi"}], "units": [{"text": "Hello!"}, {"text": "Squawk"}]}
    assert preview["rejected"] == 1
    assert str(tmp_path) not in str(preview)
    assert prepared.source["name"] == "in.jsonl"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"response": "' + b"a" * 2**26 + b'"}', "more than"),
        (b'{"response": "a", "context": [' + b'"a",' * 10**6 + b'"b"]}', "more than 500,000 texts"),
        (b"{\n" * 10**6, "more than 500,000 texts"),
        (b'{"ratings": ' + b"[" * 10**6, "more than 500,000 texts"),
    ],
    ids=["bytes", "texts", "bad lines", "lists"],
)
@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_a_small_file_cannot_fill_the_memory(content: bytes, message: str, suffix: str, tmp_path: Path) -> None:
    packed = io.BytesIO()
    with compress(packed, suffix) as stream:
        stream.write(content)
    assert len(packed.getvalue()) < 2**20
    with pytest.raises(InputError, match=f"{message}.*interloq serve add"):
        prepare(receive_file(tmp_path, packed.getvalue(), f"bomb.jsonl{suffix}", kind="rate", name="t"))


def test_a_large_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"more than 64 MiB.*interloq serve add"):
        prepare(receive_file(tmp_path, b'{"response": "' + b"a" * 2**26 + b'"}', kind="rate", name="t"))


def test_scores_are_limited_as_well(tmp_path: Path) -> None:
    upload = receive_file(tmp_path, SAMPLES, kind="rate", name="t")
    (tmp_path / "scores.jsonl").write_bytes(b"{\n" * 10**6)
    with pytest.raises(InputError, match=r"scores\.jsonl has more than"):
        prepare(replace(upload, scores=tmp_path / "scores.jsonl"))


def test_a_file_name_cannot_leave_the_folder(tmp_path: Path) -> None:
    path = receive_file(tmp_path, SAMPLES, "../../etc/.pass wd").records
    assert path == tmp_path / "records" / "pass_wd"


def test_uploads_that_make_no_task(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file was given"):
        prepare(receive_form(tmp_path, kind="rate", name="t"))
    with pytest.raises(InputError, match="must be a whole number, got '-1'"):
        prepare(receive_file(tmp_path, SAMPLES, kind="rate", name="t", per_item="-1"))
    (tmp_path / "other").mkdir()
    with pytest.raises(InputError, match="its model is on the server"):
        prepare(receive_file(tmp_path / "other", SAMPLES, kind="references", name="t"))


def test_fields_take_precedence_over_settings() -> None:
    found = with_chat_fields(chat_task(options={"topics": ["Music"], "replies": []}), FIELDS)
    assert found.options == {
        "bots": {"old": "eliza", "parrot": "echo"}, "topics": ["Travel", "Food"], "replies": [], "guess": True,
    }  # fmt: skip
    assert found.turns == 7
    assert with_chat_fields(found, {"bots": " ", "turns": ""}) == found


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [("bots", "eliza", "not a bot"), ("bots", "a = echo\na = eliza", "same name"), ("turns", "many", "whole number")],
)
def test_bad_fields_say_why(field: str, value: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        with_chat_fields(chat_task(), {field: value})


@pytest.mark.parametrize(
    "spec", ["process(command='ls')", "retrieval(index='/etc')", "endpoint(url='http://x/v1',model='m')"]
)
def test_bots_that_name_something_need_trust(spec: str) -> None:
    check_local({"a": "eliza", "b": "echo"})
    with pytest.raises(InputError, match="'c' names a file, a program or a server: an owner can check the box"):
        check_local({"a": "eliza", "c": spec})
