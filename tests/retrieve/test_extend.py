from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interloq import InputError, Reference, Sample, create, load, write
from interloq.data.records.jsonl import header
from interloq.models.fake import FakeEncoder
from interloq.records import Pair
from interloq.retrieve import extend as extending
from interloq.retrieve.extend import SearchTally, candidates, extend, extend_file, query
from interloq.retrieve.index import Index, create_index, index_files, open_index
from interloq.retrieve.retrieve_options import ExtendOptions, IndexOptions
from interloq.retrieve.retriever import Hit, Query
from interloq.shards.shard_options import ShardOptions
from interloq.shards.task import ShareComputed
from tests.retrieve.made_index import KINDS, pairs

WORDS = ["we", "saw", "a", "dog", "film", "again", "very", "good", "bad", "day", "rain", "sun", "now", "then"]


class Fixed:
    """Finds the same pairs, in their order, whatever is looked for; remembers what was asked."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self.pairs = pairs
        self.asked: list[tuple[list[Query], int]] = []
        self.retriever = create("bm25")

    def search(self, queries: Sequence[Query], k: int = 15) -> list[list[Hit]]:
        self.asked.append((list(queries), k))
        hits = [Hit(pair, 1 / (1 + i)) for i, pair in enumerate(self.pairs[:k])]
        return [hits for _ in queries]


def numbered(n: int, response: Callable[[int], str] = "reply {}".format) -> list[Pair]:
    return [Pair(f"p{i}", f"utterance {i}", response(i)) for i in range(n)]


def sample(id: str = "s", utterance: str = "How was it?", gold: str = "It was fine.", response: str = "good") -> Sample:
    return Sample(id, ["Hello.", utterance], response, [gold])


def texts(extended: Sample, source: str = "") -> list[str]:
    return [r.text for r in extended.references if r.source.startswith(source)]


def one(given_sample: Sample, index: Any, **options: Any) -> Sample:
    (extended,) = extend([given_sample], index, **options)
    return extended


def test_gold_then_parrot_then_fifteen() -> None:
    before = sample()
    extended = one(before, Fixed(numbered(40)))
    assert dataclasses.replace(extended, references=before.references) == before
    assert [r.source for r in extended.references] == ["gold", "parrot", *(f"retrieved:p{i}" for i in range(15))]
    assert texts(extended)[:3] == ["It was fine.", "How was it?", "reply 0"]
    assert {r.weight for r in extended.references} == {1.0}


def test_what_people_wrote_keeps_its_weight_and_place() -> None:
    references = (Reference("bad one", -0.5), Reference("other", 0.3, "human"))
    extended = one(dataclasses.replace(sample(), references=references), Fixed(numbered(5)), k=2)
    assert extended.references[:2] == references
    assert len(extended.references) == 5


def test_copies_are_dropped_counted_and_made_up_for() -> None:
    pool = [
        Pair("a", "how was it", "leak"),
        Pair("b", "HELLO", "leak"),
        Pair("c", "other", "it was fine"),
        Pair("d", "other", "Reply 0!"),
        Pair("e", "other", "reply 0"),
        Pair("f", "other", " "),
        Pair("g", "other", "how was it"),
        Pair("h", "other", "leak", thread="s"),
        *numbered(3, "further {}".format),
    ]
    tally = SearchTally()
    extended = one(sample(), Fixed(pool), k=4, tally=tally)
    assert texts(extended, "retrieved") == ["Reply 0!", "further 0", "further 1", "further 2"]
    assert tally.facts() == {
        "samples": 1,
        "retrieved": 4,
        "fewer": 0,
        "without_context": 0,
        "without_gold": 0,
        "own": 0,
        "dropped": {
            "empty": {"pairs": 1, "samples": 1},
            "gold": {"pairs": 1, "samples": 1},
            "id": {"pairs": 1, "samples": 1},
            "repeated": {"pairs": 2, "samples": 1},
            "utterance": {"pairs": 2, "samples": 1},
        },
    }


def test_more_is_fetched_until_there_are_k_or_no_more() -> None:
    copies = [Pair(f"c{i}", "how was it?", f"copy {i}") for i in range(1000)]
    index = Fixed([*copies, *numbered(20)])
    assert len(texts(one(sample(), index), "retrieved")) == 15
    assert [k for _, k in index.asked] == sorted({k for _, k in index.asked})
    tally = SearchTally()
    extended = one(sample(), Fixed([*copies, *numbered(2)]), tally=tally)
    assert texts(extended, "retrieved") == ["reply 0", "reply 1"]
    assert (tally.fewer, tally.dropped["utterance"]) == (1, 1000)


def test_a_shared_utterance_is_searched_once_also_far_apart() -> None:
    index = Fixed(numbered(100))
    samples = [sample(f"{system}/{i}", f"utterance of {i}") for system in "abc" for i in range(5)]
    list(extend(samples, index, batch=2))
    asked = [q for queries, _ in index.asked for q in queries]
    assert len(asked) == len(set(asked)) == 5


def test_memory_of_searches_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extending, "KEPT", 100)
    index = Fixed(numbered(100))
    samples = [sample(f"{i}", f"utterance of {i % 3}") for i in range(6)]
    whole = list(extend(samples, Fixed(numbered(100))))
    assert list(extend(samples, index, batch=1)) == whole
    assert len(index.asked) == 6


def test_samples_without_context_or_gold() -> None:
    tally = SearchTally()
    bare = [Sample("1", (), "x", ["gold"]), Sample("2", ["hello", " "], "x"), Sample("3", ["hi"], "x")]
    extended = list(extend(bare, Fixed(numbered(3)), tally=tally))
    assert extended[:2] == bare[:2]
    assert texts(extended[2]) == ["hi", "reply 0", "reply 1", "reply 2"]
    assert (tally.without_context, tally.without_gold, tally.fewer) == (2, 2, 3)


def test_the_query_is_the_last_turns_and_the_gold_reply() -> None:
    references = [Reference("h", source="human"), Reference("g"), Reference("r", source="retrieved:1")]
    given_sample = Sample("1", ["a", "b", "c"], "x", references)
    assert query(given_sample) == Query("c", "g")
    assert query(given_sample, turns=2) == Query("b c", "g")
    assert query(given_sample, turns=9) == Query("a b c", "g")
    assert query(Sample("1", ["a"], "x", references[:1])) == Query("a", "h")
    assert query(Sample("1", ["a"], "x", references[2:])) == Query("a", "")


def test_extending_twice_adds_only_what_is_new() -> None:
    first = one(sample(), Fixed(numbered(10)), k=3)
    second = one(first, Fixed([*numbered(5), Pair("x", "u", "new")]), k=3)
    assert second.references[: len(first.references)] == first.references
    assert texts(second)[len(first.references) :] == ["reply 3", "reply 4", "new"]


def test_a_parrot_that_is_the_gold_reply_is_not_added() -> None:
    extended = one(sample(utterance="Bye .", gold="bye!"), Fixed(numbered(1)))
    assert [r.source for r in extended.references] == ["gold", "retrieved:p0"]


def test_the_own_reply_is_counted_and_dropped_on_request() -> None:
    pool = [Pair("1", "u", "Good!"), *numbered(3)]
    tally = SearchTally()
    assert texts(one(sample(), Fixed(pool), k=2, tally=tally), "retrieved") == ["Good!", "reply 0"]
    assert tally.own == 1
    tally = SearchTally()
    assert texts(one(sample(), Fixed(pool), k=2, own=False, tally=tally), "retrieved") == ["reply 0", "reply 1"]
    assert (tally.own, tally.dropped["own"]) == (0, 1)
    tally, judged = SearchTally(), dataclasses.replace(sample(), response=sample().references[0].text.upper())
    assert texts(one(judged, Fixed(pool), k=2, own=False, tally=tally), "gold") == []
    assert (tally.dropped["own"], tally.affected["own"]) == (1, 1)


def test_excluded_ids_and_near_duplicates() -> None:
    pool = [Pair("1", "u", "it was quite fine"), Pair("2", "u", "x", to="post"), *numbered(2)]
    found = texts(one(sample(), Fixed(pool), excluded={"post", "p0"}, near=0.7), "retrieved")
    assert found == ["reply 1"]


def test_diversity_prefers_unlike_replies() -> None:
    replies = ["yes we did", "yes we did it", "yes we really did", "no rain", "who asks"]
    pool = [Pair(str(i), "u", reply) for i, reply in enumerate(replies)]
    assert texts(one(sample(), Fixed(pool), k=3), "retrieved") == replies[:3]
    found = texts(one(sample(), Fixed(pool), k=3, diversity=0.7), "retrieved")
    assert found == ["yes we did", "no rain", "who asks"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be at least 1"),
        ({"turns": 0}, "turns must be at least 1"),
        ({"diversity": 1.5}, "diversity must be from 0"),
        ({"near": -0.1}, "near must be from 0"),
    ],
)
def test_bad_options_are_refused_at_once(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        extend([], Fixed([]), **options)


# ---- with a real index -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pool() -> list[Pair]:
    draw = random.Random(3)

    def text() -> str:
        return " ".join(draw.choices(WORDS, k=draw.randint(1, 6)))

    return [Pair(f"p{i}", text(), text(), thread=f"t{i % 50}") for i in range(800)]


@pytest.fixture(scope="module")
def index(pool: list[Pair], tmp_path_factory: pytest.TempPathFactory) -> Index:
    made = create_index(tmp_path_factory.mktemp("index") / "fake", "dense(encoder='fake32')")
    made.add(pool, source="pool", segment=300)
    return made


def literal(given_sample: Sample, pool: list[Pair], k: int) -> list[str]:
    """Ids of the references that brute force over all pairs finds; texts are plain lower-case words."""
    encoder = FakeEncoder(32)
    vectors = encoder.sentences([pair.utterance for pair in pool]).astype(float)
    (own,) = encoder.sentences([given_sample.context[-1].text]).astype(float)
    cosines = vectors @ own / np.linalg.norm(vectors, axis=1) / np.linalg.norm(own)
    golds = {reference.text for reference in given_sample.references}
    turns = {turn.text for turn in given_sample.context} | golds
    found: list[str] = []
    seen = {given_sample.context[-1].text.replace(" ", "")}
    for i in sorted(range(len(pool)), key=lambda i: (-round(cosines[i], 5), i)):
        pair = pool[i]
        if cosines[i] <= 0 or len(found) == k:
            break
        bare = pair.response.replace(" ", "")
        copied = pair.utterance in turns or pair.response in golds or pair.thread == given_sample.id.split("/")[0]
        if not copied and bare not in seen:
            seen.add(bare)
            found.append(pair.id)
    return found


SENTENCE = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(st.lists(SENTENCE, min_size=1, max_size=3), SENTENCE, st.integers(0, 60), st.integers(1, 20))
def test_equals_brute_force(index: Index, pool: list[Pair], context: list[str], gold: str, thread: int, k: int) -> None:
    given_sample = Sample(f"t{thread}/1", context, "x", [gold])
    extended = one(given_sample, index, k=k)
    found = [r.source.removeprefix("retrieved:") for r in extended.references if r.source.startswith("retrieved")]
    expected = literal(given_sample, pool, k)
    assert len(found) == len(expected)
    responses = {pair.id: pair for pair in pool}
    encoder = FakeEncoder(32)

    def near(
        ids: list[str],
    ) -> list[float]:  # pairs with one utterance may come in either order when merged replies tie
        rows = encoder.sentences([responses[id].utterance for id in ids] + [context[-1]]).astype(float)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return [float(row @ rows[-1]) for row in rows[:-1]]

    assert near(found) == pytest.approx(near(expected), abs=1e-4)


@pytest.mark.parametrize("options", [{}, {"diversity": 0.4}, {"own": False, "near": 0.6}])
def test_neither_order_nor_batches_matter(index: Index, options: dict[str, Any]) -> None:
    draw = random.Random(0)
    samples = [
        Sample(f"t{i % 60}/{i}", [" ".join(draw.choices(WORDS, k=3))], draw.choice(WORDS), [draw.choice(WORDS)])
        for i in range(40)
    ]
    samples += [dataclasses.replace(s, id=f"again/{i}") for i, s in enumerate(samples[:20])]
    tally = SearchTally()
    whole = {s.id: s for s in extend(samples, index, tally=tally, **options)}
    for batch in (1, 7):
        draw.shuffle(samples)
        other = SearchTally()
        found = list(extend(iter(samples), index, batch=batch, tally=other, **options))
        assert [s.id for s in found] == [s.id for s in samples]
        assert {s.id: s for s in found} == whole
        assert other.facts() == tally.facts()


def test_both_sides_count_where_the_retriever_says_so(tmp_path: Path) -> None:
    pairs = [Pair("a", "good day sun", "we saw rain"), Pair("b", "good day sun", "a dog now")]
    made = create_index(tmp_path / "both", "dense(encoder='fake32',target='both')")
    made.add(pairs, source="s")
    near_first = one(Sample("1", ["good day"], "x", ["dog now then"]), made, k=1)
    assert near_first.references[-1].source == "retrieved:b"
    near_second = one(Sample("1", ["good day"], "x", ["saw rain again"]), made, k=1)
    assert near_second.references[-1].source == "retrieved:a"


def test_candidates_are_what_extend_adds_by_batch() -> None:
    index, given = Fixed(numbered(40)), [sample(f"s{i}") for i in range(5)]
    tally = SearchTally()
    batches = list(candidates(given, index, k=7, tally=tally, batch=2))
    assert [len(batch) for batch in batches] == [2, 2, 1]
    found = {one.id: replies for batch in batches for one, replies in batch}
    for extended in extend(given, index, k=7, parrot=False):
        assert found[extended.id] == extended.references[1:]
    assert (tally.samples, tally.retrieved) == (5, 35)


@pytest.fixture
def made_index(files: Path) -> str:
    index_files(["pairs.jsonl"], "index", IndexOptions(retriever="bm25"))
    return "index"


def test_references_are_added_and_earlier_extensions_remembered(made_index: str) -> None:
    first = extend_file("samples.jsonl", "one.jsonl", ExtendOptions(index=made_index, k=1, parrot=False))
    second = extend_file("one.jsonl", "two.jsonl", ExtendOptions(index=made_index, k=2))
    assert [len(sample.references) for sample in load("one.jsonl")] == [2] * 4
    assert first["signature"] != second["signature"]
    told = header("two.jsonl")
    assert len(told["extended"]) == 2
    assert told["source"] == "made"
    assert told["extended"][1]["counts"] == second["counts"]


def test_without_an_index_nothing_is_written(files: Path) -> None:
    with pytest.raises(InputError):
        extend_file("samples.jsonl", "out.jsonl", ExtendOptions(index="absent"))
    assert not (files / "out.jsonl").exists()


@pytest.mark.parametrize("kind", ["words", "lists"])
def test_references_do_not_depend_on_who_searches(folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    retriever, exact_up_to = KINDS[kind]
    create_index("index", retriever, exact_up_to=exact_up_to).add(pairs(200), source="a")
    samples = [Sample(f"s{i}", [pair.utterance], pair.response, [pair.response]) for i, pair in enumerate(pairs(30))]
    samples += [dataclasses.replace(one, id=f"{one.id}/b", response="x") for one in samples]
    write("samples.jsonl", samples, kind="samples")
    options = ExtendOptions(index="index", k=3, own=False, diversity=0.3)
    monkeypatch.setattr(extending, "BATCH", 8)
    monkeypatch.setattr(extending, "CHUNK", 40)

    def run(name: str, **shards: Any) -> bytes:
        extend_file("samples.jsonl", name, options, shards=ShardOptions(**shards))
        return Path(name).read_bytes()

    plain, tally = run("plain.jsonl"), SearchTally()
    own = extend(load("samples.jsonl"), open_index("index"), k=3, own=False, diversity=0.3, tally=tally)
    assert load("plain.jsonl") == list(own)
    assert header("plain.jsonl")["extended"][0]["counts"] == tally.facts()
    assert run("workers.jsonl", workers=2) == plain
    for i in (1, 2, 3):
        with pytest.raises(ShareComputed):
            run("shares.jsonl", shard=f"{i}/3", parts="parts")
    assert run("shares.jsonl", parts="parts", only_join=True) == plain
    assert len(list(folder.glob("parts/*.shard"))) == 8  # 40 samples in five shards, 20 in three
    assert [path.name for path in folder.glob("*parts")] == ["parts"]
