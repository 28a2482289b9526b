"""Examples of raters: which pairs of replies they hold, and what is excluded."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interloq.errors import InputError
from interloq.rate.examples import ExampleLimits, Examples
from interloq.rate.pairs import PARTS, write_examples
from interloq.records import Pair
from tests.rate.made_log import MODES, Bytes, Example, grouped, log, make, read


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), mode=st.sampled_from(MODES))
def test_examples_are_those_of_a_literal_reading(
    tmp_path_factory: pytest.TempPathFactory, seed: int, mode: Literal["any", "matched"]
) -> None:
    pairs = log(seed)
    chosen = Examples(most_replies=1000, most_positives=500_000, dev_share=0.3, negatives=mode, seed=seed)
    data = make(pairs, tmp_path_factory.mktemp("made") / "examples", chosen)
    groups = grouped(pairs)
    expected = {(u, frozenset(two)) for u, replies in groups.items() for two in combinations(replies, 2)}
    found = []
    for part in PARTS:
        positives, negatives = read(data, part, 1), read(data, part, 0)
        assert len(positives) == len(negatives) > 0
        assert all(u1 == u2 and r1 != r2 for u1, r1, u2, r2 in positives)
        assert all(u1 != u2 and r1 != r2 for u1, r1, u2, r2 in negatives)
        assert all(r1 in groups[u1] and r2 in groups[u2] for u1, r1, u2, r2 in positives + negatives)
        assert all(r2 not in groups[u1] and r1 not in groups[u2] for u1, r1, u2, r2 in negatives)
        assert len({frozenset([(u1, r1), (u2, r2)]) for u1, r1, u2, r2 in negatives}) == len(negatives)
        found += [(u, frozenset([r1, r2])) for u, r1, _, r2 in positives]
    unmatched = sum(data.facts[part]["positives_without_negative"] for part in PARTS)
    assert len(found) == len(set(found)) == len(expected) - unmatched
    assert set(found) <= expected


@pytest.mark.parametrize("mode", MODES)
def test_negatives_do_not_mix_logs(tmp_path: Path, mode: Literal["any", "matched"]) -> None:
    """Styles of two logs must not give the label away: each has as many negatives as positives, of its own pairs."""
    logs = [
        [Pair("", f"{name} question {i}", f"{name} answer {i} {j}") for i in range(n) for j in range(1 + i % 4)]
        for name, n in (("formal", 200), ("casual", 60))
    ]
    chosen = Examples(dev_share=0.3, negatives=mode)
    data = write_examples(logs, tmp_path / "examples", Bytes(), chosen, source="logs")
    for part in PARTS:
        styles = [Counter(" ".join(sorted({text[:6] for text in row})) for row in read(data, part, i)) for i in (0, 1)]
        assert styles[0] == styles[1]
        assert set(styles[0]) == {"formal", "casual"}


def test_negatives_match_positives_or_come_from_anywhere(tmp_path: Path) -> None:
    """Utterances with one reply are in negatives with "any" only; with "matched" both labels look alike."""
    answered = [Pair("", f"question {i}", f"answer {i} {j}") for i in range(300) for j in range(2 + 4 * (i % 2))]
    alone = [Pair("", f"remark {i}", f"nothing {i}") for i in range(1200)]
    for mode in MODES:
        data = make([*answered, *alone], tmp_path / mode, Examples(most_positives=15, negatives=mode))
        ends = [(row[0], row[2]) for row in read(data, "train", 0)]
        remarks = sum(text.startswith("remark") for two in ends for text in two) / (2 * len(ends))
        assert remarks == (pytest.approx(0.5, abs=0.05) if mode == "any" else 0)
    often = [np.mean([int(row[0][len("question") :]) % 2 for row in read(data, "train", label)]) for label in (0, 1)]
    assert often[1] == pytest.approx(15 / 16, abs=0.02)
    assert often[0] == pytest.approx(often[1], abs=0.03)


def test_the_two_pairs_of_an_example_stand_in_either_order(tmp_path: Path) -> None:
    rows, labels = make(log(5, utterances=200, replies=400, pairs=2000), tmp_path / "examples").examples("train")
    for label, first, second in ((0, 0, 2), (1, 1, 3)):
        ahead = np.mean(rows[labels == label, first] < rows[labels == label, second])
        assert 0.4 < ahead < 0.6
    assert 0.4 < np.mean(labels[: len(labels) // 2]) < 0.6  # and labels are mixed


def test_everything_left_out_is_counted(tmp_path: Path) -> None:
    empty = [Pair("", "", "a"), Pair("", "a", " \n"), Pair("", "\u3000", "")]
    pairs = [*log(2), *empty, *(Pair("", "was läuft 1", f"test item {i}") for i in range(5))]
    data = make(
        pairs, tmp_path / "made", Examples(most_replies=3), excluded=lambda pair: pair.response.startswith("test")
    )
    sizes = [len(replies) for replies in grouped(log(2)).values()]
    assert data.facts["read"] == len(pairs)
    assert data.facts["left_out"] == {
        "excluded": 5,
        "empty": 3,
        "repeated": len(log(2)) - sum(sizes),
        "replies_over_cap": sum(max(0, size - 3) for size in sizes),
    }
    assert data.facts["pairs"] + sum(data.facts["left_out"].values()) == data.facts["read"]
    assert data.facts["utterances_with_two_replies"] == sum(size >= 2 for size in sizes)


@pytest.mark.parametrize(("most_replies", "most_positives", "expected"), [(10, 45, 45), (4, 45, 6), (10, 7, 7)])
def test_a_greeting_does_not_drown_the_rest(
    tmp_path: Path, most_replies: int, most_positives: int, expected: int
) -> None:
    pairs = [*(Pair("", "Hello", f"reply {i}") for i in range(3000)), *log(6, replies=500)]
    chosen = Examples(most_replies=most_replies, most_positives=most_positives, dev_share=0.4)
    data = make(pairs, tmp_path / "examples", chosen)
    counts = Counter(row[0] for part in PARTS for row in read(data, part, 1))
    sizes = {u: min(len(replies), most_replies) for u, replies in grouped(pairs).items()}
    every = {u: size * (size - 1) // 2 for u, size in sizes.items() if size >= 2}
    assert counts == {u: min(count, most_positives) for u, count in every.items()}
    assert counts["hello"] == expected
    over = sum(data.facts[part]["positives_over_cap"] for part in PARTS)
    assert over == sum(max(0, count - most_positives) for count in every.values())


def test_other_seeds_choose_other_replies(tmp_path: Path) -> None:
    pairs = [*(Pair("", "Hello", f"reply {i}") for i in range(300)), *log(6)]
    chosen = []
    for seed in range(2):
        data = make(pairs, tmp_path / str(seed), Examples(seed=seed))
        chosen.append({row[1] for part in PARTS for row in read(data, part, 1) if row[0] == "hello"})
    assert chosen[0] != chosen[1]


def test_limits_draw_from_all_examples_and_keep_the_labels_even(tmp_path: Path) -> None:
    pairs = log(7, pairs=600)
    all_examples = make(pairs, tmp_path / "all")
    limits = ExampleLimits(train_examples=41, dev_examples=10)
    limited = make(pairs, tmp_path / "limited", limits=limits)
    for part, size in zip(PARTS, (40, 10), strict=True):
        positives, negatives = read(limited, part, 1), read(limited, part, 0)
        assert len(positives) == len(negatives) == size // 2
        assert as_sets(positives) < as_sets(read(all_examples, part, 1))
        counts = limited.facts[part]
        assert counts["positives"] + counts["positives_over_limit"] == all_examples.facts[part]["positives"]
    with pytest.raises(InputError, match="other settings"):
        make(pairs, tmp_path / "limited")


@pytest.mark.parametrize("name", ["train_examples", "dev_examples"])
def test_a_limit_of_one_example_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=rf"{name} must be 0 \(all\) or at least 2"):
        ExampleLimits(**{name: 1})


def test_a_limit_that_the_log_does_not_reach_changes_no_example(tmp_path: Path) -> None:
    pairs = log(7)
    data = [make(pairs, tmp_path / str(most), limits=ExampleLimits(train_examples=most)) for most in (0, 10**6)]
    assert data[0].rows["train"].tolist() == data[1].rows["train"].tolist()
    assert "positives_over_limit" not in data[1].facts["train"]


def as_sets(examples: list[Example]) -> set[frozenset[tuple[str, str]]]:
    return {frozenset([(u1, r1), (u2, r2)]) for u1, r1, u2, r2 in examples}


@pytest.mark.parametrize(
    "pairs",
    [
        [],
        [Pair("", f"question {i}", f"answer {i}") for i in range(50)],
        [Pair("", f"question {i}", text) for i in range(50) for text in ("Yes.", "yes", " YES")],
        [Pair("", f"question {i}", text) for i in range(3) for text in ("yes", "no")],
    ],
)
def test_logs_without_second_replies_are_refused(tmp_path: Path, pairs: list[Pair]) -> None:
    with pytest.raises(InputError, match=r"two different replies.*interloq corpus build"):
        make(pairs, tmp_path / "examples")
    assert list(tmp_path.iterdir()) == []


def test_positives_go_where_negatives_are_lacking(tmp_path: Path) -> None:
    """Everybody says the same: no two pairs are strangers, but for a few."""
    same = [Pair("", f"question {i}", text) for i in range(40) for text in ("yes", "no", "perhaps")]
    with pytest.raises(InputError, match="no negatives can be drawn"):
        make(same, tmp_path / "none")
    few = [Pair("", f"other {i}", f"{text} {i}") for i in range(40) for text in ("so", "what")]
    data = make([*same, *few], tmp_path / "some")
    for part in PARTS:
        counts = data.facts[part]
        assert counts["examples"] == 2 * counts["positives"] == len(data.examples(part)[1])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("most_replies", value) for value in (-1, 1, 1001)),
        *(("dev_share", value) for value in (0.0, 0.6, float("nan"))),
        ("most_positives", 0),
        ("seed", -1),
    ],
)
def test_settings_are_checked(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"{name} must"):
        Examples(**{name: value})
