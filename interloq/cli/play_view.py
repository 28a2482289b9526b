"""What is seen of a run while it goes on: a bar and troubles by bot in a terminal, a line now and then in a pipe."""

from __future__ import annotations

import contextlib
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from interloq.models.progress import said
from interloq.play.talk import Tally

EVERY = 10.0  # seconds between lines


@contextlib.contextmanager
def watching(tally: Tally, dialogues: int, utterances: int, *, quiet: bool = False) -> Iterator[Callable[[int], None]]:
    """Call what is yielded with each batch's number of utterances; `utterances` are those of a whole dialogue."""
    view = _View(tally, dialogues, utterances)
    if quiet:
        yield view.hear
    elif sys.stderr.isatty():
        with _live() as live:
            yield lambda heard: live.update(view.table(heard))
    else:
        yield view.line
        view.say()


class _View:
    def __init__(self, tally: Tally, dialogues: int, utterances: int) -> None:
        self.tally, self.dialogues, self.utterances = tally, dialogues, utterances
        self.heard, self.start, self.said = 0, time.monotonic(), time.monotonic()

    def hear(self, heard: int) -> None:
        self.heard += heard

    def line(self, heard: int) -> None:
        self.hear(heard)
        if time.monotonic() - self.said >= EVERY:
            self.say()

    def say(self) -> None:
        self.said = time.monotonic()
        print("; ".join([self.counts(), *self.troubles()]), file=sys.stderr, flush=True)

    def counts(self) -> str:
        parts = [f"{self.tally.dialogues:,} of {self.dialogues:,} dialogues"]
        if self.tally.resumed:
            parts[0] += f" ({self.tally.resumed:,} from before)"
        if self.tally.dialogues:
            parts.append(f"{self.tally.utterances / self.tally.dialogues:.1f} utterances each")
        if left := self.left():
            parts.append(f"{said(left)} left")
        return ", ".join(parts)

    def troubles(self) -> list[str]:
        """Troubles by bot, the most troubled first."""
        bots: dict[str, Counter[str]] = {}
        for (bot, what), n in self.tally.troubles.items():
            bots.setdefault(bot, Counter())[what] += n
        worst = sorted(bots, key=lambda bot: (-bots[bot].total(), bot))
        return [f"{bot}: " + ", ".join(f"{what} {n:,}" for what, n in bots[bot].most_common()) for bot in worst]

    def share(self) -> float:
        """How much is done; what dialogues lack that ended too early will not come."""
        fresh = self.tally.dialogues * self.utterances - self.tally.utterances
        old = self.tally.resumed * self.utterances
        whole = max(1, self.dialogues * self.utterances - old)
        return min(1.0, (self.heard + fresh) / whole)

    def left(self) -> float:
        share, spent = self.share(), time.monotonic() - self.start
        return spent / share * (1 - share) if share > 0 else 0.0

    def table(self, heard: int) -> Any:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        self.hear(heard)
        table = Table.grid()
        table.add_row(ProgressBar(total=1.0, completed=self.share(), width=60))
        table.add_row(Text(self.counts()))
        for line in self.troubles():
            table.add_row(Text(f"  {line}", style="yellow"))
        return table


def _live() -> Any:
    from rich.console import Console
    from rich.live import Live

    return Live(console=Console(stderr=True), refresh_per_second=4, transient=True)
