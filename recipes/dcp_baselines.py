"""Metrics without references as baselines of `dcp.py`: NSP, BERT-RUBER, Deep AM, FM and AM-FM, and FED (engaging).

Scores of dev and test samples are kept in OUT/baselines; a language model takes minutes per log without a GPU. What
cannot be run is a row without figures that says why. BERT-RUBER is trained on the log's training pairs. With `--adapt
EPOCHS`, the encoder and the language model are first pretrained further on these pairs, as in the paper (BERT-RUBER and
Deep AM read the encoder; Deep FM, Deep AM-FM and FED the language model); by default they are used as they are.

`farewell words` is ours: it predicts no answer if the reply or the turn before it says goodbye. It was added when the
models' figures on BYU chit-chat were known; its words were chosen without reading the log and not changed afterwards.
"""

from __future__ import annotations

import argparse
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from interlocutor_arms import DATA, MODELS, Floats, samples_of
from safetensors.numpy import load_file, save_file

from interloq import Sample
from interloq.data.files.durable import atomic_folder, atomic_path
from interloq.data.files.opening import write_json
from interloq.data.follow_ups import read_follow_ups
from interloq.learn.adapt.job import AdaptJob
from interloq.learn.adapt.settings import ADAPT, Adaptation
from interloq.learn.job import train
from interloq.learn.store import FACTS as STORED
from interloq.metrics.combined.am_fm import SHARE, normalise
from interloq.retrieve.training_log import TrainingLog
from interloq.score.evaluate import evaluate_all
from interloq.scorers.bert_ruber.job import from_log
from interloq.scorers.bert_ruber.settings import TRAINING, BertRuberEncoder, BertRuberSettings
from interloq.terminal.console import print_stderr

BASELINES, FAREWELL = "baselines", "farewell words"
_FAREWELL = re.compile(
    r"\b(bye|goodbye|good night|ttyl|later|see you|nice (talking|chatting|meeting)|have a (good|great|nice)"
    r"|gotta go|got to go|have to go)\b",
    re.IGNORECASE,
)
NSP, RELEVANCE, RUBER = "BERT-NSP", "relevance network, as NSP", "BERT-RUBER"
OBJECTIVES: Mapping[str, Literal["mlm", "lm"]] = {"encoder": "mlm", "lm": "lm"}  # of these fields of `Networks`
AM, FM, AM_FM, FED = "Deep-AM", "Deep-FM", "Deep-AM-FM", "FED"


@dataclass(frozen=True, slots=True)
class Networks:
    """Networks behind the baselines, as folders or packages; empty if there is none."""

    encoder: str
    nsp: str = ""
    relevance: str = ""
    lm: str = ""
    follow_ups: str = "en"
    adapt: int = 0  # epochs of pretraining on the log
    device: str = "auto"

    def specs(self, ruber: Path, fed: Path) -> dict[str, str]:
        """Title → metric; empty if a network is missing."""
        return {
            NSP: self.nsp and f"nsp(model={self.nsp!r})",
            RELEVANCE: self.relevance and f"relevance(model={self.relevance!r})",
            RUBER: f"bert_ruber(model={str(ruber)!r})",
            AM: f"deep_am(model={self.encoder!r})",
            FM: self.lm and f"deep_fm(model={self.lm!r})",
            FED: self.lm
            and f"fed(model={self.lm!r},dimension='engaging',follow_ups={str(fed)!r},layout='lines',longest=128)",
        }

    def missing(self) -> dict[str, str]:
        """Title → why a baseline cannot be run."""
        model = "no language model of this language is given (--lm)"
        found = {FM: model, AM_FM: model, FED: model} if not self.lm else {}
        if not self.nsp:
            found[NSP] = "no BERT with a next-sentence head is given (--nsp)"
        return found if self.relevance else {**found, RELEVANCE: "no relevance scorer is given (--relevance)"}


def add_networks(parser: argparse.ArgumentParser) -> None:
    """Add the options that name networks."""
    parser.add_argument("--nsp", default="", metavar="FOLDER", help="a BERT with its next-sentence head")
    parser.add_argument("--relevance", default="ready", metavar="FOLDER", help="a relevance scorer (ready)")
    parser.add_argument("--lm", default="", metavar="FOLDER", help="a causal language model, for FM and FED")
    parser.add_argument(
        "--adapt", type=int, default=0, metavar="EPOCHS", help="first pretrain both on the log, as in the paper (0: no)"
    )


