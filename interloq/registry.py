# SPDX-License-Identifier: Apache-2.0
"""Components by name: `create("delta_bleu(order=2,tokenizer='char')")` and back with `spec(component)`.

A spec is `name` or `name(field=value, …)`. Values are Python literals or further specs; a spec may be given without
its field's name, as in `by(relevance(model='scorer'))`. Specs are parsed, never evaluated. A component is
a frozen dataclass whose fields are its whole configuration.

Other packages add components through the entry-point group `interloq.components`; the entry point's name is
`<kind>.<name>`, e.g. `metric.my_metric = "my_package.my_metric:MyMetric"`.
"""

from __future__ import annotations

import dataclasses
import importlib
import sys
import types
import typing
from functools import cache
from importlib.metadata import entry_points
from pathlib import PurePath
from typing import Any, ClassVar, Literal, Union

from interloq.errors import SpecError, count, nearest
from interloq.needs import METRICS
from interloq.spec_text import ParsedSpec, read_spec, split_label

Places = Literal["whole", "last", "blank"]  # how a spec writes paths: as given, the last part, empty
KINDS: dict[str, dict[str, str]] = {
    "bot": {
        "echo": "interloq.play.bots.echo:Echo",
        "eliza": "interloq.play.bots.eliza:Eliza",
        "endpoint": "interloq.servers.endpoint:Endpoint",
        "function": "interloq.play.bots.function:Function",
        "hf": "interloq.play.bots.hugging_face:HuggingFace",
        "process": "interloq.play.bots.process:Process",
        "replay": "interloq.play.bots.replay:Replay",
        "retrieval": "interloq.play.bots.retrieval:Retrieval",
    },
    "metric": {
        "am_fm": "interloq.metrics.combined.am_fm:AmFm",
        "bert_ruber": "interloq.metrics.trained.bert_ruber:BertRuber",
        "bertscore": "interloq.metrics.contextual.bertscore:BertScore",
        "blend": "interloq.metrics.combined.blend:Blend",
        "bleu": "interloq.metrics.overlap.bleu:Bleu",
        "bleu_star": "interloq.metrics.overlap.bleu_star:BleuStar",
        "chrf": "interloq.metrics.overlap.chrf:Chrf",
        "dcp": "interloq.metrics.trained.dcp:Dcp",
        "deep_am": "interloq.metrics.contextual.deep_am:DeepAm",
        "deep_fm": "interloq.metrics.likelihood.deep_fm:DeepFm",
        "delta_bleu": "interloq.metrics.overlap.delta_bleu:DeltaBleu",
        "distinct": "interloq.metrics.overlap.distinct:Distinct",
        "embedding_average": "interloq.metrics.word_vectors.embedding_average:EmbeddingAverage",
        "fed": "interloq.metrics.likelihood.fed:Fed",
        "full": "interloq.metrics.likelihood.full:Full",
        "greedy_matching": "interloq.metrics.word_vectors.greedy_matching:GreedyMatching",
        "interlocutor_score": "interloq.metrics.trained.interlocutor_score:InterlocutorScore",
        "judge": "interloq.metrics.trained.judge:Judge",
        "length": "interloq.metrics.overlap.length:Length",
        "llm_judge": "interloq.metrics.llm_judge.llm_judge:LlmJudge",
        "meteor": "interloq.metrics.overlap.meteor:Meteor",
        "mlm": "interloq.metrics.likelihood.mlm:Mlm",
        "nist": "interloq.metrics.overlap.nist:Nist",
        "nsp": "interloq.metrics.trained.nsp:Nsp",
        "perplexity": "interloq.metrics.likelihood.perplexity:Perplexity",
        "pmi": "interloq.metrics.likelihood.pmi:Pmi",
        "relevance": "interloq.metrics.trained.relevance:Relevance",
        "rouge_l": "interloq.metrics.overlap.rouge_l:RougeL",
        "ruber": "interloq.metrics.combined.ruber:Ruber",
        "ruber_referenced": "interloq.metrics.word_vectors.ruber_referenced:RuberReferenced",
        "ruber_unreferenced": "interloq.metrics.trained.ruber_unreferenced:RuberUnreferenced",
        "usl_h": "interloq.metrics.combined.usl_h:UslH",
        "valid": "interloq.metrics.trained.valid:Valid",
        "vbertscore": "interloq.metrics.combined.vbertscore:Vbertscore",
        "vbleu": "interloq.metrics.combined.vbleu:Vbleu",
        "vector_extrema": "interloq.metrics.word_vectors.vector_extrema:VectorExtrema",
    },
    "rater": {
        "bert": "interloq.rate.network_rater:Bert",
        "by": "interloq.score.by:By",
        "ensemble": "interloq.rate.ensemble:Ensemble",
        "gru": "interloq.rate.network_rater:Gru",
        "human": "interloq.rate.human:Human",
    },
    "retriever": {
        "bm25": "interloq.retrieve.bm25:Bm25",
        "dense": "interloq.retrieve.dense:Dense",
    },
    "tokenizer": {
        "13a": "interloq.data.text.tokenize:Mteval13a",
        "char": "interloq.data.text.tokenize:Characters",
        "intl": "interloq.data.text.tokenize:International",
        "ja-mecab": "interloq.data.text.tokenize:JapaneseMecab",
        "sentencepiece": "interloq.data.text.tokenize:SentencePiece",
        "space": "interloq.data.text.tokenize:Spaces",
        "whitespace": "interloq.data.text.tokenize:Whitespace",
        "zh": "interloq.data.text.tokenize:Chinese",
    },
}


