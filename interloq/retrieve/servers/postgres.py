# SPDX-License-Identifier: Apache-2.0
"""Pairs in a PostgreSQL table: vectors with the extension pgvector, or words.

`<table>` has one row per pair: its position, the pair as JSON, and one vector per field. Words have their own table
(`<table>_words`), with one row per distinct word of each text; the database computes BM25 from it, with the same scores
as a folder. The manifest is the only row of `<table>_interloq`, changed in the transaction that adds a batch: a batch
is added completely or not at all, and only one client adds at a time.
"""

from __future__ import annotations

import math
import re
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any, LiteralString
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import numpy as np
import orjson
import psycopg
from psycopg import errors, sql

from interloq.errors import InputError
from interloq.records import Pair
from interloq.retrieve.recall import as_probes, choose_effort, share_reaching
from interloq.retrieve.retriever import NOTHING, Encoded, Field, Floats, Ids, Words
from interloq.retrieve.servers.postgres_sql import (
    BEST,
    BM25,
    GIVEN,
    MAKE,
    NEAREST,
    SCORES,
    as_binary,
    as_json,
    as_table,
    as_text,
)
from interloq.retrieve.servers.server_store import (
    N_PROBES,
    NEIGHBOURS,
    ServerManifest,
    ServerStore,
    check_source,
    read_manifest,
    read_options,
)

MOST_DIMENSIONS = 2_000  # the most that pgvector can index
MOST_LISTS = 16_384
EFFORT = {"ivfflat": "ivfflat.probes", "hnsw": "hnsw.ef_search"}


@dataclass(frozen=True, slots=True)
class TableOptions:
    """Options that are fixed when the table is created."""

    index: str = "ivfflat"  # or hnsw: slower to build, faster to search


