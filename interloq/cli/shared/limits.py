# SPDX-License-Identifier: Apache-2.0
"""Limits and a log of what LLM judges send to paid servers, for several verbs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from interloq.cli.shared.options import add_options, make_options
from interloq.cli.shared.output import mark_incomplete
from interloq.servers.spending import SpendingLimits
from interloq.terminal.console import print_stderr


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Add --max-calls, --max-cost and --call-log."""
    add_options(parser, SpendingLimits)


def announcer(args: argparse.Namespace) -> Callable[[str], None] | None:
    """Prints estimates on standard error, unless the run is quiet."""
    return None if args.quiet else lambda text: print_stderr(f"interloq: to be sent: {text}")


@contextmanager
def limited(args: argparse.Namespace, *, may_be_incomplete: bool = True) -> Iterator[None]:
    """Apply the limits to everything inside, and print what was spent.

    Failed requests make the verb finish with exit code 1, unless it may not be incomplete: `gate` refuses by itself.
    """
    with make_options(SpendingLimits, args).apply(announcer(args)) as spent:
        yield
    mark_incomplete(may_be_incomplete and spent.failed)
    if spent.summary() and not args.quiet:
        print_stderr(f"interloq: {spent.summary()}")
