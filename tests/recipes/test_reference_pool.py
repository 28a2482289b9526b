from __future__ import annotations

import json
from pathlib import Path

import pytest
import ready_logs
import reference_pool

from interloq import InputError, load
from interloq.data.sets.registry import locate, read_dataset
from interloq.retrieve.extend import extend
from interloq.retrieve.index import open_index
from tests.recipes.test_ready import OTHERS, write_restricted, write_sets_and_logs


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_all(tmp_path_factory.mktemp("data"))


def write_all(folder: Path) -> Path:
    """Rated sets, all English logs, and SCARCE's references of Gupta's replies."""
    write_restricted(write_sets_and_logs(folder))
    items = [
        {"context_id": s.id.split("/")[1], "model": s.system, "all_references": ["okay .", "do n't like tea .", " "]}
        for s in read_dataset("multiref_dailydialog", locate("multiref_dailydialog", folder))
    ]
    (folder / "scarce" / "ref_files").mkdir(parents=True)
    (folder / "scarce" / "ref_files" / "scarce.multiref.json").write_text(json.dumps(items))
    return folder


@pytest.fixture(scope="module")
def pairs(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(reference_pool.pool(data, tmp_path_factory.mktemp("work")))


def test_the_pool_has_every_log_and_nothing_of_the_test_sets(data: Path, pairs: Path) -> None:
    found = load(pairs, kind="pairs")
    assert {*OTHERS, "dailydialog", "reddit_pairs", "reddit_posts"} < {pair.id.split("/")[0] for pair in found}
    assert len({pair.id for pair in found}) == len(found)
    turns = {turn.text for sample in ready_logs.test_samples(data) for turn in sample.context}
    assert not turns & {pair.utterance for pair in found}
    before = pairs.stat().st_mtime_ns
    assert reference_pool.pool(data, pairs.parent) == pairs
    assert pairs.stat().st_mtime_ns == before


def test_the_index_finds_pairs_of_the_pool(data: Path, pairs: Path) -> None:
    samples = reference_pool.sets_with_references(data)["GRADE ConvAI2"].samples
    assert reference_pool.pool_index(pairs) == reference_pool.pool_index(pairs)
    index = open_index(reference_pool.pool_index(pairs))
    assert len(index.store) == len(load(pairs, kind="pairs"))
    (sample, *_) = extend(samples, index, parrot=False)
    assert len(sample.references) == 16


def test_sets_without_references_are_not_used(data: Path) -> None:
    names = list(reference_pool.sets_with_references(data))
    assert len(names) == 6
    assert not any("FED" in name for name in names)
    assert reference_pool.GUPTA in names


def test_random_replies_are_of_the_pool(data: Path, pairs: Path) -> None:
    sets = reference_pool.sets_with_references(data)
    replies = {pair.response for pair in load(pairs, kind="pairs")}
    for name, samples in reference_pool.with_random(sets, pairs).items():
        for own, more in zip(sets[name].samples, samples, strict=True):
            assert more.references[: len(own.references)] == own.references
            added = [reference.text for reference in more.references[len(own.references) :]]
            assert len(added) == 15
            assert replies.issuperset(added)


def test_scarce_adds_its_references_once(data: Path, tmp_path: Path) -> None:
    samples = reference_pool.sets_with_references(data)[reference_pool.GUPTA].samples
    for own, more in zip(samples, reference_pool.with_scarce(data, samples), strict=True):
        assert [r.text for r in more.references] == [*(r.text for r in own.references), "don't like tea ."]
    with pytest.raises(InputError, match="no scarce in"):
        reference_pool.with_scarce(tmp_path, samples)
