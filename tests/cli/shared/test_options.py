"""Arguments made from the fields of options, and read back."""

from __future__ import annotations

import argparse

import pytest

from interloq.cli.shared.options import add_options, given_options, make_options
from interloq.terminal.console import print_stderr
from tests.test_options import MADE, Made


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
    assert given_options(MADE, parser.parse_args(["-n", "4"])) == Made(samples="dir/s.jsonl", n=4)
