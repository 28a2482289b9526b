# SPDX-License-Identifier: Apache-2.0
"""`interloq train baseline`: the BERTScore that unrelated texts reach with a model."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interloq.cli.shared.arguments import add_common, add_input, add_options, add_output, make_options
from interloq.cli.shared.output import read_texts, stage_progress
from interloq.errors import InputError, MissingDependencyError, count
from interloq.options import REQUIRED, Options, device_option, option
from interloq.terminal.console import number, print_json, print_line, print_table


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineOptions(Options):
    """The encoder, and the pairs of unrelated texts that it reads."""

    model: str = option(REQUIRED, "an encoder, as in bertscore(model=…)", path=True, metavar="MODEL")
    layer: int | None = option(None, "only this layer", shown="all, in one pass")
    pairs: int = option(10_000, "pairs of texts", least=1)
    idf: bool = option(False, "for bertscore(idf=True)")
    seed: int = option(0, "seed for drawing the texts")
    device: str = device_option()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_input(parser, "files", "FILE", "pairs, dialogues, samples or text (one text per line)", nargs="+")
    add_output(parser, "the .json file to write, or a folder", metavar="PATH")
    add_options(parser, BaselineOptions)
    add_common(parser)


def run(args: argparse.Namespace) -> None:
    facts = _make_baseline(args, make_options(BaselineOptions, args))
    from interloq.metrics.contextual.bertscore_baseline import PARTS, save_baseline

    path = save_baseline(args.output, facts)
    if args.json:
        print_json({"file": str(path), **facts})
        return
    rows = []
    for layer, levels in facts["layers"].items():
        rows.append([layer, *(number(levels[part], 4) for part in PARTS)])
    print_line(f"{path}: {count(facts['pairs'], 'pair')} of unrelated texts, {facts['model']}")
    print_table("", ["layer", "P", "R", "F"], rows)


def _make_baseline(args: argparse.Namespace, options: BaselineOptions) -> dict[str, Any]:
    try:
        from interloq.models.encoder import Encoder
    except ImportError as error:
        raise MissingDependencyError("a baseline of BERTScore", error.name or "transformers", "encoder") from error
    from interloq.metrics.contextual.bertscore import LONGEST
    from interloq.metrics.contextual.bertscore_baseline import make_baseline
    from interloq.signature import file_fingerprint, fingerprint

    for path in args.files:
        if not Path(path).is_file():
            raise InputError(f"no file {path!r}")
    return make_baseline(
        read_texts(args.files, strict=args.strict),
        Encoder(options.model, layer=options.layer, longest=LONGEST, device=options.device),
        pairs=options.pairs,
        seed=options.seed,
        idf=options.idf,
        source=fingerprint(*sorted(file_fingerprint(Path(path)) for path in args.files)),
        every_layer=options.layer is None,
        progress=stage_progress(quiet=args.quiet),
    )
