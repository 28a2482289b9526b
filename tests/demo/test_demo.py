"""The modules of `interloq.demo`: logs, new project, real log."""

from __future__ import annotations

import argparse
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from interloq import InputError, load
from interloq.cli.main import main
from interloq.cli.train import add_job_arguments, choose_job
from interloq.demo.logs import (
    EPOCHS,
    SHAPE,
    VOCABULARIES,
    LogPart,
    delta_bleu,
    log_steps,
    quote_text,
    rater_options,
    report_step,
)
from interloq.demo.new_project import new_project
from interloq.demo.real_log import SPEAKERS, filter_conversations, real_replies
from interloq.rate.settings import TRAINABLE, RaterTokenizer, Shape
from interloq.records import Dialogue, Pair, Turn
from interloq.registry import create

FOLDER = Path("out")


@pytest.mark.parametrize(
    ("part", "verbs"),
    [
        (LogPart(FOLDER, "en", real=True), ["index", "extend", "score", "rate", "score", "score"]),
        (LogPart(FOLDER, "en"), ["index", "train", "extend", "rate", "score", "score"]),
        (LogPart(FOLDER, "ja", vbleu=False), ["score"]),
    ],
)
def test_steps(part: LogPart, verbs: list[str]) -> None:
    commands = {step.verb: step.command for step in log_steps(part)}
    assert [step.verb for step in log_steps(part)] == verbs
    assert part.samples in commands["score"]
    if part.vbleu:
        assert ("--no-parrot" in commands["extend"]) == (not part.real), "the utterance is rated, or left out"
        assert part.rater in commands["rate"]
        assert any(part.rater in word for word in commands["score"])


def test_the_report_shows_the_training_of_a_trained_rater_only() -> None:
    assert "--model" in report_step(LogPart(FOLDER, "en")).command
    real = report_step(LogPart(FOLDER, "en", real=True)).command
    assert "--model" not in real
    assert real[real.index("--aspect") + 1] == "person"


def test_quoted_texts_need_no_escapes_in_the_shell() -> None:
    assert quote_text("it's") == '"it\'s"'
    assert shlex.join([delta_bleu("ja")]) == """'delta_bleu(order=2,tokenizer="char")'"""
    assert create(delta_bleu("zh"), kind="metric").order == 2


@pytest.mark.parametrize("language", ["en", "ja", "zh"])
def test_the_options_shown_are_the_settings_used(language: str) -> None:
    parser = argparse.ArgumentParser()
    add_job_arguments(parser, TRAINABLE)
    args = parser.parse_args(["log", "-o", "rater", *rater_options(language)])
    _, settings = choose_job(args, TRAINABLE)
    by_type = {type(part): part for part in settings}
    assert by_type[Shape] == SHAPE
    assert by_type[RaterTokenizer] == replace(RaterTokenizer(), vocabulary=VOCABULARIES[language])
    assert (args.epochs, args.seed, args.device) == (EPOCHS[language], 0, "cpu")


def commands(text: str) -> list[list[str]]:
    (block,) = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    found = [line.partition(" > ")[0] for line in block.splitlines() if line.startswith("interloq ")]
    return [shlex.split(line)[1:] for line in found]


