"""Cards: each has its probe, of all perturbations, or says why there is none."""

from __future__ import annotations

import re
from pathlib import Path

import probe_cards
import pytest
from probe_cards import DOCS, NO_FIGURES, OLDER, PLAIN, SPECS, WITHOUT, Card, with_note, with_section, with_verdicts

from interloq.registry import names
from interloq.score.perturb import PERTURBATIONS
from interloq.spec_text import read_spec

ROW = re.compile(
    r"\| ([a-z ]+) \| (?:worse|not better|same|better) \| (?:-?[0-9.]+|n/a) \| .* \| [0-9]+ \| [a-z, ]+ \|"
)
RUN = "run: python recipes/probe_cards.py --only plain"


@pytest.mark.parametrize("name", names("metric"))
def test_every_card_has_its_probe_or_says_why_not(name: str) -> None:
    text = Card(name).path.read_text()
    assert text.count("## Probe\n") == 1
    section = text.partition("## Probe\n")[2].partition("\n## ")[0]
    if name in WITHOUT:
        assert section.strip().startswith(NO_FIGURES)
        return
    marker = f"<!-- probe of {Card(name).spec} -->"
    assert marker in section
    table = section.partition(marker)[2].partition("<!--")[0]
    rows = table.partition("|---")[2].splitlines()[1:]
    found = [match[1] if (match := ROW.fullmatch(row)) else row for row in rows if row.startswith("|")]
    noted = " ".join(section.split()).partition(OLDER)[2].partition(".")[0].split(",")
    missing = {name.strip() for name in noted}
    assert found == [p.name for p in PERTURBATIONS if p.name not in missing]
    assert all(f"`{model}`: {probe_cards.MODELS[model]}" in " ".join(section.split()) for model in Card(name).models)


def test_every_metric_with_a_model_has_a_spec_or_a_reason() -> None:
    assert {*SPECS, *WITHOUT, *PLAIN} == set(names("metric"))
    assert not SPECS.keys() & {*WITHOUT, *PLAIN}
    assert all(read_spec(spec).name == name for name, spec in SPECS.items())


@pytest.mark.parametrize("name", PLAIN)
def test_probes_of_metrics_without_a_model_are_up_to_date(name: str) -> None:
    text = Card(name).path.read_text()
    assert text == Card(name).rewritten(text), RUN


def test_the_table_of_verdicts_is_up_to_date() -> None:
    text = (DOCS / "probe.md").read_text()
    assert "<!-- probe of all -->" in text
    assert text == with_verdicts(text), RUN


def test_cards_without_their_model_stay_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    before = Card("fed").path.read_bytes()
    assert probe_cards.main([str(tmp_path), "--only", "fed"]) == 1
    assert capsys.readouterr().out == "fed: left as it is, no smollm2 here\n"
    assert Card("fed").path.read_bytes() == before


def test_a_new_section_comes_before_the_cost() -> None:
    page = "# A\n\n## When to trust it\n\nx\n\n## Cost\n\nlittle\n"
    made = with_section(page, "## Probe\n\nnew\n")
    assert made == "# A\n\n## When to trust it\n\nx\n\n## Probe\n\nnew\n\n## Cost\n\nlittle\n"
    assert with_section(made, "## Probe\n\nnewer\n") == made.replace("new", "newer")


def test_a_table_of_an_earlier_version_says_what_it_lacks() -> None:
    rows = [f"| {p.name} | worse | 0 | 0 | 0 | 1 | notices |\n" for p in PERTURBATIONS]
    page = "# A\n\n## Probe\n\nfigures:\n\n<!-- probe of a -->\n\n{}\n## Cost\n\nlittle\n"
    complete, older = page.format("".join(rows)), page.format("".join(rows[:-2]))
    names = ", ".join(p.name for p in PERTURBATIONS[-2:])
    assert with_note(complete) == complete
    assert f"\n\n{OLDER} {names}.\n\n## Cost\n" in with_note(older)
    assert with_note(with_note(older)) == with_note(older)
    assert with_note(with_note(older).replace(rows[-3], "".join(rows[-3:]))) == complete
    assert with_note("# A\n\n## Probe\n\nNo figures\n") == "# A\n\n## Probe\n\nNo figures\n"
