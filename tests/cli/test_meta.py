from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from scipy import stats

from interloq import Dialogue, Rating, Sample, Score, Turn, write
from interloq.cli.main import main
from interloq.data.embedded import embedded_path
from tests.cli.made_runs import run_json
from tests.made_continuity import informed, part
from tests.made_pages import page_commands, run_code, run_commands
from tests.made_users import judged, scores

VALUES = {"1": (5, 4), "2": (4, 4), "3": (3, 2), "4": (2, 3), "5": (1, 2), "6": (2, 1)}
SCORES = {"1": 0.9, "2": 0.5, "3": 0.6, "4": 0.3, "5": 0.1, "6": 0.2}
OTHER = {"1": 0.1, "2": 0.9, "3": 0.2, "4": 0.8, "5": 0.3, "6": None}

RATED_DIALOGUES = [
    Dialogue(f"d{i}", [Turn("hi", "u"), Turn("well " * length, "s")], {"s": "bot"}, [Rating(float(i), "ann")])
    for i, length in enumerate((3, 1, 4, 2))
]
LABELS = ["meta", "scores.jsonl", "--samples", "test.jsonl", "--aspect", "continued", "--labels", "--bootstrap", "20"]


@pytest.fixture
def files(folder: Path) -> Path:
    """Six rated replies of three systems, and two files of scores."""
    samples = [
        Sample(
            id,
            f"c{int(id) % 2}",
            "reply",
            system=f"s{int(id) % 3}",
            ratings=[Rating(float(first), "ann"), Rating(float(second), "bob"), Rating(None, "ann", "humour")],
        )
        for id, (first, second) in VALUES.items()
    ]
    write(folder / "samples.jsonl", samples, kind="samples")
    write(folder / "one.jsonl", [Score(id, "bleu(order=2)", v) for id, v in SCORES.items()], kind="scores")
    two = [Score(id, "other", v, "" if v is not None else "no references") for id, v in OTHER.items()]
    write(folder / "two.jsonl", two, kind="scores")
    return folder


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["meta", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_table_for_people(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(
        capsys, "one.jsonl", "two.jsonl", "--samples", "samples.jsonl", "--bootstrap", "50", "--higher-is-better"
    )
    assert (code, err) == (0, "")
    lines = out.splitlines()
    samples, systems = out.split("the same over systems")
    rows = {line.split()[0]: line.split()[-2:] for line in samples.splitlines() if line.startswith((" bleu", " other"))}
    assert rows == {"bleu(order=2)": ["6", "0"], "other": ["5", "1"]}  # samples, unscored
    of_systems = [line.split() for line in systems.splitlines() if line.startswith((" bleu", " other")) and "[" in line]
    assert [(row[0], row[-1]) for row in of_systems] == [("bleu(order=2)", "3"), ("other", "3")]
    for text in (
        *("people: half vs. half", "people: one vs. one", "people: one vs. the others", "1 pair"),
        "bleu(order=2) > other",
        "6 samples, 6 rated, 0 unrated; 12 judgments, 0 not applicable; 2 annotators",
        "Krippendorff's α",
    ):
        assert text in out
    assert lines[-1].startswith("signature: ")
    assert lines[-1].endswith(" (in full with --json)")


def test_json_holds_the_whole_table(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--samples", "samples.jsonl", "--bootstrap", "20", "--permutations", "19", "--higher-is-better"]
    code, out, _ = run(capsys, "one.jsonl", "two.jsonl", *options, "--json")
    table = json.loads(out)
    assert code == 0
    assert [row["metric"] for row in table["rows"]] == ["bleu(order=2)", "other"]
    found = table["rows"][0]["with_mean"]["pearson"]
    expected = stats.pearsonr(list(SCORES.values()), [sum(v) / 2 for v in VALUES.values()])
    assert (found["value"], found["p"]) == pytest.approx((expected.statistic, expected.pvalue))
    assert len(found["ci"]) == 2
    assert (table["rows"][1]["unscored"], len(table["comparisons"])) == (1, 3)
    assert table["counted"]["annotators"] == 2
    assert table["human"]["pairwise"]["pearson"]["annotators"] == 1
    human = table["human"]
    r = human["split_half"]["pearson"]["value"]
    assert human["ceiling"]["pearson"]["value"] == pytest.approx((2 * r / (1 + r)) ** 0.5)
    assert "kendall" not in human["ceiling"]


def test_undefined_is_null_in_json_and_na_in_the_table(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(files / "flat.jsonl", [Score(id, "flat", 1.0) for id in VALUES], kind="scores")
    _, out, _ = run(capsys, "flat.jsonl", "--samples", "samples.jsonl", "--json")
    assert json.loads(out)["rows"][0]["with_mean"]["pearson"]["value"] is None
    _, out, _ = run(capsys, "flat.jsonl", "--samples", "samples.jsonl")
    row, of_systems = [line for line in out.splitlines() if line.strip().startswith("flat ")]
    assert row.split() == ["flat", "n/a", "n/a", "n/a", "6", "0"]
    assert of_systems.split() == ["flat", "n/a", "n/a", "n/a", "3"]
    assert "note: flat: constant scores" in out


def test_by_system_and_no_comparisons(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--samples", "samples.jsonl", "--by", "system", "--no-compare", "--bootstrap", "0"]
    code, out, _ = run(capsys, "one.jsonl", "two.jsonl", *options)
    assert code == 0
    assert "over systems" in out
    assert "bleu(order=2) > other" not in out
    assert "note: resamples draw contexts" in out
    assert "people: ceiling (√reliability)" in out


def test_aspects_are_listed(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--samples", "samples.jsonl", "--list-aspects")
    assert code == 0
    assert [line.split() for line in out.splitlines() if "humour" in line or "overall" in line] == [
        ["humour", "6", "0", "6"],
        ["overall", "6", "12", "0"],
    ]
    _, out, _ = run(capsys, "--samples", "samples.jsonl", "--list-aspects", "--json")
    assert json.loads(out)["aspects"]["humour"] == {"samples": 6, "judgments": 0, "not_applicable": 6}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["one.jsonl", "--samples", "samples.jsonl", "--aspect", "fluency"], "rated aspects: humour, overall"),
        (["--samples", "samples.jsonl"], "no score file given"),
        (["samples.jsonl", "--samples", "samples.jsonl"], "the file contains samples, expected scores"),
        (["one.jsonl"], "--dialogues FILE"),
    ],
)
def test_errors_are_one_line_and_exit_2(
    files: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    code, out, err = run(capsys, *arguments)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert said in err


def test_the_page_in_docs_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "samples.jsonl").write_bytes(embedded_path("en").read_bytes())
    write(folder / "dialogues.jsonl", RATED_DIALOGUES, kind="dialogues")
    commands = page_commands("meta-evaluation.md")
    assert len(commands) == 7
    run_commands(commands, capsys)
    lines = run_code("meta-evaluation.md", capsys)
    assert [line.split()[0] for line in lines] == ["bleu(order=2)", "delta_bleu"]


def test_the_module_is_light_until_it_runs() -> None:
    check = "import sys, interloq.cli.meta; sys.exit('scipy' in sys.modules or 'rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_the_split_between_and_within_users_is_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    samples, means, _ = judged()
    write(folder / "samples.jsonl", samples, kind="samples")
    write(folder / "scores.jsonl", scores(samples, {"learned": means}), kind="scores")
    options = ["--aspect", "impression", "--role", "interlocutor", "--bootstrap", "50"]
    assert main(["meta", "scores.jsonl", "--samples", "samples.jsonl", *options]) == 0
    out = capsys.readouterr().out
    assert re.search(r"learned +Pearson +0\.\d+ \[.*\] +1\.000 \[1\.000, 1\.000\] +n/a", out)
    assert "note: learned orders users, not replies" in out


def test_metrics_are_sorted_by_agreement_unless_by_name(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def order(*arguments: str) -> list[str]:
        common = ("one.jsonl", "three.jsonl", "--samples", "samples.jsonl", "--bootstrap", "0", "--no-compare")
        lines = run(capsys, *common, *arguments)[1].splitlines()
        return [line.split()[0] for line in lines if line.strip().startswith(("a_metric", "bleu"))][:2]

    write(files / "three.jsonl", [Score(id, "a_metric", -v) for id, v in SCORES.items()], kind="scores")
    assert order() == ["bleu(order=2)", "a_metric"]
    assert order("--sort", "name") == ["a_metric", "bleu(order=2)"]


def test_several_aspects_make_several_tables(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = ("one.jsonl", "--samples", "samples.jsonl", "--bootstrap", "0", "--no-compare", "--json")
    one = json.loads(run(capsys, *common, "--aspect", "overall")[1])
    assert one["aspect"] == "overall"
    assert json.loads(run(capsys, *common, "--aspect", "all")[1]) == one
    code, _, err = run(capsys, *common, "--aspect", "overall", "--aspect", "humour")
    assert (code, "no usable ratings of 'humour'" in err) == (2, True)


def test_ratings_are_normalised(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["one.jsonl", "--samples", "samples.jsonl", "--bootstrap", "0", "--json", "--normalise", "rank"]
    table = json.loads(run(capsys, *options)[1])
    assert "ranks within each rater" in " ".join(table["notes"])
    assert table["signature"]["parts"]["normalise"] == "rank"


# ---- preferences -----------------------------------------------------------------------------------------------------


def test_meta_with_preferences(preferred: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["meta", "scores.jsonl", "--preferences", "preferences.jsonl"]) == 0
    assert "0.750" in capsys.readouterr().out
    assert run_json(capsys, "meta", "scores.jsonl", "--preferences", "preferences.jsonl")[0]["share"] == 0.75


@pytest.mark.usefixtures("preferred")
def test_meta_refuses_options_that_have_no_effect_on_preferences(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["meta", "scores.jsonl", "--preferences", "preferences.jsonl", "--aspect", "fluent"]) == 2
    assert "--aspect has no effect beside --preferences" in capsys.readouterr().err


# ---- labels ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def labelled(folder: Path) -> None:
    """Labelled samples in three parts, and scores of a model."""
    for seed, name in enumerate(("train", "dev", "test")):
        write(folder / f"{name}.jsonl", part(name, 40, seed=seed), kind="samples")
    scores = [*informed(part("dev", 40, seed=1)), *informed(part("test", 40, seed=2))]
    write(folder / "scores.jsonl", scores, kind="scores")


def test_one_table_shows_the_model_and_the_baselines(labelled: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*LABELS, "--train", "train.jsonl", "--dev", "dev.jsonl", "--groups", "2"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"dcp +reply-ratio \(0\.\d+\) +0\.\d+ \[0\.\d+, 0\.\d+\]", out)
    assert re.search(r"turn_index +half \(0\.500\)", out)
    assert "accuracy by training samples per user" in out
    assert "macro-F1 by training samples per user" in out
    assert re.search(r"\d+–\d+: \d users, \d+ samples", out)
    assert "note: always predicting the more frequent label is right for" in out


def test_options_that_do_not_fit_labels_are_refused(labelled: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*LABELS, "--by", "user"]) == 2
    assert "--by cannot be combined with --labels" in capsys.readouterr().err
    assert main(["meta", "scores.jsonl", "--samples", "test.jsonl", "--dev", "dev.jsonl"]) == 2
    assert "--train and --dev are only used with --labels" in capsys.readouterr().err