class Component:
    """Base class of components; checks the fields, so that Python and specs raise the same errors."""

    places: ClassVar[tuple[str, ...]] = ()  # fields that name a file, folder or server: only its content matters
    spec_name: ClassVar[str] = ""  # name in specs and signatures of a class that is not registered; empty: its own
    immaterial: ClassVar[tuple[str, ...]] = ()  # fields that change no result: signatures and names show the default

    @property
    def libraries(self) -> tuple[str, ...]:
        """Packages whose version can change the results, in addition to those in `built_with`."""
        return ()

    def __post_init__(self) -> None:
        for field, hint in _fields(type(self)):
            value = getattr(self, field.name)
            kind = field.metadata.get("kind")
            if kind:
                value = _components(value, kind)
                object.__setattr__(self, field.name, value)
            if not (_are(value, kind, hint) if kind else fits(value, hint)):
                raise SpecError(f"{name_of(self)}: {field.name} must be {expected(hint, kind)}, got {value!r}")


def _components(value: Any, kind: str) -> Any:
    """A component or a tuple of components, made from specs if given as text."""
    if isinstance(value, list | tuple):
        return tuple(_components(part, kind) for part in value)
    return create(value, kind=kind) if isinstance(value, str) else value


def component(kind: str, default: str) -> Any:
    """A dataclass field for a component of this kind, which may be given as a spec string."""
    return dataclasses.field(default=default, metadata={"kind": kind})


def names(kind: str) -> list[str]:
    """The registered names of one kind, including plugins."""
    return sorted(_targets()[kind])


def create(text: str, *, kind: str | None = None) -> Any:
    """Create the component that a spec string describes."""
    try:
        return _create(read_spec(text), kind, text)
    except RecursionError:
        raise SpecError(f"cannot make {text[:60]!r}: it is nested too deeply") from None


def named_class(text: str, *, kind: str) -> type | None:
    """The class named by a spec, with or without a label, whatever its fields; None if the name is unknown."""
    try:
        found = registered_name(read_spec(split_label(text)[1]).name, kind=kind)
    except SpecError:
        return None
    return _class(found, kind) if found else None


def registered_name(name: str, *, kind: str) -> str | None:
    """The same name if registered, else the only one that differs just in case, hyphens or underscores."""
    known = _targets()[kind]
    if name in known:
        return name
    same = [other for other in known if _folded(other) == _folded(name)]
    return same[0] if len(same) == 1 else None


