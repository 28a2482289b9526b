# SPDX-License-Identifier: Apache-2.0
"""`interloq train baseline`: the BERTScore that unrelated texts reach with a model."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from interloq.cli.shared.arguments import add_common, add_device, add_output
from interloq.cli.shared.output import BadLineReporter
from interloq.cli.shared.paths import InputPath
from interloq.cli.shared.progress import progress
from interloq.data.records.read_options import ReadOptions
from interloq.errors import InputError, MissingDependencyError, count
from interloq.terminal.console import number, print_json, print_line, print_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="+", type=InputPath, metavar="FILE", help="pairs, dialogues, samples or text (one text per line)"
    )
    add_output(parser, "the .json file to write, or a folder", metavar="PATH")
    parser.add_argument(
        "--model", required=True, type=InputPath, metavar="MODEL", help="an encoder, as in bertscore(model=…)"
    )
    parser.add_argument("--layer", type=int, metavar="N", help="only this layer (default: all, in one pass)")
    parser.add_argument("--pairs", type=int, default=10_000, metavar="N", help="pairs of texts (default 10000)")
    parser.add_argument("--idf", action="store_true", help="for bertscore(idf=True)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed for drawing the texts (default 0)")
    add_device(parser)
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    if args.pairs < 1:
        raise InputError(f"--pairs must be at least 1, got {args.pairs}")
    facts = _make_baseline(args)
    from interloq.metrics.contextual.bertscore_baseline import PARTS, save_baseline

    path = save_baseline(args.output, facts)
    if args.json:
        print_json({"file": str(path), **facts})
        return 0
    rows = [[layer, *(number(levels[part], 4) for part in PARTS)] for layer, levels in facts["layers"].items()]
    print_line(f"{path}: {count(facts['pairs'], 'pair')} of unrelated texts, {facts['model']}")
    print_table("", ["layer", "P", "R", "F"], rows)
    return 0


def _make_baseline(args: argparse.Namespace) -> dict[str, Any]:
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
        _texts(args.files, args.strict),
        Encoder(args.model, layer=args.layer, longest=LONGEST, device=args.device),
        pairs=args.pairs,
        seed=args.seed,
        idf=args.idf,
        source=fingerprint(*sorted(file_fingerprint(Path(path)) for path in args.files)),
        every_layer=args.layer is None,
        progress=lambda label, total: progress(label, total, quiet=args.quiet),
    )


def _texts(files: list[str], strict: bool) -> Iterator[str]:
    from interloq.data.text.texts import file_texts

    for path in files:
        bad = BadLineReporter()
        yield from file_texts(path, reading=ReadOptions(strict=strict, on_reject=bad))
        bad.close()
