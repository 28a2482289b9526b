from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

import pytest

from interloq.data.embedded import embedded_log_path, embedded_path
from interloq.data.records.jsonl import header, load
from interloq.records import Pair, Sample
from interloq.retrieve.leaks import exclude_overlap, normalise_text, words

LEAST = {"en": (1500, 6000, 30), "ja": (500, 2500, 15), "zh": (500, 2500, 15)}  # utterances, pairs, topics
SIZE = 400_000  # bytes: every wheel carries them
KANA = re.compile("[\u3041-\u3096\u30a1-\u30fa]")
HAN = re.compile("[\u4e00-\u9fff]")
LATIN = re.compile("[A-Za-z]")
# Words so common that sharing them says nothing of the topic.
COMMON = words("a an the is it you your my i do did to of in on for and not have has are was we what how that be or so")

languages = pytest.mark.parametrize("language", sorted(LEAST))


def log(language: str) -> list[Pair]:
    return load(embedded_log_path(language), kind="pairs", strict=True)


def samples(language: str) -> list[Sample]:
    return load(embedded_path(language), strict=True)


def texts_of(pairs: Iterable[Pair]) -> set[str]:
    return {text for pair in pairs for text in (pair.utterance, pair.response)}


def by_post(pairs: Iterable[Pair]) -> dict[str, list[Pair]]:
    posts: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        posts[pair.to].append(pair)
    return posts


@languages
def test_a_log_is_large_enough_to_learn_from(language: str) -> None:
    pairs = log(language)
    utterances, count, topics = LEAST[language]
    source = header(embedded_log_path(language))["source"]
    assert source.startswith("written for this project")
    assert "most pairs are composed from patterns" in source
    assert len({normalise_text(pair.utterance) for pair in pairs}) >= utterances
    assert len(pairs) >= count
    assert len({pair.thread.rpartition("-")[0] for pair in pairs}) >= topics


def test_the_logs_are_small_enough_to_ship() -> None:
    assert sum(embedded_log_path(language).stat().st_size for language in LEAST) < SIZE


@languages
def test_pairs_are_numbered_and_none_comes_twice(language: str) -> None:
    pairs = log(language)
    assert [pair.id for pair in pairs] == [f"{language}-{number:04}" for number in range(1, len(pairs) + 1)]
    assert len({(normalise_text(pair.utterance), normalise_text(pair.response)) for pair in pairs}) == len(pairs)


@languages
def test_every_utterance_is_one_post_of_one_thread_with_several_replies(language: str) -> None:
    posts = by_post(log(language))
    assert len({post[0].utterance for post in posts.values()}) == len(posts)
    assert len({post[0].thread for post in posts.values()}) == len(posts)
    for post in posts.values():
        assert len({(pair.utterance, pair.thread) for pair in post}) == 1
        assert len({normalise_text(pair.response) for pair in post}) >= 3, post[0].utterance


@languages
def test_some_replies_fit_several_utterances_but_none_fits_many(language: str) -> None:
    """As in real logs; the rater has to learn that such a reply says little."""
    pairs = log(language)
    posts: dict[str, set[str]] = defaultdict(set)
    for pair in pairs:
        posts[normalise_text(pair.response)].add(pair.to)
    shared = sum(len(several) for several in posts.values() if len(several) > 1)
    assert shared / len(pairs) > 0.02
    assert len(posts) / len(pairs) > 0.5, "most replies are not repeated ones"
    assert max(map(len, posts.values())) / len(by_post(pairs)) < 0.05


@languages
def test_nothing_of_the_samples_is_in_the_log(language: str) -> None:
    pairs, every = log(language), samples(language)
    taken = {normalise_text(turn.text) for sample in every for turn in sample.context}
    taken |= {normalise_text(sample.response) for sample in every}
    taken |= {normalise_text(reference.text) for sample in every for reference in sample.references}
    assert not {text for text in texts_of(pairs) if normalise_text(text) in taken}
    assert list(exclude_overlap(pairs, every)) == pairs


@languages
def test_a_log_is_written_in_its_language(language: str) -> None:
    pairs = log(language)
    texts = texts_of(pairs)
    if language == "en":
        assert all(LATIN.search(text) and not KANA.search(text) and not HAN.search(text) for text in texts)
        assert all(3 <= len(pair.response.split()) <= 15 for pair in pairs)
    elif language == "ja":
        assert all(KANA.search(text) and not LATIN.search(text) for text in texts)
    else:
        assert all(HAN.search(text) and not KANA.search(text) and not LATIN.search(text) for text in texts)


def test_every_english_sample_has_an_utterance_near_it() -> None:
    """Retrieval can only show something where a topical word of the last turn is in some utterance."""
    known = frozenset[str]().union(*(words(pair.utterance) for pair in log("en"))) - COMMON
    lonely = {
        sample.context[-1].text for sample in samples("en") if not (words(sample.context[-1].text) - COMMON) & known
    }
    assert not lonely
