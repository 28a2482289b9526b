"""The one Unicode form: texts that look the same are the same to every metric."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq import Sample, Turn, evaluate
from interloq.records import Pair, Reference
from interloq.retrieve.leaks import is_own
from interloq.unicode_form import normalise

TEXT = "Où êtes-vous allé à Zürich l’été dernier, 東京が好きです 한국어"
LOOK_THE_SAME = {
    "decomposed": (TEXT, unicodedata.normalize("NFD", TEXT)),
    "no-break space": ("we met at 10 o'clock today", "we\u00a0met at\u202f10\u2007o'clock today"),
    "zero-width space": ("we met at ten today", "we met\u200b at ten to\u2060day\ufeff"),
    "soft hyphen": ("we met at the cooperative today", "we met at the co\u00adop\u00aderative today"),
}
METRICS = [
    "bleu", "bleu(tokenizer='whitespace')", "bleu(tokenizer='intl')", "bleu(tokenizer='char')",
    "bleu(tokenizer='space')", "chrf", "rouge_l", "nist(order=2)", "delta_bleu",
]  # fmt: skip


@pytest.mark.parametrize(("plain", "other"), LOOK_THE_SAME.values(), ids=LOOK_THE_SAME)
@pytest.mark.parametrize("metric", METRICS)
def test_texts_that_look_the_same_score_the_same(metric: str, plain: str, other: str) -> None:
    same, form, turned = (
        evaluate(metric, [Sample("1", ["q"], reply, [reference])], n_bootstrap=0)
        for reply, reference in ((plain, plain), (plain, other), (other, plain))
    )
    assert form.value == turned.value == same.value
    assert form.signature == same.signature


@pytest.mark.parametrize(("plain", "other"), LOOK_THE_SAME.values(), ids=LOOK_THE_SAME)
def test_records_have_one_form(plain: str, other: str) -> None:
    assert Turn(other) == Turn(plain)
    assert Reference(other) == Reference(plain)
    assert Pair("1", other, other) == Pair("1", plain, plain)
    sample = Sample("1", [other], other, [other])
    assert sample == Sample("1", [plain], plain, [plain])
    assert is_own(sample, sample.references[0])


def test_the_form_is_in_the_signature_of_texts_that_have_more_than_one() -> None:
    parts = [
        evaluate("bleu", [Sample("1", [], reply, ["ok"])], n_bootstrap=0).signature.parts.get("unicode")
        for reply in ("naive", "naïve")
    ]
    assert parts == [None, "nfc"]


@pytest.mark.parametrize(
    "text", ["👩\u200d👩\u200d👧", "می\u200cخواهم", "क्\u200dष", "x²", "ﬁne", "ｆｕｌｌ", "\u3000", "a\u200eb"]
)
def test_what_people_see_is_kept(text: str) -> None:
    assert normalise(text) == unicodedata.normalize("NFC", text) == text


@given(st.text())
def test_the_form_is_stable_and_never_changes_ascii(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    assert unicodedata.is_normalized("NFC", once)
    if text.isascii():
        assert once is text