@pytest.mark.parametrize("language", ["en", "ja", "zh"])
def test_the_commands_of_the_readme_run(
    language: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = new_project("project", language=language)  # type: ignore[arg-type]
    assert sorted(path.name for path in Path("project").iterdir()) == sorted(names)
    monkeypatch.chdir("project")
    found = commands(Path("README.md").read_text())
    assert len(found) == 7
    for words in found:
        short = ["--bootstrap", "20"] if words[0] in ("score", "meta", "report", "probe") else []
        assert main([*words, *short]) == 0, capsys.readouterr().err
    out = capsys.readouterr().out
    assert "does not split" not in out  # the tokenizer fits the language
    assert "count in full" not in out  # no reference has a weight that metrics ignore
    found_metrics = {score.metric.partition("(")[0] for score in load("scores.jsonl", kind="scores")}
    assert {"bleu", "chrf", "length"} <= found_metrics
    assert ("judge" in found_metrics) == (language == "en")


def test_the_makefile_has_the_same_commands_and_nothing_is_left_to_fill_in(folder: Path) -> None:
    new_project("project")
    texts = {path.name: path.read_text() for path in Path("project").iterdir()}
    assert not [name for name, text in texts.items() if re.search(r"@[A-Z_]+@", text)]
    used = set(re.findall(r"\tinterloq (\w+)", texts["Makefile"]))
    assert used == {"data", "score", "meta", "report", "cite"}
    assert "METRICS :=\n" in texts["Makefile"]
    new_project("projekt", language="zh")
    assert """-m "bleu(order=2,tokenizer='zh')" -m chrf -m""" in Path("projekt/Makefile").read_text()


def test_a_folder_with_files_is_not_touched(folder: Path) -> None:
    Path("project").mkdir()
    new_project("project")
    with pytest.raises(InputError, match="project already exists and is not an empty folder"):
        new_project("project")
    Path("file").touch()
    with pytest.raises(InputError, match="already exists"):
        new_project("file")


def test_nothing_is_left_if_it_fails(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interloq.demo.new_project.write", _fail)
    with pytest.raises(InputError, match="full"):
        new_project("project")
    assert list(folder.iterdir()) == []


def _fail(*_: object, **__: object) -> None:
    raise InputError("the disk is full")


CROWD = [  # conversations that make words common: each is used by enough speakers
    Dialogue(f"crowd/{i}", [Turn("I like tea very much, do you?", f"a{i}"), Turn("my phone at 12 and 34", f"b{i}")])
    for i in range(SPEAKERS)
]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("I like tea", ""),
        ("tea", "length"),
        ("I like tea " * 7, "length"),
        ("I like ann@example.org", "characters"),
        ("I like www.example.org/ann", "characters"),
        ("I like example.com very much", "characters"),
        ("I like t** very much", "characters"),
        ("do you like 12 34 12 34", "characters"),
        ("I like Miller very much", "rare word"),
        ("I like my phone", "unwanted word"),
    ],
)
def test_one_reason_per_pair(reply: str, reason: str) -> None:
    talk = Dialogue("set/0123456789", [Turn("Hello there! I like tea very much", "x"), Turn(reply, "y")])
    log = filter_conversations([*CROWD, talk])
    kept = [pair for pair in log.pairs if pair.thread == "01234567"]
    if reason:
        assert kept == []
        assert log.dropped - filter_conversations(CROWD).dropped == {reason: 1}
    else:
        assert kept == [Pair("01234567-1", "I like tea very much", reply, thread="01234567")]


def test_replies_are_of_different_people_to_one_question() -> None:
    question = "What do you like about tea?"
    pairs = [
        Pair("a-1", question, "I like the smell", thread="a"),
        Pair("a-2", question, "I said the smell", thread="a"),
        Pair("b-1", "what do you like about tea??", "It is so warm", thread="b"),
        Pair("c-1", "Hi, how are you doing?", "I am good", thread="c"),
        Pair("d-1", "Hi, how are you doing?", "Not bad at all", thread="d"),
    ]
    replies = {sample.system: sample for sample in real_replies(pairs)}
    assert [sample.references[0].text for sample in replies.values()] == ["I like the smell"] * 3
    assert {system: sample.response for system, sample in replies.items() if system != "random"} == {
        "person": "It is so warm",
        "parrot": question,
    }
    assert {sample.dialogue for sample in replies.values()} == {"a"}, "the conversation of the question"
    assert replies["random"].response in ("I am good", "Not bad at all")
    assert [sample.ratings[0].value for sample in replies.values()] == [1, 0, 0]
    assert list(replies) == ["person", "random", "parrot"]
