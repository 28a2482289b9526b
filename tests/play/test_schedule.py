"""Who meets whom: every scheme is fair, whatever its sizes, and openings are read from any form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interloq.errors import InputError
from interloq.play.openings import Opening
from interloq.play.schedule import all_play_all, apart, bipartite, draw_openings, self_play
from tests.play.made_openings import openings

words = st.text("abcxyz/:= -", max_size=6).map(lambda s: f"n{s}n").filter(lambda name: ": " not in name)
names = st.lists(words, min_size=1, max_size=6, unique=True)
made = st.integers(1, 5).map(lambda n: openings(n))


@settings(deadline=None, max_examples=50)
@given(names, names, made, st.integers(1, 3))
def test_bipartite_meets_everyone_equally_often(
    targets: Sequence[str], partners: Sequence[str], given: list[Opening], repeats: int
) -> None:
    others = list(apart(partners, targets).values())
    matches = bipartite(targets, others, given, exchanges=4, repeats=repeats)
    met = Counter((match.target, match.partner) for match in matches)
    assert met == {(t, p): len(given) * repeats for t in targets for p in others}
    occasions = Counter((match.target, match.partner, match.opening) for match in matches)
    assert set(occasions.values()) == {repeats}
    assert len({match.id for match in matches}) == len({match.seed for match in matches}) == len(matches)
    assert all(match.target_first and match.exchanges == 4 for match in matches)


@settings(deadline=None, max_examples=50)
@given(names.filter(lambda found: len(found) > 1), made, st.integers(1, 3))
def test_all_play_all_has_each_ordered_pair(targets: Sequence[str], given: list[Opening], repeats: int) -> None:
    matches = all_play_all(targets, given, repeats=repeats)
    met = Counter((match.target, match.partner) for match in matches)
    assert met == {(a, b): len(given) * repeats for a in targets for b in targets if a != b}


def test_self_play_meets_only_itself() -> None:
    matches = self_play(["a", "b"], openings(3), repeats=2)
    assert Counter((m.target, m.partner) for m in matches) == {("a", "a"): 6, ("b", "b"): 6}
    assert matches[0].id == "a~a/opening-1/repeat-1"


def test_a_seed_belongs_to_the_match_not_to_the_schedule() -> None:
    few = {m.id: m for m in bipartite(["a"], ["x"], openings(2), seed=3)}
    many = {m.id: m for m in bipartite(["b", "a"], ["y", "x"], openings(5), repeats=2, seed=3)}
    assert few.items() <= many.items()
    assert all(m.seed != few[m.id].seed for m in bipartite(["a"], ["x"], openings(2), seed=4))


@settings(deadline=None)
@given(st.integers(1, 12), st.integers(0, 99), st.randoms())
def test_a_limit_draws_openings_that_a_greater_one_keeps(limit: int, seed: int, shuffle: object) -> None:
    every = openings(12)
    drawn = draw_openings(every, limit, seed)
    assert len(drawn) == limit
    assert set(drawn) <= set(draw_openings(every, min(12, limit + 1), seed))
    shuffle.shuffle(every)  # type: ignore[attr-defined]
    assert set(draw_openings(every, limit, seed)) == set(drawn)


@pytest.mark.parametrize("limit", [0, 3])
def test_a_limit_beyond_the_openings_is_refused(limit: int) -> None:
    with pytest.raises(InputError, match=f"cannot draw {limit} of 2 openings"):
        draw_openings(openings(2), limit, 0)


def test_a_target_that_is_also_a_partner_is_named_apart() -> None:
    assert apart(["a", "b"], ["b", "c"]) == {"a": "a", "b": "b (partner)"}
    with pytest.raises(InputError, match="'b' is both a target and a partner"):
        bipartite(["b"], ["b"], openings(1))


@pytest.mark.parametrize(
    ("targets", "said"),
    [
        ([], "no target is given"),
        (["a", "b", "a"], "2 targets are called 'a'"),
        (["a~b"], "cannot be a bot's name: '~'"),
        (["a: b"], "cannot be a bot's name: ': '"),
        (["a\n"], "cannot be a bot's name"),
        (["a (2)"], "cannot be a bot's name"),
        ([""], "cannot be a bot's name"),
    ],
)
def test_names_that_would_be_lost_in_ids_are_refused(targets: list[str], said: str) -> None:
    with pytest.raises(InputError) as caught:
        self_play(targets, openings(1))
    assert said in str(caught.value)


def test_one_target_cannot_play_all() -> None:
    with pytest.raises(InputError, match="at least two targets"):
        all_play_all(["a"], openings(1))


@pytest.mark.parametrize(("exchanges", "repeats", "n"), [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_nothing_to_play_is_refused(exchanges: int, repeats: int, n: int) -> None:
    with pytest.raises(InputError, match="at least 1"):
        self_play(["a"], openings(n), exchanges=exchanges, repeats=repeats)
