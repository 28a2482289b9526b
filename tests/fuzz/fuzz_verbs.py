"""Every verb in this process, on a tiny project in which one file is not as it was.

A run may end in any of the verb's exit codes, and says why in one line if it could not start. It may not fail in
another way, change its inputs, leave files that are not complete, write outside its folder, start a program, or reach
a network.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import resource
import shlex
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from interloq.cli.main import main
from interloq.data.records.jsonl import Rejected, header, read
from interloq.data.records.parsers import PARSERS
from interloq.errors import InterloqError
from tests.fuzz.fuzz_cases import Case
from tests.fuzz.fuzz_project import inside, make_models, make_project
from tests.fuzz.fuzz_sandbox import confine

BESIDE = re.compile(r"interloq: (bad line: |warning: |[\d,]+ bad lines? of )")  # lines before the message
CODES = {"gate": (0, 2, 3, 4)}
TIMES_A_READER = 10  # how much longer a verb takes
MEMORY = 4 * 2**30  # more address space than the process has when a run begins


@dataclass(frozen=True)
class Verb:
    """A command, and the files and folders of the project that it reads."""

    command: str
    inputs: str
    name: str = ""
    changes: str = ""  # inputs that the verb is there to change
    cost: int = 1  # how many times as long as other verbs it takes
    resumes: bool = False  # leaves what it has done, to take it up again

    @property
    def title(self) -> str:
        """What names it in the summary."""
        return f"verb {self.name or _verb_name(self.command)}"

    def case(self, project: Path) -> Case:
        """Return the verb as a case of fuzzing, with its files."""
        paths = [path for name in self.inputs.split() for path in _files(project / name)]
        files = {path.relative_to(project).as_posix(): path.read_bytes() for path in paths}
        assert files, f"{self.command} has no inputs"
        return Case(self.title, files, self.run, TIMES_A_READER * self.cost, on_disk=True)

    def run(self, folder: Path) -> None:
        """Run the command in a folder, and check what it says and leaves there."""
        before = _contents(folder)
        arguments = shlex.split(self.command)
        if "--json" in arguments and zlib.crc32(b"".join(before.values())) % 2:
            arguments.remove("--json")
        code, out, err = _run_main(arguments, folder)
        after = _contents(folder)
        try:
            self._check_messages(code, out, err)
            self._check_files(before, after)
            if code != 2:
                _check_json(out, "--json" in arguments)
                _check_outputs(folder, [name for name in after if name not in before])
        finally:
            _restore(folder, before, after)
        if code == 2:
            raise InterloqError(err)

    def _check_messages(self, code: int, out: str, err: str) -> None:
        verb = self.command.split()[0]
        assert code in CODES.get(verb, (0, 1, 2)), f"exit code {code}: {err}"
        assert "Traceback" not in err
        assert "bug in Interloq" not in err
        for control in ("\x1b", "\0"):
            assert control not in out, f"{control!r} is printed"
            assert control not in err, f"{control!r} is printed on standard error"
        if code == 2:
            lines = err.splitlines()
            assert lines, "exit code 2 without a message"
            assert all(line.startswith("interloq: ") for line in lines), f"more than one line: {err}"
            messages = [line for line in lines if not BESIDE.match(line)]
            assert len(messages) == 1, f"not one message: {err}"

    def _check_files(self, before: Mapping[str, bytes], after: Mapping[str, bytes]) -> None:
        changed = [name for name in before if before[name] != after.get(name)]
        unexpected = [name for name in changed if not name.startswith(tuple(self.changes.split()) or ("\0",))]
        assert not unexpected, f"inputs changed: {unexpected}"
        parts = [name for name in after if name not in before and (".part" in name or ".tmp" in name)]
        assert self.resumes or not parts, f"left unfinished: {parts}"


def _verb_name(command: str) -> str:
    """Return the verb and its action, if it has one."""
    words = command.split()
    with_actions = ("data", "corpus", "index", "play", "reliability", "serve")
    return " ".join(words[: 2 if words[0] in with_actions else 1])


def _files(path: Path) -> list[Path]:
    return sorted(found for found in path.rglob("*") if found.is_file()) if path.is_dir() else [path]


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in _files(folder)}


def _restore(folder: Path, before: Mapping[str, bytes], after: Mapping[str, bytes]) -> None:
    for name in after.keys() - before.keys():
        (folder / name).unlink(missing_ok=True)
    for name, data in before.items():
        if after.get(name) != data:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
    kept = {parent for name in before for parent in (folder / name).parents}
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and path not in kept:
            path.rmdir()


def _run_main(arguments: list[str], folder: Path) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with (
        tempfile.TemporaryDirectory() as home,
        inside(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        patch.object(sys, "stdin", io.StringIO()),
        patch.dict("os.environ", _environment(home)),
        patch.object(tempfile, "tempdir", home),
        _limited_memory(),
        confine(folder, Path(home)),
    ):
        try:
            code = main(arguments)
        except SystemExit as error:  # of argparse, which is not to see a file's content
            raise AssertionError(f"exits with {error.code}: {err.getvalue()}") from error
    return code, out.getvalue(), err.getvalue()


def _environment(home: str) -> dict[str, str]:
    names = ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
    return {"INTERLOQ_DEBUG": "1", "COLUMNS": "100", **dict.fromkeys(names, home)}


@contextlib.contextmanager
def _limited_memory() -> Iterator[None]:
    """Let an allocation of gigabytes fail as it would on a small machine."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if Path("/proc/self/statm").exists() else 0
    if pages:
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _check_json(out: str, asked: bool) -> None:
    if asked and out.strip():
        json.loads(out, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> Any:
    raise AssertionError(f"{name} is not JSON")


def _check_outputs(folder: Path, names: list[str]) -> None:
    """What a verb has written, it and others can read."""
    for name in names:
        if name.endswith(".json"):
            json.loads((folder / name).read_text("utf-8"), parse_constant=_refuse_constant)
        if name == "out.jsonl":
            kind = header(folder / name).get("kind", "samples")
            for _ in read(folder / name, kind=kind, on_reject=_refuse_rejected) if kind in PARSERS else ():
                pass


def _refuse_rejected(rejected: Rejected) -> None:
    raise AssertionError(f"the output has a bad line: {rejected}")


SAMPLES = "samples.jsonl"
QUICK = "--permutations 20"
VERSIONS = "old.jsonl new.jsonl"
PLAYED = "played_scores.jsonl played_dialogues.jsonl"
SCORED = "played_scores.jsonl --dialogues played_dialogues.jsonl --higher-is-better"
VERBS = (
    Verb("data check samples.jsonl --json", SAMPLES),
    Verb("data check samples.csv -m bleu --json", "samples.csv", "data check (table)"),
    Verb("data check played_dialogues.jsonl --json", "played_dialogues.jsonl", "data check (dialogues)"),
    Verb("data check preferences.jsonl --kind preferences --json", "preferences.jsonl", "data check (preferences)"),
    Verb("data check scores.jsonl --json", "scores.jsonl", "data check (scores)"),
    Verb("data convert samples.csv -o out.jsonl --json", "samples.csv"),
    Verb("data convert samples.tsv -o out.jsonl --map rater=system", "samples.tsv", "data convert (fields)"),
    Verb("data convert talks_a.jsonl -o out.jsonl --json", "talks_a.jsonl", "data convert (dialogues)"),
    Verb("data convert ratings.csv -o out.jsonl --kind ratings", "ratings.csv", "data convert (ratings)"),
    Verb("data merge samples.jsonl ratings.csv -o out.jsonl --json", "samples.jsonl ratings.csv"),
    Verb("data lines a=replies.txt b=others.txt --contexts contexts.txt --references gold.txt -o out.jsonl",
         "replies.txt others.txt contexts.txt gold.txt"),
    Verb("data to-label-studio samples.jsonl -o out.json --json", SAMPLES),
    Verb("data to-label-studio samples.jsonl --compare -o out.json", SAMPLES, "data to-label-studio (pairs)"),
    Verb("data from-label-studio export.json --key tasks.key.json -o out.jsonl --json", "export.json tasks.key.json"),
    Verb("corpus build posts.jsonl -o out --lang en --workers 1 --compress none --min-posts 1 --json", "posts.jsonl",
         cost=4),
    Verb("corpus show corpus --json", "corpus"),
    Verb("corpus forget user1 corpus --yes --json", "corpus", changes="corpus"),
    Verb("corpus forget ann log.jsonl --yes --json", "log.jsonl", "corpus forget (file)", changes="log.jsonl"),
    Verb("corpus pairs log.jsonl -o out.jsonl --json", "log.jsonl"),
    Verb("corpus pairs replies.jsonl -o out.jsonl --draw 3 --without samples.jsonl --until 2100-01-01",
         "replies.jsonl samples.jsonl", "corpus pairs (draw)"),
    Verb("corpus testset replies.jsonl -o out --same text --min-posts 2 --json", "replies.jsonl"),
    Verb("corpus continuity log.jsonl -o out --keep-user-ids --min-conversations 2 --compress none --json",
         "log.jsonl"),
    Verb("corpus ratings log.jsonl -o out --keep-user-ids --min-conversations 2 --compress none", "log.jsonl"),
    Verb("index build pairs.jsonl -o out --retriever bm25 --without samples.jsonl --json", "pairs.jsonl samples.jsonl",
         cost=4),
    Verb("index add index pairs.jsonl --json", "index pairs.jsonl", changes="index", cost=4),
    Verb("index add dense pairs.jsonl", "dense pairs.jsonl", "index add (vectors)", changes="dense", cost=4),
    Verb("index search index 'the food' --json", "index", cost=4),
    Verb("index search dense 'the food'", "dense", "index search (vectors)", cost=4),
    Verb("index info index --json", "index"),
    Verb("extend samples.jsonl --index index -k 2 --exclude exclude.txt -o out.jsonl --json",
         "samples.jsonl index exclude.txt", cost=4),
    Verb("rate extended.jsonl --rater \"human(ratings='reference_ratings.jsonl',low=1,high=5)\" -o out.jsonl --json",
         "extended.jsonl reference_ratings.jsonl", resumes=True),
    Verb("reliability curve samples.jsonl -m bleu_star --sizes 1,2 --draws 2 --bootstrap 5 -o out_curve.jsonl --json",
         SAMPLES),
    Verb("score samples.jsonl -m chrf -m distinct -m delta_bleu -o out.jsonl --bootstrap 5 --json", SAMPLES),
    Verb("score old.jsonl -m @chosen.json --bootstrap 0 --json", "old.jsonl chosen.json", "score (chosen)"),
    Verb("score samples.jsonl -m \"blend(metrics=(chrf,length),weights=(0.5,-0.1))\" --bootstrap 5", SAMPLES,
         "score (blend)"),
    Verb("score samples.tsv -m bleu,chrf --map response=response --bootstrap 0", "samples.tsv", "score (table)"),
    Verb("score played_dialogues.jsonl -m length --bootstrap 5 --json", "played_dialogues.jsonl", "score (dialogues)"),
    Verb("explain c3 old.jsonl -m delta_bleu --json", "old.jsonl"),
    Verb("explain c3 samples.jsonl --system new -m chrf", SAMPLES, "explain (system)"),
    Verb("probe chrf samples.jsonl --system new --bootstrap 5 --json", SAMPLES, cost=2),
    Verb("signature scores.jsonl --json", "scores.jsonl"),
    Verb("signature old_scores.jsonl new_scores.jsonl --json", "old_scores.jsonl new_scores.jsonl",
         "signature (two files)"),
    Verb("cite scores.jsonl --json", "scores.jsonl"),
    Verb("play samples played_dialogues.jsonl -o out.jsonl --json", "played_dialogues.jsonl"),
    Verb("play run --scheme bipartite --target mine=eliza --partners partners.json -o out.jsonl --json --quiet",
         "partners.json openings.txt", resumes=True),
    Verb("play run --scheme self-play --bots bots.json --openings openings.txt --exchanges 2 -o out.jsonl --quiet",
         "bots.json openings.txt", "play run (bots)", resumes=True),
    Verb("play partners --bots bots.json --openings openings.txt --exchanges 2 -o out.json", "bots.json openings.txt"),
    Verb(f"play audit {SCORED} --in-set p --pool q --json", PLAYED),
    Verb(f"rank {SCORED} --human judged.csv --bootstrap 20 {QUICK} --json",
         f"{PLAYED} judged.csv"),
    Verb(f"rank {SCORED} --method bradley-terry --bootstrap 20 {QUICK}", PLAYED,
         "rank (bradley-terry)"),
    Verb(f"rank {SCORED} --survival --bootstrap 20 --json", PLAYED, "rank (survival)"),
    Verb("rank preferences.jsonl --method bradley-terry --bootstrap 20 --json", "preferences.jsonl",
         "rank (preferences)"),
    Verb(f"compare {VERSIONS} -m chrf --slice topic {QUICK} -o out.json --markdown out.md --json", VERSIONS),
    Verb(f"compare samples.jsonl samples.jsonl --old-system old --new-system new -m length {QUICK} --normalise z",
         SAMPLES, "compare (one file)"),
    Verb(f"compare old_scores.jsonl new_scores.jsonl --samples old.jsonl --samples new.jsonl {QUICK} --json",
         f"old_scores.jsonl new_scores.jsonl {VERSIONS}", "compare (scores)"),
    Verb(f"compare talks_a.jsonl talks_b.jsonl -m length --aspect overall {QUICK} --json",
         "talks_a.jsonl talks_b.jsonl", "compare (dialogues)"),
    Verb(f"gate {VERSIONS} -m chrf --margin 0.1 {QUICK} --junit out.xml --markdown out.md -o out.json --json",
         VERSIONS),
    Verb(f"gate new.jsonl --baseline baseline.jsonl --margin 0.1 {QUICK} --json", "new.jsonl baseline.jsonl",
         "gate (baseline)"),
    Verb("gate new.jsonl -m chrf --baseline out.jsonl --bless", "new.jsonl", "gate (bless)"),
    Verb(f"gate {VERSIONS} -m chrf --margin 0.1 --rated samples.jsonl {QUICK} --json", f"{VERSIONS} samples.jsonl",
         "gate (rated)"),
    Verb(f"gate {VERSIONS} -m chrf --margin 0.1 --meta meta.json {QUICK} --json", f"{VERSIONS} meta.json",
         "gate (meta)"),
    Verb(f"gate {VERSIONS} -m chrf --margin 0.1 --slice topic --slices no-regression {QUICK}", VERSIONS,
         "gate (slices)"),
    Verb(f"gate {VERSIONS} -m chrf --by-ratings --margin 0.5 {QUICK} --json", VERSIONS, "gate (ratings)"),
    Verb(f"gate old_scores.jsonl new_scores.jsonl --margin 0.1 --repeat new_scores.jsonl {QUICK} --json",
         "old_scores.jsonl new_scores.jsonl", "gate (scores)"),
    Verb(f"meta scores.jsonl --samples samples.jsonl --bootstrap 10 {QUICK} --json", "scores.jsonl samples.jsonl"),
    Verb(f"meta scores.jsonl --samples samples.jsonl --by system --normalise rank --bootstrap 10 {QUICK}",
         "scores.jsonl samples.jsonl", "meta (systems)"),
    Verb(f"meta played_scores.jsonl --dialogues played_dialogues.jsonl --aspect all --bootstrap 10 {QUICK} --json",
         PLAYED, "meta (dialogues)"),
    Verb("meta scores.jsonl --preferences preferences.jsonl --json", "scores.jsonl preferences.jsonl",
         "meta (preferences)"),
    Verb("meta labels.jsonl --samples test.jsonl --aspect continued --labels --train train.jsonl --bootstrap 5 --json",
         "labels.jsonl test.jsonl train.jsonl", "meta (labels)"),
    Verb(f"choose samples.jsonl -m chrf -m length -o out.json --bootstrap 5 {QUICK} --json", SAMPLES, cost=4),
    Verb("report scores.jsonl --samples samples.jsonl --comparison gate.json --curve curve.jsonl -o out.html "
         "--bootstrap 5 --slice topic", "scores.jsonl samples.jsonl gate.json curve.jsonl", cost=4),
    Verb("report played_scores.jsonl --samples played_samples.jsonl --dialogues played_dialogues.jsonl -o out.html "
         "--bootstrap 5 --survival", f"{PLAYED} played_samples.jsonl", "report (dialogues)", cost=4),
    Verb("serve add study.db samples.jsonl --task compare --name pairs --scores scores.jsonl --json",
         "samples.jsonl scores.jsonl study.db", changes="study.db", cost=4),
    Verb("serve add out.db samples.jsonl --task rate --settings task.json", "samples.jsonl task.json",
         "serve add (settings)", cost=4),
    Verb("serve invite study.db replies -n 1 --json", "study.db", changes="study.db", cost=4),
    Verb("serve export study.db replies -o out.jsonl --json", "study.db", changes="study.db", cost=4),
    Verb("serve backup study.db out.db --json", "study.db", changes="study.db", cost=4),
    Verb("serve backup study.db out.jsonl", "study.db", "serve backup (rows)", changes="study.db", cost=4),
    Verb("serve restore copy.db out.db --json", "copy.db", cost=4),
    Verb("serve restore rows.jsonl out.db", "rows.jsonl", "serve restore (rows)", cost=4),
)  # fmt: skip

MODEL_VERBS = (
    Verb("rate extended.jsonl --rater \"gru(model='gru/rater')\" -o out.jsonl --json", "extended.jsonl gru/rater",
         "rate (gru)", cost=4, resumes=True),
    Verb("score old.jsonl -m \"relevance(model='scorer/relevance')\" --bootstrap 0 --json",
         "old.jsonl scorer/relevance", "score (relevance)", cost=4),
    Verb("score old.jsonl -m \"judge(model='judged/judge')\" --bootstrap 0 --json",
         "old.jsonl judged/judge", "score (judge)", cost=4),
    Verb("score old.jsonl -m \"embedding_average(vectors='vectors')\" --bootstrap 0", "old.jsonl vectors",
         "score (vectors)"),
    Verb("reliability predict samples.jsonl --model sets/reliability -o out.jsonl --json",
         "samples.jsonl sets/reliability", cost=4),
    Verb("report scores.jsonl --samples samples.jsonl --model gru/rater -o out.html --bootstrap 0",
         "scores.jsonl samples.jsonl gru/rater", "report (model)", cost=4),
)  # fmt: skip


def verb_cases(project: Path, only: str) -> list[Case]:
    """Return the verbs whose name holds a text, with their files, which are made in an empty folder."""
    verbs = [verb for verb in (*VERBS, *MODEL_VERBS) if only in verb.title]
    if verbs:
        make_project(project)
    if any(verb in MODEL_VERBS for verb in verbs):
        make_models(project)
    return [verb.case(project) for verb in verbs]