def spec(component: Any) -> str:
    """The shortest spec that recreates this component: fields with default values are omitted."""
    return _Writer(False, "whole").written(component)


def title(component: Any) -> str:
    """The component's name in score files and tables: its spec, with only the last part of each path."""
    return _Writer(False, "last").written(component)


def full_spec(component: Any, *, places: Places = "whole") -> str:
    """The spec with every field spelled out, for signatures."""
    return _Writer(True, places).written(component)


def name_of(component: Any) -> str:
    """The registered name of a component, or its class name if it is not registered."""
    return _find(type(component))[1]


def parts_of(component: Any) -> list[Any]:
    """The components in the fields of a component."""
    if not dataclasses.is_dataclass(component):
        return []
    values = (getattr(component, field.name) for field in dataclasses.fields(component) if field.init)
    parts = (part for value in values for part in (value if isinstance(value, tuple) else (value,)))
    return [part for part in parts if isinstance(part, Component)]


@dataclasses.dataclass(frozen=True)
class _Writer:
    all_fields: bool
    places: Places

    def written(self, component: Any) -> str:
        name, places = name_of(component), getattr(component, "places", ())
        parts = []
        for field, _ in _fields(type(component)):
            value = getattr(component, field.name)
            if field.name in places and self.places != "whole":
                value = _last(value) if self.places == "last" else ""
            if field.name in getattr(component, "immaterial", ()) and self.places != "whole":
                value = _default(field)
            if self.all_fields or value != _default(field):
                parts.append(f"{field.name}={self._literal(value)}")
        return f"{name}({','.join(parts)})" if parts else name

    def _literal(self, value: Any) -> str:
        if isinstance(value, tuple) and any(isinstance(part, Component) for part in value):
            return f"({','.join(map(self._literal, value))}{',' * (len(value) == 1)})"
        if not isinstance(value, Component):
            return repr(value)
        text = self.written(value)
        # '13a' and 'ja-mecab' are not identifiers, so tokenizers are quoted
        return text if text.split("(")[0].isidentifier() and _find(type(value))[0] != "tokenizer" else repr(text)


def _last(place: Any) -> Any:
    """The last part of a path; server addresses and hub models are not paths and stay whole."""
    return place if not isinstance(place, str) or ":" in place else PurePath(place).name or place


@cache
def _targets() -> dict[str, dict[str, str]]:
    """kind → name → "module:Class", including components of other installed packages."""
    table = {kind: dict(components) for kind, components in KINDS.items()}
    for entry in entry_points(group="interloq.components"):
        kind, _, name = entry.name.partition(".")
        if kind in table and name and name not in table[kind]:
            table[kind][name] = entry.value
    return table


def _folded(name: str) -> str:
    return name.replace("-", "").replace("_", "").casefold()


def _class(name: str, kind: str) -> type:
    module, _, cls = _targets()[kind][name].partition(":")
    return typing.cast("type", getattr(importlib.import_module(module), cls))


def _create(written: ParsedSpec, kind: str | None, text: str) -> Any:
    kinds = [kind] if kind else list(_targets())
    for candidate in kinds:
        if name := registered_name(written.name, kind=candidate):
            cls = _class(name, candidate)
            fields = {
                field: _created(value, text) for field, value in (_unnamed(written, cls) | written.fields).items()
            }
            return _build(cls, name, fields)
    known = [n for candidate in kinds for n in _targets()[candidate]]
    where = "" if written.name == text.strip() else f" in {text!r:.80}"
    raise SpecError(f"unknown {kind or 'component'} {written.name!r}{where}{nearest(written.name, known)}")


def _created(value: Any, text: str) -> Any:
    """A field's value: specs become components, alone or in a tuple."""
    if isinstance(value, tuple):
        return tuple(_created(part, text) for part in value)
    return _create(value, None, text) if isinstance(value, ParsedSpec) else value


