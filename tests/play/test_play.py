"""The modules of `interloq.play`: dialogue origin, openings, schedule."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interloq import InputError, Signature
from interloq.play.dialogue_origin import common_origin, origin
from interloq.play.openings import Opening, openings_fingerprint, read_openings
from interloq.play.schedule import all_play_all, apart, bipartite, draw_openings, self_play
from tests.play.made_talks import openings

PLAYED = {"kind": "dialogues", "partners": "abc", "scheme": "bipartite", "openings": "o", "exchanges": 3}


def judged(**parts: str) -> dict[str, Any]:
    signature = Signature.of("relevance", parts)
    return {"kind": "scores", "results": [{"metric": "relevance", "signature": asdict(signature)}]}


def test_what_all_say_is_common() -> None:
    found = common_origin({"a": PLAYED, "b": PLAYED | {"bots": {"x": "1"}}, "s": {"kind": "scores"}})
    assert found == {"partners": "abc", "scheme": "bipartite", "openings": "o", "exchanges": "3"}
    assert origin({"partners": "", "exchanges": 0, "seed": 1}) == {"exchanges": "0"}


@pytest.mark.parametrize("change", [{"partners": "xyz"}, {"scheme": "self-play"}, {"openings": "p"}, {"exchanges": 4}])
def test_files_that_differ_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="a and b come from different"):
        common_origin({"a": PLAYED, "b": PLAYED | change})


def test_one_name_is_one_system_and_all_files_name_one_partner_set() -> None:
    with pytest.raises(InputError, match="a was played against partner set abc, b names no"):
        common_origin({"a": PLAYED, "b": {"kind": "dialogues"}})
    with pytest.raises(InputError, match="have different systems named 'x'"):
        common_origin({"a": PLAYED | {"bots": {"x": "1"}}, "b": PLAYED | {"bots": {"x": "2"}}})


def test_one_metric_is_one_judge_and_signatures_need_parts() -> None:
    common_origin({"a": judged(model="m", samples="1"), "b": judged(model="m", samples="2", seed="9")})
    with pytest.raises(InputError, match="different versions of relevance: model:m and model:n"):
        common_origin({"a": judged(model="m"), "b": judged(model="n")})
    old = {"kind": "scores", "results": [{"metric": "relevance", "signature": "relevance|model:m"}]}
    with pytest.raises(InputError, match=r"b .*interloq score SAMPLES -m relevance -o b"):
        common_origin({"a": judged(model="m"), "b": old})


def test_openings_from_dialogues_lines_and_text_are_the_same(tmp_path: Path) -> None:
    rows = [["hello", "hi", "and more"], ["How are you?", "Tired\u2028\x07 [bold]."]]
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps({"id": f"o{i}", "turns": r}) for i, r in enumerate(rows)))
    full = [{"kind": "dialogues", "schema": 1}] + [
        {"id": f"o{i}", "turns": [{"text": t, "speaker": "A"} for t in r]} for i, r in enumerate(rows)
    ]
    (tmp_path / "b.jsonl").write_text("\n".join(map(json.dumps, full)))
    found = read_openings(tmp_path / "a.jsonl")
    assert found == read_openings(tmp_path / "b.jsonl")
    assert found == [Opening("o0", ("hello", "hi")), Opening("o1", ("How are you?", "Tired\u2028\x07 [bold]."))]
    (tmp_path / "c.txt").write_text("\n".join("\t".join(r) for r in rows), encoding="utf-8")
    assert [o.turns for o in read_openings(tmp_path / "c.txt")] == [o.turns for o in found]
    assert [o.turns for o in read_openings(tmp_path / "c.txt", given=1)] == [("hello",), ("How are you?",)]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.jsonl", "", "no usable record among 0 lines; write one record per line"),
        ("a.txt", "\n  \n", "no opening in the file"),
        ("a.txt", "hello\thi\nalone\n", "a.txt:2: the opening has 1 of 2 utterances"),
        ("a.txt", "hello\t \n", "a.txt:1: an utterance of the opening is empty"),
        ("a.jsonl", '{"id": "x", "turns": ["a", "b"]}\n{"id": "x", "turns": ["c", "d"]}\n', "duplicate id 'x'"),
    ],
)
def test_openings_that_cannot_be_used_are_named(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as caught:
        read_openings(tmp_path / name)
    assert said in str(caught.value)


@pytest.mark.parametrize("language", ["en", "ja", "zh"])
def test_embedded_openings(language: str) -> None:
    found = read_openings(f"embedded:{language}")
    assert len(found) == 40
    texts = [text for opening in found for text in opening.turns]
    assert len(set(texts)) == 80


def test_an_unknown_language_is_named() -> None:
    with pytest.raises(InputError, match="no openings in 'fr'"):
        read_openings("embedded:fr")


def test_the_fingerprint_is_of_the_texts_whatever_their_order() -> None:
    assert openings_fingerprint(openings(3)) == openings_fingerprint(openings(3)[::-1])
    assert openings_fingerprint(openings(3)) != openings_fingerprint(openings(2))
    assert openings_fingerprint([Opening("a", ("b", "c"))]) != openings_fingerprint([Opening("a", ("bc", ""))])


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
