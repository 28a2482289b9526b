"""Dialogues and pairs of threads, against a literal search over all paths."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interloq import Dialogue, InputError, Turn
from interloq.data.corpus.dialogues import (
    DialogueShape,
    Thread,
    ThreadPost,
    dialogues_of,
    group_of,
    pairs_of,
    pairs_of_dialogue,
)
from interloq.records import Pair


def thread(*posts: tuple[str, str, str]) -> Thread:
    """Posts as (id, user, id of the post that is answered)."""
    places = {id: place for place, (id, _, _) in enumerate(posts)}
    return Thread(
        [
            ThreadPost(places[id], places[to] if to else None, id, user, f"text {id}", places[id] * 1_000_000)
            for id, user, to in posts
        ]
    )


TALK = thread(
    ("a", "ann", ""), ("b", "bob", "a"), ("c", "ann", "b"), ("d", "cat", "b"), ("e", "bob", "c"), ("f", "cat", "a")
)


def ids(found: Iterator[Dialogue]) -> list[str]:
    return [dialogue.id for dialogue in found]


def test_a_dialogue_has_exactly_two_users_and_three_posts() -> None:
    (dialogue,) = dialogues_of(TALK, DialogueShape())
    assert dialogue.id == "a/e"
    assert [(turn.speaker, turn.text) for turn in dialogue.turns] == [
        ("ann", "text a"),
        ("bob", "text b"),
        ("ann", "text c"),
        ("bob", "text e"),
    ]
    assert dialogue.turns[1].time == "1970-01-01T00:00:01Z"


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (DialogueShape(users=0), ["a/e", "a/d"]),
        (DialogueShape(users=3), ["a/d"]),
        (DialogueShape(users=0, min_posts=2), ["a/e", "a/d", "a/f"]),
        (DialogueShape(min_posts=2), ["a/e", "a/f"]),
        (DialogueShape(min_posts=5), []),
        (DialogueShape(max_posts=3), ["a/c"]),
        (DialogueShape(users=0, branches="longest"), ["a/e"]),
        (DialogueShape(others=False), []),
        (DialogueShape(users=3, others=False, min_posts=1), ["a/d"]),
        (DialogueShape(users=1, min_posts=1), ["a/a"]),
    ],
)
def test_other_shapes(shape: DialogueShape, expected: list[str]) -> None:
    assert ids(dialogues_of(TALK, shape)) == expected


def test_posts_of_one_user_in_a_row_can_be_one_turn() -> None:
    talk = thread(("a", "ann", ""), ("b", "ann", "a"), ("c", "bob", "b"), ("d", "ann", "c"))
    (dialogue,) = dialogues_of(talk, DialogueShape(merge=True))
    assert [turn.text for turn in dialogue.turns] == ["text a text b", "text c", "text d"]
    assert ids(dialogues_of(talk, DialogueShape(merge=True, min_posts=4))) == []  # turns count, not posts
    assert ids(dialogues_of(talk, DialogueShape(min_posts=4))) == ["a/d"]


def test_pairs_are_replies_by_others() -> None:
    talk = thread(("a", "ann", ""), ("b", "bob", "a"), ("c", "ann", "a"), ("d", "cat", "a"), ("e", "ann", "b"))
    first = list(pairs_of(talk, DialogueShape()))
    assert first == [
        [
            Pair("b", "text a", "text b", "a", "a", "1970-01-01T00:00:01Z"),
            Pair("d", "text a", "text d", "a", "a", "1970-01-01T00:00:03Z"),
        ]
    ]
    assert [[pair.id for pair in pairs] for pairs in pairs_of(talk, DialogueShape(pairs="all"))] == [["b", "d"], ["e"]]


def test_groups_are_replies_with_different_texts() -> None:
    pairs = [Pair(str(i), "u", text, "0") for i, text in enumerate(["yes", "no", "yes"])]
    assert [pair.id for pair in group_of(pairs)] == ["0", "1"]
    assert group_of([pairs[0], pairs[2]]) == []
    assert group_of(pairs[:1]) == []


def test_what_hangs_on_a_missing_post_is_not_reached() -> None:
    posts = [ThreadPost(0, None, "a", "ann", "t"), ThreadPost(5, 3, "x", "bob", "t"), ThreadPost(6, 5, "y", "ann", "t")]
    assert ids(dialogues_of(Thread(posts), DialogueShape(min_posts=2))) == []
    assert list(pairs_of(Thread(posts), DialogueShape(pairs="all"))) == []
    assert list(pairs_of(Thread(posts[1:]), DialogueShape(pairs="all"))) == []


def test_a_long_thread_needs_no_recursion_and_ends() -> None:
    chain = thread(*((str(i), "ann" if i % 2 else "bob", str(i - 1) if i else "") for i in range(5000)))
    (dialogue,) = dialogues_of(chain, DialogueShape())
    assert len(dialogue.turns) == 1000
    (whole,) = dialogues_of(chain, DialogueShape(max_posts=10_000))
    assert len(whole.turns) == 5000


@st.composite
def trees(draw: st.DrawFn) -> list[tuple[str, str, str]]:
    n = draw(st.integers(1, 14))
    parents = ["", *(str(draw(st.integers(0, i))) for i in range(n - 1))]
    return [(str(i), draw(st.sampled_from("xyz")), parents[i]) for i in range(n)]


@settings(max_examples=80, deadline=None)
@given(posts=trees(), users=st.integers(0, 3), least=st.integers(1, 4))
def test_paths_equal_a_literal_search(posts: list[tuple[str, str, str]], users: int, least: int) -> None:
    """A path counts when its users are few enough and no reply could go on with it."""
    user = {id: name for id, name, _ in posts}
    up = {id: to for id, _, to in posts}

    def path(id: str) -> list[str]:
        return [*path(up[id]), id] if up[id] else [id]

    def fits(id: str) -> bool:
        return not users or len({user[i] for i in path(id)}) <= users

    ends = [id for id in up if fits(id) and not any(up[reply] == id and fits(reply) for reply in up)]
    expected = {
        f"0/{id}" for id in ends if len(path(id)) >= least and (not users or len({user[i] for i in path(id)}) == users)
    }
    found = ids(dialogues_of(thread(*posts), DialogueShape(users=users, min_posts=least)))
    assert len(found) == len(set(found))
    assert set(found) == expected


@settings(max_examples=50, deadline=None)
@given(posts=trees())
def test_pairs_equal_a_literal_search(posts: list[tuple[str, str, str]]) -> None:
    user = {id: name for id, name, _ in posts}
    expected = {(to, id) for id, name, to in posts if to and user[to] != name}
    found = [(pair.to, pair.id) for pairs in pairs_of(thread(*posts), DialogueShape(pairs="all")) for pair in pairs]
    assert sorted(found) == sorted(expected)


def test_pairs_of_dialogues() -> None:
    turns = [Turn("hi", "A"), Turn("hello", "B", "2018"), Turn("well", "B"), Turn("bye", "A")]
    assert list(pairs_of_dialogue(Dialogue("d", turns))) == [
        Pair("d/1", "hi", "hello", "d/0", "d", "2018"),
        Pair("d/3", "well", "bye", "d/2", "d"),
    ]
    assert len(list(pairs_of_dialogue(Dialogue("d", ["a", "b", "c"])))) == 2  # nobody is named
    assert list(pairs_of_dialogue(Dialogue("d", ["a"]))) == []


@pytest.mark.parametrize("options", [{"users": -1}, {"min_posts": 0}, {"min_posts": 5, "max_posts": 4}])
def test_impossible_shapes_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(InputError, match="dialogues cannot have"):
        DialogueShape(**options)  # type: ignore[arg-type]
