from __future__ import annotations

import string
import unicodedata
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq import Reference, Sample
from interloq.data.text.joined_texts import JoinedTexts
from interloq.records import Pair
from interloq.retrieve.leaks import (
    context_of,
    exclude_overlap,
    find_copied_threads,
    find_copies,
    guard,
    ids,
    jaccard,
    normalise_text,
    words,
)

SAMPLE = Sample(
    "t9/4/bot",
    ["Good morning!", "Did you sleep well?"],
    "Like a log.",
    [Reference("No, not at all."), Reference("A bit.", source="human"), Reference("Fine.", source="retrieved:7")],
)
WORDS = ["Did", "you", "sleep", "well", "no", "not", "at", "all", "a", "bit", "good", "morning", "？", "!", "."]
TEXT = st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join)
PAIRS = st.lists(st.builds(Pair, st.just("p"), TEXT, TEXT, thread=st.sampled_from(["", "t9", "t8"])), max_size=12)


def pair(
    utterance: str = "any text", response: str = "any reply", id: str = "1", to: str = "", thread: str = ""
) -> Pair:
    return Pair(id, utterance, response, to=to, thread=thread)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("I'm fine.", "i ' m  FINE"),
        ("Straße", "STRASSE"),
        ("ｆｉｎｅ！", "fine"),
        ("Ame\u0301lie…", "amélie"),
        ("元気 です 。", "元気です"),
        ("ok\u200b then\n", "OK then"),
        ("Well\u2014no \u201cway\u201d", "well no way"),
    ],
)
def test_texts_that_read_alike(first: str, second: str) -> None:
    assert normalise_text(first) == normalise_text(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [("yes", "no"), ("?!", "..."), ("👍", "👎"), ("?", ""), ("resume", "résumé"), ("5", "$5 more"), ("は", "ぱ")],
)
def test_texts_that_do_not(first: str, second: str) -> None:
    assert normalise_text(first) != normalise_text(second)


@given(st.text())
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert normalise_text(normalise_text(text)) == normalise_text(text)


@given(st.text(), st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]))
def test_unicode_forms_and_white_space_do_not_matter(text: str, form: str) -> None:
    other = unicodedata.normalize(form, text)  # type: ignore[arg-type]
    assert normalise_text(other) == normalise_text(text)
    assert normalise_text(f" {text}\n") == normalise_text(text)


@given(st.text(alphabet=string.ascii_letters + string.digits + " ", min_size=1), st.data())
def test_case_and_marks_do_not_matter(text: str, data: st.DataObject) -> None:
    plain = "".join(text.split()).lower()
    place = data.draw(st.integers(0, len(text)))
    mark = data.draw(st.sampled_from([*string.punctuation, "…", "。", "、", "“", "\u3000", "\u200d"]))
    if plain:
        assert normalise_text(text) == normalise_text(text.swapcase()) == plain
        assert normalise_text(text[:place] + mark + text[place:]) == plain


ALIKE = st.text(alphabet="aAbBkKi1I .'-\u0301\u0307\u212a\u0130\u200dé日", max_size=7)


@given(st.lists(ALIKE, min_size=1, max_size=4), st.lists(st.tuples(ALIKE | st.text(max_size=9), st.integers(0, 3))))
def test_copies_are_the_texts_that_normalise_alike(replies: list[str], others: list[tuple[str, int]]) -> None:
    owners = [owner % len(replies) for _, owner in others]
    texts = [text for text, _ in others]
    found = find_copies(JoinedTexts.of(replies), JoinedTexts.of(texts), np.array(owners, dtype=np.int64))
    expected = [
        normalise_text(replies[owner]) == normalise_text(text) != "" for text, owner in zip(texts, owners, strict=True)
    ]
    assert found.tolist() == expected


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_the_short_way_for_ascii_is_the_long_way(text: str) -> None:
    beside = "é"  # takes the long way
    if any(char.isalnum() for char in text):
        assert normalise_text(text + beside) == normalise_text(text) + beside


