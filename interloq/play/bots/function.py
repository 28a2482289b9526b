# SPDX-License-Identifier: Apache-2.0
"""A bot that is a Python function, named by the user as `module:function`.

The function takes (turns, seed) and returns text; with `batch=N` it takes lists of both and returns a list of texts.
Instead of a text it may return a `Reply`, for example to end the dialogue: `Reply("Bye!", ends=True)`.
The module is searched for as Python does, and in the working directory. An exception is reported as a failure.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any

from interloq.errors import InputError
from interloq.options import limited
from interloq.play.bot import Bot, make_crash_reply
from interloq.records import Turn
from interloq.servers.replies import Reply
from interloq.signature import Signature, file_fingerprint, signature

HINT = "name it as module:function, with a module that can be imported from here"


@dataclass(frozen=True)
class Function(Bot, name="function"):
    """Calls a Python function."""

    path: Annotated[str, "`module:function`, from a module that can be imported here"]
    batch: Annotated[int, "dialogues per call; 0: the function takes one dialogue, not a list"] = limited(0, least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.path.count(":") != 1:
            raise InputError(f"{self.path!r} does not name a function", hint=HINT)

    def replies(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Reply]:
        replies: list[Reply] = []
        if not self.batch:
            for turns, seed in zip(dialogues, seeds, strict=True):
                try:
                    replies.append(_reply(self._call(list(turns), seed)))
                except (Exception, SystemExit) as error:
                    replies.append(make_crash_reply(error))
            return replies
        for start in range(0, len(dialogues), self.batch):
            part = slice(start, start + self.batch)
            texts = self._call([list(turns) for turns in dialogues[part]], list(seeds[part]))
            is_list, expected = isinstance(texts, list | tuple), len(dialogues[part])
            if not is_list or len(texts) != expected:  # an error, so that `ask_bot` halves the batch
                seen = f"{len(texts)} replies" if is_list else type(texts).__name__
                raise ValueError(f"the function gave {seen} to {expected} dialogues")
            replies += map(_reply, texts)
        return replies

    @property
    def side_effect(self) -> str:
        """Return a text that names what it imports."""
        return f"imports the module {self.path.partition(':')[0]!r} and calls {self.path!r}"

    def signature(self) -> Signature:
        """Return the path with a fingerprint of the function's file; files that it imports are not included."""
        return signature(self, source=_source(self._call))

    @cached_property
    def _call(self) -> Callable[..., Any]:
        return _import_function(self.path)


def _import_function(path: str) -> Callable[..., Any]:
    module, _, name = path.partition(":")
    here = str(Path.cwd())
    sys.path.append(here)  # last, so that nothing in the folder replaces a standard module
    try:
        function = attrgetter(name)(importlib.import_module(module))
    except Exception as error:
        raise InputError(f"{path!r} cannot be loaded: {type(error).__name__}: {error}", hint=HINT) from error
    finally:
        sys.path.remove(here)
    if not callable(function):
        raise InputError(f"{path!r} is {type(function).__name__}, not a function", hint=HINT)
    return function  # type: ignore[no-any-return]


def _source(call: Callable[..., Any]) -> str:
    try:
        return file_fingerprint(Path(inspect.getfile(inspect.unwrap(call))))
    except (TypeError, OSError):  # builtin, or an instance of a class
        return "unknown"


def _reply(text: Any) -> Reply:
    if isinstance(text, Reply):
        return text
    if isinstance(text, str):
        return Reply(text)
    return Reply("", f"the function gave {type(text).__name__}, not text")
