"""Reports built from small samples and scores."""

from __future__ import annotations

from pathlib import Path

import orjson

from interloq import Sample
from interloq.records import Score
from interloq.report.build import Evidence
from tests.report.parsed_html import Element

WORDS = "the food was quite good but i did not like music at all tell me more about your trip"


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


def many_samples(n: int, metrics: int) -> Evidence:
    """Rated and scored samples of five systems, with texts of the usual length."""
    words = WORDS.split()
    samples = [
        Sample(
            f"dialogue-{i:05}#3",
            [" ".join(words[(i + k) % 18] for k in range(18))],
            " ".join(words[(i * k) % 18] for k in range(1, 16)) + f" {i}",
            system=f"system-{i % 5}",
            ratings=[1 + i % 5, 1 + i * 7 % 5],
        )
        for i in range(n)
    ]
    scores = [
        Score(s.id, f"bleu(order={k})", (i * 37 + k * 11) % 101 / 100, system=s.system)
        for k in range(1, metrics + 1)
        for i, s in enumerate(samples)
    ]
    return Evidence(samples, scores, judgments={s.key: mean_rating(s) for s in samples})
