"""The report in a real browser, with the network cut."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
import pytest

from interloq import Rating, Reference, Sample
from interloq.compare.compare import compare
from interloq.compare.gate.gate import Gate, gate
from interloq.data.records.jsonl import to_json
from interloq.learn.calibrate import calibration
from interloq.report.build import build
from interloq.report.render import render
from tests.conftest import rated_samples
from tests.made_versions import drawn, version
from tests.report.made_report import many_samples
from tests.report.parsed_html import report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

AA = 4.5  # WCAG 2.2, contrast of normal text, level AA

# contrast of an element's text with what is painted behind it, by the WCAG formula
CONTRAST = """element => {
  const channels = (colour) => {
    const canvas = globalThis.pixel ??= new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = (rgb) => rgb.slice(0, 3).map((v) => v / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  let behind = element;
  while (behind && channels(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
  const style = getComputedStyle(element);
  const ink = element instanceof SVGTextElement ? style.fill : style.color;
  const [a, b] = [light(channels(ink)), light(channels(getComputedStyle(behind).backgroundColor))];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}"""


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with everything in it: illustrative ratings, an unscored sample, a negative weight, a long text."""
    folder = tmp_path_factory.mktemp("report")
    long = ["how was it , and what did you think of all the rest ?"]
    bare = Sample("7", long, "fine " * 200, (), "<b>third</b>", [Rating(3, "rater-0", role="illustrative")])
    bad = Sample("8", long, "今日は", [Reference("it was", -0.5)], "bad", [Rating(5, "rater-1")])
    (folder / "gate.json").write_bytes(orjson.dumps(to_json(_gate().facts())))
    options = ["--title", "In the <browser>", "--model", str(_model(folder / "rater"))]
    options += ["--comparison", str(folder / "gate.json")]
    report(folder, [*rated_samples(), bare, bad], *options, metrics=["bleu(order=2)", "length", "bleu_star"])
    return folder / "report.html"


def _gate() -> Gate:
    old, new = (
        version("<i>june</i>", drawn(), ratings=[3.0] * 9),
        version("july", drawn(-0.2, seed=2), ratings=[4.0] * 9),
    )
    return gate(compare(old, new), 0.05)


def _model(folder: Path) -> Path:
    """What training leaves, as far as a report shows it."""
    folder.mkdir()
    epochs = [
        {"epoch": i, "train_loss": 1 / i, "dev_loss": 0.5 + 0.1 * (i - 3) ** 2, "seconds": 9} for i in range(1, 6)
    ]
    (folder / "learning_curve.json").write_text(json.dumps({"signature": "gru(<b>)", "epochs": epochs}))
    (folder / "calibration.json").write_text(json.dumps(calibration([-2.0, -1.0, 1.0, 2.0], [0, 1, 0, 1])))
    return folder


class Opened:
    """A page with all it asked for and all it complained about."""

    def __init__(self, page: Page, path: Path) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(path.as_uri())


def _open(browser: Browser, path: Path, *, scheme: str = "light", width: int = 1280, script: bool = True) -> Opened:
    context = browser.new_context(
        offline=True,
        color_scheme="dark" if scheme == "dark" else "light",
        viewport={"width": width, "height": 900},
        java_script_enabled=script,
    )
    return Opened(context.new_page(), path)


@pytest.fixture
def opened(browser: Browser, html: Path) -> Iterator[Opened]:
    opened = _open(browser, html)
    yield opened
    assert opened.complaints == []
    assert opened.requests == [html.as_uri()]
    opened.page.context.close()


def test_it_opens_without_network_and_without_complaint(opened: Opened) -> None:
    opened.page.wait_for_load_state("networkidle")
    assert opened.page.title() == "In the <browser>"
    assert opened.page.locator("h1").inner_text() == "In the <browser>"
    names = "overview comparison scores agreement scatter samples side-by-side matrix reading models source"
    for name in names.split():
        assert opened.page.locator(f"#{name}").is_visible()


def test_the_toggle_turns_the_page_dark_and_back_and_remembers_nothing(opened: Opened) -> None:
    page = opened.page
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    page.get_by_role("button", name="Switch to dark colours").click()
    dark = page.evaluate(colour)
    assert sum(map(int, re.findall(r"\d+", dark)[:3])) < 200 < 600 < sum(map(int, re.findall(r"\d+", light)[:3]))
    page.reload()
    opened.requests.pop()
    assert page.evaluate(colour) == light
    page.get_by_role("button", name="Switch to dark colours").press("Enter")
    page.get_by_role("button", name="Switch to light colours").click()
    assert page.evaluate(colour) == light
    assert page.evaluate("document.cookie") == ""


def test_the_toggle_starts_from_the_systems_scheme(browser: Browser, html: Path) -> None:
    opened = _open(browser, html, scheme="dark")
    opened.page.get_by_role("button", name="Switch to light colours").click()
    assert opened.page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"


def test_a_click_sorts_each_metrics_systems_by_value(opened: Opened) -> None:
    groups = opened.page.locator("table.scores tbody.rows")
    button = opened.page.locator("table.scores thead button", has_text="Value")

    def values(group: int) -> list[str]:
        return groups.nth(group).locator("td.value").all_inner_texts()

    before = [values(i) for i in range(3)]
    button.click()
    for i, shown in enumerate(before):
        numbers = sorted((float(value) for value in shown if value != "n/a"), reverse=True)
        missing = ["n/a"] * shown.count("n/a")
        assert values(i) == [f"{number:.{4 if number < 10 else 2}f}" for number in numbers] + missing
    assert button.locator("xpath=..").get_attribute("aria-sort") == "descending"
    button.press("Enter")
    assert [float(v) for v in values(1)] == sorted(float(v) for v in before[1])
    assert button.locator("xpath=..").get_attribute("aria-sort") == "ascending"
    opened.page.locator("table.scores thead button", has_text="System").click()
    assert [values(i) for i in range(3)] == before


def test_one_plot_at_a_time_can_be_chosen(opened: Opened) -> None:
    plots = opened.page.locator("figure.plot")
    assert [plots.nth(i).is_visible() for i in range(3)] == [True, False, False]
    opened.page.get_by_label("Metric shown").select_option("bleu_star")
    assert [plots.nth(i).is_visible() for i in range(3)] == [False, False, True]
    opened.page.emulate_media(media="print")
    assert all(plots.nth(i).is_visible() for i in range(3))


def test_points_tell_their_sample_by_mouse_and_by_key(opened: Opened) -> None:
    page = opened.page
    tip = page.locator("#tip")
    assert tip.is_hidden()
    page.get_by_label("Metric shown").select_option("length")
    plot = page.locator("#plot2 svg")
    longest = plot.locator("use").evaluate_all(
        "marks => marks.sort((a, b) => a.y.baseVal.value - b.y.baseVal.value)[0].setAttribute('id', 'longest')"
    )
    assert longest is None
    page.locator("#longest").hover()
    assert tip.locator("div").all_inner_texts()[:2] == ["7 · <b>third</b>", "judged 3.00, length 200.00"]
    page.mouse.move(0, 0)
    assert tip.is_hidden()
    plot.focus()
    page.keyboard.press("ArrowRight")
    first = tip.locator("div").first.inner_text()
    assert first.startswith("5 · bad")  # judged lowest
    page.keyboard.press("ArrowRight")
    second = tip.locator("div").first.inner_text()
    assert second != first
    page.keyboard.press("Enter")  # finds it in the table
    assert page.locator("#sample-table tbody td:nth-child(-n + 2) > div").all_inner_texts() == second.split(" · ")
    plot.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Escape")
    assert tip.is_hidden()


def test_a_signature_can_be_copied(opened: Opened) -> None:
    page = opened.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("table.scores .foot summary").first.click()
    signature = page.locator("table.scores .signature").first
    signature.get_by_role("button").click()
    signature.get_by_role("button", name=re.compile("Copied|Selected")).wait_for()
    assert page.evaluate("getSelection().toString()") == signature.locator("code").inner_text()
    if signature.get_by_role("button").inner_text() == "Copied":
        assert page.evaluate("navigator.clipboard.readText()") == signature.locator("code").inner_text()


def test_ten_thousand_samples_fit_in_a_page(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(render(build(many_samples(10_000, 8))), encoding="utf-8")
    assert path.stat().st_size < 2_000_000
    opened = _open(browser, path)
    page = opened.page
    assert page.locator("#found").inner_text() == "10,000 found, 25 shown"
    page.get_by_label("Text", exact=True).fill("DIALOGUE-0012")
    assert page.locator("#found").inner_text() == "10 found, 10 shown"
    page.get_by_label("System", exact=True).select_option("system-3")
    assert _ids(page) == ["dialogue-00123#3", "dialogue-00128#3"]
    assert page.locator("#plot1 .points use:not(.out)").count() < 375
    page.get_by_label("Text", exact=True).fill("")
    page.locator("#sample-table thead button", has_text="order=8").click()
    highest = page.locator("#sample-table tbody tr:first-child td:last-child")
    assert highest.inner_text() == "1"
    page.get_by_role("button", name="Show more").click()
    assert page.locator("#found").inner_text() == "2,000 found, 50 shown"
    assert page.locator("#sample-table tbody tr").count() == 50
    page.get_by_label("Metric shown").select_option("bleu(order=8)")
    assert page.locator("#plot8 .points use").count() == 375
    assert "375 of 10,000 samples are drawn" in page.locator("#plot8 figcaption").inner_text()
    assert opened.complaints == []
    page.context.close()


def _ids(page: Page) -> list[str]:
    return page.locator("#sample-table tbody td:first-child > div").all_inner_texts()


def test_a_system_chosen_in_the_plot_is_chosen_in_the_table_and_back(opened: Opened) -> None:
    page = opened.page
    points = page.locator("#plot1 .points use:not(.out)")
    everything = points.count()
    good = page.locator(".legend").get_by_role("button", name="good")
    good.press("Enter")
    assert good.get_attribute("aria-pressed") == "true"
    assert _ids(page) == ["1", "2", "3"]
    assert points.count() == 3 < everything
    assert page.locator("#linked").inner_text() == f"3 of {everything} points match the filters."
    page.get_by_label("System", exact=True).select_option("bad")
    assert good.get_attribute("aria-pressed") == "false"
    page.get_by_label("Text", exact=True).fill("music")
    assert _ids(page) == ["6"]
    page.locator("#plot1 svg").focus()
    for _ in range(2):  # the arrow keys go round among the points that match
        page.keyboard.press("ArrowRight")
        assert page.locator("#tip .id").inner_text() == "6 · bad"
    page.locator(".linked").get_by_role("button", name="Clear filters").click()
    assert points.count() == everything
    assert page.locator("#linked").inner_text() == ""
    assert page.get_by_role("button", name="Clear filters").count() == 0


def test_a_sample_leads_to_its_point_and_to_the_other_replies_to_its_context(opened: Opened) -> None:
    page = opened.page
    page.get_by_role("button", name="Show 2 of good in the plot").press("Enter")
    assert page.locator("#tip .id").inner_text() == "2 · good"
    assert page.locator("#tip").is_visible()
    page.get_by_role("button", name="Show the replies to the context of 7").press("Enter")
    assert _ids(page) == ["7", "8"]
    page.get_by_role("button", name="Replies to one context").click()
    assert len(_ids(page)) == 8
    card = page.locator("#side-by-side article")
    assert card.locator("tbody th").all_inner_texts() == ["<b>third</b>", "bad"]


def test_samples_are_filtered_by_a_field(opened: Opened) -> None:
    opened.page.get_by_label("Prompt length", exact=True).select_option("long")
    assert _ids(opened.page) == ["7", "8"]


def test_everything_reads_without_script(browser: Browser, html: Path) -> None:
    page = _open(browser, html, script=False).page
    plots = page.locator("figure.plot")
    assert [plots.nth(i).is_visible() for i in range(plots.count())] == [True] * 3
    assert page.locator("button:visible, select:visible").count() == 0
    assert page.locator("table.scores td.value").first.is_visible()
    page.locator("table.scores .foot summary").first.click()
    assert page.locator("table.scores .signature code").first.is_visible()


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_no_width_needs_sideways_scrolling(browser: Browser, html: Path, width: int) -> None:
    page = _open(browser, html, width=width).page
    page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_all_text_has_enough_contrast(browser: Browser, html: Path, scheme: str, width: int) -> None:
    page = _open(browser, html, scheme=scheme, width=width).page
    page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
    texts = page.locator("body *:not(script):not(style)").filter(visible=True)
    weak = texts.evaluate_all(
        f"""elements => elements
          .filter(element => [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim()))
          .map(element => [({CONTRAST})(element), element.tagName, element.className.baseVal ?? element.className])
          .filter(([contrast]) => contrast < {AA})"""
    )
    assert weak == []
    assert texts.count() > 300


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_marks_stand_out_from_the_page(browser: Browser, html: Path, scheme: str) -> None:
    page = _open(browser, html, scheme=scheme).page
    contrasts = page.evaluate(
        f"""() => [...Array(8).keys()].map(i => {{
          const probe = document.createElement('span');
          probe.className = `c${{i}}`;
          document.body.append(probe);
          return ({CONTRAST})(probe);
        }})"""
    )
    assert min(contrasts) >= 3  # WCAG 2.2, graphics
    assert len(contrasts) == 8


def test_paper_shows_what_was_folded(opened: Opened) -> None:
    page = opened.page
    assert page.locator("table.scores .signature code").first.is_hidden()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("table.scores .signature code").first.is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("table.scores .signature code").first.is_hidden()
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("table.scores thead th").first.inner_text() == "System"
