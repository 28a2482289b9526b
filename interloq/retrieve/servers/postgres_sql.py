# SPDX-License-Identifier: Apache-2.0
"""SQL statements for PostgreSQL, and the formats of pgvector.

In the statements, `{…}` are names that psycopg quotes, and `%(…)s` are values that are sent separately.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any, LiteralString

import numpy as np
import orjson

from interloq.retrieve.retriever import NOTHING, Floats, Ids, best

MAKE: LiteralString = """
CREATE TABLE {table} (id bigint PRIMARY KEY, pair json NOT NULL);
CREATE TABLE {words} (field text NOT NULL, word bigint NOT NULL, pair bigint NOT NULL, n integer NOT NULL,
                      length integer NOT NULL);
CREATE TABLE {notes} (id integer PRIMARY KEY CHECK (id = 0), manifest json NOT NULL)"""
NEAREST: LiteralString = """
SELECT q.row, near.id, near.score FROM unnest(%(vectors)s::vector[]) WITH ORDINALITY AS q(vector, row)
CROSS JOIN LATERAL (SELECT id, -({field} <#> q.vector) AS score FROM {table}
                    ORDER BY {field} <#> q.vector LIMIT %(k)s) AS near"""
SCORES: LiteralString = """
SELECT q.row, id, -({field} <#> q.vector) FROM unnest(%(vectors)s::vector[]) WITH ORDINALITY AS q(vector, row)
JOIN unnest(%(rows)s::bigint[], %(ids)s::bigint[]) AS wanted(row, id) USING (row) JOIN {table} USING (id)"""
BM25: LiteralString = """
WITH found AS (
  SELECT q.row, w.pair, count(*) OVER (PARTITION BY q.row, q.word) AS df, q.n * (%(k1)s::float8 + 1) * w.n
         / (w.n + %(k1)s::float8 * (1 - %(b)s::float8 + %(b)s::float8 * w.length / %(mean)s::float8)) AS weight
  FROM unnest(%(query)s::bigint[], %(word)s::bigint[], %(n)s::integer[]) AS q(row, word, n)
  JOIN {words} AS w ON w.word = q.word AND w.field = %(field)s),
scored AS (
  SELECT row, pair, sum(weight * ln(1 + (%(pairs)s::float8 - df + 0.5) / (df + 0.5))) AS score
  FROM found GROUP BY row, pair)"""
BEST: LiteralString = """
SELECT row, pair, score FROM (
  SELECT *, row_number() OVER (PARTITION BY row ORDER BY score DESC, pair) AS rank FROM scored) AS ranked
WHERE rank <= %(k)s"""
GIVEN: LiteralString = """
SELECT row, pair, score FROM scored
JOIN unnest(%(rows)s::bigint[], %(ids)s::bigint[]) AS wanted(row, pair) USING (row, pair)"""


def as_binary(vectors: Floats) -> list[bytes]:
    """Return pgvector's binary format: the number of dimensions, a zero, the values."""
    head = struct.pack(">HH", vectors.shape[1], 0)
    return [head + row.tobytes() for row in vectors.astype(">f4")]


def as_text(vectors: Floats) -> list[str]:
    """Return the vectors in pgvector's text format."""
    return [str(row) for row in vectors.tolist()]


def as_json(values: Mapping[str, Any]) -> str:
    """Return values as one line of JSON."""
    return orjson.dumps(values).decode()


def as_table(found: Sequence[tuple[int, int, float]], n: int, k: int) -> tuple[Ids, Floats]:
    """Return the rows of (query, id, score) as arrays of ids and scores, one row per query, best first."""
    ids = np.full((n, k), NOTHING, dtype=np.int64)
    scores = np.full((n, k), -np.inf, dtype=np.float32)
    filled = [0] * n
    for row, id, score in found:
        place = filled[row - 1]
        ids[row - 1, place], scores[row - 1, place] = id, score
        filled[row - 1] += 1
    return best(ids, scores, k)
