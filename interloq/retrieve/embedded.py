"""An index in a folder: segments that are written whole and never changed, and a manifest that names them.

A batch of pairs becomes a segment: first under a name that nobody reads, then under its own, then in the manifest,
which is replaced in one step. Whatever kills the process, the manifest names whole segments only, and says how many
pairs of each source they hold. New logs are further segments, so nothing is rebuilt.

Vectors are compared exactly up to `exact_up_to` pairs. Beyond, they are kept as faiss inverted lists, and `finish`
chooses how many lists a query visits so that recall@15 reaches `recall`. Recall is measured against exact search: the
true neighbours of some probes are found while each batch is still at hand.
"""

from __future__ import annotations

import fcntl
import math
import shutil
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from interloq.data.files import replacing
from interloq.errors import InputError
from interloq.records import Pair
from interloq.registry import create, spec
from interloq.retrieve.log import Log, write_log
from interloq.retrieve.recall import as_probes, choose_effort, share_of_scores
from interloq.retrieve.retriever import Encoded, Field, Floats, Ids, Retriever, Words, best, fields

SCHEMA = 1
MANIFEST, LOCK, SEGMENTS = "index.json", "index.lock", "segments"
N_PROBES, NEIGHBOURS = 256, 15
MOST_LISTS = 16_384


@dataclass(frozen=True, slots=True)
class Manifest:
    """All that is known of an index without opening a segment."""

    retriever: str
    built_with: str
    segments: tuple[Mapping[str, Any], ...] = ()  # name and number of pairs
    sources: Mapping[str, int] = field(default_factory=dict)
    expected: int = 0
    exact_up_to: int = 200_000
    wanted_recall: float = 0.95
    n_probe: int = 64
    recall: float | None = None  # measured; None while search is exact
    schema: int = SCHEMA
    kind: str = "index"