def scores(
    name: str, out: Path, networks: Networks, parts: Sequence[str] = ("dev", "test")
) -> dict[str, dict[str, Floats]]:
    """Title → part → scores, for every baseline that can be run."""
    samples = {part: samples_of(out / DATA / name, part) for part in parts}
    variant = name
    if networks.adapt:
        networks, variant = adapted(name, out, networks), f"{name}-adapted-{networks.adapt}"
    fed = _follow_ups(out / BASELINES / f"follow_ups-{networks.follow_ups}.json", networks.follow_ups)
    found = {}
    ruber = out / MODELS / f"bert-ruber-{variant}"
    for title, spec in networks.specs(ruber, fed).items():
        if spec:
            path = out / BASELINES / f"{variant}-{title.replace(' ', '_')}.npz"
            if not path.exists():
                if title == RUBER:
                    _train_ruber(_pairs(name, out), ruber, networks.encoder)
                _write(path, spec, samples)
            with np.load(path, allow_pickle=False) as stored:
                found[title] = {part: stored[part] for part in parts}
    if networks.lm:
        found[AM_FM] = _am_fm(found[AM], found[FM])
    return found


def without_farewell(samples: Sequence[Sample]) -> Floats:
    """0 for replies that say goodbye or answer a goodbye, 1 for others."""
    ends = ([turn.text for turn in sample.context[-1:]] + [sample.response] for sample in samples)
    return np.array([float(not any(map(_FAREWELL.search, texts))) for texts in ends])


def plain_encoder(scorer: str, out: Path) -> str:
    """An encoder in the Hugging Face layout; the encoder of a relevance scorer is written to OUT/models first."""
    given, target = Path(scorer), out / MODELS / "encoder"
    if not (given / STORED).is_file():
        return scorer
    if not target.exists():
        with atomic_folder(target) as folder:
            for path in (given / name for name in ("config.json", "tokenizer.json", "tokenizer_config.json")):
                shutil.copyfile(path, folder / path.name)
            own = load_file(given / "model.safetensors")
            kept = {name.removeprefix("encoder."): own[name] for name in own if name.startswith("encoder.")}
            save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    return str(target)


def _follow_ups(path: Path, language: str) -> Path:
    """A file with the follow-ups of engagement alone, so that no others are scored."""
    own = read_follow_ups(language).dimension("engaging")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, {"turn": {"engaging": {"positive": list(own.positive), "negative": list(own.negative)}}})
    return path


def _pairs(name: str, out: Path) -> TrainingLog:
    return TrainingLog([str(out / DATA / name / "pairs.jsonl.zst")])


def _train_ruber(pairs: TrainingLog, folder: Path, encoder: str) -> None:
    train(from_log(pairs, BertRuberEncoder(encoder), BertRuberSettings(), TRAINING), folder)


def adapted(name: str, out: Path, networks: Networks) -> Networks:
    """The networks with encoder and language model pretrained further on the log; kept in OUT/models."""
    training = replace(ADAPT, epochs=networks.adapt)
    folders = {}
    for field, objective in OBJECTIVES.items():
        folders[field] = base = getattr(networks, field)
        if base:
            folder = out / MODELS / f"{field}-{name}-adapted-{networks.adapt}"
            log = _pairs(name, out)
            job = AdaptJob.of(base, log.pairs, Adaptation(objective), training, log.fingerprint)
            train(job, folder, device=networks.device, report=lambda line: print_stderr(f"{folder.name}: {line}"))  # noqa: B023
            folders[field] = str(folder)
    return replace(networks, **folders)


def _write(path: Path, spec: str, samples: Mapping[str, Sequence[Sample]]) -> None:
    every = [sample for part in samples.values() for sample in part]
    result = evaluate_all([spec], every, n_bootstrap=0)[0][""]
    arrays: dict[str, Any] = {part: np.array([result.by_sample[s.key] for s in its]) for part, its in samples.items()}
    with atomic_path(path) as part, part.open("wb") as file:
        np.savez(file, **arrays)
    print_stderr(f"{path.stem}: {len(every):,} samples")


def _am_fm(am: Mapping[str, Floats], fm: Mapping[str, Floats]) -> dict[str, Floats]:
    """The mean of both, each normalised by the quantile of its dev and test scores."""
    cuts = [np.nanquantile(np.concatenate(list(each.values())), SHARE) for each in (am, fm)]
    return {part: (normalise(am[part], cuts[0]) + normalise(fm[part], cuts[1])) / 2 for part in am}
