"""The store in PostgreSQL: batches that are whole or absent, one writer, two kinds of index, names that stay names."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.retrieve.made_index import PAIRS, made
from tests.server_fixtures import started_postgres

pytest.importorskip("psycopg")

import psycopg

from interloq import InputError, create, write
from interloq.retrieve.index import create_index, open_index
from interloq.retrieve.retriever import Query
from interloq.retrieve.servers.postgres import Postgres

DENSE = "dense(encoder='fake32')"
QUERIES = [Query(pair.utterance) for pair in made(20, seed=1)]


def rows(address: str, statement: Any) -> list[tuple[Any, ...]]:
    """What the database says without Interloq between."""
    server, _, name = address.partition("#")
    with psycopg.connect(server) as connection:
        return connection.execute(statement.replace("TABLE", name)).fetchall()


PROGRAM = """
import sys, time
from interloq.data.records.jsonl import read
from interloq.retrieve.index import create_index
from interloq.retrieve.servers.postgres import Postgres
add = Postgres.add
Postgres.add = lambda *a, **options: (add(*a, **options), time.sleep(0.02))
index = create_index(sys.argv[2], sys.argv[3])
print("open", flush=True)
index.add(read(sys.argv[1], kind="pairs"), source="log", segment=50)
"""


@pytest.mark.parametrize("retriever", [DENSE, "bm25"])
def test_kill_the_client_at_any_point_then_resume(tmp_path: Path, postgres_address: str, retriever: str) -> None:
    write(tmp_path / "pairs.jsonl", PAIRS, kind="pairs")
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "pairs.jsonl"), postgres_address, retriever]
    rng, reached = Random(3), [0]
    for _ in range(4):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        wanted = reached[-1] + rng.randint(1, 200)
        while open_index(postgres_address).store.sources().get("log", 0) < wanted and process.poll() is None:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        reached.append(_settled(postgres_address))
    assert reached == sorted(set(reached)), f"each went on where the one before stopped: {reached}"
    assert reached[-1] < len(PAIRS)
    assert all(n % 50 == 0 for n in reached), "a batch is in whole or not at all"
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    index = open_index(postgres_address)
    assert index.store.sources() == {"log": len(PAIRS)}
    assert index.store.pairs(range(len(PAIRS))) == PAIRS
    assert rows(postgres_address, "SELECT count(*) FROM TABLE") == [(len(PAIRS),)]
    if retriever == "bm25":
        n_words = sum(len(set(pair.utterance.split())) for pair in PAIRS)
        assert rows(postgres_address, "SELECT count(*) FROM TABLE_words") == [(n_words,)]


def _settled(address: str) -> int:
    """How many pairs are in when the server has noticed that the client is dead."""
    before = -1
    while (now := open_index(address).store.sources()["log"]) != before:
        before = now
        time.sleep(0.3)
    return now


def test_one_client_adds_at_a_time(postgres_address: str) -> None:
    index = create_index(postgres_address, DENSE)
    index.add(PAIRS[:10], source="a")
    server, _, name = postgres_address.partition("#")
    with psycopg.connect(server) as other:
        other.execute(f"SELECT * FROM {name}_interloq FOR UPDATE")  # noqa: S608
        with pytest.raises(InputError, match="another client is adding; wait until it has finished"):
            index.add(PAIRS[:20], source="a")
        assert open_index(postgres_address).search(QUERIES[:1], 3)[0], "others can read"
    assert index.add(PAIRS[:20], source="a") == 10


def test_a_batch_that_fails_leaves_nothing(postgres_address: str) -> None:
    index = create_index(postgres_address, DENSE)
    index.add(PAIRS[:10], source="a")
    encoded = {"utterance": np.zeros((5, 7), dtype=np.float32)}  # of other dimensions than the table's
    with pytest.raises(InputError, match="PostgreSQL said: expected 32 dimensions, not 7"):
        index.store.add(PAIRS[10:15], encoded, source="a", consumed=15)  # type: ignore[arg-type]
    assert rows(postgres_address, "SELECT count(*) FROM TABLE") == [(10,)]
    assert open_index(postgres_address).store.sources() == index.store.sources() == {"a": 10}
    assert index.add(PAIRS[:15], source="a") == 5


@pytest.fixture
def own_server() -> Iterator[Any]:
    with started_postgres() as server:
        yield server


def test_a_server_that_is_gone_is_an_error_that_says_how_to_go_on(own_server: Any) -> None:
    address = f"{own_server.get_uri()}#log"
    index = create_index(address, DENSE)
    index.add(PAIRS[:100], source="log")
    own_server.stop()
    for action in (
        lambda: index.add(PAIRS, source="log"),
        lambda: index.search(QUERIES),
        lambda: open_index(address),
    ):
        with pytest.raises(InputError, match=r"no answer: .*; start the server, then run the same command again"):
            action()
    own_server.start()
    assert index.add(PAIRS, source="log", segment=700) == len(PAIRS) - 100
    assert open_index(address).store.pairs(range(len(PAIRS))) == PAIRS


@pytest.mark.parametrize("kind", ["ivfflat", "hnsw"])
def test_indexed_search_reaches_the_recall_it_says(postgres_address: str, kind: str) -> None:
    address = postgres_address.replace("#", f"&index={kind}#")
    index = create_index(address, DENSE, exact_up_to=500, recall=0.95)
    index.add(PAIRS[:400], source="a")
    assert _methods(postgres_address) == set(), "exact so far"
    index.add(PAIRS, source="b", segment=900)
    assert _methods(postgres_address) == {kind}
    manifest: Any = open_index(postgres_address).store.manifest
    assert manifest.recall >= 0.95
    assert manifest.indexed == 2_400
    stored = np.asarray(index.retriever.encode([pair.utterance for pair in [*PAIRS[:400], *PAIRS]]))
    queries = np.asarray(index.retriever.encode([query.utterance for query in QUERIES]))
    truth = np.sort(queries @ stored.T, axis=1)[:, ::-1][:, :15]
    ids, scores = open_index(address).store.nearest("utterance", queries, 15)
    assert np.mean(scores >= truth[:, -1:] - 1e-5) > 0.9
    assert scores == pytest.approx(np.take_along_axis(queries @ stored.T, ids, axis=1), abs=1e-5)
    many, _ = open_index(address).store.nearest("utterance", queries[:2], 1_500)
    assert (many >= 0).all(), "as many as are asked for, though a search visits few"


def _methods(address: str) -> set[str]:
    found = rows(address, "SELECT indexdef FROM pg_indexes WHERE tablename = 'TABLE'")
    return {method for (text,) in found for method in ("ivfflat", "hnsw") if f"USING {method}" in text}


def test_lists_are_made_again_when_the_table_has_doubled(postgres_address: str) -> None:
    index = create_index(postgres_address, DENSE, exact_up_to=100)
    reached = []
    for n in (500, 900, 1_100):
        index.add(PAIRS[:n], source="a")
        reached.append(index.store.manifest.indexed)  # type: ignore[attr-defined]
    assert reached == [500, 500, 1_100]


def test_names_stay_names(postgres_server: str) -> None:
    for bad in ("x; DROP TABLE y", 'x"y', "a.b.c", "", "x" * 41, "1x"):
        with pytest.raises(
            InputError, match=r"a table name has up to 40 letters.*write postgresql://host/database#table"
        ):
            create_index(f"{postgres_server}#{bad}", "bm25")
    with psycopg.connect(postgres_server) as connection:
        connection.execute("CREATE SCHEMA IF NOT EXISTS logs")
    address = f"{postgres_server}#logs.Select"
    create_index(address, DENSE, exact_up_to=10).add(PAIRS[:50], source="a; --")
    assert open_index(f"{postgres_server}&table=logs.Select").store.sources() == {"a; --": 50}
    with psycopg.connect(postgres_server) as connection:
        connection.execute("DROP SCHEMA logs CASCADE")


def test_a_password_is_never_shown() -> None:
    with pytest.raises(InputError) as caught:
        open_index("postgresql://me:hunter2@127.0.0.1:1/logs?connect_timeout=2#pairs")
    assert "hunter2" not in str(caught.value)
    assert "postgresql://127.0.0.1:1/logs#pairs: no answer:" in str(caught.value)
    with pytest.raises(InputError, match="cannot read the address; write special characters as %XX") as caught:
        open_index("postgresql://me:hunter2%zz@127.0.0.1:1/logs#pairs")
    assert "hunter2" not in str(caught.value)


def test_a_table_that_is_not_an_index_is_left_alone(postgres_address: str) -> None:
    server, _, name = postgres_address.partition("#")
    with psycopg.connect(server) as connection:
        connection.execute(f"CREATE TABLE {name} AS SELECT 7 AS kept")
    with pytest.raises(InputError, match=f'"{name}" already exists; name a new table'):
        create_index(postgres_address, DENSE)
    assert rows(postgres_address, "SELECT * FROM TABLE") == [(7,)]
    with pytest.raises(InputError, match="no index at this address"):
        open_index(postgres_address)


def test_what_it_does_not_take(postgres_address: str) -> None:
    with pytest.raises(InputError, match="option index must be ivfflat or hnsw, got 'flat'"):
        create_index(postgres_address.replace("#", "&index=flat#"), DENSE)
    with pytest.raises(InputError, match="pgvector indexes at most 2000 dimensions, got 2001"):
        create_index(postgres_address, "dense(encoder='fake2001')")
    Postgres.create(postgres_address.replace("#", "&index=hnsw#"), create(DENSE))
    with pytest.raises(InputError, match="another option index: 'hnsw', not 'ivfflat'"):
        open_index(postgres_address.replace("#", "&index=ivfflat#"))
