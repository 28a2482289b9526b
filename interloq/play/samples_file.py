# SPDX-License-Identifier: Apache-2.0
"""From a file of dialogues to a file of samples, one per judged utterance."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.records.jsonl import Rejected, header, read, write
from interloq.play.samples import Sampled, carried, samples


def samples_file(
    dialogues: str | Path,
    output: str | Path,
    *,
    targets: Collection[str] = (),
    system: str = "",
    strict: bool = False,
    on_reject: Callable[[Rejected], None] | None = None,
    columns: Mapping[str, str] | None = None,
) -> Sampled:
    """Write the systems' utterances as samples, with the partner set from the dialogues' header; see `samples`.

    `-` is a pipe. Bad lines and `columns` are handled as in `interloq.read`.
    """
    refuse_overwriting([output], [dialogues])
    tally, facts = Sampled(), {} if str(dialogues) == "-" else header(dialogues)
    recorded = read(dialogues, kind="dialogues", strict=strict, on_reject=on_reject, columns=columns)
    write(output, samples(recorded, targets=targets, system=system, tally=tally), kind="samples", **carried(facts))
    return tally
