# SPDX-License-Identifier: Apache-2.0
"""Rubrics: what a language model is asked when it judges replies or whole dialogues, and how its answers are read.

Files in English, Japanese and Chinese come with Interloq: `en`, `ja` and `zh` for replies, and `dialogue_en` … for
dialogues. Your own rubric is a JSON file of the same format (docs/metrics/llm_judge.md). The scale is two digits, so
that every score is one token. The dialogue is inserted as a JSON object, so that no text in it can be mistaken for a
part of the prompt.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from interloq.data.files.opening import read_json
from interloq.errors import InputError, nearest, short_repr
from interloq.play.samples import JUDGED
from interloq.records import Sample
from interloq.signature import fingerprint

LANGUAGES = ("en", "ja", "zh")
Schema = Mapping[str, Sequence[Any]]  # values allowed for each key, all of one type
Unit = Literal["reply", "dialogue"]  # what is judged
PROMPTS = {  # what each prompt must contain
    "single": ("definition", "dialogue", "lowest", "highest"),
    "several": ("definitions", "dialogue", "keys", "lowest", "highest"),
    "pair": ("definition", "dialogue", "answers"),
}
FORM = 'write {"scale": [1, 5], "dimensions": {"overall": "…"}, "single": "… {dialogue} …"}'
SHORTEST = 40  # bytes of a turn that are worth keeping
NOT_WHOLE = "a single reply, not a dialogue: score a file of dialogues, or write of='reply'"
SILENT = "the judged system says nothing"
LEAST = 0.5  # probability that possible answers must have together: below, the model wants to say something else
_SLOT = re.compile(r"\{(\w+)\}")
_FENCE = re.compile(r"\s*```(?:json)?\s*(.*?)\s*```\s*", re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Rubric:
    """A scale, dimensions with their definitions, and prompts."""

    where: str
    lowest: int
    highest: int
    dimensions: Mapping[str, str]
    prompts: Mapping[str, str]

    @property
    def choices(self) -> tuple[str, ...]:
        """Possible scores as text, from the lowest to the highest."""
        return tuple(str(score) for score in range(self.lowest, self.highest + 1))

    def fingerprint(self) -> str:
        """Return a hash of everything that a model reads."""
        parts = [*self.choices, *self.dimensions, *self.dimensions.values(), *self.prompts, *self.prompts.values()]
        return fingerprint(*parts)

    def check(self, prompt: str, dimensions: Sequence[str]) -> None:
        """Refuse dimensions that the rubric does not define, and a prompt that it does not have."""
        for name in dimensions:
            if name not in self.dimensions:
                raise InputError(f"no dimension {name!r}{nearest(name, self.dimensions)}", where=self.where)
        if prompt not in self.prompts:
            raise InputError(f"no prompt {prompt!r}", hint=f'write "{prompt}": "… {{dialogue}} …"', where=self.where)

    def single(self, dimension: str, dialogue: str) -> str:
        """Return a prompt that asks for the score of one dimension as a number."""
        return self._fill("single", dialogue, dimension=dimension, definition=self.dimensions[dimension])

    def several(self, dimensions: Sequence[str], dialogue: str) -> str:
        """Return a prompt that asks for the scores of several dimensions as a JSON object."""
        definitions = "\n".join(f"- {name}: {self.dimensions[name]}" for name in dimensions)
        keys = ", ".join(json.dumps(name, ensure_ascii=False) for name in dimensions)
        return self._fill("several", dialogue, definitions=definitions, keys=keys)

    def pair(self, dimension: str, dialogue: str, answers: str) -> str:
        """Return a prompt that asks which of two replies is better; `answers` lists what may be answered."""
        definition = self.dimensions[dimension]
        return self._fill("pair", dialogue, dimension=dimension, definition=definition, answers=answers)

    def _fill(self, prompt: str, dialogue: str, **parts: str) -> str:
        values = {"dialogue": dialogue, "lowest": str(self.lowest), "highest": str(self.highest), **parts}
        # in one pass, so that braces in the dialogue stay what they are
        return _SLOT.sub(lambda slot: values.get(slot[1], slot[0]), self.prompts[prompt])


def read_rubric(name: str, of: Unit = "reply") -> Rubric:
    """Read the rubric of a language for replies or dialogues, or of a JSON file."""
    path = Path(name)
    if name in LANGUAGES and of == "dialogue":
        path = Path(__file__).with_name(f"dialogue_{name}.json")
    elif name in LANGUAGES:
        path = Path(__file__).with_name(f"{name}.json")
    if not path.is_file():
        known = ", ".join(("auto", *LANGUAGES))
        raise InputError(f"no rubric {name!r}", hint=f"name a JSON file, or one of these: {known}")
    return _make_rubric(read_json(path, hint=FORM), name)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A dialogue as a judge reads it, how many replies were shortened, and whether the context was."""

    text: str
    replies_cut: int = 0
    context_cut: bool = False


