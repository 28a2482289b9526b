"""A tiny project with a valid file or folder of every kind that a verb reads, most of them written by the verbs."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from interloq import Rating, write
from interloq.cli.main import main
from interloq.data.records.jsonl import load
from interloq.records import INTERLOCUTOR
from tests.made_continuity import informed, part
from tests.made_dialogues import made_dialogues, write_dialogues
from tests.made_posts import made_posts, write_posts
from tests.scorers.interlocutor.made_logs import log

WORDS = ("the", "food", "music", "was", "good", "great", "bad", "so", "late", "tea", "rain", "we", "like", "it", "not")
STUDY = "serve add study.db samples.jsonl --task rate --alone --name replies"
GATE = "gate old.jsonl new.jsonl -m chrf --margin 0.1 --permutations 20"
COMMANDS = (
    "score samples.jsonl -m chrf -m length -o scores.jsonl --bootstrap 0",
    "score old.jsonl -m chrf -o old_scores.jsonl --bootstrap 0",
    "score new.jsonl -m chrf -o new_scores.jsonl --bootstrap 0",
    "choose samples.jsonl -m chrf -m length -o chosen.json --bootstrap 20 --permutations 20",
    "compare old.jsonl new.jsonl -m chrf -o comparison.json --permutations 20",
    f"{GATE} -o gate.json",
    "gate old.jsonl -m chrf --baseline baseline.jsonl --bless",
    "reliability curve samples.jsonl -m bleu_star --sizes 1,2 --draws 2 --bootstrap 0 -o curve.jsonl",
    "index build pairs.jsonl -o index --retriever bm25",
    "index build pairs.jsonl -o dense --retriever \"dense(encoder='fake32')\"",
    "extend samples.jsonl --index index -k 2 -o extended.jsonl",
    "data to-label-studio samples.jsonl -o tasks.json",
    "play partners --partner echo=echo --partner eliza=eliza --openings openings.txt --exchanges 2 -o partners.json",
    "corpus build posts.jsonl -o corpus --lang en --workers 1 --compress none --min-posts 1",
    STUDY,
    "serve invite study.db replies -n 2",
    "serve backup study.db copy.db",
    "serve backup study.db rows.jsonl",
)


def make_project(folder: Path) -> None:
    """Write all files; some are made by commands that are run there."""
    with inside(folder):
        _write_samples()
        _write_dialogues()
        _write_logs()
        _write_settings()
        for command in COMMANDS:
            run_command(command)
        _write_annotations()
        Path("meta.json").write_text(run_command("meta scores.jsonl --samples samples.jsonl --bootstrap 20 --json"))


def make_models(folder: Path) -> None:
    """Write a folder of every kind of trained model; it takes a moment longer."""
    from tests.made_judge import small_judge
    from tests.made_rater import small_rater
    from tests.made_relevance import small_scorer
    from tests.reliability.made_model import small_model

    small_rater(folder / "gru")
    scorer = small_scorer(folder / "scorer")
    small_judge(folder / "judged", scorer)
    small_model(folder / "sets")
    with inside(folder):
        run_command("train vectors pairs.jsonl -o vectors --dimensions 4 --min-count 1 --epochs 1 --quiet")


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def run_command(command: str) -> str:
    """Return what a command prints; that it works is the least a valid file may expect."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(shlex.split(command))
    assert code in (0, 1, 3, 4), f"{command}: {err.getvalue()}"
    return out.getvalue()


def write_rows(path: str, rows: Iterable[Mapping[str, Any]]) -> None:
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows))


def _text(drawn: random.Random) -> str:
    return " ".join(drawn.choices(WORDS, k=drawn.randint(2, 7)))


