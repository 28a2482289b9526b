"""distinct-n, against sets of tuples."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq import Sample, SpecError, create, evaluate
from interloq.metrics.overlap.distinct import Distinct
from interloq.statistics.resampling import bootstrap_counts
from tests.conftest import by_id
from tests.metrics.made_contracts import UNIT, Contract

CONTRACTS = {
    "distinct": Contract(UNIT, variants=["distinct(n=1)", "distinct(n=3,per='token')"]),
}

WHITESPACE = create("whitespace", kind="tokenizer")
TEXTS = st.lists(st.lists(st.sampled_from("abcd"), max_size=7), min_size=1, max_size=8)


def samples_of(texts: list[list[str]]) -> list[Sample]:
    return [Sample(f"{i:03}", (), " ".join(text)) for i, text in enumerate(texts)]


def grams(text: list[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(text[i : i + n]) for i in range(len(text) - n + 1)]


def ratio(texts: list[list[str]], n: int, *, per_token: bool) -> float:
    met = [gram for text in texts for gram in grams(text, n)]
    return len(set(met)) / (sum(map(len, texts)) if per_token else len(met))


@given(TEXTS, st.integers(1, 4), st.booleans())
def test_is_the_share_of_different_n_grams(texts: list[list[str]], n: int, per_token: bool) -> None:
    metric = Distinct(n=n, per="token" if per_token else "ngram", tokenizer=WHITESPACE)
    result = evaluate(metric, samples_of(texts), n_bootstrap=0)
    scored = [text for text in texts if len(text) >= (1 if per_token else n)]
    assert result.n == len(scored)
    if scored:
        assert result.value == pytest.approx(ratio(scored, n, per_token=per_token), abs=1e-12)
    else:
        assert np.isnan(result.value)
    values = [value for value in result.by_sample.values() if not np.isnan(value)]
    assert values == pytest.approx([ratio([text], n, per_token=per_token) for text in scored], abs=1e-12)


@given(TEXTS, st.integers(1, 3), st.integers(0, 9))
def test_a_resample_is_the_set_with_replies_repeated(texts: list[list[str]], n: int, seed: int) -> None:
    texts = [text for text in texts if len(text) >= n] or [["a"] * n]
    counts = np.concatenate(list(bootstrap_counts(len(texts), 11, seed)))
    values = Distinct(n=n, tokenizer=WHITESPACE).value_of_set(samples_of(texts), [counts[:4], counts[4:]])
    for value, times in zip(values, counts.tolist(), strict=True):
        repeated = [text for text, k in zip(texts, times, strict=True) for _ in range(k)]
        assert value == pytest.approx(ratio(repeated, n, per_token=False), abs=1e-12)


def test_replies_without_an_n_gram_are_unscored_and_count_for_nothing() -> None:
    texts = ["", "   ", "yes", "<skipped> yes", "no way"]
    result = evaluate("distinct", [Sample(str(i), (), text) for i, text in enumerate(texts)])
    assert by_id(result.reasons) == dict.fromkeys("0123", "no 2-grams")
    assert (result.n, result.unscored, result.value) == (1, 4, 1.0)


def test_thousand_resamples_of_ten_thousand_replies_take_seconds() -> None:
    rng = np.random.default_rng(0)
    samples = [Sample(str(i), (), " ".join(map(str, rng.zipf(1.3, 12)))) for i in range(10_000)]
    start = time.perf_counter()
    result = evaluate("distinct", samples, n_bootstrap=1000)
    assert time.perf_counter() - start < 20  # measured: 0.3 s
    assert result.ci is not None
    assert result.ci[0] < result.value < result.ci[1]


@pytest.mark.parametrize("stock", [0.0, 0.7], ids=["varied", "stock replies"])
def test_the_interval_covers_the_mean_of_fresh_sets(stock: float) -> None:
    """60 sets of 100 replies, all different or mostly from 20 fixed ones."""
    rng = np.random.default_rng(0)
    replies = [" ".join(map(str, rng.zipf(1.5, rng.integers(4, 15)))) for _ in range(3000)]

    def fresh() -> list[Sample]:
        places = np.where(rng.random(100) < stock, rng.integers(20, size=100), rng.integers(3000, size=100))
        return [Sample(f"{i:03}", (), replies[place]) for i, place in enumerate(places)]

    truth = np.mean([evaluate("distinct", fresh(), n_bootstrap=0).value for _ in range(150)])
    covered = 0
    for _ in range(60):
        ci = evaluate("distinct", fresh(), n_bootstrap=200).ci
        assert ci is not None
        assert ci[1] <= 1
        covered += bool(ci[0] <= truth <= ci[1])
    assert 51 <= covered <= 60  # 85 % and more


def test_one_reply_alone_has_an_interval_without_width() -> None:
    assert evaluate("distinct", [Sample("1", (), "no no no")], n_bootstrap=9).ci == (0.5, 0.5)


@pytest.mark.parametrize("n", [0, 10])
def test_wrong_orders_are_refused(n: int) -> None:
    with pytest.raises(SpecError, match="from 1 to 9"):
        Distinct(n=n)
