"""`interloq cite` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interloq import Sample, write
from interloq.cli.main import main


def test_bibtex_and_json(folder: Path, samples: list[Sample], capsys: pytest.CaptureFixture[str]) -> None:
    write("samples.jsonl", samples, kind="samples")
    for name in ("bleu", "meteor"):
        assert main(["score", "samples.jsonl", "-m", name, "-o", f"{name}.jsonl", "--bootstrap", "0"]) == 0
    capsys.readouterr()
    assert main(["cite", "bleu.jsonl", "meteor.jsonl"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("% bleu: papineni-etal-2002-bleu")
    assert "@inproceedings{banerjee-lavie-2005-meteor," in out
    assert main(["cite", "bleu.jsonl", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"] == {"bleu": ["papineni-etal-2002-bleu", "post-2018-call"]}
    assert main(["cite", "samples.jsonl"]) == 2
    assert "a file of samples, not of scores" in capsys.readouterr().err
