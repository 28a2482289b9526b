from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from interloq import Reference, Sample, load, write
from interloq.cli.main import main
from interloq.data.records.jsonl import header
from interloq.records import Pair
from tests.cli.made_runs import run_json
from tests.made_chat_server import Server, serving
from tests.reliability.made_predictor import MadePredictor, use

Captured = pytest.CaptureFixture[str]
ANNOTATE = ["reliability", "annotate", "samples.jsonl", "--model", "model", "--log", "pairs.jsonl", "-o", "out.jsonl"]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, folder: Path) -> MadePredictor:
    write("samples.jsonl", [Sample("s", ["do you want tea ?"], "yes", ["tea"])], kind="samples")
    log = {"do you want some tea": "we so", "do you like tea": "milk", "some tea": "cup"}
    write("pairs.jsonl", [Pair(f"p{i}", *pair) for i, pair in enumerate(log.items(), start=1)], kind="pairs")
    return use(monkeypatch)


def answers(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(line + "\n" for line in lines)))


def test_a_conversation(made: MadePredictor, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    answers(monkeypatch, "b", "k", "x", "e", "we sip", "k", "a")
    assert main(ANNOTATE) == 0
    shown = capsys.readouterr()
    assert shown.err.startswith("warning: made up\n")
    assert "candidate: we so" in shown.err
    assert "reliability: 0.100 [0.000, 0.200] without it, 0.050 [-0.050, 0.150] with it" in shown.err
    assert "best of 3 candidates: 'milk', 0.200 [0.100, 0.300]" in shown.err
    assert "unknown answer 'x'; [k]eep, [e]dit" in shown.err
    assert "new text (3 edits left):" in shown.err
    assert shown.out == "out.jsonl: 2 references added, 1 of them edited; 1 of 1 query finished\n"
    (done,) = load("out.jsonl")
    assert [(r.text, r.source) for r in done.references[1:]] == [("milk", "retrieved:p2"), ("we sip", "human")]


def test_quitting_writes_what_there_is_and_the_next_session_resumes(
    made: MadePredictor, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    answers(monkeypatch, "k", "q")
    assert run_json(capsys, *ANNOTATE, code=1)["counts"]["added"] == 1
    answers(monkeypatch, "k")  # then the input ends
    assert main(ANNOTATE) == 1
    assert "2 references added" in capsys.readouterr().out
    answers(monkeypatch, "n")
    assert main(ANNOTATE) == 0
    assert "2 references added, 0 of them edited; 1 of 1 query finished" in capsys.readouterr().out


def test_an_interrupted_session_keeps_its_record(
    made: MadePredictor, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    class Interrupted(io.StringIO):
        def readline(self, *_: object) -> str:  # type: ignore[override]
            line = super().readline()
            if not line:
                raise KeyboardInterrupt
            return line

    monkeypatch.setattr("sys.stdin", Interrupted("k\n"))
    assert main(ANNOTATE) == 130
    assert not Path("out.jsonl").exists()
    answers(monkeypatch, "n")
    assert main(ANNOTATE) == 0
    assert "1 reference added" in capsys.readouterr().out


def test_a_refused_edit_can_be_repeated(made: MadePredictor, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    answers(monkeypatch, "e", "", "e", "sip", "e", "leaf", "q")
    assert main([*ANNOTATE, "--attempts", "1"]) == 1
    shown = capsys.readouterr().err
    assert "the edited text is empty or unchanged" in shown
    assert "no edits are left for this candidate; keep or abandon it" in shown


@pytest.mark.parametrize("which", [2, -1])
def test_pipes_are_refused(made: MadePredictor, capsys: Captured, which: int) -> None:
    command = list(ANNOTATE)
    command[which] = "-"
    assert main(command) == 2
    assert "annotation needs files, not a pipe" in capsys.readouterr().err


def test_an_annotator_of_the_other_group_sees_no_predictions(
    made: MadePredictor, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    groups = []
    for number in ("1", "2"):
        answers(monkeypatch, "b", "k", "q")
        output = f"out-{number}.jsonl"
        assert main([*ANNOTATE[:-1], output, "--annotator", number, "--must-rise"]) == 1
        groups.append(header(output)["annotated"][0]["group"])
        shown = capsys.readouterr().err
        assert ("reliability:" in shown) == ("[b]est" in shown) == (groups[-1] == "assisted")
        texts = [reference.text for reference in load(output)[0].references]
        assert texts == (["tea", "milk"] if groups[-1] == "assisted" else ["tea", "we so"])
    assert sorted(groups) == ["assisted", "unassisted"]


def test_candidates_of_a_bot_are_asked_for_once(
    made: MadePredictor, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    llm = [*ANNOTATE[:5], "--llm", "echo", "--replies", "2", "-o", "out.jsonl"]
    answers(monkeypatch, "k")
    assert main(llm) == 0
    assert load("out.jsonl")[0].references[1] == Reference("do you want tea ?", 1, "retrieved:llm/0")
    assert Path("out.jsonl.record.replies").exists()
    assert main([*llm[:-3], "3", *llm[-2:]]) == 2  # other replies
    assert "replies" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:2 replies were not written")
def test_candidates_of_a_server_cost_no_more_than_allowed(
    made: MadePredictor, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    with serving(Server()) as server:
        bot = f"endpoint(url='{server.url}',model='m',key='',retries=0)"
        llm = [*ANNOTATE[:5], "--llm", bot, "--replies", "4", "-o", "out.jsonl", "--max-calls", "2"]
        answers(monkeypatch, "q")
        assert main(llm) == 1
        sent = [body["messages"] for *_, body in server.seen]
    assert sent[1:] == [[{"role": "user", "content": "do you want tea ?"}]] * 2  # after one to try it out
    kept = json.loads(Path("out.jsonl.record.replies").read_text().splitlines()[1])["replies"]
    assert len(kept) == 2
    assert "2 calls" in capsys.readouterr().err
