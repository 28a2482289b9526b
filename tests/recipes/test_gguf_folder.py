"""A GGUF file as a model folder. Unpacking is the affair of transformers; what is made of it must load and score."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import gguf_folder
import pytest
import transformers

from interloq import Sample, evaluate
from interloq.metrics.likelihood.perplexity import Perplexity
from tests.made_lm import tiny_lm


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that is unpacked to a small network, which still says that it was packed."""
    made = tiny_lm(tmp_path / "made")
    network = transformers.AutoModelForCausalLM.from_pretrained(made)
    tokenizer = transformers.AutoTokenizer.from_pretrained(made)
    network.config.quantization_config = {"quant_method": "gguf"}
    network.hf_quantizer = SimpleNamespace(is_serializable=lambda: False)
    monkeypatch.setattr(gguf_folder, "PACKAGES", ("torch", "transformers"))
    for loader, found in ((transformers.AutoModelForCausalLM, network), (transformers.AutoTokenizer, tokenizer)):
        monkeypatch.setattr(loader, "from_pretrained", _answering(found, loader.from_pretrained))
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF and more")
    return path


def _answering(found: object, load: Callable[..., object]) -> Callable[..., object]:
    """A `from_pretrained` that gives this for the file, and loads folders as ever."""

    def answer(folder: Path, *, gguf_file: str = "", **options: object) -> object:
        return found if gguf_file else load(folder, **options)

    return answer


def test_the_folder_scores_like_any_other(tmp_path: Path, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "folder"
    assert gguf_folder.main([str(file), "-o", str(folder)]) == 0
    assert "quantization_config" not in json.loads((folder / "config.json").read_text())
    assert capsys.readouterr().out.startswith(f"{folder}: gpt2-")
    samples = [Sample("1", ["how was it ?"], "it was a very good day .")]
    scores = [evaluate(Perplexity(str(model)), samples).value for model in (folder, tmp_path / "made")]
    assert scores[0] == pytest.approx(scores[1])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.gguf", None, "cannot read"),
        ("text.gguf", b"text", "is not a GGUF file"),
    ],
)
def test_files_that_will_not_do(
    tmp_path: Path, file: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes | None, message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert gguf_folder.main([str(tmp_path / name), "-o", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_folder_that_exists_is_left_alone(tmp_path: Path, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gguf_folder.main([str(file), "-o", str(tmp_path)]) == 2
    assert "already exists" in capsys.readouterr().err
