"""Test sets: what becomes the gold reply, HUMAN and the rest, and what is never used."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from interloq import Dialogue, InputError, Turn, write
from interloq.data.corpus.build import build
from interloq.data.corpus.settings import BuildOptions, CorpusSettings
from interloq.data.corpus.split import Split
from interloq.data.records.jsonl import header, load
from interloq.data.records.read_options import ReadOptions
from interloq.records import Pair
from interloq.reliability.candidates import JaccardSearch
from interloq.reliability.own_candidates import SameQuery
from interloq.retrieve import testset
from interloq.retrieve.corpus_pairs import PairOptions, pairs_file
from interloq.retrieve.extend import SearchTally, usable_replies
from interloq.retrieve.leaks import normalise_text
from interloq.retrieve.testset import HUMAN, UtteranceSelection, write_testset


def pairs(n: int, replies: int = 4) -> list[Pair]:
    return [
        Pair(f"r{i}-{k}", f"question {i}?", f"reply {i} number {k}", f"q{i}", f"q{i}", f"20{18 + i % 2}-01-01")
        for i in range(n)
        for k in range(replies)
    ]


SHORT = UtteranceSelection(min_posts=2)


def made(log: list[Pair] | list[Dialogue], kind: str = "pairs", **options: Any) -> dict[str, Any]:
    write("log.jsonl", log, kind=kind)
    return write_testset("log.jsonl", "testset", UtteranceSelection(**{"min_posts": 2, **options}))


def samples() -> list[Any]:
    return load("testset/samples.jsonl")


def test_one_reply_is_gold_another_human_and_the_rest_are_candidates(folder: Path) -> None:
    facts = made([*pairs(30), Pair("x", "alone?", "yes", "y", "y")])
    assert (facts["samples"], facts["usable_utterances"], facts["candidates"]) == (30, 30, 60)
    assert facts["dropped"] == {"utterances_with_one_reply": 1}
    candidates = load("testset/candidates.jsonl", kind="pairs")
    firsts = set()
    for sample in samples():
        (reference,) = sample.references
        rest = [pair.response for pair in candidates if pair.to == sample.id]
        i = sample.id[1:]
        assert {reference.text, sample.response, *rest} == {f"reply {i} number {k}" for k in range(4)}
        assert (sample.system, sample.context[0].text, reference.source) == (HUMAN, f"question {i}?", "gold")
        assert sample.dialogue == sample.id
        firsts.add(reference.text[-1])
    assert firsts == set("0123"), "the gold reply is chosen at random"
    assert json.loads(Path("testset/testset.json").read_text())["selection"]["seed"] == 0
    assert header("testset/samples.jsonl")["signature"]["parts"]["rest"] == "candidates"


def test_the_rest_may_be_references_or_be_dropped(folder: Path) -> None:
    made(pairs(5), rest="references")
    assert [[r.source for r in sample.references] for sample in samples()] == [["gold", "human", "human"]] * 5
    assert not Path("testset/candidates.jsonl").exists()
    made(pairs(5), rest="drop")
    assert [len(sample.references) for sample in samples()] == [1] * 5
    assert {path.name for path in Path("testset").iterdir()} == {"samples.jsonl", "excluded.txt", "testset.json"}


def test_the_order_of_the_log_changes_nothing_and_the_seed_everything(folder: Path) -> None:
    log = pairs(60)
    made(log, draw=10)
    first = samples()
    assert len(first) == 10
    made(Random(1).sample(log, len(log)), draw=10)
    assert samples() == first
    made(log, draw=20)
    assert samples()[:10] == first, "a larger draw has the same first samples"
    made(log, draw=10, seed=1)
    assert {sample.id for sample in samples()} != {sample.id for sample in first}


def test_replies_that_differ_in_case_and_punctuation_are_one(folder: Path) -> None:
    log = [
        Pair("1", "Hi there?", "Yes!", "q"),
        Pair("2", "Hi there?", "yes", "q"),
        Pair("3", "Hi there?", "hi there", "q"),
    ]
    with pytest.raises(InputError, match=r"no utterance has two usable replies; dropped: utterances with one reply 1"):
        made(log)
    made([*log, Pair("4", "Hi there?", "No.", "q")])
    (sample,) = samples()
    assert {normalise_text(sample.response), normalise_text(sample.references[0].text)} == {"yes", "no"}


def test_utterances_of_a_period(folder: Path) -> None:
    made(pairs(20), since="2019-01-01")
    assert {int(sample.id[1:]) % 2 for sample in samples()} == {1}
    with pytest.raises(InputError, match=r"no utterance has two usable replies; dropped: replies outside"):
        made(pairs(20), since="2020-01-01")


def test_a_larger_draw_than_there_is_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="31 utterances were asked for, but only 30 can be used"):
        made(pairs(30), draw=31)
    assert not Path("testset").exists()


def test_few_utterances_are_held_and_the_same_ones_drawn(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = pairs(500)
    made(log, draw=10)
    first = samples()
    monkeypatch.setattr(testset, "HELD", 200)
    facts = made(log, draw=10)
    assert facts["searched"] <= 1 / 8
    assert facts["usable_utterances"] < 100
    assert samples() == first


def test_pairs_without_posts_are_grouped_by_text(folder: Path) -> None:
    log = [Pair(str(i), text, reply, thread="forum") for i, (text, reply) in enumerate(
        [("Same?", "one"), ("same", "two"), ("Other?", "three"), ("other", "four")])]  # fmt: skip
    with pytest.raises(InputError, match="the pair '0' does not name the post that it answers; name the field"):
        made(log)
    made(log, same="text")
    assert len(samples()) == 2
    assert all(sample.id.startswith("text-") and sample.dialogue == sample.id for sample in samples())
    assert Path("testset/excluded.txt").read_text() == "", "a forum is not excluded as a whole"


def test_forums_are_not_excluded_as_a_whole_and_empty_utterances_are_dropped(folder: Path) -> None:
    log = [
        Pair(f"r{i}", f"question {i // 2}" if i < 8 else " ", f"reply {i}", f"q{i // 2}", "forum") for i in range(10)
    ]
    assert made(log)["dropped"] == {"empty_utterances": 1}
    assert Path("testset/excluded.txt").read_text().split() == ["q0", "q1", "q2", "q3"]
    assert {sample.dialogue for sample in samples()} == {"forum"}


def test_candidates_are_replies_to_the_same_query_for_reliability(folder: Path) -> None:
    made(pairs(6))
    tested, rest = samples(), load("testset/candidates.jsonl", kind="pairs")
    for sample, hits in zip(tested, SameQuery(JaccardSearch(rest)).find(tested), strict=True):
        usable = usable_replies(sample, hits, k=100, tally=SearchTally())
        assert {reply.text for reply in usable} == {pair.response for pair in rest if pair.to == sample.id}
        assert len(usable) == 2


def talk(id: str, *texts: str, day: int = 1) -> Dialogue:
    turns = [Turn(text, "ab"[i % 2], f"2019-01-{day:02}T00:00:{i:02}Z") for i, text in enumerate(texts)]
    return Dialogue(id, turns)


def test_the_gold_reply_begins_a_long_dialogue(folder: Path) -> None:
    log = [
        talk("1", "who?", "me"),
        talk("2", "who?", "ann", "really?"),
        talk("3", "what?", "this"),
        talk("4", "what?", "it"),
    ]
    facts = made(log, "dialogues", min_posts=3)
    assert facts["dropped"] == {"utterances_without_long_dialogue": 1}
    (sample,) = samples()
    assert (sample.references[0].text, sample.response, sample.id, sample.dialogue) == ("ann", "me", "2/0", "2")
    assert Path("testset/excluded.txt").read_text().split() == ["1", "1/0", "2", "2/0"]


def test_dialogues_need_times_or_equal_texts(folder: Path) -> None:
    log = [Dialogue("1", [Turn("Hi!", "a"), Turn("yes", "b")]), Dialogue("2", [Turn("hi", "a"), Turn("no", "b")])]
    with pytest.raises(InputError, match="the dialogue '1' has no times"):
        made(log, "dialogues")
    assert made(log, "dialogues", same="text")["samples"] == 1
    apart = [talk("1", "Hi!", "yes"), talk("2", "hi", "no", day=2)]
    with pytest.raises(InputError, match="no utterance has two usable replies"):
        made(apart, "dialogues")


@pytest.mark.parametrize(
    ("name", "message"),
    [("-", "cannot be made from a pipe"), ("empty.jsonl", "no usable record"), ("samples.jsonl", "contains samples"),
     ("log.jsonl", "does not say how long its dialogues are"), ("folder", r"has 0 files groups\.jsonl")],
)  # fmt: skip
def test_logs_that_cannot_be_used(folder: Path, name: str, message: str) -> None:
    made(pairs(2))
    Path("empty.jsonl").write_text("")
    Path("folder").mkdir()
    Path("testset/samples.jsonl").rename("samples.jsonl")
    with pytest.raises(InputError, match=message):
        write_testset(name, "out", UtteranceSelection())
    assert not Path("out").exists()


def test_another_folder_is_not_replaced(folder: Path) -> None:
    made(pairs(3))
    Path("testset/notes.txt").write_text("mine")
    with pytest.raises(InputError, match="testset"):
        made(pairs(3))
    assert Path("testset/notes.txt").read_text() == "mine"


# ---- a corpus folder -------------------------------------------------------------------------------------------------


def posts() -> Iterator[dict[str, Any]]:
    """40 threads with three replies to the first post each; one of them in every fourth thread is answered."""
    for i in range(40):
        day = f"2018-01-{1 + i // 2:02}T0{i % 2}"
        yield {"id": f"t{i}", "user": f"a{i}", "text": f"first post number {i}", "time": f"{day}:00:00Z"}
        for k in range(3):
            yield {
                "id": f"t{i}r{k}", "user": f"b{i}{k}", "text": f"reply number {k} to {i}",
                "time": f"{day}:0{k + 1}:00Z", "reply_to": f"t{i}",
            }  # fmt: skip
        if i % 4 == 0:
            yield {
                "id": f"t{i}last", "user": f"a{i}", "text": f"thanks for reply {i}", "time": f"{day}:09:00Z",
                "reply_to": f"t{i}r1",
            }  # fmt: skip


@pytest.fixture
def corpus(folder: Path) -> Path:
    pytest.importorskip("duckdb")
    (folder / "posts.jsonl").write_text("".join(json.dumps(post) + "\n" for post in posts()))
    settings = CorpusSettings(split=Split(shares=(0.5, 0.0, 0.5)), compression="none")
    build(["posts.jsonl"], "corpus", settings, BuildOptions(workers=1))
    return folder / "corpus"


def test_the_test_part_of_a_corpus_is_used(corpus: Path) -> None:
    facts = write_testset("corpus", "testset", UtteranceSelection())
    assert facts["samples"] == 5
    assert facts["dropped"] == {"utterances_without_long_dialogue": 15}
    for sample in samples():
        i = int(sample.id[1:])
        assert i >= 20, "the later half"
        assert i % 4 == 0
        assert sample.references[0].text == f"reply number 1 to {i}", "the reply that was answered"
    assert len(load("testset/candidates.jsonl", kind="pairs")) == 5
    write_testset("corpus/train", "testset", UtteranceSelection())
    assert max(int(sample.id[1:]) for sample in samples()) < 20


def test_training_pairs_share_nothing_with_the_test_set(corpus: Path) -> None:
    """Made and trained on the same part, as the worst case."""
    write_testset("corpus/test", "testset", SHORT)
    facts = pairs_file("corpus/test/pairs.jsonl", "train.jsonl", PairOptions(without=("testset",)))
    assert facts["pairs"] == 0
    assert facts["overlapping"] == {"id": 60}
    kept = pairs_file("corpus/train/pairs.jsonl", "train.jsonl", PairOptions(without=("testset",)))
    assert kept["pairs"] == 60


def test_bad_lines_are_reported(folder: Path) -> None:
    write("log.jsonl", pairs(3), kind="pairs")
    with (folder / "log.jsonl").open("a") as file:
        file.write("{broken\n")
    bad: list[Any] = []
    write_testset("log.jsonl", "testset", SHORT, reading=ReadOptions(on_reject=bad.append))
    assert [each.where for each in bad] == ["log.jsonl:14"]
    with pytest.raises(InputError, match=r"log\.jsonl:14"):
        write_testset("log.jsonl", "testset", SHORT, reading=ReadOptions(strict=True))
