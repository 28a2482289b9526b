"""Arguments made from fields of options and read back, --map, and outputs that are also inputs."""

from __future__ import annotations

import argparse
import importlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from interloq import Rating, Sample, write
from interloq.cli.main import VERBS, main
from interloq.cli.shared.arguments import InputPath, OutputFile, OutputPath, add_options, apply_arguments, make_options
from interloq.terminal.console import print_stderr
from tests.test_options import MADE, Made

# ---- options ---------------------------------------------------------------------------------------------------------


def parse(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_options(parser, Made)
    return parser.parse_args(["--samples", "dir/s.jsonl", *words])


@pytest.mark.parametrize(
    ("words", "values"),
    [
        ("", {}),
        ("-n 3 --rate .5 --kind a --loud", {"n": 3, "rate": 0.5, "kind": "a", "loud": True}),
        ("--files x --files y", {"files": ("x", "y")}),
        ("--slice-by x --no-compare", {"slice_by": ("x",), "compare": False}),
        ("--no-slices --lower-is-better", {"slice_by": (), "lower_is_better": True}),
        ("--higher-is-better --trust", {"lower_is_better": False, "trust": print_stderr}),
    ],
)
def test_arguments_become_options(words: str, values: dict[str, object]) -> None:
    expected = {name: getattr(MADE, name) for name in Made.__slots__} | values
    assert make_options(Made, parse(*words.split())) == Made(**expected)


@pytest.mark.parametrize("words", ["--lower-is-better --higher-is-better", "--kind c", "-n x"])
def test_mistakes_are_refused(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(*words.split())
    assert "not allowed" in (message := capsys.readouterr().err) or "invalid" in message


def test_options_can_be_chosen_and_left_without_a_default() -> None:
    parser = argparse.ArgumentParser()
    add_options(parser, MADE, only=("n", "loud"), with_defaults=False)
    assert vars(parser.parse_args([])) == {"n": None, "loud": None}
    assert apply_arguments(MADE, parser.parse_args(["-n", "4"])) == Made(samples="dir/s.jsonl", n=4)


# ---- --map -----------------------------------------------------------------------------------------------------------


Captured = pytest.CaptureFixture[str]


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


# ---- paths -----------------------------------------------------------------------------------------------------------


COMMANDS = {
    "score": "score in.jsonl -m bleu -o {out}",
    "score, another spelling": "score ./x/../in.jsonl -m bleu -o {out}",
    "extend": "extend in.jsonl --index index -o {out}",
    "rate": "rate in.jsonl --rater human(ratings='r.jsonl') -o {out}",
    "rate, ratings in the spec": "rate other.jsonl --rater human(ratings='in.jsonl') -o {out}",
    "rate, in curly quotes": "rate other.jsonl --rater human(ratings=‘in.jsonl’) -o {out}",
    "report, scores": "report in.jsonl --samples other.jsonl -o {out}",
    "report, samples": "report other.jsonl --samples in.jsonl -o {out}",
    "report, dialogues": "report other.jsonl --samples other.jsonl --dialogues in.jsonl -o {out}",
    "play samples": "play samples in.jsonl -o {out}",
    "play run, openings": "play run --target a=eliza --partner b=echo --openings in.jsonl -o {out}",
    "play run, partners": "play run --target a=eliza --partners in.jsonl -o {out}",
    "play run, a transcript": "play run --target a=replay(dialogues='in.jsonl') --partner b=echo -o {out}",
    "play partners": "play partners --bots in.jsonl -o {out}",
    "data convert": "data convert in.jsonl -o {out}",
    "data import": "data import usr in.jsonl -o {out}",
    "data import, a log": "data import in.jsonl -o {out}",
    "data export": "data export in.jsonl -o {out}",
    "data export, samples": "data export other.jsonl --samples in.jsonl -o {out}",
    "corpus build": "corpus build in.jsonl -o {out}",
    "corpus pairs": "corpus pairs in.jsonl -o {out}",
    "index build": "index build in.jsonl --retriever bm25 -o {out}",
    "train tokenizer": "train tokenizer in.jsonl -o {out}",
    "train vectors": "train vectors in.jsonl -o {out}",
    "train vectors, text": "train vectors in.jsonl -o vectors --text {out}",
    "train rater": "train rater in.jsonl -o {out}",
    "train rater, test samples": "train rater other.jsonl --without in.jsonl -o {out}",
    "train ruber": "train ruber in.jsonl -o {out}",
    "train relevance": "train relevance in.jsonl -o {out}",
    "train judge": "train judge in.jsonl --scorer m -o {out}",
    "train adapt": "train adapt in.jsonl --model m -o {out}",
    "train baseline": "train baseline in.jsonl --model m -o {out}",
}


@pytest.fixture
def inputs(folder: Path, samples: list[Sample]) -> bytes:
    for name in ("in.jsonl", "other.jsonl"):
        write(name, samples, kind="samples")
    (folder / "x").mkdir()
    (folder / "hard.jsonl").hardlink_to("in.jsonl")
    (folder / "soft.jsonl").symlink_to("in.jsonl")
    return Path("in.jsonl").read_bytes()


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("out", ["in.jsonl", "hard.jsonl", "soft.jsonl", "x/../in.jsonl"])
def test_an_output_that_is_an_input_is_refused(command: str, out: str, inputs: bytes, capsys: Captured) -> None:
    assert main(command.format(out=out).split(" ")) == 2
    assert capsys.readouterr().err == f"interloq: the output {out!r} is also an input; choose another output\n"
    assert Path("in.jsonl").read_bytes() == inputs
    assert not list(Path().glob("*.part")), "nothing was begun"


def test_two_outputs_must_differ(inputs: bytes, capsys: Captured) -> None:
    command = "play run --target a=eliza --target c=echo --partner b=echo --until-settled length --scores o.jsonl"
    assert main([*command.split(), "-o", "o.jsonl"]) == 2
    assert "two outputs are the same file 'o.jsonl'" in capsys.readouterr().err


def test_nor_may_it_be_where_bad_lines_go_or_what_is_written_on_the_way(inputs: bytes, capsys: Captured) -> None:
    Path("in.jsonl").rename("out.jsonl.rejected.jsonl")
    assert main(["data", "convert", "out.jsonl.rejected.jsonl", "-o", "out.jsonl"]) == 2
    assert "would be replaced by the bad lines" in capsys.readouterr().err
    Path("out.jsonl.rejected.jsonl").rename("out.jsonl.part")
    assert main(["rate", "out.jsonl.part", "--rater", "human(ratings='other.jsonl')", "-o", "out.jsonl"]) == 2
    assert Path("out.jsonl.part").read_bytes() == inputs


def test_an_existing_output_that_is_no_input_may_be_replaced(inputs: bytes, capsys: Captured) -> None:
    assert main(["score", "in.jsonl", "-m", "bleu", "-o", "other.jsonl"]) == 0
    assert main(["data", "convert", "in.jsonl", "-o", "-"]) == 0


def test_a_name_that_happens_to_be_the_outputs_is_no_input(inputs: bytes, capsys: Captured) -> None:
    """`train rater -o rater` must go on in the folder `rater`."""
    Path("vectors").mkdir()
    assert main(["train", "vectors", "no-such-file", "-o", "vectors"]) == 2
    assert "also an input" not in capsys.readouterr().err


def test_every_path_of_every_verb_is_known() -> None:
    """The refusal goes by the types of arguments: what names a file or folder has one."""
    paths = [action for verb in VERBS for action in _actions(verb) if _names_a_path(action)]
    assert len(paths) > 60
    assert [action.option_strings for action in paths if action.type not in (InputPath, OutputPath, OutputFile)] == []
    writes = [action for action in paths if "-o" in action.option_strings or "write" in (action.help or "").split()[:2]]
    assert len(writes) > 20
    assert [action.option_strings for action in writes if action.type not in (OutputPath, OutputFile)] == []
    files = [action for action in writes if action.metavar == "FILE"]
    assert [action.option_strings for action in files if action.type is not OutputFile] == []


def _names_a_path(action: argparse.Action) -> bool:
    words = {"FILE", "FOLDER", "SAMPLES", "SCORES", "DIALOGUES", "PAIRS", "POSTS", "PATH", "INDEX", "MODEL"}
    return "-o" in action.option_strings or action.metavar in words or "folder" in (action.help or "").split()


def _actions(verb: str) -> Iterator[argparse.Action]:
    parser = argparse.ArgumentParser()
    importlib.import_module(f"interloq.cli.{verb}").add_arguments(parser)
    return _below(parser)


def _below(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from _below(inner)


@pytest.mark.parametrize("out", [".", "x", "x/..", "/"])
def test_a_folder_is_refused_as_an_output_file(out: str, inputs: bytes, capsys: Captured) -> None:
    for command in ("data convert in.jsonl", "score in.jsonl -m bleu", "play samples in.jsonl"):
        assert main([*command.split(), "-o", out]) == 2
        assert f"the output {out!r} is a folder; name a file" in capsys.readouterr().err
