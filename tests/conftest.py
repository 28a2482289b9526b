"""Shared fixtures. A component a test needs is skipped with a reason on a user's machine and must be there in CI."""

from __future__ import annotations

import gc
import os
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest
from hypothesis import settings

from interloq import Rating, Reference, Sample, metric
from interloq.metrics.function import UNREGISTERED
from interloq.records import Key

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
pytest_plugins = ["tests.server_fixtures"]
settings.register_profile("tests", max_examples=40, deadline=None)  # other runs draw other examples
settings.load_profile("tests")
os.environ["INTERLOQ_DEBUG"] = "1"  # a bug is to be seen here with its traceback, in subprocesses too
os.environ.pop("INTERLOQ_MODELS", None)  # the models of a developer are not those of a test
os.environ["INTERLOQ_ROW_CACHE"] = "off"  # what another test scored must not replace what this one tests
# a shell starts jobs in the background deaf to Ctrl-C, and so their children; tests of interrupts need them to hear it
signal.signal(signal.SIGINT, signal.default_int_handler)
metric(lambda _: 0.0, name="made")  # so that the direction of made-up scores with this name is known: higher is better
gc.disable()  # until all tests are collected: imported modules are not garbage, and looking for some takes seconds


@pytest.fixture(autouse=True)
def _forget_metrics() -> Iterator[None]:
    """Let no test know the direction of a metric that another test has made."""
    known = dict(UNREGISTERED)
    yield
    UNREGISTERED.clear()
    UNREGISTERED.update(known)


def missing(component: str) -> None:
    """Skip where a user lacks a component, fail where CI does."""
    message = f"{component} is not installed"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


T = TypeVar("T")


def by_id(found: Mapping[Key, T]) -> dict[str, T]:
    """What a result says of samples whose ids tell them apart."""
    assert len({id for id, _ in found}) == len(found)
    return {id: value for (id, _), value in found.items()}


@pytest.fixture(scope="session")
def chromium_path() -> str:
    path = next(
        (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
    )
    if not path:
        missing("Chromium")
    return path


@pytest.fixture(scope="module")
def browser(chromium_path: str) -> Iterator[Browser]:
    """Chromium, ended with the module: while Playwright runs, its thread can run no event loop of its own."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path, args=CHROMIUM_FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[Path], object]], Path]:
    """Folders made once for all processes that run tests: the first that asks for a name fills it, others wait."""
    fcntl = pytest.importorskip("fcntl")
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own

    def made(name: str, fill: Callable[[Path], object]) -> Path:
        folder = shared / f"made-{name}"
        with (shared / f"made-{name}.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.exists():
                started = tmp_path_factory.mktemp(name)
                fill(started)
                started.rename(folder)
        return folder

    return made


@pytest.fixture
def samples() -> list[Sample]:
    return rated_samples()


def rated_samples() -> list[Sample]:
    """Six replies of two systems with weighted references and three raters."""
    replies: Sequence[tuple[str, str, str, tuple[float, float, float]]] = [
        ("1", "good", "the food was quite good .", (5, 4, 5)),
        ("2", "good", "the music was great .", (4, 4, 5)),
        ("3", "good", "i liked it a lot .", (3, 4, 4)),
        ("4", "bad", "the food tasted terrible .", (2, 1, 2)),
        ("5", "bad", "no .", (1, 1, 1)),
        ("6", "bad", "the music was awful .", (2, 3, 1)),
    ]
    references = (Reference("the food was delicious ."), Reference("the music was great .", 0.6, "human"))
    return [
        Sample(id, ["how was it ?", f"tell me {id}"], text, references, system, _ratings(values))
        for id, system, text, values in replies
    ]


def _ratings(values: Sequence[float]) -> list[Rating]:
    return [Rating(float(value), f"rater-{i}") for i, value in enumerate(values)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what `make check-fast` leaves out."""
    here = Path(__file__).parent
    slow = set((here / "slow_files.txt").read_text().splitlines())
    for item in items:
        if item.path.relative_to(here).as_posix() in slow:
            item.add_marker("slow")


def pytest_collection_finish() -> None:
    """Collect garbage from here on, but not among the modules and tests, which stay until the end."""
    gc.freeze()
    gc.enable()
