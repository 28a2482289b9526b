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
import inspect
import json
import typing
from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path, PurePath
from typing import Any, ClassVar, Literal

from interloq.errors import SpecError, count, nearest
from interloq.needs import Needs
from interloq.options import check_limits
from interloq.spec_text import ParsedSpec, describe_expected, fits, read_spec, split_label

Places = Literal["whole", "last", "blank"]  # how a spec writes paths: as given, the last part, empty
KINDS = ("bot", "metric", "rater", "retriever", "tokenizer")  # of components
JOB = "job"  # the kind of what `interloq train` offers
CATALOGUE = Path(__file__).with_name("catalogue.json")  # written by catalogue.py
Facts = Mapping[str, Any]  # `target`, which is "module:attribute", and what the class says in `catalogue_facts`
BASES = {  # the base class of each kind that has one
    "bot": "interloq.play.bot:Bot",
    "metric": "interloq.metrics.metric:Metric",
    "rater": "interloq.rate.rater:Rater",
    "retriever": "interloq.retrieve.retriever:Retriever",
    "store": "interloq.retrieve.retriever:Store",
}
ANY_CLASS = ("bot", "rater", "store")  # kinds whose classes need not be dataclasses if they are used from Python only


class Component:
    """Base class of components; checks the fields, so that Python and specs raise the same errors.

    A class enters the catalogue under a kind and a name: `class Echo(Component, kind="bot", name="echo")`.
    """

    registered_kind: ClassVar[str] = ""
    registered_name: ClassVar[str] = ""
    places: ClassVar[tuple[str, ...]] = ()  # fields that name a file, folder or server: only its content matters
    spec_name: ClassVar[str] = ""  # name in specs and signatures of a class that is not registered; empty: its own
    immaterial: ClassVar[tuple[str, ...]] = ()  # fields that change no result: signatures and names show the default
    added: ClassVar[tuple[str, ...]] = ()  # fields of later versions: at their default, signatures stay as they were
    needs: ClassVar[Needs | None] = None  # what must be there before it can be used; None: it does not say

    def __init_subclass__(cls, *, kind: str = "", name: str = "") -> None:
        super().__init_subclass__()
        if kind:
            cls.registered_kind = kind
        if name:
            cls.registered_name = name

    @classmethod
    def catalogue_facts(cls) -> dict[str, Any]:
        """Return what must be known about it without importing it, as JSON values."""
        return {}

    @property
    def libraries(self) -> tuple[str, ...]:
        """Packages whose version can change the results, in addition to those in `built_with`."""
        return ()

    @property
    def side_effect(self) -> str | None:
        """What it runs, starts or contacts, in words; '' for nothing, None if it does not say (see trust.py)."""
        return None

    @property
    def key_variable(self) -> str:
        """The environment variable whose value it sends to a server."""
        return ""

    def built_with(self) -> str:
        """Identify the packages, models and files that it depends on, for the signature; '' if there are none."""
        return ""

    def warning(self) -> str:
        """Return why its results may not be trusted, such as weak figures of its training; '' if nothing is known."""
        return ""

    def __post_init__(self) -> None:
        for field, hint in _fields(type(self)):
            value = getattr(self, field.name)
            kind = field.metadata.get("kind")
            if kind:
                value = _make_components(value, kind)
                object.__setattr__(self, field.name, value)
                is_right = _are(value, kind, hint)
            else:
                is_right = fits(value, hint)
            if not is_right:
                raise SpecError(f"{name_of(self)}: {field.name} must be {describe_expected(hint, kind)}, got {value!r}")
        check_limits(self)


def _make_components(value: Any, kind: str) -> Any:
    """Return a component or a tuple of components, made from specs if given as text."""
    if isinstance(value, list | tuple):
        return tuple(_make_components(part, kind) for part in value)
    if isinstance(value, str):
        return create(value, kind=kind)
    complete(type(value), kind)
    return value


def component(kind: str, default: str) -> Any:
    """Return a dataclass field for a component of this kind, which may be given as a spec string."""
    return dataclasses.field(default=default, metadata={"kind": kind})


def complete(cls: type, kind: str = "") -> None:
    """Add the missing attributes of the base of its kind to a class that does not inherit from it.

    Classes of other packages may have only the methods that their kind needs. They are completed where they enter the
    package, so that other code can rely on every attribute.
    """
    _complete(cls, kind)  # mypy does not accept that classes can be hashed unless they are Any


@cache
def _complete(cls: Any, kind: str) -> None:
    base: type = import_target(BASES[kind]) if kind in BASES else Component
    if issubclass(cls, base) or getattr(cls, "registered_kind", "") not in ("", kind):  # another kind is refused later
        return
    fields: list[str] = []
    if dataclasses.is_dataclass(cls):
        fields = [field.name for field in dataclasses.fields(cls)]
    elif kind not in ANY_CLASS:
        return
    for part in base.__mro__[:-1]:
        for name, default in vars(part).items():
            attribute = inspect.getattr_static(cls, name, None)
            is_missing = attribute is None or attribute is vars(Component).get(name)
            if is_missing and not name.startswith("_") and name not in fields:
                setattr(cls, name, default)


