"""Values of JSON files, one at a time: nothing is lost before or after damage, and memory stays small."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interloq.data.files import json_stream
from interloq.data.files.json_stream import json_values
from interloq.errors import InputError

WITHIN = (("data",), ("results", "results"))
Bad = list[tuple[str, bytes, InputError]]


def read(path: Path, text: str | bytes) -> tuple[list[tuple[str, Any]], Bad]:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    bad: Bad = []
    values = json_values(path, WITHIN, lambda *damage: bad.append(damage))
    return [(where.removeprefix(str(path)), value) for where, value, _ in values], bad


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a":1}\n\n{"a":2}\n', [(":1", {"a": 1}), (":3", {"a": 2})]),
        ('[{"a":1}, {"b":2}]', [(": item 1", {"a": 1}), (": item 2", {"b": 2})]),
        ('{"x":1,"data":[1,{"a":2}],"y":2}', [(": item 1", 1), (": item 2", {"a": 2})]),
        ('{"results":{"n":3,"results":[{"a":1}]},"config":{}}', [(": item 1", {"a": 1})]),
        ('{\n "a": 1,\n "b": [1, 2]\n}', [(":1", {"a": 1, "b": [1, 2]})]),
        ('{"data":[1]}\n{"data":[2]}\n', [(": item 1", 1), (": item 2", 2)]),
        ('{"data":{"a":1},"results":3}', [(":1", {"data": {"a": 1}, "results": 3})]),
        ("[]", []),
        ('{"data":[]}', []),
        ("", []),
        ('\ufeff{"a":"é\\ud83d\\ude00"}', [(":1", {"a": "é😀"})]),
        ('{"a":NaN}', [(":1", {"a": None})]),
    ],
)
def test_values(tmp_path: Path, text: str, expected: list[tuple[str, Any]]) -> None:
    assert read(tmp_path / "a.json", text) == (expected, [])


@pytest.mark.parametrize(
    ("text", "kept", "where", "what"),
    [
        ('{"a":1}\n{"a":2\n{"a":3}\n', [1, 3], ":2", "byte 15"),
        ('{"a":1}\n{"a":"cut\n{"a":3}\n', [1, 3], ":2", "Invalid control character"),
        ('{"a":1}\n{"a":2', [1], ":2", "the file ends"),
        ('[{"a":1},\n{"a":"tru', [1], ":2", "Unterminated string .* ends here"),
        ('[{"a":1}\n', [1], ":2", "the file ends where"),
        ('{"results":{"results":[{"a":1},{"a":2', [1], ":1", "ends here"),
        ('[{"a":1},{"a" 2},{"a":3}]', [1], ":1", "Expecting ':' delimiter .byte 14"),
        ("hello", [], ":1", "expected a JSON object or array"),
    ],
)
def test_damage_is_reported_where_it_is(tmp_path: Path, text: str, kept: list[int], where: str, what: str) -> None:
    path = tmp_path / "a.json"
    values, bad = read(path, text)
    assert [value["a"] for _, value in values] == kept
    ((place, _, error),) = bad
    assert place == f"{path}{where}"
    with pytest.raises(InputError, match=what):
        raise error


def test_a_damaged_line_is_kept(tmp_path: Path) -> None:
    _, bad = read(tmp_path / "a.jsonl", '{"a":1}\n{"a":oops}\n{"a":3}\n')
    assert bad[0][1] == b'{"a":oops}'


def test_a_truncated_archive_keeps_what_was_read(tmp_path: Path) -> None:
    lines = "".join(f'{{"a":{i},"b":"{i * 7919}"}}\n' for i in range(20_000)).encode()
    whole = gzip.compress(lines, mtime=0)
    values, bad = read(tmp_path / "a.jsonl.gz", whole[: len(whole) // 2])
    assert 0 < len(values) < 20_000
    assert [value["a"] for _, value in values] == list(range(len(values)))
    assert bad[-1][0] == f"{tmp_path / 'a.jsonl.gz'}:{len(values) + 1}"
    assert "truncated" in bad[-1][2].what


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None, max_examples=60)
@given(st.lists(JSON, max_size=6), st.integers(1, 9), st.sampled_from([None, 1]))
def test_pieces_of_any_size_give_the_same_values(
    tmp_path_factory: pytest.TempPathFactory, items: list[Any], piece: int, indent: int | None
) -> None:
    path = tmp_path_factory.mktemp("pieces") / "a.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "PIECE", piece)
        values, bad = read(path, json.dumps({"data": items, "more": items}, indent=indent, ensure_ascii=False))
    assert not bad
    assert [value for _, value in values] == (items if items else [])


def test_a_large_array_needs_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with path.open("w") as file:
        file.write('{"data":[')
        for i in range(10_000):
            file.write(f'{"," if i else ""}{{"a":{i},"b":"{"x" * 1_600}"}}')
        file.write("]}")
    tracemalloc.start()
    n = sum(1 for _ in json_values(path, WITHIN, lambda *_: None))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert n == 10_000
    assert peak < path.stat().st_size / 2
