# SPDX-License-Identifier: Apache-2.0
"""A corpus from raw logs: posts → clean posts → threads → dialogues, pairs and groups, split by time.

The build runs in stages, with results in `<output>/.work` until the corpus is complete: shards of the logs are cleaned
in parallel, threads are joined out of core, and ranges of threads become dialogues in parallel. Every stage can be
killed and resumes where it stopped. The outputs depend neither on the number of workers nor on the order of the posts.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import orjson

from interloq.data.corpus import threads
from interloq.data.corpus.clean import Cleaning
from interloq.data.corpus.clean_shard import clean_shard, read_counts
from interloq.data.corpus.outputs import (
    KINDS,
    SUFFIXES,
    ThreadRange,
    assemble,
    corpus_facts,
    pack,
    part_facts,
    sum_counts,
    write_range,
)
from interloq.data.corpus.settings import DEFAULT_OPTIONS, DEFAULT_SETTINGS, BuildOptions, CorpusSettings
from interloq.data.corpus.shards import Logs, Shard, total_size
from interloq.data.corpus.split import PARTS, format_borders
from interloq.data.corpus.threads import Tables
from interloq.data.corpus.workers import cores, work
from interloq.data.files.durable import discard, hold_lock
from interloq.data.files.folders import find_matching, inside, is_free
from interloq.data.files.opening import read_json, write_json
from interloq.data.files.write_errors import writing
from interloq.data.records.jsonl import SCHEMA
from interloq.errors import InputError, InterloqError, count
from interloq.signature import fingerprint
from interloq.version import __version__

Progress = Callable[[str, float], None]  # the current stage, and the share of it that is done
LARGEST_BLOCK = 2**30
BAD_LINES = "posts.rejected.jsonl"


def build(
    inputs: Sequence[str | Path],
    output: str | Path,
    settings: CorpusSettings = DEFAULT_SETTINGS,
    options: BuildOptions = DEFAULT_OPTIONS,
    *,
    progress: Progress = lambda _, __: None,
) -> dict[str, Any]:
    """Build a corpus in a folder, or resume it, and return the content of `corpus.json`."""
    threads.check_memory(options.memory)
    if not 0 < options.block <= LARGEST_BLOCK:
        what = f"a block cannot have {count(options.block, 'byte')}"
        raise InputError(what, hint=f"give at most {LARGEST_BLOCK >> 20} MiB")
    threads.duckdb_version()
    job = _Job(inputs, Path(output), settings.check(), options, progress)
    if options.fresh:
        job.clear()
    built = job.read_finished()
    if built is not None:
        discard(job.work)  # exists if the build was killed at the very end
        return built
    job.begin()
    with hold_lock(job.work / "lock"):
        facts = job.run()
        discard(job.work)
    return facts


class _Job:
    """One build."""

    def __init__(
        self,
        inputs: Sequence[str | Path],
        output: Path,
        settings: CorpusSettings,
        options: BuildOptions,
        progress: Progress,
    ) -> None:
        self.inputs, self.output, self.settings, self.options = list(inputs), output, settings, options
        self.workers, self.progress = options.workers or cores(), progress
        self.work = inside(output, ".work")
        for part in PARTS:
            inside(output, part)
        self.size = total_size(self.inputs)
        self.logs = self._logs()

    def _logs(self) -> Logs:
        return Logs(self.inputs, self.settings.format, dict(self.settings.fields), self.options.block)

    def clear(self) -> None:
        """Remove an earlier build, complete or not, and nothing else."""
        if self._facts() is None and not self.work.exists():
            return
        if self.work.exists():
            with hold_lock(self.work / "lock"):
                pass  # no other process is building here
        for part in (*PARTS, ""):
            folder = self.output / part
            for kind, suffix in product(KINDS, SUFFIXES.values()):
                (folder / f"{kind}{suffix}").unlink(missing_ok=True)
            if part and folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
        for name in (BAD_LINES, "corpus.json"):
            (self.output / name).unlink(missing_ok=True)
        discard(self.work)

    def read_finished(self) -> dict[str, Any] | None:
        """Return the facts of a corpus that was built here from the same logs with the same options."""
        facts = self._facts()
        if facts is None:
            return None
        if facts["settings"] == self.settings.plain():
            logs = self._logs()
            for _ in logs.shards():
                pass
            if facts["signature"] == self.settings.signature(_source(logs)):
                return facts
        what = "the folder has a corpus of other logs or with other options"
        raise InputError(what, hint="choose another folder, or add --fresh to replace it", where=str(self.output))

    def begin(self) -> None:
        """Create the folder of the unfinished build, or check that an existing one belongs to this build."""
        plan = {
            "settings": self.settings.plain(),
            "inputs": list(map(str, self.inputs)),
            "block": self.options.block,
            "version": __version__,
            "duckdb": threads.duckdb_version(),
        }
        path = self.work / "plan.json"
        if path.exists():
            if read_json(path, hint="add --fresh") == orjson.loads(orjson.dumps(plan)):
                return
            cleaned = find_matching(self.work / "posts", "*.json")
            if any(read_json(shard, hint="add --fresh").get("kept") for shard in cleaned):  # else it can be reused
                what = "the folder has an unfinished build with other logs or other options"
                raise InputError(what, hint="use the same logs and options, or add --fresh", where=str(self.output))
            self.clear()
        for log in map(Path, self.inputs):
            if log.is_dir() and self.output.resolve().is_relative_to(log.resolve()):
                raise InputError(f"{self.output} is in a folder of logs", hint="choose a folder outside the logs")
        if self.output.exists() and not self.output.is_dir():
            raise InputError(f"{self.output} is a file", hint="name a folder")
        if not is_free(self.output) and not self.work.exists():
            what = "the folder is not empty and is not a corpus folder"
            raise InputError(what, hint="choose another folder", where=str(self.output))
        with writing(self.output):
            (self.work / "posts").mkdir(parents=True, exist_ok=True)
            (self.work / "parts").mkdir(exist_ok=True)
            write_json(path, plan)

    def _facts(self) -> dict[str, Any] | None:
        path = self.output / "corpus.json"
        if not path.exists():
            return None
        return read_json(path, hint="add --fresh")

    def run(self) -> dict[str, Any]:
        cleaned = self._clean()
        tables = Tables(self.work / "posts", self.work / "tables", memory=self.options.memory, threads=self.workers)
        tables.progress = lambda share: self.progress("joining threads", share)
        with contextlib.closing(tables), _explain_limits():
            at = self._join(tables)
            ranges = [ThreadRange(i, *place) for i, place in enumerate(threads.chunks(tables))]
            joined = threads.counts(tables, self.settings.examples)
            users = threads.users_by_part(tables)
        self._write_ranges(ranges)
        source = _source(self.logs)
        names, parts = self._assemble(ranges, bool(at), source, users)
        facts = corpus_facts(self.settings, self.logs, source, cleaned, joined, parts)
        facts["split"] = format_borders(at)
        facts["files"] = [*names, *self._bad_lines(cleaned), "corpus.json"]
        write_json(self.output / "corpus.json", facts)
        return facts

    def _clean(self) -> list[dict[str, Any]]:
        """Clean all unfinished shards and return the counts of all shards."""
        folder = self.work / "posts"
        numbers: list[int] = []

        def tasks() -> Iterator[tuple[Shard, Cleaning, Path, int, bool]]:
            for shard in self.logs.shards():
                numbers.append(shard.number)
                known = read_counts(folder, shard.number)
                if known is None:
                    yield shard, self.settings.cleaning, folder, self.settings.examples, self.options.strict
                elif known["digest"] != shard.digest:
                    raise _changed_logs_error(", ".join(sorted({piece.name for piece in shard.pieces})))

        workers = self.workers
        if self.size:  # unknown for a pipe
            workers = min(workers, -(-self.size // self.options.block))
        for read in work(clean_shard, tasks(), workers):
            self.progress("cleaning posts", min(1.0, read / self.size) if self.size else 0.0)
        self._check_whole(len(numbers))
        counts_of_shards = [counts for number in numbers if (counts := read_counts(folder, number))]
        if not any(counts["kept"] for counts in counts_of_shards):
            raise self._no_posts_error(counts_of_shards)
        return counts_of_shards

    def _check_whole(self, shards: int) -> None:
        """Check that an earlier run's tables were made from exactly these shards: a log may have changed in length."""
        cleaned = {"shards": shards, "source": _source(self.logs)}
        path = self.work / "cleaned.json"
        if len(find_matching(self.work / "posts", "*.json")) != shards:
            raise _changed_logs_error(str(self.inputs[0]))
        if path.exists() and read_json(path, hint="add --fresh") != cleaned:
            raise _changed_logs_error(str(self.inputs[0]))
        write_json(path, cleaned)

    def _no_posts_error(self, counts_of_shards: Sequence[dict[str, Any]]) -> InputError:
        reasons = [f"{n} {reason}" for reason, n in sum_counts(counts_of_shards, "dropped").most_common()]
        bad = sum(counts["rejected"] for counts in counts_of_shards)
        if bad:
            file = find_matching(self.work / "posts", "*.rejected")[0]
            first = orjson.loads(file.read_bytes().split(b"\n", 1)[0])
            reasons.append(f"{count(bad, 'bad line')}, the first: {first['where']}: {first['what']}")
        hint = "check that the files contain posts"
        if reasons:
            hint = f"dropped: {', '.join(reasons)}"
        return InputError("no post is left after cleaning", hint=hint, where=str(self.inputs[0]))

    def _join(self, tables: Tables) -> tuple[int, ...]:
        self.progress("joining threads", 0.0)
        threads.keep_posts(tables, self.settings.joining, self.settings.bots)
        threads.link(tables, self.settings.joining)
        at = threads.join_threads(tables, self.settings.joining, self.settings.split)
        self.progress("joining threads", 1.0)
        return at

    def _write_ranges(self, ranges: Sequence[ThreadRange]) -> None:
        folder, ordered = self.work / "parts", self.work / "tables" / "ordered.parquet"
        posts, tasks = 0, []
        for chunk in ranges:
            if not chunk.path(folder, "json").exists():
                posts += chunk.end - chunk.first
                tasks.append((chunk, ordered, folder, self.settings.shape, self.settings.compression))
        written = 0
        for n in work(write_range, tasks, min(self.workers, len(tasks))):
            written += n
            self.progress("writing dialogues", written / posts)

    def _assemble(
        self, ranges: Sequence[ThreadRange], by_time: bool, source: str, users: Mapping[int, int]
    ) -> tuple[list[str], dict[str, Any]]:
        """Write the files of every part; return their names and the counts of the parts."""
        folder, compression = self.work / "parts", self.settings.compression
        names: list[str] = []
        parts: dict[str, Any] = {}
        for number, part in enumerate(PARTS if by_time else ("all",)):
            ranges_of_part = [chunk for chunk in ranges if chunk.part == number]
            for kind in KINDS:
                name = f"{kind}{SUFFIXES[compression]}"
                if by_time:
                    name = f"{part}/{name}"
                header = {"kind": "pairs" if kind == "groups" else kind, "schema": SCHEMA, "part": part, "holds": kind}
                first = orjson.dumps({**header, "signature": self.settings.signature(source)}) + b"\n"
                pieces = [chunk.path(folder, kind) for chunk in ranges_of_part]
                assemble(self.output / name, pack(first, compression), pieces)
                names.append(name)
            total = Counter[str]()
            for chunk in ranges_of_part:
                total.update(read_json(chunk.path(folder, "json"), hint="add --fresh"))
            parts[part] = part_facts(total, users.get(number, 0))
        return names, parts

    def _bad_lines(self, cleaned: Sequence[dict[str, Any]]) -> list[str]:
        """Collect the bad lines of all shards in one file, replacing the file of an earlier build."""
        if not any(counts["rejected"] for counts in cleaned):
            (self.output / BAD_LINES).unlink(missing_ok=True)
            return []
        assemble(self.output / BAD_LINES, b"", find_matching(self.work / "posts", "*.rejected"))
        return [BAD_LINES]


def _changed_logs_error(where: str) -> InputError:
    hint = "restore the logs, or add --fresh to start over"
    return InputError("the logs have changed since this build started", hint=hint, where=where)


def _source(logs: Logs) -> str:
    """Return the hash of the content of the logs, independent of their order and names."""
    return fingerprint(*sorted(logs.fingerprints.values()))


@contextlib.contextmanager
def _explain_limits() -> Iterator[None]:
    """Explain what to do if the joins run out of memory or disk."""
    import duckdb

    try:
        yield
    except (duckdb.InterruptException, RuntimeError) as error:  # the second is raised for Ctrl-C
        if isinstance(error, RuntimeError) and "interrupt" not in str(error).lower():
            raise
        raise KeyboardInterrupt from None
    except (duckdb.OutOfMemoryException, duckdb.IOException) as error:
        first = str(error).splitlines()[0]
        hint = "increase --memory or free disk space, then run it again to resume"
        raise InterloqError(f"the joins ran out of memory or disk: {first}; {hint}") from error
