"""Pretrained networks with a head, such as language models: loaded only where every weight is in the file.

Where transformers finds no weights for a part of a network it makes some up at random, and goes on. A score of such a
network would mean nothing, so it is refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from interloq.errors import InputError
from interloq.models.pretrained import load_network


def load_whole(folder: Path, kind: Any, *, cure: str) -> Any:
    """The network as one of transformers' `AutoModelFor…` classes, or an error with this cure."""
    return load_network(folder, _Whole(kind, cure))


class _Whole:
    def __init__(self, kind: Any, cure: str) -> None:
        self.kind, self.cure = kind, cure

    def from_pretrained(self, folder: Path, **options: Any) -> Any:
        try:
            network, found = self.kind.from_pretrained(folder, output_loading_info=True, **options)
        except ValueError as error:
            if "Unrecognized configuration class" not in str(error):
                raise
            made_for = self.kind.__name__.removeprefix("AutoModelFor")
            raise InputError(f"no {made_for} can be made of this model", cure=self.cure, where=str(folder)) from error
        if missing := sorted(found["missing_keys"]):
            what = f"the model holds no weights for {missing[0]!r}"
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise InputError(what + more, cure=self.cure, where=str(folder))
        return network
