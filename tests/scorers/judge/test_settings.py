from __future__ import annotations

from typing import Any

import pytest

from interloq import InputError
from interloq.scorers.judge.settings import TRAINABLE, TUNED, JudgeSettings, TuneSettings


def test_every_setting_is_an_option() -> None:
    assert [name for _, name in TRAINABLE.options()] == ["scorer", "tune", "least"]
    assert TRAINABLE.instead == ("tune", TUNED)
    own = {name for _, name in TUNED.options()}
    assert {"scorer", "tune", "least", "aspect", "replies", "batch", "seed", "epochs", "low_rank"} < own


@pytest.mark.parametrize(("settings", "name"), [(JudgeSettings, "least"), (TuneSettings, "replies")])
def test_a_count_of_nothing_is_refused(settings: Any, name: str) -> None:
    with pytest.raises(InputError, match=f"{name} must be above 0, got 0"):
        settings(**{name: 0})


def test_the_result_has_one_line_per_aspect() -> None:
    frozen = {"aspect": "overall", "replies": 1200, "sets": 1, "strength": 3.0, "spearman": 0.5, "ci": [0.25, 0.75]}
    unknown = frozen | {"aspect": "rare", "spearman": None, "ci": [None, None]}
    assert TRAINABLE.result({"aspects": [frozen, unknown]}, []).splitlines() == [
        "overall: 1,200 replies of 1 set, λ 3; Spearman on held-out replies 0.500 [0.250, 0.750]",
        "rare: 1,200 replies of 1 set, λ 3; Spearman on held-out replies n/a [n/a, n/a]",
    ]
    tuned = {"aspect": "overall", "replies": 90, "sets": 2, "held_out": 10, "spearman": 0.5, "ci": [0.25, 0.75]}
    assert TUNED.result({"best": {"dev_loss": 0.625, "epoch": 2}, "aspects": [tuned]}, []).splitlines() == [
        "best dev loss 0.6250 after epoch 2",
        "overall: 90 replies of 2 sets; Spearman on 10 held-out replies 0.500 [0.250, 0.750]",
    ]
