"""Training of the scorers `relevance` and `valid`, from exchanges to a folder.

Exchanges are tokenised once, to `<folder>/work` or to a folder of their own; then come the epochs. Run again, it goes
on after the last stage, or the last checkpoint, that was finished.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from interloq.data.durable import write_whole
from interloq.data.files import write_json
from interloq.data.folders import inside, is_free
from interloq.data.progress import Progress, silent
from interloq.errors import InputError
from interloq.learn.fit import fit
from interloq.learn.job import WORK, clear_work
from interloq.learn.learning_curve import best_epoch, write_curve
from interloq.learn.settings import Training
from interloq.learn.store import FACTS, read_facts, save_model
from interloq.models.cross_encoder import CONFIG
from interloq.models.pretrained import model_folder, weights_fingerprint
from interloq.models.processes import Processes
from interloq.models.subwords import Subwords
from interloq.registry import full_spec
from interloq.scorers.relevance.examples import Exchange, Exchanges, Near, described, write_exchanges
from interloq.scorers.relevance.settings import KINDS, TRAINING, Reading, Relevance
from interloq.scorers.relevance.task import RelevanceTask, start
from interloq.signature import fingerprint
from interloq.signature import signature as signed

CALIBRATION = "calibration.json"
Floats = NDArray[np.float64]
Calibrate = Callable[[Floats, NDArray[np.int64]], dict[str, Any]]
Say = Callable[[str], None]


def prepared(
    exchanges: Callable[[], Iterable[Exchange]] | None,
    folder: Path,
    subwords: Subwords,
    reading: Reading,
    *,
    near: Near,
    source: str,
    progress: Progress = silent,
) -> Exchanges:
    """Exchanges as tokens: those in the folder, or made now. Without exchanges whatever is in the folder will do."""
    if Exchanges.written(folder):
        stored = Exchanges.load(folder)
        wanted = described(subwords, reading) | ({"source": source} if exchanges else {})
        for name, value in wanted.items():
            if stored.facts[name] != value:
                raise InputError(
                    f"the examples have {name} {stored.facts[name]}, not {value}",
                    cure="repeat the options they were made with, or choose another folder",
                    where=str(folder),
                )
        return stored
    if exchanges is None:
        raise InputError("no examples in the folder", cure="name logs to make them from", where=str(folder))
    with progress("reading exchanges", None) as step:
        return write_exchanges(exchanges(), folder, subwords, reading, near=near, source=source, step=step)


def train(
    stored: Exchanges,
    folder: str | Path,
    encoder: str,
    settings: Relevance,
    training: Training = TRAINING,
    *,
    calibrate: Calibrate,
    device: str = "auto",
    progress: Progress = silent,
    say: Say = lambda _: None,
) -> dict[str, Any]:
    """Train a scorer and save it to `folder`; a job that was cut short goes on where it was. Returns its facts.

    `calibrate` makes what `calibration.json` holds from logits and labels of the dev part, with a temperature.
    """
    folder, origin = Path(folder).resolve(), model_folder(encoder)
    job = _named(stored, origin, settings, training)
    if facts := _done(folder, job, settings.kind):
        say(f"{folder.name} is trained already")
        return facts
    subwords = Subwords(origin, longest=stored.facts["longest"])
    task = RelevanceTask(start(origin, settings.seed), stored, settings, subwords)
    _check(task)
    dev, every = stored.facts["dev"], stored.facts["exchanges"]
    say(f"{every - dev:,} exchanges to train on, {dev:,} to check with, {len(settings.slots)} wrong replies to each")
    with Processes.joined(device) as processes:
        curve = fit(task, training, inside(folder, WORK), job=job, device=device, progress=progress, say=say)
        if processes.first:
            _save(folder, origin, task, training, job, curve, calibrate)
        processes.wait()
    return read_facts(folder, kind=settings.kind)


def _done(folder: Path, job: str, kind: str) -> dict[str, Any] | None:
    """The facts of this very job's scorer; a folder that holds anything else is refused."""
    if (folder / FACTS).exists():
        facts = read_facts(folder, kind=kind)
        if facts["job"] != job:
            raise InputError(f"{folder} holds a scorer with other settings or data", cure="choose another folder")
        clear_work(folder)  # where a kill came between saving and cleaning up
        return facts
    if not inside(folder, WORK).is_dir() and not is_free(folder):
        raise InputError(f"{folder} exists and holds something else", cure="choose another folder")
    return None


def _named(stored: Exchanges, origin: Path, settings: Relevance, training: Training) -> str:
    """One name for all that decides the result; how often it is saved does not."""
    loop = replace(training, checkpoint_minutes=TRAINING.checkpoint_minutes)
    data = [str(stored.facts[name]) for name in ("reading", "subwords", "source", "exchanges")]
    return fingerprint(full_spec(settings), full_spec(loop), weights_fingerprint(origin), *data)


def _check(task: RelevanceTask) -> None:
    wanted, positions = task.settings.context + task.settings.reply + 3, task.network.positions
    if positions is not None and wanted > positions:
        raise InputError(
            f"the encoder reads {positions} tokens, and context and reply have up to {wanted}",
            cure="lower --context or --reply",
        )


def _save(
    folder: Path,
    origin: Path,
    task: RelevanceTask,
    training: Training,
    job: str,
    curve: list[dict[str, Any]],
    calibrate: Calibrate,
) -> None:
    """Tokenizer, shape and curve, then the model, which says that all is there; then the working files go."""
    logits = dev_logits(task)
    found = calibrate(*labelled(logits))
    settings, stored = task.settings, task.exchanges
    facts = {
        "kind": settings.kind,
        "job": job,
        "signature": str(signed(settings, training=full_spec(training), encoder=weights_fingerprint(origin), job=job)),
        "config": {
            "turns": int(stored.contexts.shape[1]),
            "longest": task.subwords.longest,
            "context": settings.context,
            "reply": settings.reply,
        },
        "subwords": task.subwords.signature(),
        "temperature": found["temperature"],
        "examples": stored.facts,
        "best": best_epoch(curve),
        "wins": wins(logits, settings),
    }
    task.subwords.save(folder)
    write_whole(folder / CONFIG, (origin / CONFIG).read_bytes())
    write_curve(folder, facts["signature"], curve)
    write_json(folder / CALIBRATION, found)
    save_model(folder, task.network.state_dict(), facts)
    clear_work(folder)


@torch.inference_mode()  # type: ignore[untyped-decorator]
def dev_logits(task: RelevanceTask) -> Floats:
    """Logits [exchanges, 1 + wrong replies] of the dev part."""
    task.network.eval()
    batches = task.batches("dev", 0)
    found = np.zeros((sum(map(len, batches)), 1 + len(task.settings.slots)))
    for examples in batches:
        found[examples] = task.logits(task.prepare("dev", examples)).double().cpu().numpy()
    return found


def labelled(logits: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Each true reply and one of its wrong ones, so that half of all are true, as the loss has it."""
    rows = np.arange(len(logits))
    wrong = logits[rows, 1 + rows % (logits.shape[1] - 1)]
    return np.concatenate([logits[:, 0], wrong]), np.repeat([1, 0], len(logits))


def wins(logits: Floats, settings: Relevance) -> dict[str, float]:
    """The share of true replies that score above the wrong one of each kind; .5 is chance."""
    columns = {kind: [1 + i for i, slot in enumerate(settings.slots) if slot == kind] for kind in KINDS}
    above = np.sign(logits[:, :1] - logits) / 2 + 0.5
    return {kind: float(above[:, places].mean()) for kind, places in columns.items() if places}
