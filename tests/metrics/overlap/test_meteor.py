"""METEOR: a score worked by hand, NLTK where its alignment is as good, and what is refused."""

from __future__ import annotations

import importlib.util
from typing import Any

import nltk
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.translate.meteor_score import align_words, single_meteor_score

from interloq import InputError, MissingDependencyError, Sample, SpecError, create, evaluate, spec
from interloq.metrics.overlap import meteor
from interloq.metrics.overlap.meteor import Meteor
from interloq.metrics.overlap.word_alignment import align
from tests.metrics.made_contracts import UNIT, Contract

CONTRACTS = {
    "meteor": Contract(
        UNIT, variants=["meteor(stages=('exact',))", "meteor(level='corpus',alpha=0.5,gamma=1,lowercase=False)"]
    ),
}

WHITESPACE = create("whitespace", kind="tokenizer")
VOCABULARY = ["run", "running", "Runs", "the", "cat", "cats", "dog", "Barked", "barking", "."]
TOKENS = st.lists(st.sampled_from(VOCABULARY), max_size=8)


class NoWordNet:
    """In NLTK's place of WordNet: no word has synonyms."""

    def synsets(self, _word: str) -> list[Any]:
        return []


class Synset:
    def __init__(self, name: str) -> None:
        self._name = name

    def name(self) -> str:
        return self._name


class TinyWordNet:
    """Two synsets, `pet` being in both."""

    def synsets(self, word: str) -> list[Synset]:
        return [
            Synset(name)
            for name, members in (("animal.n.01", "dog pet"), ("stroke.v.01", "pet caress"))
            if word in members
        ]

    def get_version(self) -> str:
        return "0.1"


@pytest.fixture
def tiny_wordnet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meteor, "_wordnet", TinyWordNet)
    meteor._synsets.cache_clear()


def score(metric: Meteor, response: str, *references: str) -> float:
    return float(metric.value(metric.stats([Sample("1", (), response, references)]))[0])


def chunks_of(pairs: list[tuple[int, int]]) -> int:
    return sum((i - 1, j - 1) not in pairs for i, j in pairs)


def test_a_hand_worked_score() -> None:
    # six words match in two chunks (`on the mat`, `sat the cat` is three: sat | the cat): P = R = 1
    value = score(Meteor(), "on the mat sat the cat", "the cat sat on the mat")
    assert value == pytest.approx(1 - 0.5 * (3 / 6) ** 3)


def test_stems_count_where_words_do_not() -> None:
    # exact: the; stem: cats/cat, barked/barks: P = 3/3, R = 3/4, one chunk
    f = 1 * 0.75 / (0.9 * 1 + 0.1 * 0.75)
    assert score(Meteor(), "The cats barked", "the cat barks loudly") == pytest.approx(f * (1 - 0.5 / 27))
    f = (1 / 3) * (1 / 4) / (0.9 / 3 + 0.1 / 4)
    assert score(Meteor(stages=("exact",)), "The cats barked", "the cat barks loudly") == pytest.approx(f * 0.5)
    assert score(Meteor(stages=("exact",), lowercase=False), "The cats barked", "the cat barks loudly") == 0


@settings(max_examples=100, deadline=None)
@given(TOKENS, TOKENS)
def test_equals_nltk_where_its_alignment_is_as_good(response: list[str], reference: list[str]) -> None:
    """NLTK matches as many words, in at least as many chunks; with as many chunks it gives the same score."""
    metric = Meteor(tokenizer=WHITESPACE)
    pairs, _, _ = align_words(response, reference, wordnet=NoWordNet())
    found = align(metric._words(" ".join(response)), metric._words(" ".join(reference)))
    assert found.matches == len(pairs)
    assert found.chunks <= chunks_of(pairs)
    ours = score(metric, " ".join(response), " ".join(reference))
    theirs = single_meteor_score(reference, response, wordnet=NoWordNet())
    assert ours >= theirs - 1e-12
    if found.chunks == chunks_of(pairs):
        assert ours == pytest.approx(theirs, abs=1e-9)


def test_corpus_level_is_the_score_of_summed_counts() -> None:
    samples = [Sample("1", (), "a b c", "a b c d"), Sample("2", (), "x y", "y"), Sample("3", (), "q", "r s")]
    corpus = Meteor(stages=("exact",), level="corpus")
    total = corpus.stats(samples).sum(axis=0)
    assert total.tolist() == [4, 2, 6, 7]
    p, r = 4 / 6, 4 / 7
    expected = p * r / (0.9 * p + 0.1 * r) * (1 - 0.5 * (2 / 4) ** 3)
    assert evaluate(corpus, samples).value == pytest.approx(expected)
    sentence = evaluate(Meteor(stages=("exact",)), samples)
    assert sentence.value == pytest.approx(sum(sentence.by_sample.values()) / 3)
    assert dict(sentence.by_sample) == pytest.approx(dict(evaluate(corpus, samples).by_sample))


def test_parameters_shape_the_score() -> None:
    assert score(Meteor(gamma=0), "b a", "a b") == 1
    assert score(Meteor(gamma=1), "b a", "a b") == 0
    assert score(Meteor(alpha=0, gamma=0), "a b", "a") == 0.5  # precision alone
    assert score(Meteor(alpha=1, gamma=0), "a b", "a") == 1.0  # recall alone
    assert score(Meteor(beta=0), "a b", "a b") == 0.5


@pytest.mark.usefixtures("tiny_wordnet")
def test_synonyms_match_after_stems() -> None:
    metric = Meteor(stages=("exact", "stem", "synonym"))
    assert score(metric, "my dog", "my pet") == pytest.approx(1 - 0.5 / 8)
    assert score(metric, "dog", "caress") == 0  # related to the same word, not to each other
    assert create(spec(metric)) == metric
    assert metric.built_with() == f"nltk-{nltk.__version__}-wordnet-0.1"


def test_the_signature_names_nltk_only_where_it_is_used() -> None:
    sample = [Sample("1", (), "a", "a")]
    assert evaluate("meteor", sample).signature.parts["built-with"] == f"nltk-{nltk.__version__}"
    assert evaluate("meteor(stages=('exact',))", sample).signature.parts["built-with"] == "none"


def test_synonyms_need_wordnet_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setattr(nltk, "download", lambda *_: pytest.fail("tried to download"))
    with pytest.raises(InputError, match=r"WordNet.*omit the stage"):
        Meteor(stages=("exact", "synonym"))


def test_stems_need_nltk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meteor, "find_spec", lambda name: None if name == "nltk" else importlib.util.find_spec(name))
    with pytest.raises(MissingDependencyError, match=r"interloq\[meteor\]"):
        Meteor()
    assert score(Meteor(stages=("exact",)), "a b", "a b") == pytest.approx(1 - 0.5 / 8)


@pytest.mark.parametrize(
    "stages", ["exact", (), ("stem",), ("stem", "exact"), ("exact", "exact"), ("exact", "paraphrase"), ("exact", 1), 3]
)
def test_wrong_stages_are_refused(stages: Any) -> None:
    with pytest.raises(SpecError, match="stages"):
        Meteor(stages=stages)


@pytest.mark.parametrize(
    "fields", [{"alpha": 1.1}, {"alpha": -0.1}, {"gamma": 2}, {"beta": -1}, {"beta": float("nan")}]
)
def test_wrong_parameters_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match="must be from 0"):
        Meteor(**fields)


def test_a_list_of_stages_is_as_good_as_a_tuple() -> None:
    assert create("meteor(stages=['exact','stem'])") == Meteor() == Meteor(stages=["exact", "stem"])  # type: ignore[arg-type]
