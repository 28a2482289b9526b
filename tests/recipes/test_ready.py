"""From logs in the published layouts to a scorer in a folder of the package, with a tiny encoder."""

from __future__ import annotations

import gzip
import json
import lzma
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ready
import ready_logs

from interloq.learn import ready as ready_module
from interloq.learn.store import read_facts
from interloq.metrics.trained.relevance import Relevance
from interloq.records import Sample
from tests.made_relevance import talks, tiny_encoder
from tests.published_layouts import write_engagement
from tests.recipes.test_relevance import write_rated_sets

LOGS = (
    *("self_dialogue", "byu_chitchat", "personachat", "synthetic_persona_chat", "topical_chat", "casino"),
    "persuasion",
)
OTHERS = (
    *("empathetic", "mutual", "movie_pairs", "spolin", "dream", "commonsense_dialogues", "swda", "meld", "emorynlp"),
    *("dialogre", "samsum", "dialogsum", "esconv", "inspired"),
)
BOT = "we never like"
Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module", autouse=True)
def settings() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ready, "SETTINGS", replace(ready.SETTINGS, batch=32, context=24, reply=12))
        yield


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sets_and_logs(tmp_path_factory.mktemp("data"))


def write_sets_and_logs(folder: Path) -> Path:
    write_engagement(write_rated_sets(folder))
    convo = [{"id": name, "text": f"{BOT} {name} ."} for name in "abab"]
    talk = {"_id": {"$oid": "1"}, "system_type0": "a", "system_type1": "b", "convo": convo}
    with gzip.open(folder / "spot_the_bot_convai2.dialogues.jsonl.gz", "wt") as file:
        file.write(json.dumps(talk) + "\n")
    write_logs(folder)
    posts = [post(t, i, text) for t, turns in enumerate(talks(6, seed=90)) for i, text in enumerate(turns)]
    with gzip.open(folder / "reddit_posts.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(post) + "\n" for post in posts)
    return folder


def post(thread: int, place: int, text: str) -> dict[str, object]:
    answered = f"t1_p{thread}{place - 1}"
    key = {"id": f"p{thread}{place}", "reply_to": answered, "user": f"u{place % 2}"}
    return {**key, "text": text, "time": 60.0 * place}


def write_logs(folder: Path) -> None:
    (folder / "logs").mkdir()
    for seed, name in enumerate((*LOGS, *OTHERS)):
        said = [*talks(8, seed=seed), [f"{BOT} a .", "so they like tea ."]]
        found = [[{"speaker": "AB"[i % 2], "text": text} for i, text in enumerate(turns)] for turns in said]
        lines: list[dict[str, Any]] = [
            {"id": f"{name}{n}", "turns": turns, "negatives": ["no no ."]} for n, turns in enumerate(found)
        ]
        if name == "byu_chitchat":
            lines = [line | {"ratings": {"witty": 5}} for line in lines]
        with lzma.open(folder / "logs" / f"{name}.jsonl.xz", "wt") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)


