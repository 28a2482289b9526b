"""Every verb on a machine where optional packages are missing: it works, or one line names the extra."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from interloq.cli.doctor import _extras
from interloq.cli.main import VERBS, main

ROOT = Path(__file__).parents[2]
EXTRAS = {extra.name: [package.name for package in extra.packages] for extra in _extras() if extra.name != "all"}
COMMANDS = {  # the extra that each needs; '' for none
    "score samples.jsonl": "",
    "score samples.jsonl -m relevance(model='ready')": "ready",
    "score samples.jsonl -m meteor": "meteor",
    "score samples.jsonl -m bleu(tokenizer='ja-mecab')": "ja",
    "score samples.jsonl -m llm_judge(model='m',endpoint='http://127.0.0.1:9/v1')": "endpoint",
    "score samples.jsonl -m ruber_unreferenced(model='no')": "rater",
    "index build pairs.jsonl --retriever bm25 -o new": "retrieve",
    "index build pairs.jsonl --retriever dense(encoder='no') -o dense": "encoder",
    "index build pairs.jsonl --retriever bm25 -o qdrant://127.0.0.1:9/x": "qdrant",
    "index build pairs.jsonl --retriever bm25 -o postgresql://127.0.0.1:9/x#y": "postgres",
    "extend samples.jsonl --index index -o extended.jsonl": "retrieve",
    "rate samples.jsonl --rater gru(model='no') -o rated.jsonl": "rater",
    "choose samples.jsonl": "",
    "corpus build pairs.jsonl -o corpus": "corpus",
    "reliability predict samples.jsonl --model no": "encoder",
    "train rater pairs.jsonl -o rater": "rater",
    "train relevance pairs.jsonl --encoder no -o relevance": "encoder",
    "train vectors pairs.jsonl -o vectors": "vectors",
    "train tokenizer pairs.jsonl -o tokenizer": "sentencepiece",
    "play run --target a=hf(model='no') --partner e=eliza -o a.jsonl": "encoder",
    "play run --target a=endpoint(url='http://127.0.0.1:9/v1',model='m') --partner e=eliza -o b.jsonl": "endpoint",
    "play run --target a=retrieval(index='index') --partner e=eliza --limit 1 -o c.jsonl": "retrieve",
    "serve add study.db samples.jsonl --task rate": "web",
    "doctor": "",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project") / "project"
    assert main(["new", str(folder)]) == 0
    (folder / "pairs.jsonl").write_text("".join((folder / "pairs.jsonl").read_text().splitlines(keepends=True)[:300]))
    build = ["index", "build", str(folder / "pairs.jsonl"), "--retriever", "bm25", "-o", str(folder / "index")]
    assert main([*build, "--quiet"]) == 0
    return folder


def outcomes(extra: str, commands: list[list[str]], folder: Path) -> list[tuple[int, str]]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.without_extras", extra],
        input=json.dumps(commands), capture_output=True, text=True, check=True, cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": "", "HOME": str(folder), "INTERLOQ_CACHE": "off"},
    )  # fmt: skip
    return [(code, text) for code, text in json.loads(done.stdout)]


def test_the_extra_is_named_or_not_needed(project: Path) -> None:
    found = outcomes("all", [command.split(" ") for command in COMMANDS], project)
    for (command, extra), (code, errors) in zip(COMMANDS.items(), found, strict=True):
        assert "this is a bug" not in errors, (command, errors)
        if not extra:
            assert code == 0, (command, errors)
            continue
        assert code == 2, (command, errors)
        last = errors.splitlines()[-1]
        assert f"pip install 'interloq[{extra}]'" in last, (command, errors)
        named = re.search("needs the package '(.+?)'", last)
        assert named, (command, errors)
        assert any(package in named[1] or named[1] in package for package in EXTRAS[extra]), (command, errors)


@pytest.mark.parametrize("extra", ["all", "web", "retrieve"])
def test_every_verb_shows_its_options_without_an_extra(project: Path, extra: str) -> None:
    found = outcomes(extra, [[verb, "--help"] for verb in VERBS], project)
    assert {verb: text for verb, (code, text) in zip(VERBS, found, strict=True) if code or text} == {}
