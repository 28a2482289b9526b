"""Shards in a real Ray cluster on this machine: a head and two nodes, of which workers, a node and the driver die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # read by the import: addresses stay 127.0.0.1
pytest.importorskip("ray")

from interloq import Reference, Sample
from interloq.data.records.jsonl import write
from interloq.errors import InputError, InterloqError, MissingDependencyError
from interloq.score import evaluate
from interloq.score.score_file import score_file
from interloq.score.score_options import ScoreOptions
from interloq.shards.ray_cluster import RayCluster
from interloq.shards.run import Shards, open_shards
from interloq.shards.shard_options import ONE_PROCESS, ShardOptions
from interloq.shards.task import Shard, ShardTask
from tests.shards.made_task import Squares

pytestmark = pytest.mark.filterwarnings("default")  # Ray's own
PIECES = [[3 * i, 3 * i + 1, 3 * i + 2] for i in range(12)]
NODE = {"node_ip_address": "127.0.0.1", "object_store_memory": 80 << 20, "include_dashboard": False}
DRIVER = """
import sys, time
from pathlib import Path
from interloq.shards.run import open_shards
from interloq.shards.shard_options import ShardOptions
from tests.shards.made_task import Squares
from tests.shards.test_ray_cluster import PIECES

def sleep_after_some(n):
    print("computed", flush=True)
    time.sleep(0.5)

with open_shards(ShardOptions(workers=sys.argv[1]), {"verb": "square"}, source="input", output="out") as shards:
    shards.compute("numbers", Squares(Path("notes").resolve()), PIECES, sleep_after_some)
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    settings = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 4}
    made = Cluster(initialize_head=True, head_node_args={**NODE, "num_cpus": 0, "_system_config": settings})
    made.add_node(num_cpus=1, num_gpus=1, **NODE)  # for Ray there is a GPU, for torch there is none
    yield made
    made.shutdown()


@pytest.fixture
def notes(folder: Path) -> Path:
    Path("input").write_text("numbers")
    Path("notes").mkdir()
    return Path("notes").resolve()


def square(cluster: Any, task: ShardTask, step: Any = lambda _: None, **options: Any) -> list[bytes]:
    options = {"workers": cluster.address, **options}
    with open_shards(ShardOptions(**options), {"verb": "square"}, source="input", output="out") as shards:
        return list(shards.compute("numbers", task, PIECES, step))


def expected(notes: Path) -> list[bytes]:
    results = list(Shards(ONE_PROCESS).compute("numbers", Squares(notes), PIECES))
    for note in notes.iterdir():
        note.unlink()
    return results


def test_a_worker_and_a_node_that_die_cost_a_shard_each(cluster: Any, notes: Path) -> None:
    plain = expected(notes)
    lost, told, done = cluster.add_node(num_cpus=1, **NODE), list[str](), list[int]()

    def remove_node(n: int) -> None:
        done.append(n)
        if len(done) == 3:
            cluster.remove_node(lost, allow_graceful=False)

    task = Squares(notes, kills=1)
    assert square(cluster, task, remove_node, tell=told.append) == plain
    assert sum(done) == 36
    assert 13 <= len(list(notes.iterdir())) <= 15
    (line,) = told
    assert line.startswith("127.0.0.1: ")
    assert "(cpu)" in line
    assert not Path("out.parts").exists()


def test_a_driver_that_is_killed_resumes(cluster: Any, notes: Path) -> None:
    plain = expected(notes)
    program = [sys.executable, "-c", DRIVER, cluster.address]
    paths = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    with subprocess.Popen(program, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": paths}) as driver:
        assert driver.stdout
        for _ in range(4):
            assert driver.stdout.readline() == b"computed\n"
        driver.send_signal(signal.SIGKILL)
    finished = {path.name: path.stat().st_mtime_ns for path in Path("out.parts").glob("*.shard")}
    assert 4 <= len(finished) < 12
    before = len(list(notes.iterdir()))
    assert square(cluster, Squares(notes, uses_gpu=True), parts="out.parts") == plain
    assert (
        finished.items() <= {path.name: path.stat().st_mtime_ns for path in Path("out.parts").glob("*.shard")}.items()
    )
    assert len(list(notes.iterdir())) == before + 12 - len(finished)


def test_workers_with_other_versions_and_shards_that_kill_are_reported(cluster: Any, notes: Path) -> None:
    with (
        pytest.raises(
            InputError, match="no worker can compute this: a worker would compute something else: it has cubes"
        ),
        pytest.warns(UserWarning, match=r"a worker on 127.0.0.1 is not used: .* it has cubes, the job is squares"),
    ):
        square(cluster, Squares(notes, here="cubes"))
    with pytest.raises(InterloqError, match="3 worker processes were killed while they computed records 13 to 15"):
        square(cluster, Squares(notes, kills=99))


def test_scores_are_equal_to_the_last_byte(cluster: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate, "CHUNK", 16)
    (folder / "own.py").write_text("def letters(sample):\n    return len(sample.response) or None\n")
    samples = [Sample(str(i), ["How are you?"], f"well {i}", references=[Reference("well")]) for i in range(40)]
    write("samples.jsonl", samples, kind="samples")
    outputs = []
    for workers in (None, cluster.address):
        shards, options = ShardOptions(workers=workers), ScoreOptions(n_bootstrap=20, trust=lambda _: None)
        score_file("samples.jsonl", ["bleu(order=2)", "nist", "own.py:letters"], "out.jsonl", options, shards=shards)
        outputs.append(Path("out.jsonl").read_bytes())
    assert outputs[0] == outputs[1]


def test_no_cluster(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"--workers must be a number, ray, auto, HOST:PORT or ray://HOST:PORT"):
        ShardOptions(workers="many")
    task, engine = Squares(notes), RayCluster("127.0.0.1:9")
    engine.run(task, [], lambda *_: None)  # nothing is left to compute: no cluster is needed
    monkeypatch.setattr("ray.init", lambda *_, **__: (_ for _ in ()).throw(ConnectionError("no answer\nfrom it")))
    with pytest.raises(InputError, match=r"127.0.0.1:9: no Ray cluster: no answer; check --workers"):
        engine.run(task, [Shard("job", 0, [1])], lambda *_: None)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'interloq\[ray\]'"):
        engine.run(task, [Shard("job", 0, [1])], lambda *_: None)
