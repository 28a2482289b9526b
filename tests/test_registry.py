"""Specs: what is written parses back, what is wrong is named with the nearest right thing."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.metadata import EntryPoint

import pytest

from interloq import SpecError, create, registry, spec
from interloq.metrics.bleu import Bleu
from interloq.registry import Component, component, full_spec


@pytest.mark.parametrize(
    "text",
    [
        "bleu",
        "bleu(order=2)",
        "delta_bleu(mode='corpus')",
        "bleu(smoothing='add-k',k=0.5)",
        "bleu(tokenizer='char')",
        "bleu(tokenizer='13a(lowercase=True)')",
        "delta_bleu(order=3,mode='paper',tokenizer='whitespace')",
    ],
)
def test_specs_round_trip(text: str) -> None:
    assert spec(create(text)) == text
    assert create(spec(create(text))) == create(text)


def test_fields_at_their_defaults_are_left_out_but_signed() -> None:
    metric = create("delta_bleu(order=2,tokenizer='13a')")
    assert spec(metric) == "delta_bleu"
    assert full_spec(metric) == "delta_bleu(order=2,mode='sentence',tokenizer='13a(lowercase=False)')"


def test_spellings_of_the_same_component_are_equal() -> None:
    assert create(" bleu ( order = 2 , tokenizer = whitespace ) ") == Bleu(order=2, tokenizer=create("whitespace"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("blue", "unknown component 'blue'; did you mean 'bleu'?"),
        ("bleu(ordre=2)", "bleu has no field 'ordre'; did you mean 'order'?"),
        ("bleu(order='2')", "bleu: order must be int, got '2'"),
        ("bleu(order=True)", "order must be int"),
        ("bleu(order=0)", "order must be from 1 to 9, got 0"),
        ("bleu(smoothing='sharp')", "smoothing must be one of 'none', 'floor'"),
        ("bleu(tokenizer='13b')", "unknown tokenizer '13b'; did you mean '13a'?"),
        ("bleu(tokenizer=delta_bleu)", "tokenizer must be a tokenizer"),
        ("bleu(2)", "need names"),
        ("bleu(**{'order': 2})", "need names"),
        ("bleu(order=2", "cannot read spec"),
        ("bleu(order=2)(order=3)", "cannot read spec"),
        ("bleu(order=1+1)", "neither a literal nor a spec"),
        ("bleu(order=open('x'))", "unknown component 'open'"),
        ("bleu(order=().__class__)", "neither a literal nor a spec"),
        ("__import__('os')", "unknown component '__import__'"),
        ("", "cannot read spec"),
        ("sentencepiece", "missing"),
    ],
)
def test_bad_specs_say_what_is_wrong(text: str, said: str) -> None:
    with pytest.raises(SpecError) as caught:
        create(text)
    assert said in str(caught.value)


@dataclass(frozen=True)
class Outer(Component):
    inner: object = component("metric", "bleu(order=2)")
    names: tuple[str, ...] = field(default=("a",))


def test_plugins_come_in_through_entry_points_and_specs_nest(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("metric.outer", f"{__name__}:Outer", "interloq.components")
    shadow = EntryPoint("metric.bleu", f"{__name__}:Outer", "interloq.components")
    monkeypatch.setattr(registry, "entry_points", lambda **_: [entry, shadow])
    registry._targets.cache_clear()
    registry._registered.cache_clear()
    try:
        outer = create("outer(inner=delta_bleu(order=3,tokenizer='char'),names=['b', 'c'])")
        assert outer.names == ("b", "c")
        assert spec(outer) == "outer(inner=delta_bleu(order=3,tokenizer='char'),names=('b', 'c'))"
        assert create(spec(outer)) == outer
        assert spec(create("outer(inner=bleu(order=2))")) == "outer"
        assert type(create("bleu")) is Bleu, "a plugin must not replace a built-in"
    finally:
        monkeypatch.undo()
        registry._targets.cache_clear()
        registry._registered.cache_clear()
