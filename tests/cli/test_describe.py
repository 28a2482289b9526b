"""`interloq describe`: components explain themselves."""

from __future__ import annotations

import json

import pytest

from interloq.cli.main import main
from interloq.describe import describe_all
from interloq.registry import names


def test_a_metric_tells_its_paper_formula_needs_and_fields(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", "bertscore"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("bertscore (metric): BERTScore (Zhang et al., 2020)")
    assert "P = Σ_a s_a · max_b cos(a, b)" in out
    lines = [line.split(maxsplit=1) for line in out.splitlines() if line]
    told = {line[0]: line[1] for line in lines if len(line) > 1}
    assert told["better:"] == "higher"
    assert told["needs:"] == "references; model: an encoder; interloq[ready or encoder]"
    assert told["spec:"] == "bertscore(model=…)"
    assert told["part"].split()[:5] == ["'p',", "'r'", "or", "'f'", "'f'"]
    assert "required" in told["model"]


def test_json_is_the_same_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", "BLEU(order=2)", "--json"]) == 0, "a spec, and another spelling, will do"
    found = json.loads(capsys.readouterr().out)
    assert (found["kind"], found["name"], found["settings"][0]["default"]) == ("metric", "bleu", "4")
    assert main(["describe", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == len(describe_all())


def test_alone_it_lists_everything_by_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if not line.startswith(" ")][:-1] == [
        "bots:", "metrics:", "raters:", "retrievers:", "tokenizers:"
    ]  # fmt: skip
    assert {line.split()[0] for line in lines if line.startswith("  ")} >= {*names("metric"), *names("bot")}


def test_an_unknown_name_is_refused_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", "bertscor"]) == 2
    assert capsys.readouterr().err == "interloq: unknown component 'bertscor'; did you mean 'bertscore'?\n"
