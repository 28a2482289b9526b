# SPDX-License-Identifier: Apache-2.0
"""The view of a run in progress: a bar, the current ranking and failures by bot; in a pipe, a line every 10 seconds."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from interloq.terminal.console import plain, print_stderr, print_table

if TYPE_CHECKING:
    from interloq.play.talk import PlayTally

KINDS = 5  # kinds of failures that are named
EVERY = 10.0  # seconds between lines, and between rankings


@contextlib.contextmanager
def watching(
    tally: PlayTally,
    dialogues: int,
    utterances: int,
    *,
    quiet: bool = False,
    at_most: bool = False,
    ranking: Callable[[], str] | None = None,
    what: str = "dialogues",
) -> Iterator[Callable[[int], None]]:
    """Show progress; call the yielded function with the number of utterances in each batch.

    `utterances` is the number per dialogue. `ranking` returns the current ranking in one line; it may be slow and
    is called every few seconds. `at_most`: the run may end before all dialogues are played.
    """
    view = _View(tally, dialogues, utterances, at_most=at_most, ranking=ranking, what=what)
    if quiet:
        yield view.hear
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.live import Live

        with Live(console=Console(stderr=True), refresh_per_second=4, transient=True) as live:
            yield lambda heard: live.update(view.table(heard))
        for line in view.standings(last=True):
            print_stderr(line)
    else:
        yield view.line
        view.report(last=True)


class _View:
    def __init__(
        self,
        tally: PlayTally,
        dialogues: int,
        utterances: int,
        *,
        at_most: bool = False,
        ranking: Callable[[], str] | None = None,
        what: str = "dialogues",
    ) -> None:
        self.what = what
        self.tally, self.dialogues, self.utterances = tally, dialogues, utterances
        self.at_most, self.ranking, self.standing = at_most, ranking, ""
        self.heard, self.start, self.printed = 0, time.monotonic(), time.monotonic()
        self.ranked = -math.inf  # rank as soon as there is something to rank

    def hear(self, heard: int) -> None:
        self.heard += heard

    def line(self, heard: int) -> None:
        self.hear(heard)
        if time.monotonic() - self.printed >= EVERY:
            self.report()

    def report(self, *, last: bool = False) -> None:
        self.printed = time.monotonic()
        print_stderr("; ".join([self.counts(), *self.standings(last=last), *self.failures()]))

    def counts(self) -> str:
        limit = "at most " if self.at_most else ""
        parts = [f"{self.tally.dialogues:,} of {limit}{self.dialogues:,} {self.what}"]
        if self.tally.resumed:
            parts[0] += f" ({self.tally.resumed:,} from earlier runs)"
        if self.tally.dialogues and self.utterances > 1:
            parts.append(f"{self.tally.utterances / self.tally.dialogues:.1f} utterances each")
        from interloq.data.progress import format_duration

        if left := self.left():
            parts.append(f"{format_duration(left)} left")
        return ", ".join(parts)

    def standings(self, *, last: bool = False) -> list[str]:
        """Return the current ranking; it is slow, so it is computed only every few seconds, and at the `last` call."""
        if self.ranking and (last or time.monotonic() - self.ranked >= EVERY):
            self.standing = self.ranking()
            self.ranked = time.monotonic()
            if not self.standing:
                self.ranked = -math.inf
        return [self.standing] if self.standing else []

    def failures(self) -> list[str]:
        """Return failures by bot; bots with the most failures first."""
        bots: dict[str, Counter[str]] = {}
        for (bot, what), n in self.tally.failures.items():
            bots.setdefault(bot, Counter())[what] += n
        worst = sorted(bots, key=lambda bot: (-bots[bot].total(), bot))
        return [f"{bot}: {_format_failures(bots[bot])}" for bot in worst]

    def share(self) -> float:
        """Return the share that is done; missing utterances of dialogues that ended early count as done."""
        fresh = self.tally.dialogues * self.utterances - self.tally.utterances
        old = self.tally.resumed * self.utterances
        whole = max(1, self.dialogues * self.utterances - old)
        return min(1.0, (self.heard + fresh) / whole)

    def left(self) -> float:
        share, spent = self.share(), time.monotonic() - self.start
        if share == 0:
            return 0.0
        return spent / share * (1 - share)

    def table(self, heard: int) -> Any:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        self.hear(heard)
        table = Table.grid()
        table.add_row(ProgressBar(total=1.0, completed=self.share(), width=60))
        table.add_row(Text(self.counts()))
        for line in self.standings():
            table.add_row(Text(plain(line)))
        for line in self.failures():
            table.add_row(Text(f"  {plain(line)}", style="yellow"))
        return table


def print_bots(bots: Mapping[str, Mapping[str, Any]]) -> None:
    """Print what each bot did and its failures, from the facts of a tally."""
    rows = []
    for bot, n in bots.items():
        counts = [f"{n['replies']:,}", f"{n['batches']:,}", f"{n['seconds']:.1f}"]
        rows.append([bot, *counts, _format_failures(Counter(n["failures"]))])
    if rows:
        print_table("", ["bot", "replies", "batches", "seconds", "failures"], rows)


def _format_failures(failures: Counter[str]) -> str:
    """Return the most frequent kinds of failure; a program may word each failure differently."""
    kinds = failures.most_common(KINDS)
    other = failures.total() - sum(n for _, n in kinds)
    if other:
        kinds.append(("others", other))
    return ", ".join(f"{what} {n:,}" for what, n in kinds)
