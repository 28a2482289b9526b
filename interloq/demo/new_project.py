# SPDX-License-Identifier: Apache-2.0
"""`interloq new`: a commented folder to start a project from; templates are in `project/`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from interloq.data.embedded import embedded_log_path, embedded_path
from interloq.data.files.durable import atomic_folder
from interloq.data.records.jsonl import load, read, write
from interloq.errors import InputError
from interloq.records import Sample
from interloq.score.score_options import Language

TEMPLATES = Path(__file__).with_name("project")
FILES = {  # file → template; under their own names some would be checked as code, or make git ignore files
    "README.md": "README.md",
    "Makefile": "Makefile",
    "my_metric.py": "my_metric.txt",
    ".gitignore": "gitignore.txt",
}
TOKENIZERS: dict[Language, str] = {"en": "", "ja": "tokenizer='char'", "zh": "tokenizer='zh'"}
SAMPLES, PAIRS = "samples.jsonl", "pairs.jsonl"


def new_project(folder: str | Path, *, language: Language = "en") -> list[str]:
    """Write a folder with samples, a log, commands and a metric of your own; return the names of its files."""
    path = Path(folder)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InputError(f"{path} already exists and is not an empty folder", hint="choose another name")
    samples: list[Sample] = []
    for sample in load(embedded_path(language)):  # most metrics would count references of weight 0 or below in full
        references = tuple(reference for reference in sample.references if reference.weight > 0)
        samples.append(replace(sample, references=references))
    values = _template_values(language, systems=len({sample.system for sample in samples}))
    with atomic_folder(path) as part:
        for name, template in FILES.items():
            text = (TEMPLATES / template).read_text("utf-8")
            for key, value in values.items():
                text = text.replace(f"@{key}@", value)
            (part / name).write_text(text, "utf-8")
        write(part / SAMPLES, samples, kind="samples", source="example of `interloq new`; no person gave the ratings")
        log = read(embedded_log_path(language), kind="pairs")
        write(part / PAIRS, log, kind="pairs", source="example of `interloq new`; no real conversations")
    return [*FILES, SAMPLES, PAIRS]


def _template_values(language: Language, *, systems: int) -> dict[str, str]:
    tokenizer = TOKENIZERS[language]
    bleu, options = '"bleu(order=2)"', ""  # without metrics, `score` uses the judge and what else the samples allow
    if tokenizer:
        bleu = f'"bleu(order=2,{tokenizer})"'
        options = f' -m {bleu} -m chrf -m "length({tokenizer})"'
    return {"METRIC_OPTIONS": options, "PROBED": bleu, "LANGUAGE": language, "SYSTEMS": str(systems)}
