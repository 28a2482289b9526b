"""Japanese and Chinese logs, split by dialogue into training and held-out parts.

The data folder holds `logs/NAME.jsonl.xz` (one dialogue per line) and the published sets, unpacked or as archives.

- A tenth of the dialogues of each log is held out, by the hash of their texts; of CDConv, by the hash of the first two
  turns, because several of its dialogues begin with the same ones and must not be on both sides.
- A dialogue is not used for training if it has three consecutive turns of a held-out one, up to case and punctuation.
  Runs of fewer than COPIED characters do not count: many dialogues begin with the same greetings.
- Of each log, dialogues in the order of their hashes are used for training until they have `most` turns.
- CDConv's replies were written by bots and labelled by people. The last reply of a dialogue with a contradiction is
  not a reply to learn from; in the held-out part it is a wrong one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import orjson

from interloq import Dialogue, InputError, Turn
from interloq.data.files.opening import lines
from interloq.data.sets.registry import DATASETS, locate, read_parts
from interloq.retrieve.leaks import normalise_text
from interloq.signature import fingerprint

# language → log → its licence
LOGS: Mapping[str, Mapping[str, str]] = {
    "ja": {
        "kokorochat_ja": "CC BY-NC-ND",
        "real_persona_chat": "CC BY-SA 4.0",
        "japanese_daily_dialogue": "CC BY-NC-ND 4.0",
    },
    "zh": {
        "kdconv": "Apache-2.0",
        "cdconv_zh": "CC BY-NC",
        "cped_zh": "Apache-2.0",
        "dialogre_zh": "research",
        "smile_zh": "CC0",
    },
}
HELD_OUT = 10  # one in HELD_OUT dialogues
RUN, COPIED = 3, 30  # turns and characters of a copy


@dataclass(frozen=True, slots=True)
class Talk:
    """A dialogue; `wrong` if people labelled its last turn as a contradiction, `labelled` if they judged it at all."""

    dialogue: Dialogue
    labelled: bool = False
    wrong: bool = False

    @property
    def key(self) -> str:
        """Hash that decides the part; the same for dialogues that must stay together."""
        return fingerprint(*(turn.text for turn in self.dialogue.turns[: 2 if self.labelled else None]))

    @property
    def learned(self) -> Dialogue:
        """The dialogue without a wrong last turn."""
        return replace(self.dialogue, turns=self.dialogue.turns[:-1]) if self.wrong else self.dialogue


def talks(data: Path, name: str) -> list[Talk]:
    """Dialogues of one log with two turns or more, in the order of their hashes."""
    found = _of_set(data, name) if name in DATASETS else _of_log(data / "logs" / f"{name}.jsonl.xz", name)
    return sorted(
        (talk for talk in found if len(talk.dialogue.turns) > 1), key=lambda talk: (talk.key, talk.dialogue.id)
    )


def _of_set(data: Path, name: str) -> Iterator[Talk]:
    """Dialogues between people."""
    for part, dialogue in read_parts(name, locate(name, data)):
        if part != "system":
            yield Talk(dialogue)


def _of_log(path: Path, name: str) -> Iterator[Talk]:
    if not path.is_file():
        raise InputError(f"no log {name!r}", hint="check --data", where=str(path))
    for _, line in lines(path):
        item = orjson.loads(line)
        turns = [Turn(turn["text"], turn["speaker"]) for turn in item["turns"]]
        label = item.get("contradiction")
        yield Talk(Dialogue(f"{name}/{item['id']}", turns), labelled=label is not None, wrong=bool(label))


def split(found: Sequence[Talk], most: int) -> tuple[list[Dialogue], list[Talk]]:
    """Dialogues to train on, and those held out."""
    held_out = [talk for talk in found if int(talk.key, 16) % HELD_OUT == 0]
    tested = {run for talk in held_out for run in _runs(talk.dialogue)}
    others = (talk.learned for talk in found if int(talk.key, 16) % HELD_OUT)
    return list(_first((d for d in others if tested.isdisjoint(_runs(d))), most)), held_out


def _runs(dialogue: Dialogue) -> Iterator[tuple[str, ...]]:
    """Consecutive turns that are long enough to be recognised."""
    turns = [normalise_text(turn.text) for turn in dialogue.turns]
    runs = (tuple(turns[i : i + RUN]) for i in range(len(turns) - RUN + 1))
    return (run for run in runs if sum(map(len, run)) >= COPIED)


def _first(dialogues: Iterable[Dialogue], most: int) -> Iterator[Dialogue]:
    taken = 0
    for dialogue in dialogues:
        taken += len(dialogue.turns)
        if taken > most:
            return
        yield dialogue
