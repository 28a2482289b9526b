# SPDX-License-Identifier: Apache-2.0
"""GRADE (Huang et al., 2020): replies to ConvAI2, DailyDialog and EmpatheticDialogues contexts, 8 to 11 scores each.

Scores are in `human_score/human_judgement.json`. Line k of `eval_data/<dataset>/<model>/human_ref.txt` is the
reference of the k-th item of that dataset and model; `human_hyp.txt` next to it must have the same replies, or
references would silently belong to other replies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from interloq.data.files.archives import is_archive, read_files, text_lines
from interloq.data.files.opening import parse_json
from interloq.data.sets.items import DatasetItem, as_number, items, slug
from interloq.errors import InputError, nearest, short_repr
from interloq.records import Rating, Reference, Sample

SUBSETS = ("convai2", "dailydialog", "empatheticdialogues")
JUDGEMENTS = "human_score/human_judgement.json"
FILES = (JUDGEMENTS, "eval_data/*/*/human_ref.txt", "eval_data/*/*/human_hyp.txt")


def samples(path: str | Path, *, subset: str = "") -> Iterator[Sample]:
    """Yield every rated reply, of one dataset or all three. A judgement file without `eval_data` has no references."""
    if subset and subset not in SUBSETS:
        raise InputError(f"GRADE has no subset {subset!r}{nearest(subset, SUBSETS)}")
    files = read_files(_root(Path(path)), FILES)
    judgements = next((f for f in files if not f.name.endswith(".txt")), None)
    if judgements is None:
        raise InputError(f"{JUDGEMENTS} is missing", hint="name the whole dataset", where=str(path))
    texts = {file.name: text_lines(file) for file in files if file.name.endswith(".txt")}
    place: Counter[str] = Counter()
    for item in items(judgements):
        dataset = item.text("Dataset").removesuffix("_EVAL")
        cell = f"eval_data/{dataset}/{item.text('DialogModel')}"
        if not subset or dataset == subset:
            references = _reference(item, texts, cell, place[cell])
            system = item.text("DialogModel")
            number = int(item.number("ID"))
            yield Sample(
                id=f"grade/{dataset}/{number}/{slug(system)}",
                context=[turn.strip() for turn in item.text("Context").split("|||")],
                response=item.text("Response"),
                references=references,
                system=system,
                ratings=list(_ratings(item)),
            )
        place[cell] += 1


def _root(path: Path) -> Path:
    """Return the dataset's folder for a judgement file that is in the published folders."""
    root = path.absolute().parent.parent
    is_alone = path.is_file() and not is_archive(path)
    if is_alone and path.name == Path(JUDGEMENTS).name and (root / "eval_data").is_dir():
        return root
    return path


def _reference(item: DatasetItem, texts: Mapping[str, list[str]], cell: str, k: int) -> list[Reference]:
    if not texts:
        return []
    responses, references = texts.get(f"{cell}/human_hyp.txt", []), texts.get(f"{cell}/human_ref.txt", [])
    if k >= min(len(responses), len(references)):
        raise item.error(f"{cell} has no reply and reference {k}")
    if responses[k] != item.text("Response"):
        raise item.error(f"reply {k} of {cell}/human_hyp.txt is {responses[k]!r:.60}, not this item's reply")
    return [Reference(references[k])]


def _ratings(item: DatasetItem) -> Iterator[Rating]:
    """Yield the scores, which are a list written as text; the annotators are not identified."""
    values = parse_json(item.text("HumanScores"), item.where)
    if not isinstance(values, list) or not values:
        raise item.error(f"'HumanScores' must be a list of numbers, got {short_repr(values)}")
    for value in values:
        yield Rating(as_number(value, "HumanScores", item.where))
