"""Preparations of `bipartite.py`: pairs, openings, indexes and the small language models."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from bipartite_bots import JUDGE, OTHER, TUNED, Job, known_order, other_models, partners, report, start, targets

from interloq import Dialogue, InputError, Turn, load, read, write
from interloq.data.files.archives import read_files, text_lines
from interloq.data.files.opening import write_json
from interloq.records import Pair
from interloq.signature import file_fingerprint, fingerprint

SEEDS = {"lm": 0, OTHER: 1, JUDGE: 2}  # of the initial weights
POSITIONS = 512
LONGEST = 200  # characters of a reddit text: longer ones are not chat
END = "<|endoftext|>"
_CLITIC = re.compile(r"\s*'\s*(?=(?:s|t|m|d|ll|re|ve)\b)", re.IGNORECASE)
_BEFORE = re.compile(r"\s+(?=[.,!?;:])")

# ---- prepare: pairs, openings, indexes, starts -----------------------------------------------------------------------


def prepare(job: Job, *, indexes: bool = True) -> None:
    """Make everything that training and playing need; the known order is written before anything is played.

    Indexes can be skipped: several processes may train in parallel, but only one can write an index.
    """
    job.work.mkdir(parents=True, exist_ok=True)
    settings = {**asdict(job.sizes), "tokenizer": _tokenizer_of(job)}
    _same_as_before(job.work / "settings.json", json.loads(json.dumps(settings)))
    write_json(job.work / "known_order.json", {"pairs": known_order(job), "targets": sorted(targets(job))})
    if not (job.work / "pool.jsonl").exists():
        report("writing pairs and openings")
        for part in ("train", "other"):
            write(job.work / f"{part}.jsonl", dailydialog(job.data, part), kind="pairs")
        _write_openings(job)
        write(job.work / "pool.jsonl", _pool(job), kind="pairs")
    _check_pool(job)
    for part in ("train", "other") if indexes else ():
        if any(f"index-{part}" in spec for spec in [*targets(job).values(), *partners(job).values()]):
            _index(job.work, part)
    for kind in SEEDS:
        _write_start(job, kind)


def dailydialog(data: Path, part: str) -> Iterator[Pair]:
    """Pairs of consecutive utterances of the training dialogues, or of the validation ones (`other`)."""
    for place, turns in enumerate(_dialogues(data, "validation" if part == "other" else part)):
        for i, (first, second) in enumerate(pairwise(turns)):
            yield Pair(f"dailydialog/{part}/{place}/{i}", first, second)


def _dialogues(data: Path, part: str) -> Iterator[list[str]]:
    path = next((p for p in (data / "dailydialog", data / "dailydialog.tar.gz") if p.exists()), None)
    if path is None:
        raise InputError(f"no dailydialog in {str(data)!r}", hint="put dailydialog/ or dailydialog.tar.gz there")
    (file,) = read_files(path, (f"{part}/dialogues_{part}.txt",))
    for line in text_lines(file):
        yield [tidy(turn) for turn in line.split("__eou__") if turn.strip()]


def tidy(text: str) -> str:
    """Undo the tokenization of the data (`I ' ll go , too .`), so that bots learn to write as people do."""
    return _BEFORE.sub("", _CLITIC.sub("'", text.replace("’", "'"))).strip()


def _pool(job: Job) -> list[Pair]:
    """Training pairs of the language models in random order; a smaller budget is a subset of every larger one."""
    pairs = list(load(job.work / "train.jsonl", kind="pairs"))
    if (reddit := job.data / "reddit_pairs.jsonl.xz").exists():
        short = (
            pair for pair in read(reddit, kind="pairs") if max(map(len, (pair.utterance, pair.response))) <= LONGEST
        )
        pairs += [replace(pair, id=f"reddit/{pair.id}", thread="") for pair in short]
    return sorted(pairs, key=lambda pair: fingerprint(pair.id))


def _check_pool(job: Job) -> None:
    wanted = job.sizes.budgets[-1]
    available = sum(1 for _ in islice(read(job.work / "pool.jsonl", kind="pairs"), wanted))
    if available < wanted:
        raise InputError(
            f"the largest budget is {wanted:,} pairs, but there are only {available:,}",
            hint="put reddit_pairs.jsonl.xz into the data folder and name another --work, or lower --budgets",
        )


def _write_openings(job: Job) -> None:
    """Write test dialogues whose first two utterances are in no log that a bot answers from."""
    logs = (pair for part in ("train", "other") for pair in read(job.work / f"{part}.jsonl", kind="pairs"))
    known = {text.casefold() for pair in logs for text in (pair.utterance, pair.response)}
    seen: set[tuple[str, str]] = set()
    lines = []
    for place, turns in enumerate(_dialogues(job.data, "test"), start=1):
        given = turns[0], turns[1] if len(turns) > 1 else ""
        if all(given) and given not in seen and not {text.casefold() for text in given} & known:
            seen.add(given)
            lines.append(Dialogue(f"dd-{place}", [Turn(text) for text in given]))
    write(job.work / "openings.jsonl", lines, kind="dialogues")


def _index(work: Path, part: str) -> None:
    from interloq.retrieve.index import create_index

    pairs = work / f"{part}.jsonl"
    create_index(work / f"index-{part}", "bm25").add(read(pairs, kind="pairs"), source=file_fingerprint(pairs))


def _tokenizer_of(job: Job) -> str:
    return file_fingerprint(Path(job.lm) / "tokenizer.json") if job.lm else "own"


def _write_start(job: Job, kind: str) -> None:
    """Write a LLaMA with random weights; the weights come last and mark the folder as complete."""
    import torch
    import transformers

    folder = job.work / start(kind)
    if (folder / "model.safetensors").exists():
        return
    tokenizer = _tokenizer(job)
    layers, width = job.sizes.judge_shape if kind == JUDGE else job.sizes.shape
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=8 * width // 3,
        num_hidden_layers=layers,
        num_attention_heads=max(1, width // 64),
        max_position_embeddings=POSITIONS,
        tie_word_embeddings=True,
        bos_token_id=tokenizer.eos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=None,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEEDS[kind])
        network = transformers.AutoModelForCausalLM.from_config(config)
    tokenizer.save_pretrained(folder)
    transformers.logging.disable_progress_bar()
    network.save_pretrained(folder)


def _tokenizer(job: Job) -> Any:
    """The tokenizer of --lm, without its template and with its end token as start token; or BPE trained on the pool."""
    import tokenizers
    import transformers

    if job.lm:
        found = transformers.AutoTokenizer.from_pretrained(job.lm, local_files_only=True)
        found.chat_template, found.bos_token = None, found.eos_token
        return found
    if (job.work / "tokenizer" / "tokenizer.json").exists():
        return transformers.AutoTokenizer.from_pretrained(job.work / "tokenizer", local_files_only=True)
    report("training a tokenizer")
    own = tokenizers.Tokenizer(tokenizers.models.BPE())
    own.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    own.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=job.sizes.vocabulary,
        special_tokens=[END],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    pairs = islice(read(job.work / "pool.jsonl", kind="pairs"), job.sizes.budgets[-1])
    own.train_from_iterator((text for pair in pairs for text in (pair.utterance, pair.response)), trainer)
    made = transformers.PreTrainedTokenizerFast(tokenizer_object=own, eos_token=END, bos_token=END)
    made.save_pretrained(job.work / "tokenizer")
    return made


def _same_as_before(path: Path, settings: dict[str, Any]) -> None:
    if not path.exists():
        write_json(path, settings)
        return
    before = json.loads(path.read_text("utf-8"))
    for name in settings:
        if before.get(name) != settings[name]:
            raise InputError(
                f"the work folder was made with {name} {before.get(name)}, now it is {settings[name]}",
                hint="name another --work",
                where=str(path),
            )


# ---- train -----------------------------------------------------------------------------------------------------------


def models(job: Job) -> dict[str, int]:
    """Name → number of training pairs."""
    own = {name: budget for name, budget in job.group.items() if budget}
    others = {name: int(name.rpartition("-")[2]) for name in other_models(job)}
    most = job.sizes.budgets[-1]
    return own | others | ({TUNED: most} if job.lm else {}) | ({} if job.judge or job.lm else {JUDGE: most})


def train(job: Job) -> None:
    every = models(job)
    if unknown := sorted(set(job.models) - every.keys()):
        raise InputError(f"no model is called {unknown[0]!r}", hint=f"choose from: {', '.join(every)}")
    for name in job.models or every:
        _learn(job, name, every[name])


def _learn(job: Job, name: str, budget: int) -> None:
    """Train like `interloq train adapt --objective lm`, with the same options for all that start from scratch."""
    from interloq.learn.adapt.job import AdaptJob
    from interloq.learn.adapt.settings import ADAPT, SCRATCH, Adaptation
    from interloq.learn.job import train

    pool, kind = job.work / "pool.jsonl", name.partition("-")[0]
    seed, epochs = SEEDS.get(kind, 0), job.sizes.epochs
    training = replace(ADAPT, epochs=1) if kind == TUNED else replace(SCRATCH, epochs=epochs, patience=epochs)
    adapt = AdaptJob.of(
        job.lm if kind == TUNED else job.work / start(kind),
        lambda: islice(read(pool, kind="pairs"), budget),
        Adaptation("lm", batch=job.sizes.batch, tokens=128 * job.sizes.batch, longest=64, seed=seed),
        replace(training, seed=seed),
        source=f"{file_fingerprint(pool)}-{budget}",
    )
    train(adapt, job.work / name, device=job.device, report=lambda line: report(f"{name}: {line}"))


def trained(job: Job) -> dict[str, dict[str, Any]]:
    """Number of pairs, and perplexity on held-out pairs before and after, of each trained model."""
    found = {}
    for name in models(job):
        if (path := job.work / name / "adapted.json").exists():
            facts = json.loads(path.read_text("utf-8"))
            found[name] = {"pairs": facts["pairs"], "before": facts["before"], "after": facts["after"]}
    return found
