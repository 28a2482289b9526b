"""Specs: what is written parses back, what is wrong is named with the nearest right thing."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.metadata import EntryPoint

import pytest

from interloq import SpecError, create, registry, spec
from interloq.catalogue import COMMAND, make_catalogue
from interloq.metrics.overlap.bleu import Bleu
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


def test_immaterial_fields_are_in_the_spec_only() -> None:
    slow = create("llm_judge(model='m',endpoint='http://localhost/v1',timeout=600.0)")
    assert "timeout=600.0" in spec(slow)
    assert registry.title(slow) == "llm_judge(model='m',endpoint='http://localhost/v1')"
    assert "timeout=60.0" in full_spec(slow, places="blank")
    assert create(spec(slow)) == slow


def test_spellings_of_the_same_component_are_equal() -> None:
    assert create(" bleu ( order = 2 , tokenizer = whitespace ) ") == Bleu(order=2, tokenizer=create("whitespace"))


@pytest.mark.parametrize(
    ("text", "message"),
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
        ("bleu(*chrf)", "need names"),
        ("chrf(bleu)", "chrf has 1 component without a field's name, and takes none"),
        ("ruber(bleu,length,chrf)", "ruber has 3 components without a field's name, and takes referenced and unref"),
        ("ruber(bleu,referenced=chrf)", "'referenced' is given twice in ruber(…)"),
        ("bleu(order=2", "cannot read spec"),
        ("bleu(order=2)(order=3)", "cannot read spec"),
        ("bleu(order=1+1)", "neither a literal nor a spec"),
        ("bleu(order=open(x=1))", "unknown component 'open'"),
        ("bleu(order=().__class__)", "neither a literal nor a spec"),
        ("__import__(name='os')", "unknown component '__import__'"),
        ("", "cannot read spec"),
        ("sentencepiece", "sentencepiece needs model: write sentencepiece(model=…)"),
        ("relevance", "relevance needs model (a trained scorer, or 'ready' with interloq[ready]; make one"),
        ("vbleu(k=3)", "make one: interloq index build PAIRS --retriever bm25 -o FOLDER): write vbleu(index=…)"),
        ("bleu(order=2,order=3)", "'order' is given twice"),
        ("bleu(order=" + "-" * 15_000 + "1)", "nested too deeply"),
        ("bleu(order=" + "(" * 9_000 + "1" + ")" * 9_000 + ")", "cannot read spec"),
        ("bleu(k=" + "ruber(referenced=" * 500 + "bleu" + ")" * 500 + ")", "cannot read spec"),
        ("bleu(order=x" + ".real" * 3_000 + ")", "nested too deeply"),
        ("bleu" + " " * 30_000, "the spec has 30,004 characters; at most 20,000 are allowed"),
        ("bleu(order=" + "9" * 9_000 + ")", "cannot read spec"),
        ("bleu(order='\0')", "cannot read spec"),
        ("bleu(order=2\0)", "cannot read spec"),
    ],
)
def test_bad_specs_say_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        create(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("BLEU", "bleu"),
        ("ROUGE-L(beta=1)", "rouge_l(beta=1)"),
        ("deltaBLEU", "delta_bleu"),
        ("bleu(tokenizer=‘char’)", "bleu(tokenizer='char')"),
        ("bleu(tokenizer=“char”)", "bleu(tokenizer='char')"),
        ("ruber(referenced=chrF,unreferenced=Length)", "ruber(referenced=chrf,unreferenced=length)"),
        ("ruber(chrf,length,blend='min')", "ruber(referenced=chrf,unreferenced=length,blend='min')"),
        ("ruber(chrf,unreferenced=length)", "ruber(referenced=chrf,unreferenced=length)"),
    ],
)
def test_what_is_clearly_meant_is_read(text: str, meant: str) -> None:
    assert spec(create(text)) == meant


def test_a_curly_quote_inside_a_text_stays() -> None:
    assert create("endpoint(url='http://localhost',model='m',system_prompt='Don’t “shout”.')").system_prompt == (
        "Don’t “shout”."
    )


def test_a_component_of_another_kind_is_refused_as_it_is() -> None:
    with pytest.raises(SpecError, match="scorer must be a metric"):
        create("by(bm25)")
    assert not hasattr(create("bm25"), "direction")


def test_the_catalogue_is_what_the_classes_say_and_no_two_names_fold_into_one() -> None:
    assert registry.read_catalogue() == make_catalogue(), f"regenerate it: {COMMAND}"
    for name, known in registry.read_catalogue()["metric"].items():
        assert known["needs"] is not None, f"{name} must say what it needs: needs = Needs(…)"
    folded = [registry._fold_name(name) for kind in registry.KINDS for name in registry.names(kind)]
    assert len(folded) == len(set(folded))


@dataclass(frozen=True)
class Outer(Component):
    inner: object = component("metric", "bleu(order=2)")
    names: tuple[str, ...] = field(default=("a",))


def test_plugins_come_in_through_entry_points_and_specs_nest(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("metric.outer", f"{__name__}:Outer", "interloq.components")
    shadow = EntryPoint("metric.bleu", f"{__name__}:Outer", "interloq.components")
    monkeypatch.setattr(registry, "entry_points", lambda **_: [entry, shadow])
    registry._targets.cache_clear()
    registry._find_registered.cache_clear()
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
        registry._find_registered.cache_clear()


def test_a_whole_number_that_no_float_holds_is_refused() -> None:
    with pytest.raises(SpecError, match="low"):
        create(f"human(ratings='r.jsonl',low={10**400})", kind="rater")
