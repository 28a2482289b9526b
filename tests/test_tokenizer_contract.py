"""The contract of every registered tokenizer."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interloq import create, registry, spec
from interloq.data.text.tokenize import Tokenizer, train_sentencepiece
from tests.made_metrics import DEFAULTS, FOREIGN, METRICS, REPLY, plain_samples

TOKENIZERS = registry.names("tokenizer")


def tokenizer(name: str, model: Path) -> Tokenizer:
    made: Tokenizer = create(
        f"sentencepiece(model={str(model)!r})" if name == "sentencepiece" else name, kind="tokenizer"
    )
    return made


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny SentencePiece model."""
    texts = [sample.response for sample in plain_samples()] + list(FOREIGN.values())
    return train_sentencepiece(texts, tmp_path_factory.mktemp("model") / "tiny.model", vocabulary=100, coverage=1.0)


@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize("lowercase", [False, True])
def test_specs_with_tokenizers_round_trip(name: str, lowercase: bool, model: Path) -> None:
    inner = dataclasses.replace(tokenizer(name, model), lowercase=lowercase)  # type: ignore[type-var]
    assert create(spec(inner), kind="tokenizer") == inner
    for metric in map(create, DEFAULTS.values()):
        if hasattr(metric, "tokenizer"):
            outer = dataclasses.replace(metric, tokenizer=inner)
            assert create(spec(outer)) == outer
            name_, required = registry.name_of(metric), METRICS[registry.name_of(metric)].required
            assert create(f"{name_}({required}{',' * bool(required)}tokenizer={spec(inner)!r})") == outer


@pytest.mark.parametrize("name", TOKENIZERS)
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(REPLY, max_size=3))
def test_tokenizers_keep_their_promises(name: str, model: Path, texts: list[str]) -> None:
    made = tokenizer(name, model)
    for text in texts:
        assert made.tokens(text) == made.tokens(text)
        assert all(isinstance(token, str) for token in made.tokens(text))
    if made.by_word:
        joined = " ".join(texts)
        if "\n" not in joined:
            assert made.tokens(joined) == [token for text in texts for token in made.tokens(text)]
    assert made.tokens("") == made.tokens("  ") == []
    assert registry.name_of(made) in made.signature()
    lower = dataclasses.replace(made, lowercase=True)  # type: ignore[type-var]
    assert lower.signature() != made.signature()
    assert lower.tokens("OH No") == made.tokens("oh no")
