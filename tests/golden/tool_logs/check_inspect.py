"""Run our scorer in Inspect, and compare our reading of its logs with its own: `python check_inspect.py`.

The environment needs Inspect and what Interloq needs; PYTHONPATH names the repository.
"""

from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path

import inspect_ai
import tiktoken
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import value_to_float
from inspect_ai.solver import generate, system_message

from interloq.data.tool_logs.import_logs import import_logs
from interloq.data.tool_logs.inspect_scores import inspect_scores
from interloq.score.inspect_scorer import inspect_scorer

HERE = Path(__file__).parent
ENCODING = tiktoken.Encoding(
    "bytes", pat_str=".", mergeable_ranks={bytes([i]): i for i in range(256)}, special_tokens={}
)


def run_task(folder: str) -> str:
    """Return the log of a task that our scorer scored."""
    tiktoken.get_encoding = lambda _: ENCODING  # the usual one is downloaded
    targets = ["", *(f"It is {2 * i}." for i in range(1, 6))]
    samples = [Sample(id=f"q{i}", input=f"What is {i}+{i}?", target=target) for i, target in enumerate(targets)]
    outputs = [ModelOutput.from_content("mockllm/model", f"It is {i}.") for i in range(12)]
    model = get_model("mockllm/model", custom_outputs=outputs, memoize=False)
    scorer = inspect_scorer("bleu", "length")
    task = inspect_ai.Task(dataset=samples, solver=[system_message("Be brief."), generate()], scorer=scorer, epochs=2)
    (log,) = inspect_ai.eval(task, model=model, log_dir=folder, display="none")
    print(log.status, *(f"{score.name}: {score.scored_samples} scored" for score in log.results.scores))
    return str(log.location)


def check_log(path: str, output: Path) -> None:
    """Stop if our reading of a log is not Inspect's."""
    theirs, as_float = read_eval_log(path, resolve_attachments=True), value_to_float()
    expected = {}
    for sample in theirs.samples:
        for name, score in sample.scores.items():
            value = as_float(score.value)
            expected[f"{sample.id}/epoch-{sample.epoch}", name] = None if math.isnan(value) else value
    assert {(score.id, score.metric): score.value for score in inspect_scores(path)} == expected
    import_logs([path], output)
    dialogues = {}
    for line in output.read_text().splitlines()[1:]:
        dialogue = json.loads(line)
        dialogues[dialogue["id"]] = [(turn["speaker"], turn["text"]) for turn in dialogue["turns"]]
    for sample in theirs.samples:
        messages = [(message.role, message.text) for message in sample.messages]
        assert dialogues[f"{sample.id}/epoch-{sample.epoch}"] == messages
    print(f"{Path(path).name}: {len(expected)} scores and {len(dialogues)} conversations are equal")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for path in (run_task(folder), *map(str, sorted(HERE.glob("inspect_*")))):
            check_log(path, Path(folder, "dialogues.jsonl"))
