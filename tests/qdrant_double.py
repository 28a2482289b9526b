"""A Qdrant server in a thread: the few requests that our client makes, computed by brute force and kept in memory.

It stands in where there is no real server, so that the client's own logic is always tested. What only a real one can
show (graphs, quantization, clusters) is tested where one is found: see server_fixtures.py.
"""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import orjson

PATH = re.compile(r"/collections/([\w-]+)(/exists|/points(?:/\w+)*|)(?:\?.*)?")


class RefusedError(Exception):
    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status = status


@dataclass
class Shard:
    """Points by id; each shard has statistics of its own for idf."""

    points: dict[int, dict[str, Any]] = field(default_factory=dict)
    _dense: dict[str, tuple[list[int], Any]] = field(default_factory=dict)
    _postings: dict[str, tuple[int, dict[int, list[tuple[int, float]]]]] = field(default_factory=dict)

    def changed(self) -> None:
        self._dense.clear()
        self._postings.clear()

    def scores(self, using: str, query: Any) -> dict[int, float]:
        return self._sparse_scores(using, query) if isinstance(query, dict) else self._dense_scores(using, query)

    def _dense_scores(self, using: str, query: Sequence[float]) -> dict[int, float]:
        if using not in self._dense:
            ids = [id for id, point in self.points.items() if using in point["vector"]]
            rows = [self.points[id]["vector"][using] for id in ids]
            self._dense[using] = ids, np.array(rows, dtype=np.float32).reshape(len(ids), -1)
        ids, matrix = self._dense[using]
        found = matrix @ np.array(query, dtype=np.float32) if ids else np.zeros(0, dtype=np.float32)
        return dict(zip(ids, found.tolist(), strict=True))

    def _sparse_scores(self, using: str, query: Mapping[str, Any]) -> dict[int, float]:
        """idf = log(1 + (N − df + ½) / (df + ½)), with N the points that have any word; only these that share one."""
        n, postings = self._inverted(using)
        found: dict[int, float] = {}
        for index, value in zip(query["indices"], query["values"], strict=True):
            holding = postings.get(index, [])
            idf = float(np.log(1 + (n - len(holding) + 0.5) / (len(holding) + 0.5)))
            for id, stored in holding:
                found[id] = found.get(id, 0.0) + value * idf * stored
        return found

    def _inverted(self, using: str) -> tuple[int, dict[int, list[tuple[int, float]]]]:
        if using not in self._postings:
            postings: dict[int, list[tuple[int, float]]] = {}
            vectors = {id: p["vector"][using] for id, p in self.points.items() if using in p["vector"]}
            for id, vector in vectors.items():
                for index, value in zip(vector["indices"], vector["values"], strict=True):
                    postings.setdefault(index, []).append((id, value))
            self._postings[using] = sum(bool(vector["indices"]) for vector in vectors.values()), postings
        return self._postings[using]


