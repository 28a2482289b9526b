"""Reports built from small samples and scores."""

from __future__ import annotations

from pathlib import Path

import orjson

from interloq import Sample
from interloq.records import Score
from tests.report.parsed_html import Element


def values_of(scores: list[Score], metric: str) -> dict[str, float]:
    return {score.id: score.value for score in scores if score.metric == metric and score.value is not None}


def read_scores(folder: Path) -> list[Score]:
    lines = (folder / "scores.jsonl").read_bytes().splitlines()
    return [Score(r["id"], r["metric"], r.get("value")) for r in map(orjson.loads, lines) if "kind" not in r]


def mean_rating(sample: Sample) -> float:
    values = [rating.value for rating in sample.ratings if rating.value is not None]
    return sum(values) / len(values)


def replace_id(sample: Sample, id: str) -> Sample:
    return Sample(id, sample.context, sample.response, sample.references, sample.system, sample.ratings)


def notices_of(page: Element) -> list[str]:
    return [notice.text for notice in page.all("div", cls="notice")]
