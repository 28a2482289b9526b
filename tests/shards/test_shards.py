"""The modules of `interloq.shards`: dealt, parts, processes, run, shard_options, task."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from interloq.errors import InputError, InterloqError
from interloq.shards.dealt import Dealt
from interloq.shards.parts import read_manifest
from interloq.shards.processes import LocalProcesses
from interloq.shards.run import Shards, open_shards
from interloq.shards.shard_options import ONE_PROCESS, ShardOptions
from interloq.shards.task import Shard, ShardTask, ShareComputed
from tests.shards.made_task import BREAK, REFUSE, WARN, Squares

FACTS = {"verb": "square"}


def pieces(n: int = 12, *, stop: int = 99) -> Iterator[list[int]]:
    for i in range(n):
        if i == stop:
            raise KeyboardInterrupt
        yield [3 * i, 3 * i + 1, 3 * i + 2]


@pytest.fixture
def notes(folder: Path) -> Path:
    Path("input").write_text("numbers")
    Path("notes").mkdir()
    return Path("notes").resolve()


def square(options: ShardOptions, task: ShardTask, *, stop: int = 99) -> list[bytes]:
    with open_shards(options, FACTS, source="input", output="out") as shards:
        return list(shards.compute("numbers", task, pieces(stop=stop)))


def expected(notes: Path) -> list[bytes]:
    return list(Shards(ONE_PROCESS).compute("numbers", Squares(notes), pieces()))


def test_processes_give_the_same_results_in_order_and_a_killed_one_costs_one_shard(notes: Path) -> None:
    plain = expected(notes)
    assert plain[:2] == [b"0 1 4", b"9 16 25"]
    computed = len(list(notes.iterdir()))
    assert computed == len(plain) == 12
    steps: list[int] = []
    with open_shards(ShardOptions(workers=3), FACTS, source="input", output="out") as shards:
        task = Squares(notes, kills=2, here="squares")
        assert list(shards.compute("numbers", task, pieces(), steps.append)) == plain
        assert len(list(Path("out.parts").glob("*.shard"))) == 12
    assert sum(steps) == 36
    assert len(list(notes.iterdir())) == 2 * computed + 1  # KILL's shard: once in the plain run, then killed once
    assert not Path("out.parts").exists()


def test_a_shard_that_always_kills_its_process_is_reported(notes: Path) -> None:
    with pytest.raises(InterloqError, match="3 worker processes were killed while they computed records 13 to 15"):
        square(ShardOptions(workers=2), Squares(notes, kills=99))
    assert len(list(Path("out.parts").glob("*.shard"))) >= 1
    assert square(ShardOptions(workers=1), Squares(notes)) == expected(notes)


def test_only_deaths_in_a_row_show_that_models_cannot_be_loaded(notes: Path) -> None:
    task = Squares(notes, kills=1, kills_at=(1, 2, 4, 5))  # the third is killed by a shard
    assert square(ShardOptions(workers=1), task) == expected(notes)
    with pytest.raises(InterloqError, match="3 worker processes were killed before they could compute anything"):
        square(ShardOptions(workers=1), Squares(notes, kills_at=(7, 8, 9)))
    assert not Path("out.parts").exists()


def test_workers_pass_on_warnings_and_errors(notes: Path) -> None:
    task, engine, results = Squares(notes, trouble=True), LocalProcesses(1), dict[str, bytes]()

    def run(*numbers: int) -> None:
        shards = [Shard("job", 0, [number]) for number in numbers]
        engine.run(task, shards, lambda shard, result: results.update({shard.name: result}))

    with pytest.warns(UserWarning, match="seventeen"):
        run(WARN)
    assert results == {"job-000000000-000000001": b"289"}
    with pytest.raises(InputError, match="nineteen cannot be squared; use eighteen"):
        run(REFUSE)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        run(BREAK)
    foreign = Squares(notes, here="cubes")
    with pytest.raises(InputError, match="it has cubes, the job is squares"):
        engine.run(foreign, [Shard("job", 0, [1])], lambda *_: None)


def test_a_task_that_cannot_travel_is_refused(notes: Path) -> None:
    class Local(Squares):
        pass

    with pytest.raises(InputError, match="cannot be sent to another process"):
        square(ShardOptions(workers=1), Local(notes))


def test_an_interrupted_run_resumes_after_its_finished_shards(notes: Path) -> None:
    options = ShardOptions(parts="parts")
    with pytest.raises(KeyboardInterrupt):
        square(options, Squares(notes), stop=5)
    assert len(list(notes.iterdir())) == 5
    results = square(options, Squares(notes))
    assert len(list(notes.iterdir())) == 12
    assert results == expected(notes)
    assert Path("parts/manifest.json").exists()  # a folder that the user has named is kept


def test_shares_are_computed_apart_and_joined(notes: Path) -> None:
    for i in (1, 3):
        with pytest.raises(ShareComputed, match=f"4 of 12 shards computed for --shard {i}/3"):
            square(ShardOptions(shard=f"{i}/3", parts=f"parts{i}"), Squares(notes))
    shutil.copytree("parts1", "parts3", dirs_exist_ok=True)
    joining = ShardOptions(parts="parts3", only_join=True)
    with pytest.raises(InputError, match="parts3: 4 of 12 shards are missing: records 4–6, 13–15, 22–24, 31–33"):
        square(joining, Squares(notes))
    assert len(list(notes.iterdir())) == 8
    with pytest.raises(ShareComputed):
        square(ShardOptions(shard="2/3", parts="parts3"), Squares(notes))
    assert square(joining, Squares(notes)) == expected(notes)
    (damaged,) = Path("parts3").glob("*-000000003.shard")
    damaged.write_bytes(damaged.read_bytes()[:-1])
    with pytest.raises(InputError, match="the shard is damaged"):
        square(joining, Squares(notes))


def test_folders_of_other_jobs_are_refused(notes: Path) -> None:
    options = ShardOptions(parts="parts", command=("square", "input"))
    square(options, Squares(notes))
    assert read_manifest("parts")["command"] == ["square", "input"]
    Path("input").write_text("other numbers")
    with pytest.raises(InputError, match="parts: the shards are from another job: input was"):
        square(options, Squares(notes))
    Path("mine").mkdir()
    Path("mine/notes.txt").touch()
    with pytest.raises(InputError, match="mine: not a folder of shards"):
        square(ShardOptions(parts="mine"), Squares(notes))
    with pytest.raises(InputError, match="input"):
        square(ShardOptions(parts="input"), Squares(notes))
    with pytest.raises(InputError, match="manifest"):
        read_manifest("mine")
    Path("mine/manifest.json").write_text('{"kind": "samples"}')
    with pytest.raises(InputError, match="not the manifest of a folder of shards"):
        read_manifest("mine")


def test_one_run_at_a_time_works_in_a_folder(notes: Path) -> None:
    options = ShardOptions(parts="parts")
    with (
        open_shards(options, FACTS, source="input"),
        pytest.raises(InputError, match="parts: another process is writing here"),
    ):
        square(options, Squares(notes))


def test_a_folder_that_is_removed_meanwhile_is_reported(notes: Path) -> None:
    def remove_soon(shards: Shards) -> Iterator[list[int]]:
        for piece in pieces():
            if piece[0] == 9:
                shutil.rmtree("parts")
            yield piece

    with (
        pytest.raises(InputError, match="parts: the folder of shards was removed meanwhile"),
        open_shards(ShardOptions(parts="parts"), FACTS, source="input") as shards,
    ):
        shards.compute("numbers", Squares(notes), remove_soon(shards))


def test_a_pipe_has_no_folder(notes: Path) -> None:
    with (
        pytest.raises(InputError, match="shards of a pipe cannot be computed again"),
        open_shards(ShardOptions(parts="parts"), FACTS, source="-"),
    ):
        pass
    with open_shards(ShardOptions(workers=1), FACTS, source="-", output="out") as shards:
        assert list(shards.compute("numbers", Squares(notes), pieces())) == expected(notes)
        assert not Path("out.parts").exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"workers": 0}, "workers must be at least 1, got 0"),
        ({"shard": "4/3", "parts": "parts"}, "I/N with I from 1 to N"),
        ({"shard": "0/3", "parts": "parts"}, "I/N with I from 1 to N"),
        ({"shard": "1/0", "parts": "parts"}, "I/N with I from 1 to N"),
        ({"shard": "x", "parts": "parts"}, "such as 3/16, got 'x'"),
        ({"shard": "1/3"}, "name the folder of its shards: --parts DIR"),
    ],
)
def test_options_are_checked(given: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ShardOptions(**given)  # type: ignore[arg-type]


def test_similar_records_are_dealt_together_and_results_put_back() -> None:
    words = ["b0", "a1", "c2", "a3", "b4", "a5", "c6", "c7"]
    dealt = Dealt(6, 2, key=lambda word: word[0])
    pieces = list(dealt.cut(words))
    assert pieces == [["a1", "a3"], ["a5", "b0"], ["b4", "c2"], ["c6", "c7"]]
    assert list(dealt.restore(word.upper() for piece in pieces for word in piece)) == [word.upper() for word in words]
    dealt = Dealt(2, 3)
    assert list(dealt.cut(iter(words))) == [words[:3], words[3:6], words[6:]]
    assert list(dealt.restore(words)) == words


def test_a_job_that_resumes_keeps_its_shards_unless_there_are_none(notes: Path) -> None:
    def run(stop: int, facts: dict[str, str] = FACTS, *, force: bool = False) -> int:
        with open_shards(ONE_PROCESS, facts, source="input", output="out", resumes=True, force=force) as shards:
            assert len(list(shards.compute("numbers", Squares(notes), pieces(stop=stop)))) == 12
        return shards.resumed

    with pytest.raises(KeyboardInterrupt):
        run(0)
    assert not Path("out.parts").exists()
    with pytest.raises(KeyboardInterrupt):
        run(3)
    with pytest.raises(InputError, match="another job: verb was"):
        run(99, {"verb": "other"})
    assert run(99, force=True) == 9  # force discards other jobs only
    with pytest.raises(KeyboardInterrupt):
        run(3)
    assert run(99, {"verb": "other"}, force=True) == 0
    assert not Path("out.parts").exists()