class Embedded:
    """The home that needs no server."""

    def __init__(self, folder: str | Path, retriever: Retriever | None = None) -> None:
        self.folder = Path(folder)
        self.manifest = _read(self.folder)
        self._opened: dict[Field, list[Any]] = {}
        self._rankings: dict[Field, Any] = {}
        if retriever is not None:
            self._check(retriever)

    @classmethod
    def create(
        cls,
        folder: str | Path,
        retriever: Retriever,
        *,
        expected: int = 0,
        exact_up_to: int = 200_000,
        recall: float = 0.95,
    ) -> Embedded:
        """A new, empty index; an index that is there already is opened, if it was made alike."""
        folder = Path(folder)
        if not (folder / MANIFEST).exists():
            if folder.exists() and any(folder.iterdir()):
                raise InputError(f"{folder} is not empty and no index", cure="name a new folder")
            (folder / SEGMENTS).mkdir(parents=True)
            _write(
                folder,
                Manifest(
                    retriever=spec(retriever),
                    built_with=retriever.built_with(),
                    expected=expected,
                    exact_up_to=exact_up_to,
                    wanted_recall=recall,
                ),
            )
        return cls(folder, retriever)

    @property
    def where(self) -> str:
        return str(self.folder)

    def _check(self, retriever: Retriever) -> None:
        for name, own, given in (
            ("retriever", self.manifest.retriever, spec(retriever)),
            ("model or tokenizer", self.manifest.built_with, retriever.built_with()),
        ):
            if own != given:
                raise InputError(
                    f"the index was built with another {name}: {own!r}, not {given!r}",
                    cure="open it with the one it was built with, or build a new index",
                    where=str(self.folder),
                )

    # ---- adding ------------------------------------------------------------------------------------------------------

    def add(self, pairs: Sequence[Pair], encoded: Mapping[Field, Encoded], *, source: str, consumed: int) -> None:
        with _locked(self.folder):
            self.manifest = _read(self.folder)
            self._sweep()
            name = self._free_name()
            with self._new_segment(name) as part:
                write_log(part, pairs)
                for key, values in encoded.items():
                    self._write_field(part, key, values)
            segment = {"name": name, "pairs": len(pairs)}
            self._commit(
                segments=(*self.manifest.segments, segment),
                sources={**self.manifest.sources, source: consumed},
            )

    def finish(self) -> None:
        """Prepare what all searches share; turn exact vectors into lists where the index has outgrown exact search."""
        with _locked(self.folder):
            self.manifest = _read(self.folder)
            self._sweep()
            if not self._dense():
                for key in self._fields():
                    self._store_impacts(key)
            elif len(self) > self.manifest.exact_up_to:
                for i, segment in enumerate(self.manifest.segments):
                    self._convert(i, segment)
                self._measure()

    def _store_impacts(self, key: Field) -> None:
        from interloq.retrieve.postings import store_impacts

        for folder in self._folders(key):
            store_impacts(folder, self._ranking(key))
        self._opened.clear()

    def _write_field(self, part: Path, key: Field, values: Encoded) -> None:
        folder = part / key
        folder.mkdir()
        if isinstance(values, Words):
            from interloq.retrieve.postings import Postings

            Postings.of(values).save(folder)
            return
        from interloq.retrieve import lists

        trained = self._trained(key)
        if not trained.exists() and len(self) + len(values) <= self.manifest.exact_up_to:
            lists.write_exact(folder, values)
            return
        if not trained.exists():
            self._train(key, values)
        lists.write_lists(folder, trained, values)
        lists.write_truth(folder, self._probes(key), values, NEIGHBOURS)

    def _train(self, key: Field, values: Floats) -> None:
        from interloq.retrieve import lists

        n = max(len(self) + len(values), self.manifest.expected)
        n_lists = min(MOST_LISTS, 2 ** round(math.log2(math.sqrt(n))), max(1, len(values) // 8))
        step = max(1, len(values) // (n_lists * lists.POINTS_A_LIST))
        with replacing(self._probes_path(key)) as file:
            np.save(file, as_probes(values[:: max(1, len(values) // N_PROBES)][:N_PROBES]))
        lists.write_trained(self._trained(key), lists.train(np.ascontiguousarray(values[::step]), n_lists))

    def _convert(self, i: int, segment: Mapping[str, Any]) -> None:
        """Exact vectors → lists, in a new segment that takes the place of the old one."""
        from interloq.retrieve import lists

        old = self._path(segment["name"])
        exact = {key: old / key / lists.EXACT for key in self._fields() if (old / key / lists.EXACT).exists()}
        if not exact:
            return
        name = self._free_name()
        with self._new_segment(name) as part:
            shutil.copytree(old, part, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*self._fields()))
            for key, path in exact.items():
                self._write_field(part, key, np.load(path))
        segments = list(self.manifest.segments)
        segments[i] = {"name": name, "pairs": segment["pairs"]}
        self._commit(segments=tuple(segments))

    def _measure(self) -> None:
        """The smallest number of visited lists that reaches the wanted recall on the utterances' probes."""
        from interloq.retrieve import lists

        key: Field = "utterance"
        segments, probes = self._vectors(key), self._probes(key)
        truth = lists.scores(segments, probes, lists.read_truth(self._folders(key)))

        def reached(n_probe: int) -> float:
            found, _ = best(*lists.nearest(segments, probes, NEIGHBOURS, n_probe), NEIGHBOURS)
            return share_of_scores(lists.scores(segments, probes, found), truth)

        n_lists = segments[0].lists.nlist
        efforts = sorted({min(n_lists, round(2 ** (i / 2))) for i in range(2 * n_lists.bit_length())})
        n_probe, recall = choose_effort(efforts, reached, self.manifest.wanted_recall)
        self._commit(n_probe=n_probe, recall=recall)

    # ---- searching ---------------------------------------------------------------------------------------------------

    def nearest(self, field: Field, queries: Encoded, k: int) -> tuple[Ids, Floats]:
        if isinstance(queries, Words):
            from interloq.retrieve import postings

            found = postings.search(self._postings(field), queries, self._ranking(field), k)
        else:
            from interloq.retrieve import lists

            found = lists.nearest(self._vectors(field), queries, k, self.manifest.n_probe)
        return best(*found, k)

    def scores(self, field: Field, queries: Encoded, ids: Ids) -> Floats:
        if isinstance(queries, Words):
            from interloq.retrieve import postings

            return postings.score(self._postings(field), queries, self._ranking(field), ids)
        from interloq.retrieve import lists

        return lists.scores(self._vectors(field), queries, ids)

    def pairs(self, ids: Sequence[int]) -> list[Pair]:
        found = []
        for id in ids:
            segment = bisect_right(self._firsts, id) - 1
            found.append(self._logs[segment][id - self._firsts[segment]])
        return found

    def sources(self) -> dict[str, int]:
        """Read anew: another process may have added some since this one opened the folder."""
        return dict(_read(self.folder).sources)

    def __len__(self) -> int:
        return sum(segment["pairs"] for segment in self.manifest.segments)

    # ---- what is open ------------------------------------------------------------------------------------------------

    @cached_property
    def _logs(self) -> list[Log]:
        return [Log(self._path(segment["name"])) for segment in self.manifest.segments]

    @cached_property
    def _firsts(self) -> list[int]:
        """The id of each segment's first pair."""
        return [0, *accumulate(segment["pairs"] for segment in self.manifest.segments)][:-1]

    def _vectors(self, key: Field) -> list[Any]:
        from interloq.retrieve import lists

        if key not in self._opened:
            self._opened[key] = [lists.Segment(folder) for folder in self._folders(key)]
        return self._opened[key]

    def _postings(self, key: Field) -> list[Any]:
        from interloq.retrieve.postings import Segment

        if key not in self._opened:
            ranking = self._ranking(key)
            self._opened[key] = [Segment(folder, ranking) for folder in self._folders(key)]
        return self._opened[key]

    def _ranking(self, key: Field) -> Any:
        from interloq.retrieve.postings import rank

        if key not in self._rankings:
            retriever = create(self.manifest.retriever, kind="retriever")
            self._rankings[key] = rank(self._folders(key), k1=retriever.k1, b=retriever.b)
        return self._rankings[key]

    # ---- folders -----------------------------------------------------------------------------------------------------

    def _commit(self, **changes: Any) -> None:
        self.manifest = replace(self.manifest, **changes)
        _write(self.folder, self.manifest)
        self._opened.clear()
        self._rankings.clear()
        for name in ("_logs", "_firsts"):
            self.__dict__.pop(name, None)
        self._sweep()

    def _sweep(self) -> None:
        """Remove what a killed process left behind: segments that the manifest does not name, half-written files."""
        for half in self.folder.rglob(".*.part"):
            half.unlink()
        named = {segment["name"] for segment in self.manifest.segments}
        for path in (self.folder / SEGMENTS).iterdir():
            if path.name not in named:
                shutil.rmtree(path)

    @contextmanager
    def _new_segment(self, name: str) -> Iterator[Path]:
        part = self._path(f"{name}.part")
        part.mkdir()
        yield part
        part.rename(self._path(name))

    def _free_name(self) -> str:
        numbers = [int(segment["name"]) for segment in self.manifest.segments]
        return f"{max(numbers, default=-1) + 1:06d}"

    def _path(self, name: str) -> Path:
        return self.folder / SEGMENTS / name

    def _folders(self, key: Field) -> list[Path]:
        return [self._path(segment["name"]) / key for segment in self.manifest.segments]

    def _fields(self) -> tuple[Field, ...]:
        return fields(create(self.manifest.retriever, kind="retriever").target)

    def _dense(self) -> bool:
        return self.manifest.retriever.split("(")[0] != "bm25"

    def _trained(self, key: Field) -> Path:
        return self.folder / f"{key}.trained.faiss"

    def _probes_path(self, key: Field) -> Path:
        return self.folder / f"{key}.probes.npy"

    def _probes(self, key: Field) -> Floats:
        return np.asarray(np.load(self._probes_path(key)))


def _read(folder: Path) -> Manifest:
    try:
        values = orjson.loads((folder / MANIFEST).read_bytes())
    except FileNotFoundError:
        raise InputError(f"no index in {folder}", cure="make one: interloq index build PAIRS -o FOLDER") from None
    except orjson.JSONDecodeError as error:
        raise InputError(f"{folder / MANIFEST} is damaged: {error}", cure="build the index again") from error
    if values.get("schema") != SCHEMA:
        raise InputError(
            f"the index has schema {values.get('schema')}, this version reads {SCHEMA}",
            cure="build it again with this version, or open it with the version that built it",
            where=str(folder),
        )
    return Manifest(**{**values, "segments": tuple(values["segments"])})


def _write(folder: Path, manifest: Manifest) -> None:
    with replacing(folder / MANIFEST) as file:
        file.write(orjson.dumps(asdict(manifest), option=orjson.OPT_INDENT_2))


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with (folder / LOCK).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"another process is writing to {folder}", cure="wait until it has finished") from None
        yield
