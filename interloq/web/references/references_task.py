# SPDX-License-Identifier: Apache-2.0
"""Tasks of kind references: people decide on candidates for further references, with predicted reliabilities.

`options` of the settings are the same as for `interloq reliability annotate`: {"model": "reliability", "log":
["pairs.jsonl"], "limit": 10, "attempts": 3}. Candidates are searched when the task is added and stored with its items;
each distinct query is an item. Only the model is needed later. Paths are stored as absolute paths.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from interloq.data.records.jsonl import Rejected, to_json
from interloq.data.records.parsers import PARSERS
from interloq.errors import InputError, nearest, short_repr
from interloq.learn.ready import READY
from interloq.records import Reference, Sample
from interloq.registry import create
from interloq.reliability.annotate import ATTEMPTS, start_query
from interloq.reliability.augment import Request
from interloq.reliability.candidates import make_request
from interloq.reliability.reliability_options import GROUPS, LIMIT, CandidateOptions, draw_group
from interloq.retrieve.store_address import key_variable, names_server
from interloq.signature import fingerprint
from interloq.trust import Trust, check_trust, names_download, side_effect
from interloq.web.studies.items import StudyItem, blind
from interloq.web.studies.questions import StudyTask, is_number

if TYPE_CHECKING:
    from interloq.reliability.annotate_file import Queries

KIND = "references"
DEVICES = ("auto", "cpu", "cuda")
PREDICTIONS = ("shown", "hidden", "groups")  # to everybody, to nobody, or to one of each two people
MOST = 1_000  # candidates, references or edits


@dataclass(frozen=True)
class ReferencesOptions:
    """Options of a task, the same as for `interloq reliability annotate`; checked when created."""

    model: str
    log: tuple[str, ...] = ()
    index: str = ""
    k: int = 100
    limit: int = LIMIT
    turns: int = 1
    near_duplicates: float = 0.0
    exclude: str = ""
    drop_own_replies: bool = False
    attempts: int = ATTEMPTS
    encoder: str = ""
    device: str = "auto"
    llm: str = ""
    origin: str = ""  # "from" in settings
    replies: int = 10
    predictions: str = PREDICTIONS[0]
    must_rise: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("k", 1), ("limit", 1), ("turns", 1), ("attempts", 0), ("replies", 1), ("seed", 0)):
            value = getattr(self, name)
            if type(value) is not int or not least <= value <= MOST:
                raise InputError(f"{name} must be a whole number from {least} to {MOST:,}, got {short_repr(value)}")
        if not is_number(self.near_duplicates) or not 0 <= self.near_duplicates <= 1:
            raise InputError(f"near_duplicates must be from 0 to 1, got {short_repr(self.near_duplicates)}")
        for name in ("drop_own_replies", "must_rise"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name} must be true or false, got {short_repr(getattr(self, name))}")
        for name, known in (("device", DEVICES), ("predictions", PREDICTIONS)):
            if (value := getattr(self, name)) not in known:
                raise InputError(f"unknown {name} {short_repr(value)}{nearest(str(value), known)}")

    @property
    def rules(self) -> dict[str, int]:
        """Limits of the decisions on a query."""
        return {"attempts": self.attempts, "limit": self.limit}

    @property
    def side_effect(self) -> str:
        """Text that names the server it searches and the encoder it downloads."""
        bot = side_effect(create(self.llm, kind="bot")) if self.llm else ""
        return ", ".join(filter(None, (names_server(self.index, "contexts"), names_download(self.encoder), bot)))

    @property
    def key_variable(self) -> str:
        """The environment variable whose value it sends."""
        if self.llm:
            return str(getattr(create(self.llm, kind="bot"), "key_variable", ""))
        return key_variable(self.index)

    def group(self, number: int | None) -> str:
        """Return the group of a person with this number in the task."""
        if self.predictions == "groups":
            return draw_group(number or 1, self.seed)
        return GROUPS[self.predictions == "hidden"]

    def source(self) -> CandidateOptions:
        """Return where candidates come from."""
        return CandidateOptions(
            index=self.index or None, log=self.log, k=self.k, turns=self.turns, near=self.near_duplicates,
            own=not self.drop_own_replies, exclude=self.exclude or None, llm=self.llm or None,
            origin=cast("Any", self.origin or None), replies=self.replies,
        )  # fmt: skip

    def absolute(self) -> ReferencesOptions:
        """Return a copy with absolute paths; an encoder that is not a folder is the name of an installed package."""
        encoder, index, exclude = self.encoder, self.index, self.exclude
        if self.encoder and Path(self.encoder).is_dir():
            encoder = _absolute(self.encoder)
        if self.index and "://" not in self.index:
            index = _absolute(self.index)
        if self.exclude:
            exclude = _absolute(self.exclude)
        log = tuple(map(_absolute, self.log))
        model = self.model if self.model == READY else _absolute(self.model)
        return replace(self, model=model, log=log, index=index, exclude=exclude, encoder=encoder)


def _absolute(path: str) -> str:
    return str(Path(path).absolute())


def references_options(task: StudyTask) -> ReferencesOptions:
    """Return the options of a task of kind references; unknown or unsuitable options are refused."""
    known, given = [option.name for option in fields(ReferencesOptions)], dict(task.options)
    if "from" in given:
        given["origin"] = given.pop("from")
    for name in given:
        if name not in known:
            raise InputError(f"a task of kind {KIND!r} has no option {short_repr(name)}{nearest(str(name), known)}")
    if task.questions:
        raise InputError(f"a task of kind {KIND!r} asks no questions", hint='remove "questions" from the settings')
    log = given.pop("log", ())
    given["log"] = tuple(log) if isinstance(log, list | tuple) else (log,)
    for name in ("model", "index", "exclude", "encoder", "llm", "origin"):
        _check_path(name, given.get(name, ""))
    for path in given["log"]:
        _check_path("log", path)
    if not given.get("model"):
        hint = 'add "options": {"model": "ready", "log": ["pairs.jsonl"]}; see also interloq train reliability'
        raise InputError(f"a task of kind {KIND!r} needs a model", hint=hint)
    return ReferencesOptions(**given)


def _check_path(name: str, given: object) -> None:
    if not isinstance(given, str) or "\0" in given:
        raise InputError(f"{name} must be the name of a file or folder, got {short_repr(given)}")


def prepare_references(
    samples: Sequence[Sample],
    task: StudyTask,
    *,
    on_reject: Callable[[Rejected], None] | None = None,
    trust: Trust = None,
) -> tuple[StudyTask, list[StudyItem], dict[str, Any]]:
    """Return the task with absolute paths, its items, and facts to store with it, such as a warning."""
    from interloq.reliability.annotate_file import find_queries  # imports torch
    from interloq.reliability.ready_fit import load_predictor

    options = references_options(task).absolute()
    check_trust({task.name: options}, "the settings", trust)
    source = options.source()
    model = load_predictor(options.model, options.encoder or None, options.device)
    queries = find_queries(samples, model, source, attempts=options.attempts, limit=options.limit, on_reject=on_reject)
    facts = {
        "signature": asdict(queries.signature),
        "model": model.signature(),
        "warning": queries.warning,
        "queries": len(queries.requests),
    }
    return replace(task, options=asdict(options)), items(queries, options), facts


def items(queries: Queries, options: ReferencesOptions) -> list[StudyItem]:
    """Return one item per query with something to decide.

    The other samples are exported unchanged; each is stored with the preceding item in the file, or with the first
    item.
    """
    states = {name: start_query(request, **options.rules) for name, request in queries.requests.items()}
    undecided = {name: queries.requests[name] for name, state in states.items() if not state.finished}
    if not undecided:
        hint = "give samples with a context and fewer references, or other candidates"
        raise InputError("there is nothing to decide: no sample lacks references and has candidates", hint=hint)
    units: dict[str, list[dict[str, Any]]] = {name: [] for name in undecided}
    unchanged: dict[str, list[dict[str, Any]]] = {name: [] for name in undecided}
    first: dict[str, Sample] = {}  # sample of each query
    last = next(iter(undecided))
    for place, (sample, name) in enumerate(zip(queries.samples, queries.query, strict=True)):
        first.setdefault(name, sample)
        unit = {"id": sample.id, "system": sample.system, "place": place, "record": to_json(sample)}
        if name in undecided:
            last = name
            units[name].append(unit)
        else:
            unchanged[last].append(unit)
    return [_item(name, request, first[name], units[name], unchanged[name]) for name, request in undecided.items()]


def _item(name: str, request: Request, sample: Sample, units: list[Any], unchanged: list[Any]) -> StudyItem:
    hidden = {
        "kind": KIND,
        "query": name,
        "candidates": [asdict(candidate) for candidate in request.candidates],
        "units": units,
        "unchanged": unchanged,
    }
    return StudyItem(fingerprint(KIND, request.text()), {"context": blind(sample.context), "units": [{}]}, hidden)


def make_stored_request(hidden: Mapping[str, Any]) -> Request:
    """Return the query of an item."""
    return make_request(
        parse_stored_sample(hidden["units"][0]), tuple(Reference(**candidate) for candidate in hidden["candidates"])
    )


def parse_stored_sample(unit: Mapping[str, Any]) -> Sample:
    """Return a sample of an item."""
    sample: Sample = PARSERS["samples"](unit["record"], unit["id"])
    return sample
