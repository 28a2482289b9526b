"""Tiny files in the layouts in which datasets are published, made up for the tests."""

from __future__ import annotations

import csv
import json
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

USR_ASPECTS = ("Understandable", "Natural", "Maintains Context", "Engaging", "Uses Knowledge", "Overall")


def usr_item(context: str, replies: Mapping[str, tuple[str, list[Any]]]) -> dict[str, Any]:
    """Replies map a model to its text and Overall scores; the other qualities are 1."""
    responses = [
        {"response": f"{text}\n", "model": model, **{aspect: [1, 1, 1] for aspect in USR_ASPECTS}, "Overall": overall}
        for model, (text, overall) in replies.items()
    ]
    return {"context": context, "fact": "a fact\n", "annotators": ["ann", "ben", "cat"], "responses": responses}


def write_usr(folder: Path, topical: Any = None, persona: Any = None) -> Path:
    default = [
        usr_item(
            "hi there \nhello \n\n",
            {"Original Ground Truth": ("how are you ?", [5, 4, 5]), "A (p = 0.3)": ("ok .", [1, 2, 3])},
        ),
        usr_item(
            "bye\n", {"Original Ground Truth": ("see you", [5, 5, 5]), "A (p = 0.3)": ("see  you soon", [4, 3, 3])}
        ),
    ]
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "usr_topical_chat.json", default if topical is None else topical)
    write_json(folder / "usr_percona_chat.json", default[:1] if persona is None else persona)
    return folder


def grade_item(number: int, dataset: str, model: str, response: str, scores: object) -> dict[str, Any]:
    shown = scores if isinstance(scores, str) else json.dumps(scores)
    return {
        "ID": number,
        "Dataset": "dailydialog_EVAL" if dataset == "dailydialog" else dataset,
        "DialogModel": model,
        "Context": f"question {number}|||answer {number}",
        "Response": response,
        "HumanScores": shown,
    }


GRADE = [
    grade_item(0, "dailydialog", "ranker", "i see .", [3, 4]),
    grade_item(1, "convai2", "ranker", "me too !", [1, 2, 3]),
    grade_item(2, "dailydialog", "ranker", "sure .", [5, 5]),
    grade_item(3, "dailydialog", "generator", "no .", [2, 1]),
]


def write_grade(folder: Path, items: list[dict[str, Any]] | None = None, references: str = "reference {ID} .") -> Path:
    """`references` is a format over the item's fields."""
    items = GRADE if items is None else items
    write_json(folder / "human_score/human_judgement.json", items)
    cells: dict[Path, list[dict[str, Any]]] = {}
    for item in items:
        cell = folder / "eval_data" / item["Dataset"].removesuffix("_EVAL") / item["DialogModel"]
        cells.setdefault(cell, []).append(item)
    for cell, inside in cells.items():
        cell.mkdir(parents=True, exist_ok=True)
        (cell / "human_hyp.txt").write_text("".join(f"{item['Response']}\n" for item in inside))
        (cell / "human_ref.txt").write_text("".join(references.format(**item) + "\n" for item in inside))
    return folder


FED: list[dict[str, Any]] = [
    {
        "context": "User: Hi!\nSystem: Hi! What's up?\nUser: Not much: tired",
        "response": "System: Sleep: it helps.",
        "system": "Meena",
        "annotations": {"Interesting": [2, 1], "Semantically appropriate": [1, "N/A (it is odd)"], "Overall": [4, 3]},
    },
    {
        "context": "User: Hi\nSystem: Hello.",
        "system": "Mitsuku",
        "annotations": {"Error recovery": ["N/A (no errors)", 2], "Overall": [3, 0]},
    },
]


def write_fed(folder: Path, items: Any = None) -> Path:
    write_json(folder / "fed_data.json", FED if items is None else items)
    return folder


GUPTA = {
    "model": "hredf",
    "context_id": "73_4",
    "human_average_rating": "2.4",
    "response": "well , i see .",
    "prevgt": "tell me more .",
    "all_references": "okay .\tdid you bring it ?\ttell me more .",
    "context": "may i come in ?||||yes , please .",
}


def write_gupta(folder: Path, rows: Iterable[Mapping[str, str]] = (GUPTA, GUPTA | {"model": "human"})) -> Path:
    write_csv(folder / "mturk_rating_processed_output.csv", rows)
    return folder


def engagement(query: str, response: str, human: str, ruber: str = "0.25\n") -> dict[str, str]:
    stored = {"CTX_Unref_Score": "1.0\n", "Eng_Score_MeanPooling": "0.5\n", "Eng_Score_MaxPooling": "0.75\n"}
    return {"query": query, "response": response, "human_score": human, "Ruber_Unref_Score": ruber, **stored}


ENGAGEMENT = [
    engagement("how long ?", "Not really .", "2"),
    engagement("soup ?", "Yes , please .", "5", "8e-06\n"),
    engagement("how long ?", "Not really .", "1"),
    engagement("soup ?", "Yes , please .", "4", "8e-06\n"),
]


def write_engagement(folder: Path, rows: Iterable[Mapping[str, str]] = tuple(ENGAGEMENT)) -> Path:
    return write_csv(folder / "predictive_engagement.csv", rows)


def write_json(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def write_csv(path: Path, rows: Iterable[Mapping[str, str]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = list(rows)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def packed(folder: Path, suffix: str = ".tar.gz") -> Path:
    """The folder as an archive beside it."""
    path = folder.with_name(folder.name + suffix)
    modes = {".tar.gz": "w:gz", ".tgz": "w:gz", ".tar.xz": "w:xz", ".tar": "w"}
    with tarfile.open(path, modes[suffix]) as archive:  # type: ignore[call-overload]
        archive.add(folder, arcname=folder.name)
    return path
