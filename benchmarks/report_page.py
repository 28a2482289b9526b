"""Size of a report of 10,000 samples by 8 metrics, and how long a browser takes to open and filter it.

Needs Chromium (`apt-get install chromium`). Each time is the median of several runs, from the input to the next drawn
frame, in milliseconds.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path
from statistics import median

import numpy as np
from _figures import Figure, add_json_option, report

from interloq import Sample, Score
from interloq.report.build import Evidence, build
from interloq.report.render import render

RUNS = 5
OPENED = "() => performance.getEntriesByType('navigation')[0].loadEventEnd"
FILTERED = """([id, value]) => new Promise((done) => {
  const input = document.getElementById(id);
  input.value = value;
  const start = performance.now();
  input.dispatchEvent(new Event(id === 'find' ? 'input' : 'change'));
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
})"""
SORTED = """() => new Promise((done) => {
  const start = performance.now();
  document.querySelector('#sample-table thead button').click();
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
})"""


def made_page(samples: int, metrics: int) -> str:
    """A report of five systems that answer the same contexts."""
    rng = np.random.default_rng(0)
    words = [f"word{i}" for i in range(2000)]
    texts = [" ".join(rng.choice(words, 15)) for _ in range(samples)]
    made = [
        Sample(f"dialogue-{i:05}#3", [texts[i // 5 * 5]], texts[i][::-1], system=f"system-{i % 5}", ratings=[1 + i % 5])
        for i in range(samples)
    ]
    values = rng.random((metrics, samples))
    scores = [
        Score(sample.id, f"bleu(order={k + 1})", float(values[k, i]), system=sample.system)
        for k in range(metrics)
        for i, sample in enumerate(made)
    ]
    return render(build(Evidence(made, scores, judgments={s.key: float(s.ratings[0].value or 0) for s in made})))


def main() -> None:
    """Print the table."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        raise SystemExit("Chromium is not installed; install it: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--metrics", type=int, default=8)
    add_json_option(parser)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "report.html"
        path.write_text(made_page(args.samples, args.metrics), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        times: dict[str, list[float]] = {}
        for _ in range(RUNS):
            page = browser.new_page()
            page.goto(path.as_uri())
            times.setdefault("open", []).append(page.evaluate(OPENED))
            inputs = {"filter by text": ("find", "word12"), "filter by system": ("system", "system-3")}
            for name, values in {**inputs, "clear the text": ("find", "")}.items():
                times.setdefault(name, []).append(page.evaluate(FILTERED, values))
            times.setdefault("sort by id", []).append(page.evaluate(SORTED))
            page.close()
        browser.close()
        figures = [Figure(name, median(values), "ms") for name, values in times.items()]
        figures.append(Figure("size of the page", path.stat().st_size / 1e6, "MB"))
    report(f"a report of {args.samples:,} samples and {args.metrics} metrics in Chromium", figures, args.json)


if __name__ == "__main__":
    main()
