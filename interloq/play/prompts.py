# SPDX-License-Identifier: Apache-2.0
"""Prompts: contexts that systems reply to, read from samples, from samples without replies, or from lines of text.

Rows with the same id are replies of several systems to one context, so they are one prompt. It has what these rows
share: the context, all references, the dialogue, and further fields with the same value. Ratings belong to the replies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from interloq.data.files.opening import lines, not_utf8, plain_suffix
from interloq.data.records.dialogue_names import name_dialogues
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.errors import InputError
from interloq.records import Reference, Sample
from interloq.signature import fingerprint


@dataclass(frozen=True, slots=True)
class Prompt:
    """A context with its id, references, dialogue and further fields, as a sample without a reply."""

    sample: Sample
    given: tuple[Sample, ...] = ()  # the replies in the file, with their systems and ratings


def read_prompts(path: str | Path, *, reading: ReadOptions = READ_DEFAULTS) -> list[Prompt]:
    """Return the prompts of a file, in its order.

    In a `.txt` file each line is a context, with a tab between its turns; its id is the number of the line.
    """
    if plain_suffix(path) == ".txt":
        return [Prompt(sample) for sample in _read_lines(path)]
    return group_prompts(reading.read(path, kind="prompts"))


def group_prompts(samples: Iterable[Sample]) -> list[Prompt]:
    """Return one prompt per id; rows with one id and different contexts are refused."""
    rows: dict[str, list[Sample]] = {}
    for sample in samples:
        same_id = rows.setdefault(sample.id, [])
        if same_id and _turns(same_id[0]) != _turns(sample):
            first, other = same_id[0].system or "(none)", sample.system or "(none)"
            raise InputError(
                f"{sample.id!r} has different contexts for the systems {first!r} and {other!r}",
                hint="give each context its own id, for example --map id=FIELD",
            )
        same_id.append(sample)
    return [_make_prompt(same_id) for same_id in rows.values()]


def repeat_prompts(prompts: Sequence[Prompt], n: int) -> list[Sample]:
    """Return n samples without a reply per prompt: `id`, `id/repeat-2`, …

    Replies to one prompt are not independent. If a dialogue is not named and cannot be found from the contexts, the
    repeats are therefore one dialogue, named after the prompt.
    """
    bare = [prompt.sample for prompt in prompts]
    if n > 1:
        bare = [replace(sample, dialogue=sample.dialogue or sample.id) for sample in name_dialogues(bare)]
    repeated = []
    for sample in bare:
        repeated += [replace(sample, id=repeat_id(sample.id, k)) for k in range(1, n + 1)]
    id, times = Counter(sample.id for sample in repeated).most_common(1)[0]
    if times > 1:
        raise InputError(f"two replies would have the id {id!r}", hint="rename this prompt")
    return repeated


def repeat_id(id: str, k: int) -> str:
    """Return the id of the k-th reply to a prompt; the first one has the prompt's id."""
    return id if k == 1 else f"{id}/repeat-{k}"


def prompts_fingerprint(prompts: Iterable[Prompt]) -> str:
    """Return the fingerprint of what systems reply to: ids and contexts."""
    parts = []
    for prompt in prompts:
        parts.append(prompt.sample.id)
        parts += [part for turn in _turns(prompt.sample) for part in turn]
        parts.append("\0")
    return fingerprint(*parts)


def count_repeated_contexts(prompts: Iterable[Prompt]) -> int:
    """Return how many prompts have the context of an earlier one."""
    contexts = [_turns(prompt.sample) for prompt in prompts]
    return len(contexts) - len(set(contexts))


def _turns(sample: Sample) -> tuple[tuple[str, str], ...]:
    return tuple((turn.speaker, turn.text) for turn in sample.context)


def _make_prompt(rows: Sequence[Sample]) -> Prompt:
    first = rows[0]
    references: dict[tuple[str, str], Reference] = {}
    for row in rows:
        for reference in row.references:  # `extend` may have left out each system's own reply
            references.setdefault((reference.text, reference.source), reference)
    shared = dict(first.fields)
    for row in rows:
        shared = {name: value for name, value in shared.items() if row.fields.get(name) == value}
    dialogue = first.dialogue if all(row.dialogue == first.dialogue for row in rows) else ""
    bare = Sample(first.id, first.context, "", references.values(), dialogue=dialogue, fields=shared)
    return Prompt(bare, tuple(row for row in rows if row.response or row.system))


def _read_lines(path: str | Path) -> Iterator[Sample]:
    empty = True
    for number, line in lines(path):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            bad = not_utf8(error)
            raise InputError(bad.what, hint=bad.hint, where=f"{path}:{number}") from error
        if text.strip():
            empty = False
            yield Sample(str(number), [turn for turn in text.split("\t") if turn.strip()])
    if empty:
        raise InputError("no prompt in the file", hint="write one per line", where=str(path))