@cache
def read_catalogue() -> Mapping[str, Mapping[str, Facts]]:
    """Return the facts of Interloq's own components and jobs, by kind and name."""
    catalogue: dict[str, dict[str, Facts]] = json.loads(CATALOGUE.read_text("utf-8"))
    return catalogue


def names(kind: str) -> list[str]:
    """Return the registered names of one kind, including plugins."""
    return sorted(targets(kind))


def targets(kind: str) -> dict[str, str]:
    """Return "module:attribute" of each registered name of one kind, including plugins."""
    return _targets()[kind]


def facts(name: str, *, kind: str) -> Facts:
    """Return what is known about a registered component without importing it; a plugin is imported and asked."""
    known = read_catalogue()[kind].get(name)
    if known is not None:
        return known
    component_class: Any = _class(name, kind)
    return {"target": targets(kind)[name], **component_class.catalogue_facts()}


def create(text: str, *, kind: str | None = None) -> Any:
    """Create the component that a spec string describes."""
    try:
        return _create(read_spec(text), kind, text)
    except RecursionError:
        raise SpecError(f"cannot make {text[:60]!r}: it is nested too deeply") from None


def find_class(text: str, *, kind: str) -> type | None:
    """Return the class named by a spec, with or without a label, whatever its fields; None if the name is unknown."""
    name = name_in_spec(text, kind=kind)
    return _class(name, kind) if name else None


def name_in_spec(text: str, *, kind: str) -> str | None:
    """Return the registered name in a spec, with or without a label; None if the name is unknown."""
    try:
        return registered_name(read_spec(split_label(text)[1]).name, kind=kind)
    except SpecError:
        return None


def registered_name(name: str, *, kind: str) -> str | None:
    """Return the name if it is registered, or the only similar one: equal except for case, hyphens and underscores."""
    if name in read_catalogue()[kind]:  # reading what other packages registered takes longer
        return name
    known = _targets()[kind]
    if name in known:
        return name
    alike = [other for other in known if _fold_name(other) == _fold_name(name)]
    return alike[0] if len(alike) == 1 else None


def spec(component: Any) -> str:
    """Return the shortest spec that recreates this component: fields with default values are omitted."""
    return _Writer(False, "whole").write(component)


def title(component: Any) -> str:
    """Return the component's name in score files and tables: its spec, with only the last part of each path."""
    return _Writer(False, "last").write(component)


def full_spec(component: Any, *, places: Places = "whole") -> str:
    """Return the spec with every field spelled out, for signatures."""
    return _Writer(True, places).write(component)


def name_of(component: Any) -> str:
    """Return the registered name of a component, or its class name if it is not registered."""
    return _find(type(component))[1]


def field_value(component: Any, name: str) -> Any:
    """Return the value of a component's field; None if it has no field of this name."""
    for field, _ in _fields(type(component)):
        if field.name == name:
            return getattr(component, name)
    return None


def parts_of(component: Any) -> list[Any]:
    """Return the components in the fields of a component."""
    parts: list[Any] = []
    if not dataclasses.is_dataclass(component):
        return parts
    for field in dataclasses.fields(component):
        value = getattr(component, field.name) if field.init else ()
        values = value if isinstance(value, tuple) else (value,)
        parts += [part for part in values if isinstance(part, Component)]
    return parts


@dataclasses.dataclass(frozen=True)
class _Writer:
    all_fields: bool
    places: Places

    def write(self, component: Any) -> str:
        complete(type(component))
        fields = []
        for field, _ in _fields(type(component)):
            value = getattr(component, field.name)
            if self.places != "whole":
                value = self._without_places(component, field, value)
            is_named = self.all_fields and field.name not in component.added
            if is_named or value != _default(field):
                fields.append(f"{field.name}={self._write_value(value)}")
        name = name_of(component)
        return f"{name}({','.join(fields)})" if fields else name

    def _without_places(self, component: Any, field: dataclasses.Field[Any], value: Any) -> Any:
        """Return a field's value without parts that do not affect results."""
        if field.name in component.immaterial:
            return _default(field)
        if field.name not in component.places:
            return value
        if self.places == "blank":
            return ""
        if isinstance(value, str) and ":" not in value:  # server addresses and hub models are not paths
            return PurePath(value).name or value
        return value

    def _write_value(self, value: Any) -> str:
        if isinstance(value, tuple) and any(isinstance(part, Component) for part in value):
            return f"({','.join(map(self._write_value, value))}{',' * (len(value) == 1)})"
        if not isinstance(value, Component):
            return repr(value)
        text = self.write(value)
        if _find(type(value))[0] == "tokenizer" or not text.split("(")[0].isidentifier():
            return repr(text)  # '13a' and 'ja-mecab' are not identifiers, so tokenizers are quoted
        return text