def _write_samples() -> None:
    """Replies of two systems to the same contexts, in one file, in one per system, and as tables."""
    drawn = random.Random(0)
    systems: dict[str, list[dict[str, Any]]] = {"old": [], "new": []}
    for i in range(20):
        context = [_text(drawn), {"speaker": "A", "text": f"{_text(drawn)} {i} ?"}]
        references = [_text(drawn), {"text": _text(drawn), "weight": 0.6, "source": "human"}]
        for system, rows in systems.items():
            value = drawn.randint(1, 4)
            ratings = [
                {"rater": rater, "aspect": "overall", "value": value + k} for k, rater in enumerate(("ann", "ben"))
            ]
            response = " ".join(str(references[0]).split()[:value] + drawn.choices(WORDS, k=6 - value))
            row = {"id": f"c{i}", "context": context, "response": response, "references": references}
            rows.append(row | {"system": system, "ratings": ratings, "dialogue": f"d{i // 2}", "topic": "ab"[i % 2]})
    for system, rows in systems.items():
        write_rows(f"{system}.jsonl", rows)
    every = systems["old"] + systems["new"]
    write_rows("samples.jsonl", every)
    cells = [
        (row["id"], row["response"], row["references"][0], row["system"], str(row["ratings"][0]["value"]), "ann")
        for row in every
    ]
    for separator, name in ((",", "samples.csv"), ("\t", "samples.tsv")):
        lines = [("id", "response", "reference", "system", "rating", "rater"), *cells]
        Path(name).write_text("".join(separator.join(line) + "\n" for line in lines))
    table = [f"c{i},{system},cat,overall,{drawn.randint(1, 5)}\n" for i in range(20) for system in systems]
    Path("ratings.csv").write_text("id,system,rater,aspect,value\n" + "".join(table))
    judged = [{"item": f"c{i}/{k}", "rater": "ann", "value": 3 + k} for i in range(20) for k in (0, 1)]
    write_rows("reference_ratings.jsonl", judged)
    votes = [
        {"item": f"c{i}", "systems": ["old", "new"], "winner": drawn.choice(("old", "new", "")), "rater": f"r{i % 3}"}
        for i in range(10)
    ]
    write_rows("preferences.jsonl", votes)
    for name in ("replies.txt", "others.txt", "contexts.txt", "gold.txt"):
        Path(name).write_text("".join(_text(drawn) + "\n" for _ in range(6)))


def _write_dialogues() -> None:
    write_dialogues(Path(), *made_dialogues({"a": 1.0, "b": 0.0}, openings=5), name="played_")
    rated = [json.loads(line) for line in Path("played_dialogues.jsonl").read_text().splitlines()]
    for i, row in enumerate(rated[1:]):
        row["ratings"] = [{"rater": "p", "aspect": "overall", "value": 1 + i % 5, "role": "interlocutor"}]
    write_rows("played_dialogues.jsonl", rated)
    for target in "ab":
        rows = [row for row in rated[1:] if row["id"].startswith(target)]
        write_rows(f"talks_{target}.jsonl", [rated[0], *rows])
    judged = Rating(4, "ann", role=INTERLOCUTOR)
    write("log.jsonl", [replace(dialogue, ratings=(judged,)) for dialogue in log(12)], kind="dialogues")
    for seed, name in enumerate(("train", "test")):
        write(f"{name}.jsonl", part(name, 12, seed=seed), kind="samples")
    write("labels.jsonl", informed(load("test.jsonl")), kind="scores")


def _write_logs() -> None:
    drawn = random.Random(1)
    write_rows("pairs.jsonl", ({"id": str(i), "utterance": _text(drawn), "response": _text(drawn)} for i in range(30)))
    replies = ({"utterance": f"question {i % 4}", "response": f"reply {i}", "time": "2018-01-01"} for i in range(12))
    write_rows("replies.jsonl", replies)
    write_posts(Path("posts.jsonl"), made_posts(60, users=5))
    Path("openings.txt").write_text("hi\thello\nhow are you\tfine\n")


def _write_settings() -> None:
    Path("bots.json").write_text(json.dumps({"a": "echo", "b": "eliza(language='en')"}))
    Path("task.json").write_text(
        json.dumps({"title": "Replies", "questions": [{"aspect": "overall", "low": 1, "high": 5}]})
    )
    Path("exclude.txt").write_text("1\n2\n")
    Path("judged.csv").write_text("system,score\na,4.1\nb,3.9\n")


def _write_annotations() -> None:
    tasks = json.loads(Path("tasks.json").read_text())
    for i, task in enumerate(tasks):
        results = [{"from_name": "overall", "type": "rating", "value": {"rating": 1 + i % 5}}]
        task["annotations"] = [{"completed_by": 7, "result": results}]
    Path("export.json").write_text(json.dumps(tasks))