@pytest.mark.parametrize(
    ("given_pair", "reason"),
    [
        (pair(), ""),
        (pair("did you sleep WELL"), "utterance"),
        (pair("good morning"), "utterance"),
        (pair("No, not at all."), "utterance"),
        (pair(response="no not at all"), "gold"),
        (pair(response="A BIT"), "gold"),
        (pair(response="Fine."), ""),  # a reply that was retrieved earlier is not a gold reply
        (pair(response="Like a log."), ""),
        (pair(response="Good morning!"), ""),
        (pair(id="t9/4/bot"), "id"),
        (pair(id="t9/4"), "id"),
        (pair(to="t9/4"), "id"),
        (pair(thread="t9"), "id"),
        (pair(id="t9/5", thread="t99"), ""),
    ],
)
def test_what_may_not_come_back(given_pair: Pair, reason: str) -> None:
    assert guard(SAMPLE).reason(given_pair) == reason


def test_excluded_ids_near_replies_and_the_own_reply() -> None:
    assert guard(SAMPLE, excluded={"x", ""}).reason(pair(thread="x")) == "id"
    assert guard(SAMPLE, excluded={""}).reason(pair()) == ""
    near = pair(response="no, not at all, sir")  # 4 of 5 words
    assert guard(SAMPLE, near=0.8).reason(near) == "near gold"
    assert guard(SAMPLE, near=0.81).reason(near) == ""
    assert guard(SAMPLE, own=True).reason(pair(response="like a log")) == "own"
    assert guard(Sample("other"), own=True).reason(pair(response="")) == ""


def test_an_item_without_texts_guards_nothing() -> None:
    empty = guard(Sample("1", ["", "?"], "", [""]))
    assert empty.reason(pair("", "", id="2")) == ""
    assert empty.reason(pair("...", "", id="2")) == ""
    assert empty.reason(pair("?", "", id="2")) == "utterance"


def test_ids_of_a_sample() -> None:
    assert list(ids(SAMPLE)) == ["t9/4/bot", "t9/4", "t9"]
    assert list(ids(Sample("/x"))) == ["/x"]


@given(PAIRS)
def test_a_guarded_pool_shares_nothing_with_the_samples(pairs: list[Pair]) -> None:
    dropped: Counter[str] = Counter()
    kept = list(exclude_overlap(pairs, [SAMPLE, Sample("b", ["All ."])], dropped=dropped))

    def shares(one: Pair) -> bool:  # written out anew: lower-case letters alone
        def letters(text: str) -> str:
            return "".join(char for char in text.lower() if char.isalpha())

        turns = {"goodmorning", "didyousleepwell", "all"}
        golds = {"nonotatall", "abit"}
        return one.thread == "t9" or letters(one.utterance) in turns | golds or letters(one.response) in golds

    assert kept == [one for one in pairs if not shares(one)]
    assert dropped.total() == len(pairs) - len(kept)


def test_copied_threads_hold_two_turns_in_a_row() -> None:
    pool = [
        pair("good morning", "did you sleep well", thread="a"),
        pair("Did you sleep well?", "NO not at all", thread="b"),
        pair("did you sleep well", "yes", thread="c"),  # one turn alone: people ask this often
        pair("good morning", "no not at all", thread="d"),  # not in a row
        pair("did you sleep well", "a bit"),  # no thread
    ]
    assert find_copied_threads(pool, [SAMPLE, Sample("1", [""], "", [""])]) == {"a", "b"}
    assert find_copied_threads(pool, [Sample("1", ["good morning", "did you sleep well"])]) == {"a"}


def test_words_and_jaccard() -> None:
    assert words("Don't_stop, ＮＯＷ!") == {"don", "t", "stop", "now"}
    assert words("元気ですか OK") == {"元", "気", "で", "す", "か", "ok"}
    assert jaccard(words("a b c"), words("b c d")) == 0.5
    assert jaccard(words(""), words("")) == 0.0


def test_contexts_are_compared_turn_by_turn() -> None:
    assert context_of(Sample("1", ["Good  morning!", " ", "You?"], "x")) == ("goodmorning", "you")
    assert context_of(Sample("1", ["Good", "morning"], "x")) != context_of(Sample("1", ["Good morning"], "x"))
