from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from interloq import InputError, Reference
from interloq.reliability import augment as module
from interloq.reliability.augment import Augmented, Request, augment
from tests.reliability.made_predictor import MadePredictor
from tests.reliability.made_queries import sentence


def found(text: str, id: str = "p") -> Reference:
    return Reference(text, source=f"retrieved:{id}")


def request(references: list[str], candidates: list[str], turns: tuple[str, ...] = ("tea ?",)) -> Request:
    own = tuple(Reference(text) for text in references)
    return Request(turns, own, tuple(found(text, str(i)) for i, text in enumerate(candidates)))


def requests(n: int) -> list[Request]:
    random = Random(5)
    return [
        request(
            [sentence(random, q, 0.5) for _ in range(random.randint(0, 3))],
            [sentence(random, q, 0.3) for _ in range(random.randint(0, 30))],
            (f"query {q}",),
        )
        for q in range(n)
    ]


def test_keeps_what_raises_the_prediction_and_records_every_trial() -> None:
    (done,) = augment(MadePredictor(), [request(["tea"], ["milk cup", "we so", "tea", "  ", "leaf"])])
    assert {reference.text for reference in done.kept} == {"milk cup", "leaf"}
    assert {trial.reference.text for trial in done.trials} == {"milk cup", "we so", "leaf"}
    assert (done.before, round(done.after, 9)) == (0.1, 0.4)
    assert all(trial.kept == (trial.after > trial.before) for trial in done.trials)
    before = done.before
    for trial in done.trials:
        assert trial.before == before
        before = trial.after if trial.kept else before
    assert done.after == before
    assert all(reference.source.startswith("retrieved:") for reference in done.kept)


def test_all_queries_advance_together_with_the_result_of_each_alone() -> None:
    given, together = requests(20), MadePredictor()
    every = augment(together, given, limit=4, seed=3)
    alone = [augment(MadePredictor(), [one], limit=4, seed=3)[0] for one in given]
    assert str(every) == str(alone)  # NaN is not equal to itself
    assert str(augment(MadePredictor(), given[::-1], limit=4, seed=3)[::-1]) == str(every)
    longest = max(len(one.trials) for one in every)
    assert len(together.calls) == 1 + longest
    assert sum(together.calls[1:]) == sum(len(one.trials) for one in every)


def test_the_seed_shuffles_and_the_order_of_candidates_does_not_matter() -> None:
    given = requests(8)
    turned = [Request(one.turns, one.references, one.candidates[::-1]) for one in given]

    def texts(some: list[Augmented]) -> list[list[str]]:
        return [[trial.reference.text for trial in one.trials] for one in some]

    first = augment(MadePredictor(), given)
    assert texts(first) == texts(augment(MadePredictor(), turned))
    assert texts(first) != texts(augment(MadePredictor(), given, seed=1))


def test_stops_at_the_limit() -> None:
    words = ["tea", "milk", "cup", "leaf", "pot", "sip", "dog", "walk", "bone", "leash", "bark", "park"]
    (done,) = augment(MadePredictor(), [request(["tea", "milk"], words)], limit=5)
    assert len(done.kept) == 3
    (enough,) = augment(MadePredictor(), [request([f"tea {i}" for i in range(200)], words)], limit=5)
    assert (enough.trials, enough.before) == ((), enough.after)


def test_a_set_without_references_takes_the_first_candidate() -> None:
    (done,) = augment(MadePredictor(), [request(["", " "], ["we so", "tea"])], limit=1)
    assert math.isnan(done.before)
    assert len(done.kept) == 1
    assert not math.isnan(done.after)


def test_a_query_without_text_or_candidates_is_left_as_it_is() -> None:
    blank, none = augment(MadePredictor(), [request(["tea"], ["milk"], (" ",)), request(["tea"], [])])
    assert math.isnan(blank.before)
    assert math.isnan(blank.after)
    assert blank.trials == none.trials == ()
    assert none.before == none.after == 0.1
    assert augment(MadePredictor(), []) == []


def test_copies_of_one_reference_count_once() -> None:
    (done,) = augment(MadePredictor(), [request(["tea"] * 30, ["milk", "cup"])], limit=2)
    assert len(done.kept) == 1


def test_all_candidates_are_kept_if_asked_for() -> None:
    asked = request(["tea"], ["milk cup", "we so", "leaf", "so so"])
    (done,) = augment(MadePredictor(), [asked], limit=None, keep_all=True)
    assert {reference.text for reference in done.kept} == {"milk cup", "we so", "leaf", "so so"}
    assert any(trial.after < trial.before for trial in done.trials)
    (limited,) = augment(MadePredictor(), [asked], limit=3, keep_all=True)
    assert limited.kept == done.kept[:2]
    (chosen,) = augment(MadePredictor(), [asked], limit=None)
    assert {reference.text for reference in chosen.kept} == {"milk cup", "leaf"}
    (blank,) = augment(MadePredictor(), [request([], ["tea"], (" ",))], limit=None, keep_all=True)
    assert blank.kept == ()


def test_refuses_a_limit_below_one() -> None:
    with pytest.raises(InputError, match="limit must be at least 1, got 0"):
        augment(MadePredictor(), [], limit=0)


def test_candidates_after_the_last_reference_are_not_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AHEAD", 2)
    model, read = MadePredictor(), list[str]()
    encode = model.encode

    def recorded(pairs: Sequence[tuple[tuple[str, ...], str]]) -> Any:
        read.extend(text for _, text in pairs)
        return encode(pairs)

    monkeypatch.setattr(model, "encode", recorded)
    (result,) = augment(model, [request(["tea"], ["milk", "cup", "leaf", "pot", "sip"])], limit=3)
    assert len(result.kept) == 2
    assert read == ["tea", *(trial.reference.text for trial in result.trials)]
