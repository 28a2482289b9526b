"""Fixtures that several files of this folder use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.made_posts import made_posts, write_posts


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """About 1 MB of posts, with bad lines among them."""
    path = write_posts(tmp_path_factory.mktemp("log") / "posts.jsonl", made_posts(8_000, users=100))
    lines = path.read_bytes().splitlines(keepends=True)
    for place in (17, 4_000, 7_990):
        lines.insert(place, b'{"id": "bad\n')
    path.write_bytes(b"".join(lines))
    return path
