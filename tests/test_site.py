"""The docs site is built without a warning, has all pages and the API, and loads nothing from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import interloq

DOCS = Path(__file__).parents[1] / "docs"
LOADED = re.compile(r"<(?:script|link|img|iframe|source|object)\b[^>]*?(?:src|href|data)=[\"'](?:https?:)?//[^\"']*")
IMPORTED = re.compile(r"(?:@import|url\()\s*[\"']?(?:https?:)?//[^)\s]*")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    options = ["--fail-on-warning", "--keep-going", "--quiet", "-d", str(folder / "doctrees")]
    command = [sys.executable, "-m", "sphinx", *options, str(DOCS), str(folder / "html")]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder / "html"


def test_every_page_is_in_the_navigation(site: Path) -> None:
    home = (site / "index.html").read_text()
    sources = [path for path in DOCS.rglob("*") if path.suffix in {".md", ".ipynb"} and path.name != "index.md"]
    assert len(sources) > 60
    for source in sources:
        page = source.relative_to(DOCS).with_suffix(".html").as_posix()
        assert (site / page).exists()
        assert f'class="reference internal" href="{page}"' in home


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages, styles = list(site.rglob("*.html")), list(site.rglob("*.css"))
    assert pages
    assert styles
    for file in (*pages, *styles):
        text = file.read_text()
        assert not IMPORTED.findall(text), file
        assert not LOADED.findall(text), file


def test_the_public_names_and_the_functions_of_verbs_are_in_the_reference(site: Path) -> None:
    reference = "".join(path.read_text() for path in (site / "api").glob("*.html"))
    table = re.findall(r"^\| `.*` \| (`.*`) \| (`.*`) \|$", (DOCS / "command-line.md").read_text(), re.MULTILINE)
    assert len(table) > 20
    named = {f"interloq.{name}" for name in interloq.__all__ if name != "__version__"}
    for functions, modules in table:
        found = re.findall(r"`(\w+)`", functions)
        named |= {f"{module}.{name}" for module in re.findall(r"`([\w.]+)`", modules) for name in found}
    missing = sorted(name for name in named if f'id="{name}"' not in reference)
    assert missing == []
