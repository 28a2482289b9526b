# SPDX-License-Identifier: Apache-2.0
"""The input files of a report: the names it shows for them, and the command that reproduces it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from interloq.errors import InputError
from interloq.report.page import TITLE, InputFile
from interloq.report.sections.curves import model_files
from interloq.signature import file_fingerprint


@dataclass(frozen=True, slots=True)
class Inputs:
    """Score files, the samples they score, the dialogues these were made from, and further results to show."""

    scores: Sequence[str | Path]
    samples: str | Path
    dialogues: Sequence[str | Path] = ()
    models: Sequence[str | Path] = ()
    curves: Sequence[str | Path] = ()
    continuity: Sequence[str | Path] = ()
    comparisons: Sequence[str | Path] = ()
    preferences: Sequence[str | Path] = ()

    def __post_init__(self) -> None:
        if "-" in map(str, self.files):
            raise InputError("a report needs files, not a pipe", hint="write the scores and samples to files")

    @property
    def files(self) -> list[str | Path]:
        """All files that are read."""
        results = (self.dialogues, self.curves, self.continuity, self.comparisons, self.preferences)
        return [*self.scores, self.samples, *chain.from_iterable(results)]

    def names(self) -> tuple[list[str], list[str]]:
        """Paths of files and models relative to their common folder: the rest is private, as reports get published."""
        whole = [Path(path).resolve() for path in (*self.files, *self.models)]
        folder = os.path.commonpath([path.parent for path in whole])
        names = [path.relative_to(folder).as_posix() for path in whole]
        return names[: len(self.files)], names[len(self.files) :]

    def sources(self) -> list[InputFile]:
        """Fingerprint of every file that was read."""
        files, models = self.names()
        paths = [*zip(files, map(Path, self.files), strict=True)]
        for name, folder in zip(models, self.models, strict=True):
            paths += [(f"{name}/{path.name}", path) for path in model_files(Path(folder))]
        return [InputFile(name, file_fingerprint(path)) for name, path in paths]


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """Settings of the computations in a report, and how much of the results it shows."""

    aspect: str = "overall"
    title: str = TITLE
    n_bootstrap: int = 1000
    seed: int = 0
    worst: int = 10  # disagreements per metric
    read: int = 2  # best and worst dialogues per system
    lower_is_better: bool | None = None  # None: set by the metric
    survival: bool = False  # draw how long people would stay
    role: str = ""  # of the people whose ratings are used; empty: all
    slice_by: Sequence[str] | None = None  # fields to filter samples by; None: those that `interloq compare` slices by

    def __post_init__(self) -> None:
        for name in ("n_bootstrap", "worst", "read"):
            if getattr(self, name) < 0:
                raise InputError(f"{name} must not be negative, got {getattr(self, name)}")

    @property
    def n_permutations(self) -> int | None:
        """Permutations per test; none if there are no resamples."""
        return None if self.n_bootstrap else 0


def check(inputs: Inputs, options: ReportOptions) -> None:
    """Refuse options that the files cannot serve."""
    if options.survival and not inputs.dialogues:
        raise InputError("survival curves need dialogues, but none are given", hint="add --dialogues FILE")


def command(inputs: Inputs, options: ReportOptions) -> str:
    """The command that reproduces this report in the folder of its files, with all options that matter."""
    files, models = inputs.names()
    scores, samples, rest = files[: len(inputs.scores)], files[len(inputs.scores)], files[len(inputs.scores) + 1 :]
    names = iter(rest)
    dialogues, *results = (
        list(islice(names, len(kind)))
        for kind in (inputs.dialogues, inputs.curves, inputs.continuity, inputs.comparisons, inputs.preferences)
    )
    direction = {True: ["--lower-is-better"], False: ["--higher-is-better"], None: []}[options.lower_is_better]
    words = [
        "interloq", "report", *scores, "--samples", samples, "-o", "report.html", "--aspect", options.aspect,
        "--title", options.title, "--bootstrap", str(options.n_bootstrap), "--seed", str(options.seed),
        "--worst", str(options.worst), *direction,
    ]  # fmt: skip
    if options.role:
        words += ["--role", options.role]
    words += _repeat("--slice", options.slice_by or ())
    words += _repeat("--dialogues", dialogues)
    if dialogues:
        words += ["--read", str(options.read)]
    if options.survival:
        words.append("--survival")
    for option, paths in zip(("--curve", "--continuity", "--comparison", "--preferences"), results, strict=True):
        words += _repeat(option, paths)
    return shlex.join([*words, *_repeat("--model", models)])


def _repeat(option: str, values: Sequence[str]) -> list[str]:
    """Return the words of an option that is given once per value."""
    words = []
    for value in values:
        words += [option, value]
    return words