class Postgres(ServerStore):
    """A store in PostgreSQL."""

    _defaults = TableOptions()

    def _connect(self, address: str) -> None:
        self._dsn, self._table, options, self.where = _split(address)
        table = self._table
        self._names = {
            "table": sql.Identifier(*table),
            "words": sql.Identifier(*table[:-1], f"{table[-1]}_words"),
            "notes": sql.Identifier(*table[:-1], f"{table[-1]}_interloq"),
        }
        (self._given,) = read_options(options, TableOptions, where=self.where)
        if self._given.get("index", "hnsw") not in EFFORT:
            raise InputError(f"option index must be ivfflat or hnsw, got {self._given['index']!r}", where=self.where)
        self._connection: psycopg.Connection | None = None

    @contextmanager
    def _transaction(self, *, hint: str = "") -> Iterator[psycopg.Connection]:
        """Yield a transaction; errors of the database become one line."""
        try:
            connection = self._open_connection()
            with connection.transaction():
                yield connection
        except errors.LockNotAvailable:
            raise InputError("another client is adding", hint="wait until it has finished", where=self.where) from None
        except psycopg.OperationalError as error:
            hint = "start the server, then run the same command again to resume"
            raise InputError(f"no answer: {_line(error)}", hint=hint, where=self.where) from error
        except psycopg.Error as error:
            raise InputError(f"PostgreSQL said: {_line(error)}", hint=hint, where=self.where) from error

    def _open_connection(self) -> psycopg.Connection:
        if self._connection is None or self._connection.closed:
            try:
                self._connection = psycopg.connect(self._dsn, autocommit=True)
            except psycopg.ProgrammingError:  # its text may repeat a part of the password
                raise InputError(
                    "cannot read the address", hint="write special characters as %XX", where=self.where
                ) from None
            weakref.finalize(self, self._connection.close)
        return self._connection

    def _sql(self, text: LiteralString, **identifiers: str) -> sql.Composed:
        return sql.SQL(text).format(**self._names, **{key: sql.Identifier(name) for key, name in identifiers.items()})

    def _read(self) -> ServerManifest | None:
        with self._transaction() as connection:
            name = self._names["notes"].as_string(connection)
            if connection.execute("SELECT to_regclass(%s)", [name]).fetchone() == (None,):
                return None
            row = connection.execute(self._sql("SELECT manifest FROM {notes}")).fetchone()
        return read_manifest(row[0], self.where) if row else None

    def _lock(self, connection: psycopg.Connection) -> ServerManifest:
        """Return the current manifest, locked against changes by others until this transaction ends."""
        row = connection.execute(self._sql("SELECT manifest FROM {notes} FOR UPDATE NOWAIT")).fetchone()
        if row is None:
            raise InputError("the index no longer exists", hint="build it again", where=self.where)
        return read_manifest(row[0], self.where)

    def _write(self, connection: psycopg.Connection, manifest: ServerManifest) -> None:
        connection.execute(self._sql("UPDATE {notes} SET manifest = %s"), [as_json(asdict(manifest))])

    def _make(self, manifest: ServerManifest) -> None:
        if manifest.dimensions > MOST_DIMENSIONS:
            what = f"pgvector indexes at most {MOST_DIMENSIONS} dimensions, got {manifest.dimensions}"
            raise InputError(what, hint="use a folder or Qdrant", where=self.where)
        if manifest.dimensions:
            with self._transaction(
                hint="install pgvector, and run CREATE EXTENSION vector as a user with the right to"
            ) as connection:
                connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        with self._transaction(hint="name a new table") as connection:
            connection.execute(self._sql(MAKE))
            connection.execute(self._sql("INSERT INTO {notes} VALUES (0, %s)"), [as_json(asdict(manifest))])
            if manifest.dimensions:
                column = sql.SQL("vector({})").format(manifest.dimensions)
                for key in manifest.compared_fields():
                    connection.execute(self._sql("ALTER TABLE {table} ADD {field} ", field=key) + column)

    def add(self, pairs: Sequence[Pair], encoded: Mapping[Field, Encoded], *, source: str, consumed: int) -> None:
        with self._transaction() as connection:
            manifest = self._lock(connection)
            check_source(manifest, source, consumed - len(pairs))
            words = {key: values for key, values in encoded.items() if isinstance(values, Words)}
            vectors = {key: values for key, values in encoded.items() if not isinstance(values, Words)}
            columns = sql.SQL(", ").join(sql.Identifier(name) for name in ("id", "pair", *vectors))
            copy_from = self._sql("COPY {table} (") + columns + sql.SQL(") FROM STDIN (FORMAT BINARY)")
            rows = [as_binary(values) for values in vectors.values()]
            with connection.cursor().copy(copy_from) as copy:
                copy.set_types(["int8", "bytea", *["bytea"] * len(rows)])  # raw bytes
                for i, pair in enumerate(pairs):
                    copy.write_row((manifest.pairs + i, orjson.dumps(asdict(pair)), *(row[i] for row in rows)))
            for key, values in words.items():
                self._copy_words(connection, manifest.pairs, key, values)
            manifest = replace(
                manifest,
                pairs=manifest.pairs + len(pairs),
                sources={**manifest.sources, source: consumed},
                words={key: manifest.words.get(key, 0) + int(values.counts.sum()) for key, values in words.items()},
            )
            self._write(connection, manifest)
        self.manifest = manifest

    def _copy_words(self, connection: psycopg.Connection, first: int, key: Field, words: Words) -> None:
        each = np.diff(words.ends)
        owners = np.repeat(np.arange(first, first + len(words)), each).tolist()
        lengths = np.repeat(words.lengths, each).tolist()
        numbers, counts = words.terms.view(np.int64).tolist(), words.counts.tolist()
        with connection.cursor().copy(self._sql("COPY {words} FROM STDIN (FORMAT BINARY)")) as copy:
            copy.set_types(["text", "int8", "int8", "int4", "int4"])
            for word, pair, n, length in zip(numbers, owners, counts, lengths, strict=True):
                copy.write_row((key, word, pair, n, length))

    def finish(self) -> None:
        """Build the database indexes; choose the search effort for vectors, and measure the recall."""
        with self._transaction() as connection:
            manifest = self._lock(connection)
            if manifest.indexed == manifest.pairs:
                return
            if not manifest.dimensions:
                if not manifest.indexed:
                    connection.execute(self._sql("CREATE INDEX ON {words} (field, word) INCLUDE (pair, n, length)"))
                connection.execute(self._sql("ANALYZE {words}"))
                manifest = replace(manifest, indexed=manifest.pairs)
            elif manifest.pairs > manifest.exact_up_to:
                manifest = self._index_vectors(connection, manifest)
            self._write(connection, manifest)
        self.manifest = manifest

    def _index_vectors(self, connection: psycopg.Connection, manifest: ServerManifest) -> ServerManifest:
        """Rebuild the vector index if the pairs have more than doubled since it was built, and choose the effort."""
        if manifest.pairs > 2 * manifest.indexed:
            for key in manifest.compared_fields():
                method, lists = manifest.options["index"], _lists(manifest.pairs)
                megabytes = 256 + lists * 50 * 4 * manifest.dimensions // 10**6  # pgvector takes 50 samples per list
                _set(connection, "maintenance_work_mem", f"{megabytes}MB")
                name = f"{self._table[-1]}_{key}_{method}"
                connection.execute(sql.SQL("DROP INDEX IF EXISTS {}").format(sql.Identifier(*self._table[:-1], name)))
                how = sql.SQL("WITH (lists = {})").format(lists) if method == "ivfflat" else sql.SQL("")
                made: LiteralString = "CREATE INDEX {name} ON {table} USING {method} ({field} vector_ip_ops) "
                connection.execute(self._sql(made, name=name, method=method, field=key) + how)
            manifest = replace(manifest, indexed=manifest.pairs)
        effort, recall = self._measure_recall(connection, manifest)
        return replace(manifest, effort=effort, recall=recall)

    def _measure_recall(self, connection: psycopg.Connection, manifest: ServerManifest) -> tuple[int, float]:
        """Return the least effort that reaches the wanted recall, and the recall it reaches."""
        step = max(1, manifest.pairs // N_PROBES)
        rows = connection.execute(
            self._sql("SELECT utterance::text FROM {table} WHERE id %% %s = 0 ORDER BY id LIMIT %s"), [step, N_PROBES]
        )
        probes = as_probes(np.array([orjson.loads(row[0]) for row in rows], dtype=np.float32))

        def at(effort: int) -> Floats:
            search = replace(manifest, effort=effort)
            return self._near(connection, search, "utterance", probes, NEIGHBOURS + 1)[1]

        _set(connection, "enable_indexscan", "off")
        truth = at(0)
        _set(connection, "enable_indexscan", "on")
        most = 1_000 if manifest.options["index"] == "hnsw" else _lists(manifest.pairs)
        efforts = [2**i for i in range(4 if most == 1_000 else 0, math.ceil(math.log2(most)))]
        return choose_effort([*efforts, most], lambda effort: share_reaching(at(effort), truth), manifest.wanted_recall)

    def nearest(self, field: Field, queries: Encoded, k: int) -> tuple[Ids, Floats]:
        with self._transaction() as connection:
            if not isinstance(queries, Words):
                return self._near(connection, self.manifest, field, queries, k)
            rows = connection.execute(self._sql(BM25 + BEST), self._bm25(field, queries) | {"k": k}).fetchall()
        return as_table(rows, len(queries), k)

    def _near(
        self, connection: psycopg.Connection, manifest: ServerManifest, field: Field, queries: Floats, k: int
    ) -> tuple[Ids, Floats]:
        if manifest.effort:
            method = manifest.options["index"]
            _set(connection, EFFORT[method], str(manifest.effort))
            _set(connection, f"{method}.iterative_scan", "relaxed_order")  # continue until k are found
        params = {"vectors": as_text(queries), "k": k}
        return as_table(connection.execute(self._sql(NEAREST, field=field), params).fetchall(), len(queries), k)

    def scores(self, field: Field, queries: Encoded, ids: Ids) -> Floats:
        """Return the scores of given pairs: 0 without a shared word, -inf for a missing vector."""
        rows, columns = np.nonzero(ids != NOTHING)
        wanted = {"rows": (rows + 1).tolist(), "ids": ids[rows, columns].tolist()}
        with self._transaction() as connection:
            if isinstance(queries, Words):
                answer = connection.execute(self._sql(BM25 + GIVEN), self._bm25(field, queries) | wanted).fetchall()
            else:
                params = {"vectors": as_text(queries)} | wanted
                answer = connection.execute(self._sql(SCORES, field=field), params).fetchall()
        known = {(row - 1, id): score for row, id, score in answer}
        values = np.full(ids.shape, 0.0 if isinstance(queries, Words) else -math.inf, dtype=np.float32)
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
            values[row, column] = known.get((row, int(ids[row, column])), values[row, column])
        return values

    def _bm25(self, field: Field, queries: Words) -> dict[str, Any]:
        retriever = self.manifest.create_retriever()
        return {
            "query": (np.repeat(np.arange(len(queries)), np.diff(queries.ends)) + 1).tolist(),
            "word": queries.terms.view(np.int64).tolist(),
            "n": queries.counts.tolist(),
            "field": field,
            "pairs": len(self),
            "mean": max(self.manifest.words.get(field, 0), 1) / max(len(self), 1),
            "k1": retriever.k1,
            "b": retriever.b,
        }

    def pairs(self, ids: Sequence[int]) -> list[Pair]:
        """Return the pairs with these numbers."""
        with self._transaction() as connection:
            rows = connection.execute(self._sql("SELECT id, pair FROM {table} WHERE id = ANY(%s)"), [list(ids)])
            by_id = {id: Pair(**values) for id, values in rows}
        return [by_id[id] for id in ids]


def _split(address: str) -> tuple[str, tuple[str, ...], str, str]:
    """Return the server's address, the table, our options, and the address to show, without a password."""
    parts = urlsplit(address)
    query = parse_qsl(parts.query, keep_blank_values=True)
    table = parts.fragment or dict(query).get("table", "")
    if not re.fullmatch(r"([A-Za-z_][A-Za-z0-9_]{0,39}\.)?[A-Za-z_][A-Za-z0-9_]{0,39}", table):
        raise InputError(
            f"a table name has up to 40 letters, digits and '_', got {table!r}",
            hint="write postgresql://host/database#table or …#schema.table",
        )
    ours = [(name, value) for name, value in query if name in TableOptions.__dataclass_fields__]
    theirs = [
        (name, value) for name, value in query if name not in TableOptions.__dataclass_fields__ and name != "table"
    ]
    dsn = urlunsplit(("postgresql", parts.netloc, parts.path, urlencode(theirs), ""))
    where = f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}#{table}"
    return dsn, tuple(table.split(".")), urlencode(ours), where


def _lists(n: int) -> int:
    return min(MOST_LISTS, max(1, round(2 * math.sqrt(n))))


def _set(connection: psycopg.Connection, name: str, value: str) -> None:
    """Change a setting for this transaction only."""
    connection.execute("SELECT set_config(%s, %s, true)", [name, value])


def _line(error: psycopg.Error) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
