# SPDX-License-Identifier: Apache-2.0
"""The input files of a report: the names it shows for them, and the command that reproduces it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from interloq.data.records.read_options import ReadOptions
from interloq.errors import InputError
from interloq.options import command_words
from interloq.report.page import InputFile
from interloq.report.report_options import ReportOptions
from interloq.report.sections.models import model_files
from interloq.signature import file_fingerprint


@dataclass(frozen=True, slots=True)
class Inputs:
    """Score files, and the files that the options name."""

    scores: Sequence[str | Path]
    options: ReportOptions

    def __post_init__(self) -> None:
        if "-" in map(str, self.files):
            raise InputError("a report needs files, not a pipe", hint="write the scores and samples to files")

    @property
    def files(self) -> list[str | Path]:
        """All files that are read."""
        options = self.options
        return [
            *self.scores,
            options.samples,
            *options.dialogues,
            *options.curves,
            *options.continuity,
            *options.comparisons,
            *options.preferences,
        ]

    def names(self) -> dict[str, str]:
        """Return paths of files and models relative to their common folder: reports get published."""
        paths = [str(path) for path in (*self.files, *self.options.models)]
        whole = [Path(path).resolve() for path in paths]
        folder = os.path.commonpath([path.parent for path in whole])
        return {path: full.relative_to(folder).as_posix() for path, full in zip(paths, whole, strict=True)}

    def sources(self) -> list[InputFile]:
        """Return the fingerprint of every file that was read."""
        names = self.names()
        paths = [(names[str(path)], Path(path)) for path in self.files]
        for folder in self.options.models:
            paths += [(f"{names[str(folder)]}/{path.name}", path) for path in model_files(Path(folder))]
        return [InputFile(name, file_fingerprint(path)) for name, path in paths]

    def command(self, reading: ReadOptions) -> str:
        """Return the command that reproduces this report in the folder of its files."""
        names = self.names()
        scores = [names[str(path)] for path in self.scores]
        options = command_words(self.options, lambda path: names[str(path)])
        return shlex.join(["interloq", "report", *scores, "-o", "report.html", *options, *command_words(reading)])
