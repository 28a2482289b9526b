"""Learning curves and reliability diagrams of a report, read back from its HTML."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interloq import InputError, Sample
from interloq.cli.main import main
from interloq.learn.calibrate import calibration
from interloq.report.sections.models import Epoch, best_epoch, read_model
from tests.report.parsed_html import Element, parse, report

LOSSES = [(0.60, 0.62), (0.48, 0.55), (0.37, 0.53), (0.25, 0.56), (0.15, 0.64)]
SIGNATURE = "gru(hidden=8)|seed:0"


def trained(folder: Path, *, calibrated: bool = True, losses: list[Any] = LOSSES) -> Path:
    epochs = [
        {"epoch": i, "train_loss": train, "dev_loss": dev, "seconds": 61.5}
        for i, (train, dev) in enumerate(losses, start=1)
    ]
    folder.mkdir(parents=True)
    (folder / "learning_curve.json").write_text(json.dumps({"signature": SIGNATURE, "epochs": epochs}))
    if calibrated:
        rng = np.random.default_rng(0)
        z = rng.normal(0, 1, 2000)
        facts = calibration(2 * z, rng.random(2000) < 1 / (1 + np.exp(-z)))
        (folder / "calibration.json").write_text(json.dumps(facts))
    return folder


def section(html: str) -> Element:
    return parse(html).one("section", id="models")


def points(group: Element) -> list[tuple[float, float]]:
    pairs = group.one("polyline").attributes["points"].split()
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in pairs)]


def test_the_learning_curve_shows_every_loss_and_the_epoch_that_was_kept(folder: Path, samples: list[Sample]) -> None:
    html = report(folder, samples, "--model", str(trained(folder / "models" / "rater")))
    assert "#models" in [link.attributes["href"] for link in parse(html).one("nav").all("a")]
    figure = section(html).one("figure", cls="learned")
    svg = figure.one("svg", cls="curve")
    ticks = svg.one("g", cls="grid").all("line")
    labels = [text for text in svg.all("g", cls="axis")[0].all("text") if "title" not in text.classes]
    at_y = {float(text.text): float(text.attributes["y"]) for text in labels if text.attributes["text-anchor"] == "end"}
    at_x = {
        float(text.text): float(text.attributes["x"]) for text in labels if text.attributes["text-anchor"] == "middle"
    }
    assert len(ticks) == len(at_x) + len(at_y)

    def place(epoch: int, loss: float) -> tuple[float, float]:
        """Where the axes say a value lies, from their outermost ticks."""
        (x0, x1), (y0, y1) = (min(at_x), max(at_x)), (min(at_y), max(at_y))
        return (
            at_x[x0] + (epoch - x0) / (x1 - x0) * (at_x[x1] - at_x[x0]),
            at_y[y0] + (loss - y0) / (y1 - y0) * (at_y[y1] - at_y[y0]),
        )

    for part, name in ((0, "train"), (1, "dev")):
        drawn = points(svg.one("g", cls=name))
        for (x, y), (epoch, losses) in zip(drawn, enumerate(LOSSES, start=1), strict=True):
            assert (x, y) == pytest.approx(place(epoch, losses[part]), abs=0.06)
        titles = [title.text for title in svg.one("g", cls=name).all("title")]
        assert titles[0] == f"epoch 1, {name} loss {LOSSES[0][part]:.4f}"
    assert float(svg.one("line", cls="best").attributes["x1"]) == pytest.approx(place(3, 0)[0], abs=0.06)
    assert "kept: epoch 3" in svg.text
    said = "5 epochs; the lowest dev loss is 0.5300, after epoch 3: these weights were kept. Time: 5 min 8 s."
    assert said in figure.one("figcaption").text
    assert said in svg.attributes["aria-label"]
    rows = [[cell.text for cell in row.all("td")] for row in figure.one("tbody").all("tr")]
    assert rows[2] == ["3", "0.3700", "0.5300", "61.5", "kept"]
    assert [row[-1] for row in rows] == ["", "", "kept", "", ""]
    assert SIGNATURE in section(html).text


def test_the_reliability_diagram_shows_every_bin(folder: Path, samples: list[Sample]) -> None:
    path = trained(folder / "rater")
    facts = json.loads((path / "calibration.json").read_text())
    figure = section(report(folder, samples, "--model", str(path))).one("figure", cls="reliability")
    bins = [b for b in facts["bins"] if b["count"]]
    circles = figure.one("svg").all("circle")
    assert len(circles) == len(bins)
    for circle, b in zip(circles, bins, strict=True):
        x, y = (float(circle.attributes[name]) for name in ("cx", "cy"))
        # the straight line runs from (0, 0) at (72, 340) to (1, 1) at (398, 14)
        assert ((x - 72) / 326, (340 - y) / 326) == pytest.approx((b["confidence"], b["positive"]), abs=1e-3)
        assert f"predicted {b['confidence']:.3f}, observed {b['positive']:.3f}" in circle.one("title").text
    line = figure.one("line", cls="diagonal").attributes
    assert [line[name] for name in ("x1", "y1", "x2", "y2")] == ["72", "340", "398", "14"]
    radius = {b["count"]: float(c.attributes["r"]) for c, b in zip(circles, bins, strict=True)}
    assert radius[max(radius)] == max(radius.values()) > radius[min(radius)]
    caption = figure.one("figcaption").text
    assert f"Expected calibration error {facts['ece']:.3f} over 2,000 examples" in caption
    assert (
        f"temperature {facts['temperature']:.2f}, which lowers it to {facts['scaled']['ece']:.3f} on these" in caption
    )
    assert len(figure.one("tbody").all("tr")) == len(bins)


def test_several_models_stand_in_the_command_and_among_the_sources(folder: Path, samples: list[Sample]) -> None:
    folders = [trained(folder / name / "out", calibrated=name == "b") for name in ("a", "b")]
    page = parse(report(folder, samples, *(part for path in folders for part in ("--model", str(path)))))
    models = page.one("section", id="models").all("article")
    assert [model.one("h3").text for model in models] == ["a/out", "b/out"]
    assert [len(model.all("figure")) for model in models] == [1, 2]
    footer = page.one("footer", id="source")
    command = next(code.text for code in footer.all("code") if code.text.startswith("interloq report"))
    assert "--model a/out --model b/out" in command
    sources = [row.all("td")[0].text for row in footer.one("table", cls="sources").one("tbody").all("tr")]
    assert sources[2:] == ["a/out/learning_curve.json", "b/out/learning_curve.json", "b/out/calibration.json"]
    assert str(folder) not in (folder / "report.html").read_text(encoding="utf-8")
    before = (folder / "report.html").read_bytes()
    assert main(shlex.split(command)[1:]) == 0
    assert (folder / "report.html").read_bytes() == before
    ids = [element.attributes["id"] for element in page.all() if "id" in element.attributes]
    assert len(ids) == len(set(ids))


def test_one_epoch_and_losses_that_are_missing(folder: Path, samples: list[Sample]) -> None:
    one = trained(folder / "one", losses=[(0.5, 0.6)], calibrated=False)
    odd = trained(folder / "odd", losses=[(None, 0.6), (0.4, None), (0.3, 0.6)], calibrated=False)
    first, second = section(report(folder, samples, "--model", str(one), "--model", str(odd))).all("article")
    assert len(points(first.one("g", cls="dev"))) == 1
    assert "kept: epoch 1" in first.text
    assert [len(points(second.one("g", cls=name))) for name in ("train", "dev")] == [2, 2]
    assert "kept: epoch 1" in second.text  # of two equal ones the first
    assert [cell.text for cell in second.one("tbody").all("tr")[1].all("td")][1:3] == ["0.4000", "n/a"]
    nothing = trained(folder / "nothing", losses=[(0.5, None)], calibrated=False)
    (bare,) = section(report(folder, samples, "--model", str(nothing))).all("article")
    assert not bare.all("line", cls="best")


@pytest.mark.parametrize(("kept", "anchor"), [(1, "start"), (3, "middle"), (5, "end")])
def test_the_words_at_the_kept_epoch_stay_in_the_picture(
    folder: Path, samples: list[Sample], kept: int, anchor: str
) -> None:
    losses = [(0.5, 0.1 if epoch == kept else 0.6) for epoch in range(1, 6)]
    html = report(folder, samples, "--model", str(trained(folder / "rater", losses=losses, calibrated=False)))
    (words,) = [text for text in section(html).all("text") if text.text == f"kept: epoch {kept}"]
    assert words.attributes["text-anchor"] == anchor


def test_the_best_epoch() -> None:
    epochs = [Epoch(2, 0, 0.5, None), Epoch(1, 0, 0.5, None), Epoch(3, 0, float("nan"), None)]
    assert best_epoch(epochs) == epochs[1]
    assert best_epoch(epochs[2:]) is None


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("", "", "no learning_curve.json in the folder"),
        ("learning_curve.json", "{", "learning_curve.json: cannot be read"),
        ("learning_curve.json", '{"epochs": []}', "no epochs"),
        ("learning_curve.json", '{"epochs": [{"train_loss": 1}]}', "KeyError"),
        ("calibration.json", '{"bins": [{"count": 1}], "ece": 0}', "calibration.json: cannot be read"),
        ("calibration.json", "[]", "calibration.json: cannot be read"),
    ],
)
def test_folders_that_cannot_be_shown(folder: Path, name: str, content: str, said: str) -> None:
    path = trained(folder / "rater")
    if name:
        (path / name).write_text(content)
    else:
        (path / "learning_curve.json").unlink()
    with pytest.raises(InputError, match=said):
        read_model(path, "rater")


def test_a_calibration_of_another_tool_needs_no_temperature(folder: Path) -> None:
    path = trained(folder / "rater", calibrated=False)
    bins = [{"low": 0, "high": 0.5, "count": 0, "confidence": None, "positive": None}]
    bins.append({"low": 0.5, "high": 1, "count": 4, "confidence": 0.75, "positive": 0.5})
    (path / "calibration.json").write_text(json.dumps({"bins": bins, "ece": 0.25}))
    found = read_model(path, "rater").calibration
    assert found is not None
    assert (len(found.bins), found.temperature, found.scaled_error) == (1, None, None)


def test_word_vectors_have_one_loss_and_no_best_epoch(folder: Path, samples: list[Sample]) -> None:
    (folder / "glove").mkdir()
    epochs = [{"epoch": i, "loss": 1 / i, "seconds": 2.0, "device": "cpu"} for i in (1, 2, 3)]
    (folder / "glove" / "learning_curve.json").write_text(json.dumps({"signature": "glove", "epochs": epochs}))
    (article,) = section(report(folder, samples, "--model", str(folder / "glove"))).all("article")
    assert len(points(article.one("g", cls="train"))) == 3
    assert points(article.one("g", cls="dev")) == []
    assert "3 epochs. Time: 6 s." in article.text
    assert "kept" not in article.one("figcaption").text
