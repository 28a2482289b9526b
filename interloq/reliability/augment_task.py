# SPDX-License-Identifier: Apache-2.0
"""Reference sets augmented in shards: one process or many search candidates and choose among them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import orjson

from interloq.data.records.jsonl import Rejected, record_line
from interloq.data.records.parsers import PARSERS
from interloq.records import Reference, Sample
from interloq.reliability.augment import Augmented, CandidateTrial, Request, augment
from interloq.reliability.candidates import find_candidates, open_finder
from interloq.reliability.labels import FEWEST_REPLIES
from interloq.reliability.pooled import Pooled
from interloq.reliability.ready_fit import TrainedModel, load_trained
from interloq.reliability.reliability_options import AugmentOptions, CandidateOptions
from interloq.retrieve.extend import SearchTally
from interloq.shards.task import Compute
from interloq.signature import LIBRARIES, Signature, fingerprint

Turns = tuple[str, ...]
Choice = Callable[[Sequence[Request]], list[Augmented]]
CHUNK, PIECE = 4_096, 256  # samples: those of a chunk are sorted by context, so that equal requests meet in a shard


@dataclass
class AugmentTask:
    """Where candidates come from, and how they are chosen; `replies` are those to each context, for a pooled model."""

    source: CandidateOptions
    options: AugmentOptions
    replies: Mapping[Turns, Sequence[str]] = field(default_factory=dict)
    signature: str = ""
    on_reject: Callable[[Rejected], None] | None = None  # of bad lines in the log, which are reported once
    _opened: tuple[TrainedModel, Any, Signature] | None = None

    @property
    def keeps_all(self) -> bool:
        """Whether no candidate is rejected: real replies to the query are its own references."""
        return self.options.add_all or self.source.origin == "query"

    @property
    def model(self) -> TrainedModel:
        """The model that predicts the reliability of sets."""
        return self._load()[0]

    def sign(self) -> Signature:
        """Return the signature of the finder and the model, with what they are told to do."""
        model, _, finder_signature = self._load()
        chosen: dict[str, object] = {
            "model": model.signature(),
            "limit": self.options.most or "none",
            "seed": self.options.seed,
        }
        if self.keeps_all:
            chosen["keep"] = "all"
        if self.replies:
            chosen["replies"] = fingerprint(*chain.from_iterable((*key, *texts) for key, texts in self.replies.items()))
        return replace(finder_signature.with_parts(chosen), name="augment")

    def identify(self) -> str:
        """Identify the job, without the releases of libraries: others of these may resume."""
        return str(self.sign().without(*LIBRARIES))

    def open(self) -> Compute:
        model, finder, _ = self._load()
        choose = self._make_choice(model)

        def augment_samples(samples: Sequence[Sample]) -> bytes:
            tally, lines = SearchTally(), list[bytes]()
            for batch in find_candidates(samples, finder, self.source, tally):
                requests = list(dict.fromkeys(request for _, request in batch))
                results = dict(zip(requests, choose(requests), strict=True))
                for sample, request in batch:
                    result = results[request]
                    augmented = replace(sample, references=(*sample.references, *result.kept))
                    lines += [record_line(augmented), _write_result(result)]
            dropped = {"dropped": tally.dropped, "affected": tally.affected}
            return orjson.dumps(dropped) + b"\n" + b"".join(lines)

        return augment_samples

    def _load(self) -> tuple[TrainedModel, Any, Signature]:
        if self._opened is None:
            model = load_trained(self.options.model, self.options.encoder, self.options.device)
            self._opened = (model, *open_finder(self.source, self.on_reject))
        return self._opened

    def _make_choice(self, model: TrainedModel) -> Choice:
        """Return a function that adds candidates to queries as the model does."""
        limit, seed = self.options.most, self.options.seed
        if isinstance(model, Pooled):
            pooled = model
            return lambda requests: pooled.choose(
                requests, limit=limit, replies=[self._list_replies(request) for request in requests]
            )
        projected = model.make_projected()
        return lambda requests: augment(projected, requests, limit=limit, seed=seed, keep_all=self.keeps_all)

    def _list_replies(self, request: Request) -> Sequence[str]:
        """Return the replies to a query, or none if there are too few to compare their scores."""
        replies = self.replies.get(request.turns, ())
        return replies if len(replies) >= FEWEST_REPLIES else ()

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "on_reject": None, "_opened": None}


def read_augmented(result: bytes, dropped: Counter[str], affected: Counter[str]) -> Iterator[tuple[Sample, Augmented]]:
    """Yield the samples of a shard with what was tried, and add its counts of dropped candidates."""
    counts, *lines = result.splitlines()
    tally = orjson.loads(counts)
    dropped.update(tally["dropped"])
    affected.update(tally["affected"])
    for sample, tried in zip(lines[::2], lines[1::2], strict=True):
        facts, trials = orjson.loads(tried), []
        for text, source, before, after, kept in facts["trials"]:
            trials.append(CandidateTrial(Reference(text, source=source), _number(before), _number(after), kept))
        yield (
            PARSERS["samples"](orjson.loads(sample), ""),
            Augmented(_number(facts["before"]), _number(facts["after"]), tuple(trials)),
        )


def _write_result(result: Augmented) -> bytes:
    trials = [
        (trial.reference.text, trial.reference.source, trial.before, trial.after, trial.kept) for trial in result.trials
    ]
    return record_line({"before": result.before, "after": result.after, "trials": trials})


def _number(value: float | None) -> float:
    """Return a number, NaN for null."""
    return math.nan if value is None else float(value)
