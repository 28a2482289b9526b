"""Whole builds: the same bytes whatever the workers, nothing lost after a kill, and memory that does not grow."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interloq.data.corpus import build as building
from interloq.data.corpus.build import build
from interloq.data.corpus.clean import Cleaning
from interloq.data.corpus.dialogues import DialogueShape
from interloq.data.corpus.settings import BuildOptions, CorpusSettings
from interloq.data.corpus.shards import Logs
from interloq.data.corpus.split import Split
from interloq.data.corpus.threads import Joining
from interloq.data.files.opening import read_small
from interloq.data.records.jsonl import header, load, write
from interloq.errors import InputError
from tests.made_files import put
from tests.made_posts import made_posts, write_posts

LOOSE = CorpusSettings(joining=Joining(orphans=True), shape=DialogueShape(pairs="all"))

pytest.importorskip("duckdb")


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def expected(log: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    output = tmp_path_factory.mktemp("expected") / "corpus"
    build([log], output, LOOSE, BuildOptions(workers=1))
    return contents(output)


def test_outputs_are_records_with_headers(expected: dict[str, bytes], tmp_path: Path) -> None:
    assert {name.split("/")[0] for name in expected} == {"train", "dev", "test", "corpus.json", "posts.rejected.jsonl"}
    facts = json.loads(expected["corpus.json"])
    assert sorted(expected) == sorted(facts["files"])
    for part, found in facts["parts"].items():
        for kind, records in (("dialogues", "dialogues"), ("pairs", "pairs"), ("groups", "pairs")):
            path = put(tmp_path / f"{part}-{kind}.jsonl.zst", expected[f"{part}/{kind}.jsonl.zst"])
            assert header(path)["signature"] == facts["signature"]
            assert header(path)["kind"] == records
            read = load(path, kind=records, strict=True)
            assert len(read) == found["group_pairs" if kind == "groups" else kind]
            write(tmp_path / "again.jsonl", read, kind=records)  # our own lines are what `jsonl.py` writes
            again = (tmp_path / "again.jsonl").read_bytes().split(b"\n", 1)[1]
            assert read_small(path).split(b"\n", 1)[1] == again


def test_every_post_is_accounted_for(expected: dict[str, bytes]) -> None:
    facts = json.loads(expected["corpus.json"])
    posts = facts["posts"]
    single = sum(found["count"] for reason, found in posts["dropped"].items() if reason != "seen_earlier")
    assert posts["read"] == 8_000
    assert posts["bad_lines"] == 3
    assert posts["kept"] + single == posts["read"]
    in_threads = sum(facts["thread_posts"].values())
    alone = posts["kept"] - in_threads
    assert facts["unanswered"] <= alone
    assert sum(part["posts"] for part in facts["parts"].values()) == facts["thread_posts"]["kept"]
    rejected = [json.loads(line) for line in expected["posts.rejected.jsonl"].splitlines()]
    assert [int(line["where"].rsplit(":", 1)[1]) for line in rejected] == [18, 4_001, 7_991]
    assert all(line["line"] == '{"id": "bad' and "not valid JSON" in line["what"] for line in rejected)


def test_examples_of_what_each_filter_drops(tmp_path: Path) -> None:
    posts = made_posts(50)
    posts += [{"id": f"s{i}", "user": "ann", "text": "hm" * i, "time": 1_500_000_000} for i in range(3)]
    posts += [{"id": f"j{i}", "user": "ann", "text": f"これは日本語{i}です", "time": 1_500_000_000} for i in range(9)]
    log = write_posts(tmp_path / "posts.jsonl", posts)
    settings = CorpusSettings(Cleaning(scripts=("Latin",)), examples=3)
    dropped = build([log], tmp_path / "corpus", settings, BuildOptions(workers=1))["posts"]["dropped"]
    assert (dropped["empty"]["count"], dropped["short"]["count"], dropped["script"]["count"]) == (1, 2, 9)
    assert [example["id"] for example in dropped["script"]["examples"]] == ["j0", "j1", "j2"]
    assert dropped["short"]["examples"][0] == {"id": "s1", "user": "ann", "text": "hm"}


@pytest.mark.parametrize(("workers", "block"), [(3, 2**17), (2, 2**15), (1, 2**18)])
def test_workers_and_cuts_change_no_byte(
    log: Path, expected: dict[str, bytes], tmp_path: Path, workers: int, block: int
) -> None:
    build([log], tmp_path / "corpus", LOOSE, BuildOptions(workers=workers, block=block))
    assert contents(tmp_path / "corpus") == expected


def test_the_order_of_posts_and_files_changes_no_record(log: Path, expected: dict[str, bytes], tmp_path: Path) -> None:
    lines = log.read_bytes().splitlines(keepends=True)
    (tmp_path / "one.jsonl").write_bytes(b"".join(reversed(lines[3000:])))
    with gzip.open(tmp_path / "two.jsonl.gz", "wb") as file:
        file.write(b"".join(lines[:3000]))
    build([tmp_path / "two.jsonl.gz", tmp_path / "one.jsonl"], tmp_path / "corpus", LOOSE, BuildOptions(workers=1))
    found = contents(tmp_path / "corpus")
    for name in expected:
        if name.endswith(".zst"):
            (tmp_path / "a.zst").write_bytes(expected[name])
            (tmp_path / "b.zst").write_bytes(found[name])
            first, second = read_small(tmp_path / "a.zst"), read_small(tmp_path / "b.zst")
            assert first.split(b"\n", 1)[1] == second.split(b"\n", 1)[1]


@pytest.mark.parametrize(("compression", "suffix"), [("gz", ".jsonl.gz"), ("none", ".jsonl")])
def test_other_compressions_hold_the_same(
    log: Path, expected: dict[str, bytes], tmp_path: Path, compression: Any, suffix: str
) -> None:
    build([log], tmp_path / "corpus", CorpusSettings(joining=LOOSE.joining, shape=LOOSE.shape, compression=compression))
    (tmp_path / "pairs.jsonl.zst").write_bytes(expected["dev/pairs.jsonl.zst"])
    assert read_small(tmp_path / f"corpus/dev/pairs{suffix}") == read_small(tmp_path / "pairs.jsonl.zst")


def start(log: Path, output: Path, *, workers: int = 2) -> subprocess.Popen[bytes]:
    program = (
        "import sys; from interloq.data.corpus.build import build; from interloq.data.corpus.settings import *\n"
        "if __name__ == '__main__':\n"
        " settings = CorpusSettings(joining=Joining(orphans=True), shape=DialogueShape(pairs='all'))\n"
        f" build([sys.argv[1]], sys.argv[2], settings, BuildOptions(workers={workers}, block=2**16))\n"
    )
    script = output.parent / "run.py"
    script.write_text(program)
    return subprocess.Popen([sys.executable, str(script), str(log), str(output)], start_new_session=True)


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[bytes]) -> bool:
    """Wait for something in the folder of the build; False where it is over first."""
    for _ in range(20_000):
        if condition():
            return True
        if process.poll() is not None:
            return False
        time.sleep(0.003)
    raise AssertionError("waited a minute in vain")


def has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether the process and the workers that it started are all over."""
    for _ in range(2000):
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
def test_killed_again_and_again_nothing_is_lost_and_nothing_twice(
    log: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    output = tmp_path / "corpus"
    work = output / ".work"
    moments: list[Callable[[], bool]] = [
        lambda: (work / "plan.json").exists(),
        lambda: len(list((work / "posts").glob("*.json"))) >= 4,
        lambda: len(list((work / "posts").glob("*.json"))) >= 12,
        lambda: (work / "tables" / "kept.parquet").exists(),
        lambda: (work / "tables" / "threads.parquet").exists(),
        lambda: any((work / "parts").glob("*.json")),
        lambda: (output / "train" / "dialogues.jsonl.zst").exists(),
    ]
    kills = 0
    shards: dict[str, int] = {}
    for moment in moments:
        process = start(log, output)
        if wait_until(moment, process):
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        process.wait()
        assert has_ended(process), "a worker outlived its parent"
        done = {path.name: path.stat().st_mtime_ns for path in (work / "posts").glob("*.json")}
        assert shards.items() <= done.items(), "a finished shard was done again"
        shards = done
    assert kills >= 4
    if work.exists():
        assert start(log, output).wait() == 0
    assert contents(output) == expected


def test_an_interrupt_is_safe(log: Path, expected: dict[str, bytes], tmp_path: Path) -> None:
    output = tmp_path / "corpus"
    process = start(log, output)
    assert wait_until(lambda: any((output / ".work/posts").glob("*.json")), process)
    process.send_signal(signal.SIGINT)
    assert process.wait() != 0
    assert has_ended(process)
    assert not (output / "corpus.json").exists()
    assert start(log, output).wait() == 0
    assert contents(output) == expected


def test_an_interrupt_of_the_joins(log: Path, expected: dict[str, bytes], tmp_path: Path) -> None:
    """DuckDB makes an error of its own out of Ctrl-C."""
    process = start(log, tmp_path / "corpus", workers=1)
    assert wait_until((tmp_path / "corpus/.work/tables/again.parquet").exists, process)
    process.send_signal(signal.SIGINT)
    assert process.wait() in (-signal.SIGINT, 130, 0)  # 0 where the signal came too late
    assert start(log, tmp_path / "corpus").wait() == 0
    assert contents(tmp_path / "corpus") == expected
    with pytest.raises(KeyboardInterrupt), building._explain_limits():
        raise RuntimeError("Query interrupted")
    with pytest.raises(RuntimeError, match="something else"), building._explain_limits():
        raise RuntimeError("something else")


def stop_after_cleaning(monkeypatch: pytest.MonkeyPatch, log: Path, output: Path) -> None:
    """A build that stops after cleaning."""
    with monkeypatch.context() as patch:
        patch.setattr(building._Job, "_join", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            build([log], output, LOOSE, BuildOptions(workers=1, block=2**17))


def test_a_changed_log_is_refused_with_the_cure(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = put(tmp_path / "posts.jsonl", log.read_bytes())
    stop_after_cleaning(monkeypatch, copy, tmp_path / "corpus")
    copy.write_bytes(log.read_bytes().replace(b"rain", b"snow", 1))
    with pytest.raises(InputError, match=r"the logs have changed since this build started; restore the logs.* --fresh"):
        build([copy], tmp_path / "corpus", LOOSE, BuildOptions(workers=1, block=2**17))
    facts = build([copy], tmp_path / "corpus", LOOSE, BuildOptions(workers=1, block=2**17, fresh=True))
    assert facts["posts"]["read"] == 8_000


def test_a_log_that_was_cut_or_went_on_at_a_cut_is_refused(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its finished shards are as they were, but there are more or fewer of them."""
    parts = [shard.pieces[0].data for shard in Logs([log], block=2**17).shards()]
    copy = put(tmp_path / "posts.jsonl", b"".join(parts[:-1]))
    stop_after_cleaning(monkeypatch, copy, tmp_path / "corpus")
    for data in (parts, parts[:-2]):
        copy.write_bytes(b"".join(data))
        with pytest.raises(InputError, match="the logs have changed since this build started"):
            build([copy], tmp_path / "corpus", LOOSE, BuildOptions(workers=1, block=2**17))


def test_an_output_among_the_logs_is_refused(log: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is in a folder of logs; choose a folder outside the logs"):
        build([log.parent], log.parent / "corpus", LOOSE, BuildOptions(workers=1))
    assert [path.name for path in log.parent.iterdir()] == ["posts.jsonl"]


def test_other_options_are_refused_with_the_cure(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stop_after_cleaning(monkeypatch, log, tmp_path / "corpus")
    with pytest.raises(InputError, match=r"an unfinished build with other logs or other options; .*--fresh"):
        build([log], tmp_path / "corpus", CorpusSettings(), BuildOptions(workers=1, block=2**17))


def test_a_finished_corpus_is_left_alone(log: Path, expected: dict[str, bytes], tmp_path: Path) -> None:
    build([log], tmp_path / "corpus", LOOSE, BuildOptions(workers=1))
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "corpus").rglob("*")}
    facts = build([log], tmp_path / "corpus", LOOSE, BuildOptions(workers=2))
    assert facts == json.loads(expected["corpus.json"])
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "corpus").rglob("*")} == before
    with pytest.raises(InputError, match="the folder has a corpus of other logs or with other options"):
        build([log], tmp_path / "corpus", CorpusSettings(), BuildOptions(workers=1))
    build([log], tmp_path / "corpus", CorpusSettings(split=Split(())), BuildOptions(workers=1, fresh=True))
    left = {str(path.relative_to(tmp_path / "corpus")) for path in (tmp_path / "corpus").rglob("*")}
    assert left == {f"{k}.jsonl.zst" for k in ("dialogues", "pairs", "groups")} | {
        "corpus.json",
        "posts.rejected.jsonl",
    }


def test_a_folder_of_something_else_is_left_alone(log: Path, tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "thesis.txt").write_text("all of it")
    for fresh in (False, True):
        with pytest.raises(InputError, match="the folder is not empty and is not a corpus folder; choose"):
            build([log], tmp_path / "corpus", LOOSE, BuildOptions(workers=1, fresh=fresh))
    assert (tmp_path / "corpus" / "thesis.txt").read_text() == "all of it"


def test_two_builds_in_one_folder(log: Path, tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    (tmp_path / "corpus/.work/posts").mkdir(parents=True)
    with (tmp_path / "corpus/.work/lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="another process is writing here"):
            build([log], tmp_path / "corpus", LOOSE, BuildOptions(workers=1))


def test_shards_of_which_nothing_is_left(tmp_path: Path) -> None:
    posts = made_posts(300)
    for post in posts[:200]:
        post["text"] = "hm"
    log = write_posts(tmp_path / "posts.jsonl", posts)
    facts = build([log], tmp_path / "corpus", LOOSE, BuildOptions(workers=1, block=4000))
    assert (facts["posts"]["dropped"]["short"]["count"], facts["posts"]["kept"]) == (200, 100)


def test_posts_that_nobody_answers(tmp_path: Path) -> None:
    log = write_posts(tmp_path / "posts.jsonl", [post | {"reply_to": ""} for post in made_posts(50)])
    facts = build([log], tmp_path / "corpus", options=BuildOptions(workers=1))
    assert facts["threads"]["kept"] == 0
    assert facts["parts"]["test"]["turns_per_dialogue"] is None
    assert facts["parts"]["train"]["pairs"] == 0


def test_strict_stops_at_the_first_bad_line(log: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"posts\.jsonl:18: not valid JSON"):
        build([log], tmp_path / "corpus", LOOSE, BuildOptions(workers=1, strict=True))


@pytest.mark.parametrize("memory", ["much", "-3"])
def test_a_limit_that_is_none(log: Path, tmp_path: Path, memory: str) -> None:
    with pytest.raises(InputError, match="as a memory limit"):
        build([log], tmp_path / "corpus", LOOSE, BuildOptions(workers=1, memory=memory))


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="peak memory of a process cannot be read here")
def test_memory_does_not_grow_with_the_log(tmp_path: Path) -> None:
    """Twice the posts take hardly more memory, in the parent or in a worker."""
    peaks = []
    for thousands in (200, 400):
        log = tmp_path / f"{thousands}.jsonl"
        with log.open("w") as file:
            for i in range(thousands * 1000):
                post = {"id": str(i), "user": f"u{i % 20_011}", "time": 1_400_000_000 + i}
                text = f"words {i * 7919 % 100_003} of a post that nobody else has written {i}"
                file.write(json.dumps(post | {"text": text, "reply_to": str(i - i % 5) if i % 5 else ""}) + "\n")
        process = _limited(log, tmp_path / f"corpus{thousands}")
        _, status, usage = os.wait4(process.pid, 0)
        assert status == 0
        process.returncode = 0
        peaks.append(usage.ru_maxrss / 1024)
    assert peaks[1] < peaks[0] * 1.25, peaks


def _limited(log: Path, output: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "interloq.cli", "corpus", "build", str(log), "-o", str(output)]
    return subprocess.Popen([*command, "--workers", "2", "--memory", "150MB", "--quiet"], stdout=subprocess.DEVNULL)


def test_a_build_that_failed_before_it_kept_a_post_is_nobodys(log: Path, tmp_path: Path) -> None:
    for text in ("hm", "oh"):
        other = write_posts(tmp_path / f"{text}.jsonl", [{"id": "1", "user": "ann", "text": text, "time": 5}])
        with pytest.raises(InputError, match="no post is left after cleaning; dropped: 1 short"):
            build([other], tmp_path / "corpus", options=BuildOptions(workers=1))
    (tmp_path / "corpus" / ".DS_Store").write_text("stray")
    (tmp_path / "corpus" / ".work" / "posts" / "._000000.json").write_text("stray")
    assert build([log], tmp_path / "corpus", LOOSE, BuildOptions(workers=1))
    assert not (tmp_path / "corpus" / ".work").exists()


def test_a_link_in_the_folder_leads_nowhere(log: Path, tmp_path: Path) -> None:
    for name in ("train", ".work"):
        outside = tmp_path / f"outside{name}"
        outside.mkdir()
        (outside / "pairs.jsonl.zst").write_text("precious")
        folder = tmp_path / f"corpus{name}"
        folder.mkdir()
        (folder / name).symlink_to(outside)
        with pytest.raises(InputError, match="is a link that leads outside"):
            build([log], folder, LOOSE, BuildOptions(workers=1, fresh=True))
        assert [path.name for path in outside.iterdir()] == ["pairs.jsonl.zst"]
