"""Fixtures that several files of this folder use."""

from pathlib import Path

import pytest

from interloq.retrieve.index import create_index
from tests.pipeline_fixtures import files, made
from tests.retrieve.faiss_lists import build_old_index
from tests.retrieve.made_index import KINDS, pairs

__all__ = ["files", "made"]


@pytest.fixture(scope="module", params=KINDS)
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param) / "index"
    retriever, exact_up_to = KINDS[request.param]
    if request.param == "lists":
        build_old_index(folder, pairs(200), exact_up_to=exact_up_to, segment=120)
        return folder
    create_index(folder, retriever, exact_up_to=exact_up_to).add(pairs(200), source="a", segment=120)
    return folder