class Collection:
    def __init__(self, config: dict[str, Any]) -> None:
        self.config = {"shard_number": 1, **config}
        self.shards = [Shard() for _ in range(self.config["shard_number"])]

    def __len__(self) -> int:
        return sum(len(shard.points) for shard in self.shards)

    def info(self) -> dict[str, Any]:
        threshold = self.config.get("optimizers_config", {}).get("indexing_threshold", 0)
        vectors = sum(len(point["vector"]) for shard in self.shards for point in shard.points.values())
        return {
            "status": "green",
            "optimizer_status": "ok",
            "indexed_vectors_count": vectors if threshold else 0,
            "config": {"params": self.config},
        }

    def put(self, body: Mapping[str, Any]) -> None:
        if "batch" in body:
            batch = body["batch"]
            for i, id in enumerate(batch["ids"]):
                self._put(id, {name: values[i] for name, values in batch["vectors"].items()}, batch["payloads"][i])
        for point in body.get("points", ()):
            self._put(point["id"], point["vector"], point["payload"])

    def _put(self, id: int, vector: dict[str, Any], payload: Any) -> None:
        known = {**self.config.get("vectors", {}), **self.config.get("sparse_vectors", {})}
        if unknown := set(vector) - set(known):
            raise RefusedError(400, f"Wrong input: Not existing vector name error: {unknown.pop()}")
        shard = self.shards[id % len(self.shards)]
        shard.points[id] = {"vector": vector, "payload": payload}
        shard.changed()

    def delete(self, ids: Sequence[int]) -> None:
        for id in ids:
            self.shards[id % len(self.shards)].points.pop(id, None)
        for shard in self.shards:
            shard.changed()

    def retrieve(self, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        found = []
        for id in dict.fromkeys(body["ids"]):
            if (point := self.shards[id % len(self.shards)].points.get(id)) is not None:
                one = {"id": id, "payload": point["payload"] if body.get("with_payload", True) else None}
                names = body.get("with_vector") or ()
                found.append(one | ({"vector": {name: point["vector"][name] for name in names}} if names else {}))
        return found

    def scroll(self, body: Mapping[str, Any]) -> dict[str, Any]:
        ids = sorted(id for shard in self.shards for id in shard.points if id >= body.get("offset", 0))
        return {"points": [{"id": id} for id in ids[: body["limit"]]]}

    def query(self, search: Mapping[str, Any]) -> dict[str, Any]:
        if search["limit"] < 1:
            raise RefusedError(422, "limit: value 0 invalid, must be 1 or larger")
        scores: dict[int, float] = {}
        for shard in self.shards:
            scores |= shard.scores(search["using"], search["query"])
        for condition in search.get("filter", {}).get("must", ()):
            wanted = set(condition["has_id"])
            scores = {id: score for id, score in scores.items() if id in wanted}
        best = sorted(scores, key=lambda point: (-scores[point], point))[: search["limit"]]
        return {"points": [{"id": id, "version": 0, "score": scores[id]} for id in best]}


class QdrantDouble:
    """Started and killed as a real node is: it keeps its port and its data over a restart."""

    def __init__(self, key: str = "") -> None:
        self.key, self.port = key, 0
        self.collections: dict[str, Collection] = {}
        self.lock = threading.Lock()
        self._server: _Server | None = None

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> QdrantDouble:
        self._server = _Server(self)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def kill(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server.hang_up()
            self._server = None

    def answer(self, method: str, path: str, body: Any) -> Any:
        match = PATH.fullmatch(path)
        if not match:
            raise RefusedError(404, "Not found")
        name, rest = match.groups()
        with self.lock:
            if rest == "/exists":
                return {"exists": name in self.collections}
            if rest == "" and method in ("PUT", "DELETE"):
                return self._make_or_drop(method, name, body)
            if name not in self.collections:
                raise RefusedError(404, f"Not found: Collection `{name}` doesn't exist!")
            return _answer(self.collections[name], method, rest, body)

    def _make_or_drop(self, method: str, name: str, body: Any) -> bool:
        if method == "DELETE":
            return self.collections.pop(name, None) is not None
        if name in self.collections:
            raise RefusedError(409, f"Wrong input: Collection `{name}` already exists!")
        self.collections[name] = Collection(body)
        return True


def _answer(found: Collection, method: str, rest: str, body: Any) -> Any:
    if (method, rest) == ("GET", ""):
        return found.info()
    if (method, rest) == ("PATCH", ""):
        found.config |= body
        return True
    if (method, rest) == ("PUT", "/points"):
        found.put(body)
        return {"status": "completed"}
    if (method, rest) == ("POST", "/points"):
        return found.retrieve(body)
    if (method, rest) == ("POST", "/points/count"):
        return {"count": len(found)}
    if (method, rest) == ("POST", "/points/scroll"):
        return found.scroll(body)
    if (method, rest) == ("POST", "/points/delete"):
        found.delete(body["points"])
        return {"status": "completed"}
    if (method, rest) == ("POST", "/points/query/batch"):
        return [found.query(search) for search in body["searches"]]
    raise RefusedError(404, f"Not found: {method} {rest}")


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, double: QdrantDouble) -> None:
        self.double, self.connections = double, set[socket.socket]()
        super().__init__(("127.0.0.1", double.port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.connections.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        for connection in list(self.connections):
            self.shutdown_request(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # a client that was killed, or a server that was


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def _respond(self) -> None:
        data = self.rfile.read(int(self.headers.get("content-length", 0)))
        try:
            if self.server.double.key not in ("", self.headers.get("api-key", "")):
                raise RefusedError(401, "Must provide an API key or an Authorization bearer token")
            result = self.server.double.answer(self.command, self.path, orjson.loads(data) if data else None)
            status, value = 200, {"result": result, "status": "ok", "time": 0.0}
        except RefusedError as error:
            status, value = error.status, {"status": {"error": str(error)}, "time": 0.0}
        body = orjson.dumps(value)
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = _respond  # noqa: N815 - the names that the library calls

    def log_message(self, *_: Any) -> None:
        pass
