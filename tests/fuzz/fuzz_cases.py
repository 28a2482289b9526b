"""Every reader and parser with a tiny valid file, from which the variants are made."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import zstandard

from interloq import create
from interloq.cli.play import make_bots
from interloq.compare.comparison_file import read_comparison
from interloq.data.corpus.clean import Cleaning
from interloq.data.corpus.formats import READERS, read_batches
from interloq.data.corpus.scan import clean_texts
from interloq.data.corpus.settings import default_toml, read_settings
from interloq.data.corpus.shards import Logs
from interloq.data.follow_ups import read_follow_ups
from interloq.data.records.jsonl import header, read
from interloq.data.sets.registry import read_dataset, read_parts
from interloq.data.text.texts import file_texts
from interloq.errors import InterloqError
from interloq.metrics.contextual.bertscore_baseline import load_baseline
from interloq.play.journal import Journal
from interloq.play.openings import read_openings
from interloq.play.partners import load_partners, partner_set, save_partners
from interloq.rank.rank_file import read_system_scores
from interloq.rate.human import Human
from interloq.records import Dialogue, Pair, Sample
from interloq.report.build import Evidence, build
from interloq.report.render import render
from interloq.report.sections.decisions import decision
from interloq.report.sections.models import read_model
from interloq.retrieve.index import create_index, open_index
from interloq.retrieve.retriever import Query
from interloq.shards.parts import PartsFolder
from interloq.vectors.word_vectors import WordVectors
from tests import published_layouts as layouts
from tests.data.sets.made_sets import write_hazumi
from tests.fuzz.fuzz_seeds import (
    BASELINE,
    CALIBRATION,
    CHAT,
    COMPARED,
    CORPORA,
    CURVE,
    FOLLOW_UPS,
    LOGS,
    RATING,
    RECORDS,
    SPECS,
    TABLE,
    Files,
    as_json,
)


@dataclass(frozen=True)
class Case:
    """`read` reads the folder in which the files lie, one of which is not as it was."""

    name: str
    files: Files
    read: Callable[[Path], object]
    cost: int = 1  # how many times as long as others it takes: it gets as many times fewer inputs
    on_disk: bool = False  # most of its inputs lie outside /dev/shm, where files of users are


def cases() -> list[Case]:
    kinds = (_records, _unfinished, _logs, _published, _vectors, _settings, _archives, _indexes, _specs)
    return [case for kind in kinds for case in kind()]


def alone(name: str, data: bytes | str | list[Any], read_file: Callable[[Path], object], kind: str) -> Case:
    if isinstance(data, list):
        data = "".join(json.dumps(value) + "\n" for value in data)
    content = data.encode() if isinstance(data, str) else data
    return Case(kind, {name: content}, lambda folder: _all(read_file(folder / name)))


def _all(found: object) -> object:
    """What comes one by one has to be asked for."""
    return list(found) if isinstance(found, Iterator) else found


# ---- records ---------------------------------------------------------------------------------------------------------


def _records() -> Iterator[Case]:
    for kind, record in RECORDS.items():
        first = {"kind": kind, "schema": 1, "signature": "s"}
        values = [first, record, {**record, "id": "2"}]
        yield alone("a.jsonl", values, lambda path, kind=kind: read(path, kind=kind), f"jsonl {kind}")  # type: ignore[misc]
    yield alone("a.jsonl", CHAT, lambda path: read(path, kind="dialogues"), "jsonl chat exports")
    yield alone("a.json", json.dumps([RECORDS["samples"]]), lambda path: read(path), "json list of samples")
    yield alone("a.csv", TABLE, lambda path: read(path), "table csv")
    yield alone("a.csv", TABLE.replace(",", ";"), lambda path: read(path), "table semicolons")
    yield alone("a.tsv", TABLE.replace(",", "\t"), lambda path: read(path), "table tsv")
    yield alone("a.jsonl", [{"kind": "scores", "schema": 1}, RECORDS["scores"]], header, "jsonl header")
    yield alone("a.jsonl", [RECORDS["samples"]], lambda path: file_texts(path), "texts")
    for suffix, pack in PACKS.items():
        data = pack(json.dumps(RECORDS["samples"]).encode())
        yield alone(f"a.jsonl{suffix}", data, lambda path: read(path), f"jsonl{suffix}")


PACKS: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstandard.compress}

# ---- logs ------------------------------------------------------------------------------------------------------------


def _logs() -> Iterator[Case]:
    assert set(LOGS) == set(READERS), "every format of logs has a seed"
    for kind, (name, data) in LOGS.items():
        yield alone(name, data, lambda path, kind=kind: _cleaned(path, kind), f"log {kind}")  # type: ignore[misc]
        yield alone(name, data, lambda path: _cleaned(path, "auto"), f"log {kind}, told by its content")
    files = {"a.ascii.txt": LOGS["irc"][1].encode(), "a.annotation.txt": b"0 0 -\n0 2 -\n"}
    yield Case("log irc, annotated", files, lambda folder: _cleaned(folder / "a.ascii.txt", "irc"))
    data = {"author": {"name": "ann"}, "words": "hello", "at": 1600000000}
    fields = {"user": "author.name", "text": "words", "time": "at"}
    yield alone("a.jsonl", [data], lambda path: _cleaned(path, "auto", fields), "log with named fields")


def _cleaned(path: Path, format: str, fields: Mapping[str, str] | None = None) -> list[Any]:
    """Read and cleaned, as a worker does it."""
    pieces = (piece for shard in Logs([path], format, fields or {}).shards() for piece in shard.pieces)
    batches = (columns for piece in pieces for columns in read_batches(piece, lambda *_: None))
    return [clean_texts(columns.text, Cleaning()) for columns in batches]


# ---- published sets and corpora --------------------------------------------------------------------------------------


def _published() -> Iterator[Case]:
    writers: dict[str, Callable[[Path], Path]] = {
        "usr": layouts.write_usr,
        "grade": layouts.write_grade,
        "fed": layouts.write_fed,
        "multiref_dailydialog": layouts.write_gupta,
        "predictive_engagement": layouts.write_engagement,
        "hazumi": write_hazumi,
    }
    for name, write in writers.items():
        files = _files_of(write)
        yield Case(f"set {name}", files, lambda folder, name=name: list(read_dataset(name, folder)))  # type: ignore[misc]
    fed = _files_of(layouts.write_fed)
    yield Case("set fed dialogues", fed, lambda folder: list(read_dataset("fed", folder, subset="dialogue")))
    for name, files in CORPORA.items():
        yield Case(f"corpus {name}", files, lambda folder, name=name: list(read_parts(name, folder)))  # type: ignore[misc]


def _files_of(write: Callable[[Path], Path]) -> Files:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        paths = [path for path in Path(folder).rglob("*") if path.is_file()]
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


# ---- vectors ---------------------------------------------------------------------------------------------------------

WORDS = ["the", "cat", "猫", "<unk>"]
MATRIX = np.random.default_rng(0).standard_normal((len(WORDS), 3)).astype(np.float32)


def _vectors() -> Iterator[Case]:
    text = "".join(f"{word} {' '.join(map(str, row))}\n" for word, row in zip(WORDS, MATRIX, strict=True))
    binary = b"4 3\n" + b"".join(
        word.encode() + b" " + row.tobytes() + b"\n" for word, row in zip(WORDS, MATRIX, strict=True)
    )
    yield alone("v.txt", text, _used, "vectors text")
    yield alone("v.vec", f"4 3\n{text}", _used, "vectors text with a header")
    yield alone("v.bin", binary, _used, "vectors binary")
    yield alone("v.txt.gz", gzip.compress(text.encode()), _used, "vectors text.gz")
    own = _files_of(lambda folder: _saved(folder))
    yield Case("vectors folder", own, _used)


def _saved(folder: Path) -> Path:
    WordVectors.of(WORDS, MATRIX, tokenizer="whitespace").save(folder)
    return folder


def _used(path: Path) -> object:
    vectors = WordVectors.load(path, tokenizer="whitespace")
    with np.errstate(all="ignore"):  # numbers of a damaged file may be anything
        return vectors.sentences(["the cat sat", "猫"], unknown="mean"), list(vectors.words), vectors.signature()


# ---- settings and lists ----------------------------------------------------------------------------------------------


def _settings() -> Iterator[Case]:
    yield alone("f.json", json.dumps(FOLLOW_UPS), read_follow_ups, "follow-ups")
    yield alone("b.json", json.dumps(BASELINE), load_baseline, "baseline")
    yield alone("s.json", '{"mine": 4.1, "theirs": 3.9}', read_system_scores, "system scores json")
    yield alone("s.csv", 'system,score\nmine,4.1\n"theirs",3.9\n', read_system_scores, "system scores csv")
    yield alone("o.txt", "hi\thello\nbye\tsee you\n", read_openings, "openings text")
    yield alone("o.jsonl", [{"turns": ["hi", "hello"]}], read_openings, "openings jsonl")
    yield alone("b.json", '{"a": "echo", "b": "eliza(language=\'en\')"}', _bots, "bots json")
    yield alone("b.toml", 'a = "echo"\nb = """eliza"""\n', _bots, "bots toml")
    yield alone("c.toml", default_toml().replace("\n# user", "\nuser"), read_settings, "corpus settings")
    yield Case("partner set", _files_of(_partners), lambda folder: load_partners(folder / "p.json"))
    curves = {"learning_curve.json": as_json(CURVE), "calibration.json": as_json(CALIBRATION)}
    yield alone("c.json", as_json(COMPARED), lambda path: decision(read_comparison(path)), "comparison")
    yield Case("learning curve", curves, _render_model)


def _render_model(folder: Path) -> object:
    return render(build(Evidence([], [], models=[read_model(folder, "m")])))


def _bots(path: Path) -> object:
    return make_bots([], str(path), "bot")


def _partners(folder: Path) -> Path:
    save_partners(folder / "p.json", partner_set({"a": create("echo")}, [], exchanges=3, source="x"))
    return folder


# ---- what an interrupted run leaves ----------------------------------------------------------------------------------


def _unfinished() -> Iterator[Case]:
    yield Case("journal of a play", _files_of(_journal), lambda folder: _journal(folder))
    yield Case("folder of shards", _files_of(_shards), lambda folder: _shards(folder))
    rated = json.dumps(RATING) + "\n" + json.dumps({**RATING, "rater": "ben"})
    yield alone("r.jsonl", rated, lambda path: Human(str(path)).rate([_sample()]), "people's ratings")


def _sample() -> Sample:
    return Sample("1", ["hi"], "fine", ["good"])


def _journal(folder: Path) -> Path:
    """Begun, or taken up again."""
    with Journal(folder / "d.journal", {"seed": 1}, sync=0) as journal:
        list(journal.dialogues(["1"] if "1" in journal else []))
        journal.add(Dialogue("1", ["hi", "hello"]))
    return folder


def _shards(folder: Path) -> Path:
    parts = PartsFolder(folder / "parts", {"verb": "rate"}, ["rate"])
    if "job-0-1" in parts.names:
        parts.read("job-0-1")
    parts.add("job-0-1", b"result")
    return folder


# ---- archives and indexes --------------------------------------------------------------------------------------------


def _archives() -> Iterator[Case]:
    for suffix in (".tar", ".tar.gz", ".tar.xz"):
        name = f"fed{suffix}"
        yield Case(
            f"archive {suffix}",
            {name: _packed(suffix)},
            lambda folder, name=name: (list(read_dataset("fed", folder / name)), _log_of_archive(folder / name)),  # type: ignore[misc]
        )


def _log_of_archive(path: Path) -> object:
    return _cleaned(path, "posts", {"user": "system", "text": "context"})


def _packed(suffix: str) -> bytes:
    """A set with what an attacker adds: links, and names that lead out."""
    stream = io.BytesIO()
    mode = {".tar": "w", ".tar.gz": "w:gz", ".tar.xz": "w:xz"}[suffix]
    with tarfile.open(fileobj=stream, mode=mode) as archive:  # type: ignore[call-overload]
        for name, type, target in (
            ("fed/fed_data.json", tarfile.REGTYPE, ""),
            ("../../fed/x.txt", tarfile.REGTYPE, ""),
            ("/etc/x.jsonl", tarfile.SYMTYPE, "/etc/passwd"),
            ("fed/hard.jsonl", tarfile.LNKTYPE, "../../etc/passwd"),
            ("fed/" + "long" * 60 + ".jsonl", tarfile.REGTYPE, ""),
        ):
            info = tarfile.TarInfo(name)
            data = as_json(layouts.FED) if name.endswith(("data.json", ".jsonl")) and type == tarfile.REGTYPE else b""
            info.type, info.linkname, info.size = type, target, len(data)
            archive.addfile(info, io.BytesIO(data))
    return stream.getvalue()


def _indexes() -> Iterator[Case]:
    for retriever, cost in (("bm25", 50), ("dense(encoder='fake32')", 5)):
        files = _files_of(lambda folder, retriever=retriever: _index(folder / "i", retriever))  # type: ignore[misc]
        yield Case(f"index {retriever}", files, _searched, cost)


def _index(folder: Path, retriever: str) -> Path:
    pairs = [Pair(str(i), f"word{i % 5} again", f"answer {i}") for i in range(30)]
    create_index(folder, retriever).add(pairs, source="a", segment=20)
    return folder


def _searched(folder: Path) -> object:
    index = open_index(folder / "i")
    return index.search([Query("word1 again")], 5), index.store.pairs(range(len(index.store)))


# ---- specs -----------------------------------------------------------------------------------------------------------


def _specs() -> Iterator[Case]:
    yield alone("spec.txt", "\n".join(SPECS), _create_all, "specs")


def _create_all(path: Path) -> list[Any]:
    made: list[Any] = []
    for line in path.read_text("utf-8", "surrogateescape").split("\n"):
        try:
            made.append(create(line))
        except InterloqError as error:
            made.append(error)
    return made