def dialogue_json(turns: Sequence[str], replies: Mapping[str, str], *, longest: int) -> Excerpt:
    """Return the dialogue as a JSON object of about `longest` bytes at most.

    Replies lose their ends, each at the same length. The context loses its oldest turns and then the beginning of the
    next one; it keeps half of the room if it needs it, so that no reply is judged without its context.
    """
    quoted_turns = list(map(_quote_text, turns))
    context_size = sum(len(turn.encode()) + 2 for turn in quoted_turns)
    room = max(longest // 2, longest - context_size)
    for name in replies:
        room -= len(f'"{name}": , ')
    endings, replies_cut = [], 0
    for name, text in replies.items():
        shortened = _shorten_quoted(text, room // len(replies))
        replies_cut += shortened != _quote_text(text)
        endings.append(f'"{name}": {shortened}')
    ends = ", ".join(endings)
    kept, left = list[str](), longest - len(ends.encode())
    for turn, quoted in zip(reversed(turns), reversed(quoted_turns), strict=True):
        size = len(quoted.encode()) + 2
        if size > left:
            if left > SHORTEST:
                kept.insert(0, _shorten_quoted(turn, left - 2, from_start=True))
            break
        kept.insert(0, quoted)
        left -= size
    return Excerpt(f'{{"context": [{", ".join(kept)}], {ends}}}', replies_cut, context_cut=kept != quoted_turns)


def transcript_json(turns: Sequence[tuple[str, str]]) -> str:
    """Return a whole dialogue as a JSON object, from speakers and texts."""
    parts = ", ".join(f'{{"speaker": {_quote_text(speaker)}, "text": {_quote_text(text)}}}' for speaker, text in turns)
    return f'{{"dialogue": [{parts}]}}'


def _quote_text(text: str) -> str:
    """Return a JSON string in which no chat template's special token, such as `<|im_end|>` or `[INST]`, can occur."""
    plain = json.dumps(_SURROGATE.sub("\ufffd", text), ensure_ascii=False)
    return plain.replace("<", "\\u003c").replace("[", "\\u005b")


def _shorten_quoted(text: str, longest: int, *, from_start: bool = False) -> str:
    """Return the quoted text, without its end, or its beginning, if it has more bytes than allowed."""
    quoted = _quote_text(text)
    while (size := len(quoted.encode())) > longest and text:
        length = min(len(text) - 1, len(text) * longest // size)
        if from_start:
            text = text[len(text) - length :]
            quoted = _quote_text(f"…{text}")
        else:
            text = text[:length]
            quoted = _quote_text(f"{text}…")
    return quoted


def _make_rubric(content: Mapping[str, Any], where: str) -> Rubric:
    known = ("language", "source", "scale", "dimensions", *PROMPTS)
    for key in content:
        if key not in known:
            raise InputError(f"unknown part {key!r}{nearest(key, known)}", where=where)
    lowest, highest = _scale(content.get("scale"), where)
    dimensions = _texts(content.get("dimensions"), "dimensions", where)
    prompts = _texts({name: content[name] for name in PROMPTS if name in content}, "prompts", where)
    for name, text in prompts.items():
        missing = [slot for slot in PROMPTS[name] if f"{{{slot}}}" not in text]
        if missing:
            slots = " and ".join(f"{{{slot}}}" for slot in missing)
            raise InputError(f"the prompt {name!r} lacks {slots}", hint=FORM, where=where)
    return Rubric(where, lowest, highest, dimensions, prompts)


def _scale(value: Any, where: str) -> tuple[int, int]:
    match value:
        case [int(lowest), int(highest)] if type(lowest) is type(highest) is int and 0 <= lowest < highest <= 9:
            return lowest, highest
    raise InputError(f"scale must be two digits such as [1, 5], got {short_repr(value)}", hint=FORM, where=where)


def _texts(value: Any, name: str, where: str) -> dict[str, str]:
    if not isinstance(value, dict) or not value:
        raise InputError(f"{name} must contain texts, got {short_repr(value)}", hint=FORM, where=where)
    for key, text in value.items():
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"{key!r} must be a text, got {short_repr(text)}", hint=FORM, where=where)
    return value


def join_judged_turns(sample: Sample) -> str:
    """Return all that the judged system says in a dialogue."""
    return " ".join(turn.text for turn in sample.context if turn.speaker == JUDGED and turn.text.strip())


def transcript(sample: Sample) -> str:
    """Return the dialogue as a judge reads it; turns without text are skipped."""
    return transcript_json([(turn.speaker, turn.text) for turn in sample.context if turn.text.strip()])


def unjudgable(sample: Sample, longest: int) -> str | None:
    """Return why a sample cannot be judged as a dialogue; None if it can. No turn is dropped to shorten it."""
    if sample.response:
        return NOT_WHOLE
    if not join_judged_turns(sample):
        return SILENT
    size = len(transcript(sample).encode())
    if size > longest:
        return f"the dialogue has {size:,} bytes, more than longest={longest}"
    return None


def response_format(schema: Schema) -> dict[str, Any]:
    """Return the schema in the form that chat servers accept."""
    properties = {name: {"enum": list(allowed)} for name, allowed in schema.items()}
    shape = {"type": "object", "properties": properties, "required": list(schema), "additionalProperties": False}
    return {"type": "json_schema", "json_schema": {"name": "judgment", "strict": True, "schema": shape}}


def read_object(text: str, schema: Schema) -> tuple[Any, ...] | str:
    """Return the values of a JSON object that fits the schema, or what is wrong with it; a code fence is removed."""
    fenced = _FENCE.fullmatch(text)
    try:
        value = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError):
        return "the judgment is not JSON"
    if not isinstance(value, dict) or value.keys() != schema.keys():
        return "the judgment does not have the keys of the schema"
    for name, allowed in schema.items():
        if type(value[name]) is not type(allowed[0]) or value[name] not in allowed:
            return "the judgment has a value outside the schema"
    return tuple(value[name] for name in schema)


def read_choice(candidates: Sequence[tuple[str, float]], choices: Sequence[str]) -> tuple[float, ...] | str:
    """Return the probability of each choice as the first token, ignoring spaces around it, or why it is not used."""
    probabilities = dict.fromkeys(choices, 0.0)
    for token, log_probability in candidates:
        if token.strip() in probabilities:
            probabilities[token.strip()] += math.exp(min(log_probability, 0.0))
    values = tuple(probabilities[choice] for choice in choices)
    if sum(values) >= LEAST:
        return values
    return f"possible answers have less than {LEAST} of the probability"  # also if one is NaN
