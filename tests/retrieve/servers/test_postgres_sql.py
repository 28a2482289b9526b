"""Values as PostgreSQL and pgvector take them."""

from __future__ import annotations

import struct

import numpy as np

from interloq.retrieve.retriever import NOTHING
from interloq.retrieve.servers.postgres_sql import as_binary, as_json, as_table, as_text

VECTORS = np.array([[0.5, -2, 0], [1, 0, 3]], dtype=np.float32)


def test_vectors_in_both_formats() -> None:
    assert as_text(VECTORS) == ["[0.5, -2.0, 0.0]", "[1.0, 0.0, 3.0]"]
    assert struct.unpack(">HH3f", as_binary(VECTORS)[0]) == (3, 0, 0.5, -2, 0)


def test_rows_become_a_table_best_first() -> None:
    ids, scores = as_table([(1, 7, 0.5), (3, 1, 0.1), (1, 4, 0.9), (1, 3, 0.5)], 3, 3)
    assert ids.tolist() == [[4, 3, 7], [NOTHING] * 3, [1, NOTHING, NOTHING]]
    assert scores[0].tolist() == [np.float32(0.9), 0.5, 0.5]
    assert scores[1].tolist() == [-np.inf] * 3


def test_json_is_one_line() -> None:
    assert as_json({"a": "x\ny", "b": [1]}) == '{"a":"x\\ny","b":[1]}'