def _unnamed(written: ParsedSpec, cls: type) -> dict[str, ParsedSpec]:
    """The parts given without a name, under the fields that hold components, in their order."""
    slots = [field.name for field, _ in _fields(cls) if field.metadata.get("kind")]
    if len(written.parts) > len(slots):
        given, taken = count(len(written.parts), "component"), " and ".join(slots) or "none"
        raise SpecError(f"{written.name} has {given} without a field's name, and takes {taken}")
    found = dict(zip(slots, written.parts, strict=False))
    if twice := found.keys() & written.fields.keys():
        raise SpecError(f"{min(twice)!r} is given twice in {written.name}(…)")
    return found


def _find(cls: type) -> tuple[str, str]:
    return _registered(f"{cls.__module__}:{cls.__qualname__}") or ("", getattr(cls, "spec_name", "") or cls.__name__)


@cache
def _registered(target: str) -> tuple[str, str] | None:
    """Kind and name of a registered class."""
    every = ((kind, name, path) for kind, components in _targets().items() for name, path in components.items())
    return next(((kind, name) for kind, name, path in every if path == target), None)


def _build(cls: type, name: str, arguments: dict[str, Any]) -> Any:
    known = [field.name for field, _ in _fields(cls)]
    for given in arguments:
        if given not in known:
            raise SpecError(f"{name} has no field {given!r}{nearest(given, known)}")
    missing = [field.name for field, _ in _fields(cls) if _is_required(field) and field.name not in arguments]
    if missing:
        raise SpecError(_missing_fields(name, cls, missing))
    return cls(**arguments)


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _missing_fields(name: str, cls: type, missing: list[str]) -> str:
    """Message about missing fields, with how to get their values if known."""
    known = METRICS[name].fields if _find(cls) == ("metric", name) and name in METRICS else {}
    parts = [f"{field} ({known[field]})" if field in known else field for field in missing]
    return f"{name} needs {' and '.join(parts)}: write {name}({','.join(f'{field}=…' for field in missing)})"


def _fields(cls: Any) -> tuple[tuple[dataclasses.Field[Any], Any], ...]:
    """Fields of a component with their types."""
    return _cached_fields(cls)  # mypy does not accept that classes can be hashed unless they are Any


@cache
def _cached_fields(cls: Any) -> tuple[tuple[dataclasses.Field[Any], Any], ...]:
    """Cached because annotations are slow to evaluate."""
    hints = typing.get_type_hints(cls)
    return tuple((field, hints[field.name]) for field in dataclasses.fields(cls) if field.init)


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default is dataclasses.MISSING:
        return dataclasses.MISSING
    kind = field.metadata.get("kind")
    return create(field.default, kind=kind) if kind else field.default


def _is_a(value: Any, kind: str) -> bool:
    """Whether it is a component of this kind; one that is not registered is accepted."""
    return dataclasses.is_dataclass(type(value)) and _find(type(value))[0] in ("", kind)


def _are(value: Any, kind: str, hint: Any) -> bool:
    """Whether it is a component of this kind, or for a field that takes several, a tuple of at least one."""
    if typing.get_origin(hint) is not tuple:
        return _is_a(value, kind)
    return isinstance(value, tuple) and bool(value) and all(_is_a(part, kind) for part in value)


def fits(value: Any, hint: Any) -> bool:
    """Whether a value has the annotated type."""
    origin = typing.get_origin(hint)
    if origin is Literal:
        return any(value == choice and type(value) is type(choice) for choice in typing.get_args(hint))
    if origin in (Union, types.UnionType):
        return any(fits(value, part) for part in typing.get_args(hint))
    if hint is float and isinstance(value, int) and abs(value) > sys.float_info.max:
        return False
    if hint in (int, float):
        return isinstance(value, int | hint) and not isinstance(value, bool)
    if hint in (str, bool, type(None)):
        return isinstance(value, hint)
    return True  # components and containers check themselves


def expected(hint: Any, kind: str | None = None) -> str:
    """Description of the expected type, for messages."""
    if kind:
        return f"a tuple of {kind}s" if typing.get_origin(hint) is tuple else f"a {kind}"
    if typing.get_origin(hint) is Literal:
        return "one of " + ", ".join(repr(choice) for choice in typing.get_args(hint))
    return getattr(hint, "__name__", str(hint))