@pytest.fixture(scope="module")
def place(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder, examples of the permissive logs, and a scorer trained on them."""
    folder = tmp_path_factory.mktemp("ready")
    tiny_encoder(folder / "encoder")
    assert ready.main(stage(data, folder, "examples")) == 0
    assert ready.main([*trained(folder), "-o", str(folder / "trained")]) == 0
    return folder


def stage(data: Path, folder: Path, name: str, *more: str, examples: str = "examples") -> list[str]:
    own = ["--encoder", str(folder / "encoder")] if name == "examples" else []
    where = ["--data", str(data), "--work", str(folder / "work"), "--examples", str(folder / examples)]
    return [name, *more, *where, *own]


def trained(folder: Path, examples: str = "examples", rank: str = "2") -> list[str]:
    settings = ["--low-rank", rank, "--epochs", "1", "--learning-rate", ".003", "--device", "cpu"]
    return ["train", "--examples", str(folder / examples), "--encoder", str(folder / "encoder"), *settings]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, place: Path) -> Path:
    """The tiny encoder in the place of the real one."""
    tiny = replace(ready.VARIANTS["ready"], encoder=str(place / "encoder"))
    monkeypatch.setitem(ready.VARIANTS, "ready", tiny)
    monkeypatch.setattr(ready, "RESAMPLES", 20)
    return place


def test_weights_are_installed_with_their_card(
    small: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = [str(small / "trained"), "--to", str(tmp_path / "ready"), "--against", "length"]
    assert ready.main(stage(data, small, "install", *more)) == 0
    facts = read_facts(tmp_path / "ready", kind="relevance")
    card = (tmp_path / "ready" / "README.md").read_text()
    for part in ("self_dialogue | BSD-3 |", "reddit_posts | Apache-2.0 |", "- seed: 0\n", facts["weights"]):
        assert part in card
    assert "| set | measure | ready | length |" in card
    assert "\n| GRADE ConvAI2 | spearman | " in card
    assert "\n| DailyDialog++ | auc adversarial negative | " in card
    monkeypatch.setitem(ready_module.PACKAGED, "ready", tmp_path / "ready")
    found = Relevance("ready").stats([Sample("1", ["we like tea today ?"], "i like tea .")])
    assert 0 < found[0][0] < 1


def test_no_exchange_shares_a_text_with_a_test_set(place: Path, data: Path) -> None:
    names = {sample.id.split("/")[0] for sample in ready_logs.test_samples(data)}
    rated = {"grade", "usr", "fed", "multiref_dailydialog", "predictive_engagement"}
    assert names == {*rated, "talk", "dailydialog_plusplus"}
    log = ready.exchange_log(data, place / "work")
    turns = {turn.text for sample in ready_logs.test_samples(data) for turn in sample.context}
    assert not turns & {text for exchange in log.exchanges() for text in (*exchange.context, exchange.reply)}
    assert log.log.excluded == len(LOGS)


@pytest.fixture(scope="module")
def everything(place: Path, data: Path) -> Path:
    """A scorer trained on all logs."""
    write_restricted(data)
    assert ready.main(stage(data, place, "examples", "--all-logs", examples="all")) == 0
    assert ready.main([*trained(place, "all"), "-o", str(place / "everything")]) == 0
    return place / "everything"


def write_restricted(data: Path) -> None:
    """The sets that only --all-logs reads."""
    for part in ("train", "validation", "test"):
        (data / "dailydialog" / part).mkdir(parents=True)
        lines = [" __eou__ ".join(turns) + " __eou__\n" for turns in talks(6, seed=70)]
        (data / "dailydialog" / part / f"dialogues_{part}.txt").write_text("".join(lines))
    for seed, name in ((80, "dev"), (81, "data_positives")):
        items = [
            {"context": first, "positive_responses": [second], "adversarial_negative_responses": ["tea tea ."]}
            for *first, second in talks(6, seed=seed)
        ]
        (data / "dailydialog_plusplus" / f"{name}.json").write_text("".join(json.dumps(item) + "\n" for item in items))
    with lzma.open(data / "reddit_pairs.jsonl.xz", "wt") as file:
        pairs = [{"utterance": first, "response": second} for first, second, *_ in talks(9, seed=82)]
        file.writelines(json.dumps(pair) + "\n" for pair in pairs)


def test_all_logs_are_more_and_have_written_wrong_replies(everything: Path, place: Path) -> None:
    few, many = (json.loads((place / name / "examples.json").read_text()) for name in ("examples", "all"))
    assert many["exchanges"] > 2 * few["exchanges"]
    assert np.load(place / "examples" / "wrong.npy").size == 0
    assert np.load(place / "all" / "wrong.npy").size > 0


def test_only_permissive_logs_are_installed(
    small: Path, everything: Path, data: Path, tmp_path: Path, capsys: Captured
) -> None:
    assert ready.main(stage(data, small, "install", str(everything), "--to", str(tmp_path / "ready"))) == 2
    assert "not on the permissive ones" in capsys.readouterr().err
    assert not (tmp_path / "ready").exists()


def test_what_does_not_fit_is_not_installed(
    small: Path, data: Path, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(folder: Path) -> str:
        assert ready.main(stage(data, small, "install", str(folder), "--to", str(tmp_path / "ready"))) == 2
        assert not (tmp_path / "ready").exists()
        return capsys.readouterr().err

    assert ready.main([*trained(small, rank="0"), "-o", str(tmp_path / "whole")]) == 0
    capsys.readouterr()
    assert "the scorer has no low-rank updates; train it with --low-rank" in refused(tmp_path / "whole")
    other = [*trained(tmp_path), "-o", str(tmp_path / "some")]
    change = json.loads((small / "examples" / "examples.json").read_text()) | {"blank": 1}
    shutil.copytree(small / "examples", tmp_path / "examples")
    shutil.copytree(small / "encoder", tmp_path / "encoder")
    (tmp_path / "examples" / "examples.json").write_text(json.dumps(change))
    assert ready.main(other) == 0
    capsys.readouterr()
    assert "was not trained on these examples; name those it was trained on" in refused(tmp_path / "some")
    usual = ready.VARIANTS["ready"]
    monkeypatch.setitem(ready.VARIANTS, "ready", replace(usual, largest=100))
    assert "bytes; lower --low-rank: at most 100 are allowed" in refused(small / "trained")
    other_encoder = str(tiny_encoder(tmp_path / "other", seed=3))
    monkeypatch.setitem(ready.VARIANTS, "ready", replace(usual, encoder=other_encoder))
    assert "belong to an encoder with weights" in refused(small / "trained")
