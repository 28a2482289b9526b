"""Data sets by name, in folders and archives."""

from __future__ import annotations

import gzip
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from interloq import InputError
from interloq.data.sets import chatterbot, fed, grade
from interloq.data.sets.registry import (
    CORPORA,
    DATASETS,
    corpus,
    dataset,
    locate,
    read_dataset,
    read_parts,
    source_fingerprint,
)
from tests.published_layouts import packed, write_engagement, write_fed, write_grade, write_gupta, write_json, write_usr

WRITERS: dict[str, Callable[[Path], Path]] = {
    "grade": write_grade,
    "usr": write_usr,
    "fed": write_fed,
    "multiref_dailydialog": write_gupta,
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("suffix", [".tar.gz", ".tar.xz", ".tgz", ".tar"])
def test_folder_and_archive_are_the_same(tmp_path: Path, name: str, suffix: str) -> None:
    folder = WRITERS[name](tmp_path / name)
    archive = packed(folder, suffix)
    expected = list(read_dataset(name, folder))
    assert list(read_dataset(name, archive)) == expected
    assert list(read_dataset(name, tmp_path / name / "..")) == expected, "one level up is found too"
    assert source_fingerprint(name, archive) == source_fingerprint(name, folder)


def test_a_lone_file_may_be_compressed(tmp_path: Path) -> None:
    plain = write_fed(tmp_path) / "fed_data.json"
    (tmp_path / "fed_data.json.gz").write_bytes(gzip.compress(plain.read_bytes()))
    assert list(fed.samples(tmp_path / "fed_data.json.gz")) == list(fed.samples(plain)) == list(fed.samples(tmp_path))


def test_a_dataset_is_found_in_the_folder_of_datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INTERLOQ_DATA", raising=False)
    with pytest.raises(InputError, match="for fed; name its folder, archive or file, or set INTERLOQ_DATA"):
        list(read_dataset("fed"))
    monkeypatch.setenv("INTERLOQ_DATA", str(tmp_path))
    with pytest.raises(InputError, match="no fed in"):
        list(read_dataset("fed"))
    packed(write_fed(tmp_path / "elsewhere" / "fed")).rename(tmp_path / "fed.tar.gz")
    write_engagement(tmp_path)
    assert locate("fed") == tmp_path / "fed.tar.gz"
    assert next(read_dataset("fed")).id == "fed/turn/0/Meena"
    assert next(read_dataset("fed", subset="dialogue")).id == "fed/dialogue/1/Mitsuku"
    assert next(read_dataset("predictive_engagement", subset="scores")).metric == "stored:Ruber_Unref_Score"
    (tmp_path / "fed").mkdir()
    assert locate("fed") == tmp_path / "fed"
    monkeypatch.setattr(chatterbot, "find_installed", lambda: tmp_path / "package")
    assert locate("chatterbot") == tmp_path / "package"


def test_aliases_and_unknown_names() -> None:
    assert dataset("gupta") is DATASETS["multiref_dailydialog"]
    with pytest.raises(InputError, match="did you mean 'grade'"):
        dataset("graed")
    with pytest.raises(InputError, match="did you mean 'topical'"):
        next(read_dataset("usr", "nowhere", subset="topicla"))


def test_damaged_archives_and_files(tmp_path: Path) -> None:
    archive = packed(write_grade(tmp_path / "grade"))
    archive.write_bytes(archive.read_bytes()[:200])
    with pytest.raises(InputError, match="cannot read the archive"):
        list(grade.samples(archive))
    (tmp_path / "fed.tar.gz").write_bytes(b"not an archive")
    with pytest.raises(InputError, match="cannot read the archive"):
        list(fed.samples(tmp_path / "fed.tar.gz"))
    (tmp_path / "fed_data.json").write_bytes(b'[{"context": "\xff"}]')
    with pytest.raises(InputError, match="byte 15 is not valid UTF-8"):
        list(fed.samples(tmp_path / "fed_data.json"))
    with pytest.raises(InputError, match="no file or folder"):
        list(fed.samples(tmp_path / "nowhere"))


def test_mistakes_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown dataset 'dailydialogue'; did you mean 'dailydialog'"):
        corpus("dailydialogue")
    with pytest.raises(InputError, match=r"usr is not a corpus of dialogues; .*: interloq data import usr"):
        corpus("usr")
    write_json(
        tmp_path / "data" / "topic1.json", [{"dialogue_id": 1, "utterances": []}, {"dialogue_id": 1, "utterances": []}]
    )
    with pytest.raises(InputError, match="japanese_daily_dialogue/topic1/1 was found twice"):
        list(read_parts("japanese_daily_dialogue", tmp_path))
    write_json(tmp_path / "data" / "topic1.json", [{"utterances": []}])
    with pytest.raises(InputError, match=r"topic1\.json:0: 'dialogue_id' must be a number"):
        list(read_parts("japanese_daily_dialogue", tmp_path))


# counted from the published files with json and split, without this package
PUBLISHED: dict[str, dict[str, tuple[int, int]]] = {
    "dailydialog": {"train": (11_118, 87_170), "dev": (1_000, 8_069), "test": (1_000, 7_740)},
    "byu_chitchat": {"all": (7_168, 138_737)},
    "japanese_daily_dialogue": {"all": (5_256, 41_737)},
    "kdconv": {"dev": (450, 9_321), "test": (450, 9_737)},
    "kokorochat": {"all": (6_589, 471_940)},
    "real_persona_chat": {"human": (13_583, 408_619), "system": (150, 3_000)},
}


@pytest.mark.skipif(not os.environ.get("INTERLOQ_DATA"), reason="INTERLOQ_DATA names no folder with the corpora")
@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_published_corpora(name: str) -> None:
    dialogues: Counter[str] = Counter()
    turns: Counter[str] = Counter()
    for part, dialogue in read_parts(name):
        dialogues[part] += 1
        turns[part] += len(dialogue.turns)
        assert all(turn.text for turn in dialogue.turns) or name in ("byu_chitchat", "real_persona_chat")
    assert {part: (dialogues[part], turns[part]) for part in dialogues} == PUBLISHED[name]


def test_every_corpus_has_a_loader() -> None:
    for found in CORPORA:
        assert found.module().FILES
        assert callable(found.module().dialogues)