@cache
def _targets() -> dict[str, dict[str, str]]:
    """Return kind → name → "module:Class", including components of other installed packages."""
    table: dict[str, dict[str, str]] = {}
    for kind, components in read_catalogue().items():
        table[kind] = {name: known["target"] for name, known in components.items()}
    for entry in entry_points(group="interloq.components"):
        kind, _, name = entry.name.partition(".")
        if kind in table and name and name not in table[kind]:
            table[kind][name] = entry.value
    return table


def _fold_name(name: str) -> str:
    return name.replace("-", "").replace("_", "").casefold()


def _class(name: str, kind: str) -> type:
    known = read_catalogue()[kind].get(name)
    component_class: type = import_target(known["target"] if known else targets(kind)[name])
    complete(component_class, kind)
    return component_class


def import_target(target: str) -> Any:
    """Import what "module:attribute" names."""
    module, _, attribute = target.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _create(written: ParsedSpec, kind: str | None, text: str) -> Any:
    kinds = [kind] if kind else KINDS
    for candidate in kinds:
        if name := registered_name(written.name, kind=candidate):
            cls = _class(name, candidate)
            fields: dict[str, Any] = {}
            for field, value in (_name_parts(written, cls) | written.fields).items():
                fields[field] = _create_parts(value, text)
            return _build(cls, name, fields)
    known: list[str] = []
    for candidate in kinds:
        known += names(candidate)
    where = "" if written.name == text.strip() else f" in {text!r:.80}"
    raise SpecError(f"unknown {kind or 'component'} {written.name!r}{where}{nearest(written.name, known)}")


def _create_parts(value: Any, text: str) -> Any:
    """Return a field's value: specs become components, alone or in a tuple."""
    if isinstance(value, tuple):
        return tuple(_create_parts(part, text) for part in value)
    return _create(value, None, text) if isinstance(value, ParsedSpec) else value


def _name_parts(written: ParsedSpec, cls: type) -> dict[str, ParsedSpec]:
    """Return the parts given without a name, under the fields that hold components, in their order."""
    slots = [field.name for field, _ in _fields(cls) if field.metadata.get("kind")]
    if len(written.parts) > len(slots):
        parts, fields = count(len(written.parts), "component"), " and ".join(slots) or "none"
        raise SpecError(f"{written.name} has {parts} without a field's name, and takes {fields}")
    named_parts = dict(zip(slots, written.parts, strict=False))
    if twice := named_parts.keys() & written.fields.keys():
        raise SpecError(f"{min(twice)!r} is given twice in {written.name}(…)")
    return named_parts


def _find(cls: type) -> tuple[str, str]:
    unregistered = "", getattr(cls, "spec_name", "") or cls.__name__
    return _find_registered(f"{cls.__module__}:{cls.__qualname__}") or unregistered


@cache
def _find_registered(target: str) -> tuple[str, str] | None:
    """Return the kind and name of a registered class."""
    for kind, components in _targets().items():
        for name, registered in components.items():
            if registered == target:
                return kind, name
    return None


def _build(cls: type, name: str, arguments: dict[str, Any]) -> Any:
    known = [field.name for field, _ in _fields(cls)]
    for argument in arguments:
        if argument not in known:
            raise SpecError(f"{name} has no field {argument!r}{nearest(argument, known)}")
    missing = [field.name for field, _ in _fields(cls) if _is_required(field) and field.name not in arguments]
    if missing:
        raise SpecError(_describe_missing_fields(name, cls, missing))
    return cls(**arguments)


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _describe_missing_fields(name: str, cls: Any, missing: list[str]) -> str:
    """Return a message about missing fields, with how to get their values if known."""
    described = list(missing)
    for i, field in enumerate(missing):
        if cls.needs and field in cls.needs.fields:
            described[i] = f"{field} ({cls.needs.fields[field]})"
    return f"{name} needs {' and '.join(described)}: write {name}({','.join(f'{field}=…' for field in missing)})"


def _fields(cls: Any) -> tuple[tuple[dataclasses.Field[Any], Any], ...]:
    """Return the fields of a component with their types."""
    return _cached_fields(cls)  # mypy does not accept that classes can be hashed unless they are Any


@cache
def _cached_fields(cls: Any) -> tuple[tuple[dataclasses.Field[Any], Any], ...]:
    """Return the fields, cached because annotations are slow to evaluate."""
    hints = typing.get_type_hints(cls)
    return tuple((field, hints[field.name]) for field in dataclasses.fields(cls) if field.init)


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default is dataclasses.MISSING:
        return dataclasses.MISSING
    kind = field.metadata.get("kind")
    return create(field.default, kind=kind) if kind else field.default


def _is_a(value: Any, kind: str) -> bool:
    """Return whether it is a component of this kind; an unregistered component is accepted."""
    return dataclasses.is_dataclass(type(value)) and _find(type(value))[0] in ("", kind)


def _are(value: Any, kind: str, hint: Any) -> bool:
    """Return whether it is a component of this kind or, for a field that takes several, a tuple of at least one."""
    if typing.get_origin(hint) is not tuple:
        return _is_a(value, kind)
    return isinstance(value, tuple) and bool(value) and all(_is_a(part, kind) for part in value)
