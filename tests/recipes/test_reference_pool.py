from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from interloq import InputError, load
from interloq.data.sets.registry import locate, read_dataset
from interloq.retrieve.extend import extend
from interloq.retrieve.index import open_index
from tests.recipes.test_ready import OTHERS, write_restricted, write_sets_and_logs

RECIPES = Path(__file__).parents[2] / "recipes"


@pytest.fixture(scope="module")
def recipe() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(RECIPES))
        yield importlib.import_module("reference_pool")


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
def pairs(recipe: ModuleType, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(recipe.pool(data, tmp_path_factory.mktemp("work")))


def test_the_pool_has_every_log_and_nothing_of_the_test_sets(recipe: ModuleType, data: Path, pairs: Path) -> None:
    from ready_logs import test_samples as samples

    found = load(pairs, kind="pairs")
    assert {*OTHERS, "dailydialog", "reddit_pairs", "reddit_posts"} < {pair.id.split("/")[0] for pair in found}
    assert len({pair.id for pair in found}) == len(found)
    turns = {turn.text for sample in samples(data) for turn in sample.context}
    assert not turns & {pair.utterance for pair in found}
    before = pairs.stat().st_mtime_ns
    assert recipe.pool(data, pairs.parent) == pairs
    assert pairs.stat().st_mtime_ns == before


def test_the_index_finds_pairs_of_the_pool(recipe: ModuleType, data: Path, pairs: Path) -> None:
    samples = recipe.sets_with_references(data)["GRADE ConvAI2"].samples
    assert recipe.pool_index(pairs) == recipe.pool_index(pairs)
    index = open_index(recipe.pool_index(pairs))
    assert len(index.store) == len(load(pairs, kind="pairs"))
    (sample, *_) = extend(samples, index, parrot=False)
    assert len(sample.references) == 16


def test_sets_without_references_are_not_used(recipe: ModuleType, data: Path) -> None:
    names = list(recipe.sets_with_references(data))
    assert len(names) == 6
    assert not any("FED" in name for name in names)
    assert recipe.GUPTA in names


def test_random_replies_are_of_the_pool(recipe: ModuleType, data: Path, pairs: Path) -> None:
    sets = recipe.sets_with_references(data)
    replies = {pair.response for pair in load(pairs, kind="pairs")}
    for name, samples in recipe.with_random(sets, pairs).items():
        for own, more in zip(sets[name].samples, samples, strict=True):
            assert more.references[: len(own.references)] == own.references
            added = [reference.text for reference in more.references[len(own.references) :]]
            assert len(added) == 15
            assert replies.issuperset(added)


def test_scarce_adds_its_references_once(recipe: ModuleType, data: Path, tmp_path: Path) -> None:
    samples = recipe.sets_with_references(data)[recipe.GUPTA].samples
    for own, more in zip(samples, recipe.with_scarce(data, samples), strict=True):
        assert [r.text for r in more.references] == [*(r.text for r in own.references), "don't like tea ."]
    with pytest.raises(InputError, match="no scarce in"):
        recipe.with_scarce(tmp_path, samples)
