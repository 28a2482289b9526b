"""What people type and the files they have: lists of metrics, labels, other names of fields."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interloq import InputError, Rating, Sample, SpecError, load, write
from interloq.cli.main import main
from interloq.data.jsonl import header
from interloq.data.synonyms import read_columns
from interloq.metrics.chosen import choose
from interloq.metrics.metric_names import direction, find, labels

Captured = pytest.CaptureFixture[str]
TEXTS = ["the cat sat on the mat", "i like green tea a lot", "see you on monday then", "no idea", "we had a good day"]


@pytest.fixture
def rated(folder: Path) -> str:
    samples = [
        Sample(str(i), ["hello"], text, [text[: 9 + 3 * i]], "bot", [Rating(float(5 - i), "a"), Rating(5.0 - i, "b")])
        for i, text in enumerate(TEXTS)
    ]
    write("samples.jsonl", samples, kind="samples")
    return "samples.jsonl"


def test_the_same_metric_twice_is_scored_once(rated: str, capsys: Captured) -> None:
    assert main(["score", rated, "-m", "bleu,chrF", "-m", "bleu(order=4)", "-o", "scores.jsonl"]) == 0
    assert "bleu(order=4) is the same metric as one before it: scored once" in capsys.readouterr().err
    scores = load("scores.jsonl", kind="scores")
    assert len(scores) == len({(score.id, score.metric) for score in scores}) == 2 * len(TEXTS)


@pytest.mark.parametrize(
    ("specs", "said"),
    [
        (["x=bleu", "x=chrf"], "bleu and chrf are both labelled 'x'; give each a label of its own"),
        (["x=bleu,x=chrf"], "both labelled 'x'"),
        (["chrf=bleu"], "'chrf' is the name of another metric than 'bleu'; choose another label"),
        (["bleu,"], "cannot read spec ''"),
    ],
)
def test_labels_that_would_mislead_are_refused(specs: list[str], said: str) -> None:
    with pytest.raises(SpecError) as caught:
        choose(specs)
    assert said in str(caught.value)


def test_a_label_goes_from_score_to_meta_and_report(rated: str, capsys: Captured) -> None:
    main(["score", rated, "-m", "B2=bleu(order=2),B1 = bleu(order=1)", "-o", "one.jsonl", "--bootstrap", "9"])
    table = capsys.readouterr().out
    assert "B2" in table
    assert "bleu(" not in table
    assert header("one.jsonl")["results"][0]["metric"] == "B2=bleu(order=2)"
    main(["score", rated, "-m", "again=bleu(order=2)", "-o", "two.jsonl"])
    capsys.readouterr()
    assert main(["meta", "one.jsonl", "two.jsonl", "--samples", rated, "--bootstrap", "0"]) == 0
    shown = capsys.readouterr().out
    assert all(label in shown for label in ("B2", "B1", "again"))
    assert "bleu(" not in shown
    assert main(["report", "one.jsonl", "two.jsonl", "--samples", rated, "-o", "report.html", "--bootstrap", "0"]) == 0
    assert "again" in Path("report.html").read_text()


def test_what_a_labelled_name_says() -> None:
    metrics = ["ppl=perplexity(model='a')", "x=bleu", "x=chrf", "length"]
    assert labels(metrics) == {metrics[0]: "ppl", "x=bleu": "x=bleu", "x=chrf": "x=chrf", "length": "length"}
    assert [find(asked, metrics) for asked in ("ppl", "perplexity(model='a')", "bleu", "x", "none")] == [
        metrics[0], metrics[0], "x=bleu", "x", "none",
    ]  # fmt: skip
    assert direction(metrics[0]) == "lower", "a label hides no direction"


def test_the_list_says_what_each_metric_needs(capsys: Captured) -> None:
    assert main(["score", "--list"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line}
    assert lines["bleu"].split() == ["bleu", "references"]
    assert "a trained scorer; interloq[encoder]" in lines["relevance"]
    assert lines["length"].split() == ["length", "nothing"]
    assert main(["score", "--list", "--json"]) == 0
    listed = {fact["name"]: fact["needs"] for fact in json.loads(capsys.readouterr().out)["metrics"]}
    assert "interloq train relevance" in listed["relevance"]["fields"]["model"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["score", "FILE", "-m", "length"],
        ["explain", "7", "FILE"],
        ["data", "check", "FILE"],
        ["data", "convert", "FILE", "-o", "out.jsonl"],
        ["meta", "--samples", "FILE", "--list-aspects"],
        ["rate", "FILE", "--rater", "human(ratings='people.jsonl')", "-o", "out.jsonl"],
    ],
)
def test_every_verb_that_reads_samples_takes_a_mapping(folder: Path, arguments: list[str], capsys: Captured) -> None:
    record = {"id": "7", "said": "fine", "who": "bot", "references": ["fine"], "ratings": [4]}
    Path("replies.jsonl").write_text(json.dumps(record) + "\n")
    write("people.jsonl", [Rating(4.0, "ann", item="7/0", system="bot")], kind="ratings")
    given = [text.replace("FILE", "replies.jsonl") for text in arguments]
    assert main([*given, "--map", "response=said,system=who"]) == 0
    assert main([*given, "--map", "response=sadi"]) == 2
    said = capsys.readouterr().err
    assert "response is missing" in said or "'sadi'" in said


@pytest.mark.parametrize("text", ["response", "response=", "=reply", "id=a,id=b", "response=a,system=a", ""])
def test_a_mapping_that_cannot_be_read(text: str) -> None:
    with pytest.raises(InputError, match=r"write response=reply,system=model|map each name once"):
        read_columns(text)


@pytest.mark.filterwarnings("default::interloq.errors.ReadWarning")
def test_a_chat_export_goes_to_samples(folder: Path, capsys: Captured) -> None:
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    Path("chat.json").write_text(json.dumps([{"model": "gpt", "messages": messages}], indent=1))
    assert main(["data", "check", "chat.json"]) == 0
    assert "1 dialogue in chat.json" in capsys.readouterr().out
    assert main(["data", "convert", "chat.json", "-o", "dialogues.jsonl"]) == 0
    assert main(["play", "samples", "dialogues.jsonl", "-o", "samples.jsonl"]) == 0
    (sample,) = load("samples.jsonl")
    assert (sample.response, sample.system) == ("hello", "gpt")
