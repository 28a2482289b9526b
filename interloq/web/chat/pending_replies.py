# SPDX-License-Identifier: Apache-2.0
"""Which process of the server asks a bot for a reply, so that a page that is reloaded elsewhere does not ask again."""

from __future__ import annotations

import os
import socket
import time

from sqlalchemy import Connection, delete, insert, select

from interloq.web.schema import pending_reply

LONGEST = 900.0  # seconds after which a process on another machine is no longer waited for


def claim_reply(connection: Connection, assignment_id: int, place: int) -> bool:
    """Return whether this process shall ask for a reply; otherwise, another one that is alive does so already.

    The caller has locked the conversation.
    """
    known = pending_reply.c.assignment_id == assignment_id
    row = connection.execute(select(pending_reply).where(known)).one_or_none()
    if row is not None and row.place == place and row.process != _name_process() and _is_alive(row.process, row.since):
        return False
    connection.execute(delete(pending_reply).where(known))
    claimed = {"assignment_id": assignment_id, "place": place, "process": _name_process(), "since": time.time()}
    connection.execute(insert(pending_reply).values(**claimed))
    return True


def release_reply(connection: Connection, assignment_id: int) -> None:
    """Note that this process no longer asks for a reply."""
    own = (pending_reply.c.assignment_id == assignment_id) & (pending_reply.c.process == _name_process())
    connection.execute(delete(pending_reply).where(own))


def _name_process() -> str:
    return f"{socket.gethostname()[:100]}:{os.getpid()}"


def _is_alive(process: str, since: float) -> bool:
    host, _, number = process.rpartition(":")
    if host == _name_process().rpartition(":")[0]:
        try:
            os.kill(int(number), 0)
        except ProcessLookupError:
            return False
        except PermissionError:  # of another user
            pass
    return time.time() - since < LONGEST
