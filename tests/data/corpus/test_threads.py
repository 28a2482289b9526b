"""Threads joined out of core, against literal loops over dictionaries."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interloq.data.corpus.build import build
from interloq.data.corpus.clean import Cleaning, clean_text, letters_and_digits
from interloq.data.corpus.dialogues import DialogueShape
from interloq.data.corpus.settings import BuildOptions, CorpusSettings
from interloq.data.corpus.split import Split
from interloq.data.corpus.threads import BotFilter, Joining
from interloq.data.records.jsonl import load
from tests.made_posts import DAY, made_posts, write_posts

pytest.importorskip("duckdb")
Posts = list[dict[str, Any]]


def build_corpus(tmp_path: Path, posts: Posts, **options: Any) -> dict[str, Any]:
    """A corpus of posts, not split unless asked, with every reply as a pair."""
    chosen: dict[str, Any] = {
        "split": Split(()),
        "shape": DialogueShape(users=0, min_posts=1, pairs="all"),
        "compression": "none",
    } | options
    log = write_posts(tmp_path / "posts.jsonl", posts)
    return build([log], tmp_path / "corpus", CorpusSettings(**chosen), BuildOptions(workers=1, fresh=True))


def pairs(tmp_path: Path, part: str = "") -> set[tuple[str, str, str]]:
    """(thread, post, reply) of all pairs."""
    found = load(tmp_path / "corpus" / part / "pairs.jsonl", kind="pairs", strict=True)
    return {(pair.thread, pair.to, pair.id) for pair in found}


def post(id: str, user: str = "ann", to: str = "", time: int = 0, text: str = "") -> dict[str, Any]:
    return {
        "id": id,
        "user": user,
        "text": text or f"this is the text of {id}",
        "time": 1_500_000_000 + time,
        "reply_to": to,
    }


# ---- links that cannot be followed -----------------------------------------------------------------------------------


def test_every_broken_link_is_counted(tmp_path: Path) -> None:
    posts = [
        post("root"),
        post("good", "bob", "root", 5),
        post("selfish", "bob", "selfish", 6),
        post("lost", "bob", "nowhere", 7),
        post("under-lost", "ann", "lost", 8),
        post("early", "bob", "root", -60),
        post("under-early", "ann", "early", 9),
        *(post(f"c{i}", "ann", f"c{(i + 1) % 3}", 20) for i in range(3)),  # a circle
        post("under-circle", "bob", "c0", 21),
        post("alone", "cat", "", 30),
    ]
    facts = build_corpus(tmp_path, posts)
    assert facts["replies"] == {"all": 10, "broken": {"missing": 1, "self": 1, "backwards": 1, "late": 0, "cycle": 4}}
    assert pairs(tmp_path) == {("root", "root", "good")}
    assert facts["threads"] == {"kept": 1, "orphan": 2, "crosses": 0, "too_large": 0}
    assert facts["unanswered"] == 1


def test_orphans_may_begin_threads(tmp_path: Path) -> None:
    posts = [post("lost", "bob", "nowhere"), post("a", "ann", "lost", 1), post("b", "bob", "a", 2)]
    facts = build_corpus(tmp_path, posts, joining=Joining(orphans=True))
    assert facts["threads"]["kept"] == 1
    assert pairs(tmp_path) == {("lost", "lost", "a"), ("lost", "a", "b")}


def test_late_replies_begin_nothing(tmp_path: Path) -> None:
    posts = [post("a"), post("b", "bob", "a", 3600), post("c", "cat", "a", 3601)]
    facts = build_corpus(tmp_path, posts, joining=Joining(max_gap=1))
    assert facts["replies"]["broken"]["late"] == 1
    assert pairs(tmp_path) == {("a", "a", "b")}


@pytest.mark.parametrize("depth", [1, 2, 3, 5, 64, 300])
def test_chains_of_any_depth_find_their_first_post(tmp_path: Path, depth: int) -> None:
    posts = [post(str(i), "ann" if i % 2 else "bob", str(i - 1) if i else "", i) for i in range(depth + 1)]
    random.Random(depth).shuffle(posts)
    facts = build_corpus(tmp_path, posts, joining=Joining(duplicates="off"), bots=BotFilter(0, 0, 0))
    assert facts["threads"]["kept"] == 1
    assert {thread for thread, _, _ in pairs(tmp_path)} == {"0"}


def test_replies_at_the_same_second_are_in_time(tmp_path: Path) -> None:
    assert build_corpus(tmp_path, [post("b", "bob", "a"), post("a")])["replies"]["broken"]["backwards"] == 0
    assert pairs(tmp_path) == {("a", "a", "b")}


# ---- copies and programs ---------------------------------------------------------------------------------------------


def test_of_posts_with_one_id_the_earliest_stays(tmp_path: Path) -> None:
    posts = [post("a", text="later words", time=9), post("a", text="first words", time=1), post("b", "bob", "a", 20)]
    for order in (posts, posts[::-1]):
        facts = build_corpus(tmp_path, order)
        assert facts["posts"]["dropped"]["duplicate_id"]["count"] == 1
        assert facts["posts"]["dropped"]["duplicate_id"]["examples"][0]["text"] == "later words"
        assert [p.utterance for p in load(tmp_path / "corpus/pairs.jsonl", kind="pairs")] == ["first words"]


@pytest.mark.parametrize(("scope", "dropped"), [("user", ["2"]), ("any", ["2", "3"]), ("off", [])])
def test_copies_of_a_day(tmp_path: Path, scope: Any, dropped: list[str]) -> None:
    midnight = 1_500_000_000 // DAY * DAY - 1_500_000_000
    posts = [
        post("1", "ann", text="Good morning, all!", time=midnight + 100),
        post("2", "ann", text="good morning ALL", time=midnight + 200),
        post("3", "bob", text="good morning all", time=midnight + 300),
        post("4", "ann", text="good morning all", time=midnight + DAY + 100),
        post("5", "bob", "4", midnight + DAY + 200),
    ]
    found = build_corpus(tmp_path, posts, joining=Joining(duplicates=scope))["posts"]["dropped"]["same_day"]
    assert [example["id"] for example in found["examples"]] == dropped
    assert found["count"] == len(dropped)


def test_days_begin_where_the_offset_says(tmp_path: Path) -> None:
    """15:00 UTC is midnight in Japan."""
    noon = 1_500_000_000 // DAY * DAY - 1_500_000_000 + 12 * 3600
    posts = [
        post("1", text="same words", time=noon),
        post("2", text="same words", time=noon + 4 * 3600),
        post("3", "b", "2", noon + 9 * 3600),
    ]
    for offset, count in ((0.0, 1), (9.0, 0)):
        facts = build_corpus(tmp_path, posts, joining=Joining(utc_offset=offset))
        assert facts["posts"]["dropped"]["same_day"]["count"] == count


def bot_posts() -> Posts:
    human = [
        post(f"h{i}", "human", text=f"{word} is what I said", time=i * DAY)
        for i, word in enumerate(["one", "two", "six"] * 9)
    ]
    repeats = [post(f"r{i}", "repeater", text=f"It is {i} o'clock", time=i * DAY) for i in range(30)]
    rate = [
        post(f"t{i}", "talker", text=f"{'a' * (i % 3)}{'b' * (i % 2)} thought number {chr(97 + i)}", time=i)
        for i in range(26)
    ]
    named = [post("n1", "news_bot", text="all the news"), post("n2", "robotic", text="I am a person")]
    return [*human[:3], *repeats, *rate, *named, post("x", "eve", "h0", 9)]


@pytest.mark.parametrize(
    ("bots", "found"),
    [
        (BotFilter(), {"repeats": {"repeater"}}),
        (BotFilter(per_day=25), {"repeats": {"repeater"}, "rate": {"talker"}}),
        (BotFilter(per_day=26), {"repeats": {"repeater"}}),
        (BotFilter(posts=31), {}),
        (BotFilter(repeats=0, names=True), {"name": {"news_bot"}}),
        (BotFilter(repeats=0, users=("human", "nobody")), {"user": {"human"}}),
    ],
)
def test_users_that_behave_like_programs(tmp_path: Path, bots: BotFilter, found: dict[str, set[str]]) -> None:
    posts = [*bot_posts(), post("q1", "ann", time=50), post("q2", "bob", "q1", 60)]
    facts = build_corpus(tmp_path, posts, bots=bots, joining=Joining(duplicates="off"))
    assert facts["bots"] == {why: len(users) for why, users in found.items()}
    gone = set().union(*found.values()) if found else set()
    assert facts["posts"]["dropped"]["bot"]["count"] == sum(p["user"] in gone for p in posts)
    assert {example["user"] for example in facts["posts"]["dropped"]["bot"]["examples"]} <= gone


# ---- against loops ---------------------------------------------------------------------------------------------------


def literal_threads(posts: Posts) -> tuple[dict[str, str], Counter[str]]:
    """Post → first post of its thread, and the broken links, by dictionaries. Ids are unique; days have no copies."""
    by_id = {p["id"]: p for p in posts}
    broken: Counter[str] = Counter()
    up: dict[str, str] = {}
    for p in posts:
        above = by_id.get(p["reply_to"])
        if not p["reply_to"]:
            continue
        if above is None:
            broken["missing"] += 1
        elif above is p:
            broken["self"] += 1
        elif p["time"] < above["time"]:
            broken["backwards"] += 1
        else:
            up[p["id"]] = above["id"]
    roots = {}
    for id in by_id:
        seen, at = {id}, id
        while at in up and up[at] not in seen:
            at = up[at]
            seen.add(at)
        if at in up:
            broken["cycle"] += id in up
        else:
            roots[id] = at
    sizes = Counter(roots.values())
    return {id: root for id, root in roots.items() if sizes[root] > 1}, broken


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), n=st.integers(3, 40))
def test_threads_equal_loops(tmp_path: Path, data: st.DataObject, n: int) -> None:
    rng = random.Random(data.draw(st.integers(0, 10**6)))
    ids = [f"p{i}" for i in range(n)]
    posts = [
        post(id, rng.choice("xyz"), rng.choice([*ids, "gone", "", "", ""]), rng.randrange(n), f"words of post {id}")
        for id in ids
    ]
    facts = build_corpus(tmp_path, posts, joining=Joining(orphans=True, duplicates="off"), bots=BotFilter(0, 0, 0))
    roots, broken = literal_threads(posts)
    user = {p["id"]: p["user"] for p in posts}
    expected = {
        (roots[p["id"]], p["reply_to"], p["id"])
        for p in posts
        if p["id"] in roots and roots[p["id"]] != p["id"] and user[p["reply_to"]] != p["user"]
    }
    assert Counter(facts["replies"]["broken"]) == broken
    assert facts["threads"]["kept"] == len(set(roots.values()))
    if expected:
        assert pairs(tmp_path) == expected
    assert facts["parts"]["all"]["pairs"] == len(expected)


def test_a_larger_log_equals_loops(tmp_path: Path) -> None:
    posts = made_posts(3000, seed=3)
    facts = build_corpus(tmp_path, posts, joining=Joining(orphans=True))
    cleaned = {p["id"]: clean_text(p["text"], Cleaning()) for p in posts}
    seen: set[tuple[str, str, int]] = set()
    kept = []
    for p in sorted(posts, key=lambda p: (p["time"], p["id"])):
        key = (p["user"], letters_and_digits(cleaned[p["id"]]), p["time"] // DAY)
        if key not in seen:
            kept.append(p)
        seen.add(key)
    roots, broken = literal_threads(kept)
    assert facts["posts"]["kept"] == len(kept)
    assert Counter(facts["replies"]["broken"]) == broken
    user = {p["id"]: p["user"] for p in kept}
    replies = [p for p in kept if p["id"] in roots and roots[p["id"]] != p["id"] and user[p["reply_to"]] != p["user"]]
    assert pairs(tmp_path) == {(roots[p["id"]], p["reply_to"], p["id"]) for p in replies}
    texts: dict[str, set[str]] = defaultdict(set)
    for p in replies:
        texts[p["reply_to"]].add(cleaned[p["id"]])
    assert facts["parts"]["all"]["groups"] == sum(len(found) > 1 for found in texts.values())
    groups = load(tmp_path / "corpus/groups.jsonl", kind="pairs", strict=True)
    assert {pair.to for pair in groups} == {to for to, found in texts.items() if len(found) > 1}
    places = [pair.to for pair in groups]
    assert all(places.index(to) + places.count(to) == len(places) - places[::-1].index(to) for to in set(places))


# ---- parts -----------------------------------------------------------------------------------------------------------


def test_parts_share_no_thread_and_follow_each_other(tmp_path: Path) -> None:
    facts = build_corpus(tmp_path, made_posts(3000), split=Split((0.6, 0.2, 0.2)), joining=Joining(orphans=True))
    times: dict[str, list[str]] = {}
    threads: dict[str, set[str]] = {}
    for part in ("train", "dev", "test"):
        found = load(tmp_path / "corpus" / part / "dialogues.jsonl", kind="dialogues", strict=True)
        times[part] = [turn.time for dialogue in found for turn in dialogue.turns]
        threads[part] = {dialogue.id.split("/")[0] for dialogue in found}
        assert len(threads[part]) > 5
    assert not threads["train"] & threads["dev"]
    assert not (threads["train"] | threads["dev"]) & threads["test"]
    assert max(times["train"]) < facts["split"]["dev_from"] <= min(times["dev"])
    assert max(times["dev"]) < facts["split"]["test_from"] <= min(times["test"])
    assert facts["threads"]["crosses"] > 0


def test_borders_by_date(tmp_path: Path) -> None:
    posts = [p for i in range(3) for p in (post(f"a{i}", time=i * DAY), post(f"b{i}", "bob", f"a{i}", i * DAY + 60))]
    facts = build_corpus(tmp_path, posts, split=Split((), "2017-07-15", "2017-07-16"))
    assert {part: found["pairs"] for part, found in facts["parts"].items()} == {"train": 1, "dev": 1, "test": 1}


def test_texts_of_later_parts_are_unseen_where_asked(tmp_path: Path) -> None:
    posts = made_posts(2500, seed=5)
    for i, p in enumerate(posts):
        p["text"] = f"we said this {i % 300 if i % 20 == 0 else i} times"  # some texts come again
    texts: dict[str, list[set[str]]] = {}
    loose = Joining(orphans=True, duplicates="off")
    for unseen in (False, True):
        facts = build_corpus(tmp_path, posts, split=Split(unseen=unseen), joining=loose, bots=BotFilter(repeats=0))
        texts[str(unseen)] = [
            {letters_and_digits(text) for pair in _parts(tmp_path, part) for text in (pair.utterance, pair.response)}
            for part in ("train", "dev", "test")
        ]
        assert (facts["posts"]["dropped"]["seen_earlier"]["count"] > 0) == unseen
    train, dev, test = texts["False"]
    assert train & dev
    assert (train | dev) & test
    train, dev, test = texts["True"]
    assert dev
    assert test
    assert not train & dev
    assert not (train | dev) & test


def _parts(tmp_path: Path, part: str) -> list[Any]:
    return load(tmp_path / "corpus" / part / "pairs.jsonl", kind="pairs", strict=True)


def test_posts_without_times_need_a_corpus_that_is_not_split(tmp_path: Path) -> None:
    posts = [post("a"), post("b", "bob", "a")]
    for p in posts:
        del p["time"]
    facts = build_corpus(tmp_path, posts)
    assert pairs(tmp_path) == {("a", "a", "b")}
    assert "time" not in (tmp_path / "corpus/pairs.jsonl").read_text().splitlines()[1]
    posts += [post("c"), post("d", "bob", "c", 5)]
    facts = build_corpus(tmp_path, posts, split=Split((1.0, 0.0, 0.0)))
    assert facts["posts"]["dropped"]["no_time"]["count"] == 2
    assert pairs(tmp_path, "train") == {("c", "c", "d")}
