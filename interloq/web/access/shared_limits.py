# SPDX-License-Identifier: Apache-2.0
"""Limits on what clients do that several processes of a server share: counted in the database of the study."""

from __future__ import annotations

import hmac
import time
from collections import OrderedDict
from threading import Lock

from sqlalchemy import Connection, case, delete, insert, update
from sqlalchemy.exc import IntegrityError

from interloq.web.access.security import CLIENTS
from interloq.web.access.visitors import Study
from interloq.web.database import UnusableStudyError
from interloq.web.schema import quota

PARTS = 20.0  # of a burst; a process takes one of them at a time, so that most requests need no statement


class SharedLimits:
    """The same as `Buckets`, for all processes together.

    The database knows clients by keyed hashes, each with the time at which the client may do everything again, and
    forgets it then. What a process took for a client and did not use is lost to the others: one part of the burst.
    """

    def __init__(self, study: Study, name: str, rate: float, burst: float) -> None:
        self.study, self.name, self.rate, self.burst, self.part = study, name, rate, burst, burst / PARTS
        self._lock, self._refilling = Lock(), Lock()
        self._held: OrderedDict[str, float] = OrderedDict()

    def take_at_once(self, client: str, cost: float = 1.0) -> bool | None:
        """Return True if this process has taken enough for the client before; None if the database must be asked."""
        with self._lock:
            held = self._held.pop(client, 0.0)
            enough = held >= cost
            self._held[client] = held - cost if enough else held
            if len(self._held) > CLIENTS:
                self._held.popitem(last=False)
        return enough or None

    def take(self, client: str, cost: float = 1.0) -> bool:
        """Return whether the client may do something of this cost now."""
        with self._refilling:  # requests that come together need one part
            if self.take_at_once(client, cost):
                return True
            try:
                with self.study.database.writing(wait_for_disk=False) as connection:
                    for wanted in (max(cost, self.part), cost):
                        if self.take_in(client, connection, wanted):
                            with self._lock:
                                self._held[client] = self._held.get(client, 0.0) + wanted - cost
                            return True
            except UnusableStudyError:
                return True  # the page will say so
        return False

    def take_in(self, client: str, connection: Connection, cost: float = 1.0) -> bool:
        """Return the same within a transaction, without what this process has taken before."""
        now, seconds = time.time(), cost / self.rate
        hashed = hmac.digest(self.study.key.encode(), f"{self.name} {client}".encode(), "sha256").hex()
        connection.execute(delete(quota).where(quota.c.free < now))
        free = case((quota.c.free > now, quota.c.free), else_=now) + seconds
        known = quota.c.client == hashed
        within = free <= now + self.burst / self.rate
        if connection.execute(update(quota).where(known, within).values(free=free)).rowcount:
            return True
        try:
            with connection.begin_nested():
                connection.execute(insert(quota).values(client=hashed, free=now + seconds))
        except IntegrityError:  # the client is known and did too much
            return False
        return True
