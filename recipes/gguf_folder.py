"""Convert a GGUF file to a model folder (config.json, model.safetensors, tokenizer) that metrics and bots can load.

    pip install gguf accelerate
    python recipes/gguf_folder.py model.Q4_1.gguf -o model

The model `smollm2` needs no recipe (docs/models.md).

The weights are dequantised once and stored in float32, exactly as the file rounds them: a 4-bit model grows to about
six times its size. `--dtype bfloat16` halves that and rounds once more. The folder is loaded before the recipe ends, so
that one that Interloq cannot use is never left behind. The exit code is 0, or 2 if the file, a package or the network
in the file cannot be used.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from interloq import InputError, InterloqError
from interloq.data.files.durable import atomic_folder

MAGIC = b"GGUF"
PACKAGES = ("torch", "transformers", "gguf", "accelerate")
DTYPES = ("float32", "bfloat16")


def convert(file: Path, folder: Path, *, dtype: str = "float32") -> str:
    """Write the folder and return the signature of its model."""
    _check(file, folder)
    from interloq.models.lm.dialogue_scorer import language_model

    network, tokenizer = unpacked(file, dtype)
    with atomic_folder(folder) as part:
        network.save_pretrained(part)
        tokenizer.save_pretrained(part)
        for path in part.iterdir():
            path.chmod(0o644)  # safetensors makes files readable by the owner only
        language_model(str(part), device="cpu")
    signature: str = language_model(str(folder), device="cpu").signature()
    return signature


def unpacked(file: Path, dtype: str) -> tuple[Any, Any]:
    """Network and tokenizer of the file, without the settings that would make transformers quantise it again."""
    import torch
    import transformers

    options = {"gguf_file": file.name, "local_files_only": True}
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(file.parent, **options)
        network = transformers.AutoModelForCausalLM.from_pretrained(file.parent, dtype=getattr(torch, dtype), **options)
    except Exception as error:  # transformers raises many kinds of errors for files that it cannot read
        raise InputError(f"it cannot be converted: {str(error).splitlines()[0]:.200}", where=str(file)) from error
    network.hf_quantizer = None
    if hasattr(network.config, "quantization_config"):
        del network.config.quantization_config
    return network, tokenizer


def _check(file: Path, folder: Path) -> None:
    if missing := [name for name in PACKAGES if find_spec(name) is None]:
        raise InputError(f"not installed: {', '.join(missing)}", hint=f"run: pip install {' '.join(missing)}")
    try:
        with file.open("rb") as stream:
            begins = stream.read(len(MAGIC))
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}", hint="check the path") from error
    if begins != MAGIC:
        raise InputError(f"{file} is not a GGUF file", hint="name a file that ends in .gguf")
    if folder.exists():
        raise InputError(f"{folder} already exists", hint="name a new folder")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Convert a GGUF file to a model folder.")
    parser.add_argument("file", type=Path, metavar="GGUF")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER", help="a new folder")
    parser.add_argument("--dtype", choices=DTYPES, default=DTYPES[0], help="type of the stored weights (float32)")
    args = parser.parse_args(argv)
    try:
        print(f"{args.output}: {convert(args.file, args.output, dtype=args.dtype)}")
    except InterloqError as error:
        print(f"gguf_folder: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
