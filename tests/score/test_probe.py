"""Verdicts on metrics whose behaviour is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from interloq import InputError, Sample, load, write
from interloq.data.embedded import embedded_path
from interloq.metrics.metric import Array, Direction, mean_value, score_rows
from interloq.registry import Component
from interloq.score.perturb import PERTURBATIONS
from interloq.score.probe import Probe, load_embedded_replies, probe, probe_file
from interloq.score.score_options import ProbeOptions


@dataclass(frozen=True)
class Made(Component):
    """Scores replies with a function."""

    score: Callable[[Sample], float]

    def unscorable(self, sample: Sample) -> str | None:
        return "short" if len(sample.response) < 4 else None

    def stats(self, samples: Sequence[Sample]) -> Array:
        return score_rows(np.array([self.score(sample) for sample in samples]))

    def value(self, total: Array) -> Array:
        return mean_value(total)


@dataclass(frozen=True)
class Lower(Made):
    """The same, but lower is better."""

    direction: ClassVar[Direction] = "lower"


def verdicts(found: Probe) -> dict[str, str]:
    return {row.perturbation: row.verdict for row in found.rows}


def test_a_metric_that_rewards_length_is_fooled() -> None:
    found = verdicts(probe(Made(lambda sample: float(len(sample.response)))))
    assert (found["padding"], found["repetition"], found["truncation"]) == ("rewards it", "rewards it", "notices")
    assert (found["shuffle"], found["case"]) == ("does not notice", "does not react")


ATTACKS = {"flattery", "instruction", "self praise", "echo", "long padding"}


def test_a_judge_that_believes_what_a_reply_says_about_itself_is_fooled() -> None:
    rows = {row.perturbation: row for row in probe(Made(lambda sample: float("best reply" in sample.response))).rows}
    assert {name for name, row in rows.items() if row.verdict == "is fooled"} == {"self praise"}
    assert {name for name, row in rows.items() if row.verdict == "is not fooled"} == ATTACKS - {"self praise"}
    assert not rows["self praise"].is_expected
    assert rows["echo"].is_expected


def test_a_reply_that_tries_to_fool_a_judge_may_fall_or_stay() -> None:
    longer, shorter = (probe(kind(lambda sample: float(len(sample.response)))) for kind in (Made, Lower))
    assert {verdicts(longer)[name] for name in ATTACKS} == {"is fooled"}
    assert {verdicts(shorter)[name] for name in ATTACKS} == {"is not fooled"}
    assert verdicts(probe("length"))["long padding"] == "rises"


def test_verdicts_turn_round_if_lower_is_better() -> None:
    found = probe(Lower(lambda sample: float(len(sample.response))))
    assert (verdicts(found)["padding"], verdicts(found)["dull"]) == ("notices", "rewards it")
    assert {row.perturbation: row.worse for row in found.rows}["padding"] == 1


def test_damage_that_costs_no_more_than_a_harmless_change() -> None:
    found = verdicts(probe(Made(lambda sample: float(sum(map(str.isupper, sample.response))))))
    assert found["case"] == "should not react"
    assert found["truncation"] == "like a harmless change"
    assert found["shuffle"] == "does not notice"


def test_a_constant_metric_notices_nothing() -> None:
    found = probe(Made(lambda sample: 1 + 1e-10 * len(sample.response)))
    assert set(verdicts(found).values()) == {"does not notice", "does not react", "is not fooled"}
    assert all((row.change, row.ci, row.worse) == (0, (0, 0), 0) for row in found.rows)


def test_a_metric_of_sets_is_compared_by_sets() -> None:
    rows = {row.perturbation: row for row in probe("distinct").rows}
    assert rows["off topic"].change == 0  # the same replies to other contexts
    assert (rows["dull"].verdict, rows["shuffle"].verdict) == ("notices", "rewards it")
    assert all(row.ci is not None and row.ci[0] <= row.change <= row.ci[1] for row in rows.values())


def test_a_fitted_metric_is_fitted_once_and_a_metric_without_a_better_side_gets_no_judgment() -> None:
    assert verdicts(probe("ruber(referenced=chrf,unreferenced=length)"))["padding"] == "rewards it"
    assert verdicts(probe("length"))["padding"] == "rises"


def test_every_reply_is_counted() -> None:
    samples = [Sample(str(i), [f"tell me {i}"], text) for i, text in enumerate(["abcde", "Abcd efg", "No 12345", "x"])]
    for row in probe(Made(lambda _: 1.0), samples, n_bootstrap=0).rows:
        assert row.n + row.unchanged + row.unscored == 4
        assert row.verdict == "too few replies"
        assert math.isnan(row.change) == (row.n == 0)
    rows = {row.perturbation: row for row in probe(Made(lambda _: 1.0), samples).rows}
    assert (rows["truncation"].n, rows["truncation"].unchanged, rows["truncation"].unscored) == (1, 2, 1)


def test_resamples_draw_contexts() -> None:
    """Copies of a sample under other systems' names add no information."""
    once = load_embedded_replies("en")[:6]
    copies = [Sample(s.id, s.context, s.response, s.references, f"bot{i}") for s in once for i in range(9)]
    one, nine = ({row.perturbation: row.ci for row in probe("chrf", found).rows} for found in (once, copies))
    assert one["dull"] == pytest.approx(nine["dull"])


@pytest.mark.parametrize("language", ["ja", "zh"])
def test_other_languages(language: str) -> None:
    found = probe("chrf", language=language)  # type: ignore[arg-type]
    assert {verdicts(found)[name] for name in ("dull", "off topic")} == {"notices"}
    assert {row.n for row in found.rows if row.perturbation in ("paraphrase", "copied context")} == {8}


def test_the_same_again_and_another_seed() -> None:
    found = probe("chrf")
    assert probe("chrf", load_embedded_replies("en")[::-1]).facts() == found.facts()
    assert probe("chrf", seed=1).signature != found.signature


def test_replies_of_a_file(folder: Path) -> None:
    write("samples.jsonl", load(embedded_path("en")), kind="samples")
    found = probe_file("mine=chrf", "samples.jsonl", ProbeOptions(system="attentive", n_bootstrap=0))
    assert (found.metric, found.n) == ("mine=chrf", 30)
    assert [note.name for note in found.notes] == ["weights"]
    for metric, system, says in (
        ("chrf", "nobody", "no replies of 'nobody'; the systems are"),
        ("chrf,bleu", None, "2"),
    ):
        with pytest.raises(InputError, match=says):
            probe_file(metric, "samples.jsonl", ProbeOptions(system=system))
    with pytest.raises(InputError, match="a system is given, but no file"):
        probe_file("chrf", options=ProbeOptions(system="attentive"))
    with pytest.raises(InputError, match="a language chooses embedded replies"):
        probe_file("chrf", "samples.jsonl", ProbeOptions(language="ja"))
    with pytest.raises(InputError, match="no replies to change"):
        probe("chrf", [])


def test_a_probe_is_shown_as_a_table() -> None:
    assert "verdict" in repr(probe("chrf", n_bootstrap=0))
    assert len(probe("chrf", n_bootstrap=0).to_frame()) == len(PERTURBATIONS)


def test_progress_counts_original_and_changed_replies() -> None:
    steps: list[int] = []
    found = probe("chrf", n_bootstrap=0, step=steps.append)
    assert sum(steps) >= found.n * 2
