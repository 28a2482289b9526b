# SPDX-License-Identifier: Apache-2.0
"""Dialogues and pairs from threads: a thread is a tree of posts, each answering the one above it.

Following Ritter et al. (2010) and Tsuta et al. (2020), replies are followed from the first post of the thread; a path
of replies between exactly two users with at least three posts is a dialogue. A post and a reply to it by another user
are a pair; several replies to one post are a group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

from interloq.data.corpus.clean import NO_TIME
from interloq.data.corpus.times import iso
from interloq.errors import InputError
from interloq.records import Dialogue, Pair, Turn


class ThreadPost(NamedTuple):
    """A post in its thread; `place` is its number, `parent` the number of the post it answers."""

    place: int
    parent: int | None
    id: str
    user: str
    text: str
    time: int = NO_TIME


@dataclass(frozen=True, slots=True)
class DialogueShape:
    """Which paths through a thread are dialogues, and which replies are pairs."""

    users: Annotated[int, "exact number of users per dialogue; 0: any"] = 2
    min_posts: Annotated[int, "drop shorter dialogues"] = 3
    max_posts: Annotated[int, "truncate longer dialogues"] = 1000
    branches: Annotated[Literal["all", "longest"], "branches of a thread that become dialogues"] = "all"
    others: Annotated[bool, "allow other users elsewhere in the thread"] = True
    merge: Annotated[bool, "consecutive posts of one user become one turn"] = False
    pairs: Annotated[Literal["first", "all"], "replies to the first post of a thread, or to any post"] = "first"

    def __post_init__(self) -> None:
        if self.users < 0 or self.min_posts < 1 or self.max_posts < self.min_posts:
            what = f"dialogues cannot have {self.users} users and {self.min_posts} to {self.max_posts} posts"
            raise InputError(what, hint="give 0 or more users and at least 1 post")


class Thread:
    """The posts of one thread, in order of time, from its first post."""

    def __init__(self, posts: Sequence[ThreadPost]) -> None:
        self.posts = posts
        self.replies: dict[int, list[ThreadPost]] = {}
        self.root: ThreadPost | None = None
        for post in posts:
            if post.parent is None:
                self.root = post
            else:
                self.replies.setdefault(post.parent, []).append(post)

    def answers(self, post: ThreadPost) -> list[ThreadPost]:
        """Return the posts that answer this one."""
        return self.replies.get(post.place, [])


def dialogues_of(thread: Thread, shape: DialogueShape) -> Iterator[Dialogue]:
    """Yield the dialogues of a thread; if `branches` is not `all`, only the first of the longest ones."""
    if shape.users and not shape.others and _users(thread.posts) > shape.users:
        return
    longest: Dialogue | None = None
    for path in _paths(thread, shape):
        if len(path) < shape.min_posts or (shape.users and _users(path) != shape.users):
            continue
        turns = [Turn(post.text, post.user, iso(post.time)) for post in path]
        if shape.merge:
            turns = merge_turns(turns)
        dialogue = Dialogue(f"{path[0].id}/{path[-1].id}", turns)
        if len(dialogue.turns) < shape.min_posts:
            continue
        if shape.branches == "all":
            yield dialogue
        elif longest is None or len(dialogue.turns) > len(longest.turns):
            longest = dialogue
    if longest is not None:
        yield longest


def _users(posts: Sequence[ThreadPost]) -> int:
    return len({post.user for post in posts})


def pairs_of(thread: Thread, shape: DialogueShape) -> Iterator[list[Pair]]:
    """Yield each post that others answered, with these replies."""
    root = thread.root
    if root is None:
        return
    for post in [root] if shape.pairs == "first" else _below(thread, root):
        pairs = [
            Pair(reply.id, post.text, reply.text, post.id, root.id, iso(reply.time))
            for reply in thread.answers(post)
            if reply.user != post.user
        ]
        if pairs:
            yield pairs


def group_of(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the replies to one post with different texts, if there are at least two."""
    distinct: dict[str, Pair] = {}
    for pair in pairs:
        distinct.setdefault(pair.response, pair)
    if len(distinct) < 2:
        return []
    return list(distinct.values())


def pairs_of_dialogue(dialogue: Dialogue) -> Iterator[Pair]:
    """Yield pairs of each turn and the one before it, if two speakers take turns or none are named."""
    for i, (utterance, response) in enumerate(zip(dialogue.turns, dialogue.turns[1:], strict=False)):
        if not utterance.speaker or utterance.speaker != response.speaker:
            id, to = f"{dialogue.id}/{i + 1}", f"{dialogue.id}/{i}"
            yield Pair(id, utterance.text, response.text, to, dialogue.id, response.time)


def _below(thread: Thread, root: ThreadPost) -> Iterator[ThreadPost]:
    """Yield the post and all posts below it, each before its replies."""
    stack = [root]
    while stack:
        post = stack.pop()
        yield post
        stack += reversed(thread.answers(post))


def _paths(thread: Thread, shape: DialogueShape) -> Iterator[list[ThreadPost]]:
    """Yield the longest paths from the first post with the allowed number of users."""
    if thread.root is None:
        return
    stack = [(thread.root, 0)]
    path: list[ThreadPost] = []
    users: list[frozenset[str]] = []  # users up to each post of the path
    while stack:
        post, depth = stack.pop()
        path[depth:] = [post]
        users_before = users[depth - 1] if depth else frozenset[str]()
        users_here = users_before
        if post.user not in users_before:
            users_here |= {post.user}
        users[depth:] = [users_here]
        continues = False
        if depth + 1 < shape.max_posts:
            for reply in reversed(thread.answers(post)):
                if not shape.users or reply.user in users_here or len(users_here) < shape.users:
                    stack.append((reply, depth + 1))
                    continues = True
        if not continues:
            yield list(path)


def merge_turns(turns: Iterable[Turn]) -> list[Turn]:
    """Join consecutive turns of one speaker, so that speakers alternate; the time of the first is kept."""
    joined: list[Turn] = []
    for turn in turns:
        if joined and joined[-1].speaker == turn.speaker:
            joined[-1] = Turn(f"{joined[-1].text} {turn.text}".strip(), turn.speaker, joined[-1].time)
        else:
            joined.append(turn)
    return joined
