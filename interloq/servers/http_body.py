# SPDX-License-Identifier: Apache-2.0
"""The body of an HTTP answer, read in parts up to a size limit.

HTTP clients decompress bodies before their size can be checked, and a few hundred bytes, compressed twice, become
gigabytes. So bodies are read raw. One layer of gzip is decompressed here, within the limit; anything else is refused.
"""

from __future__ import annotations

import zlib

_GZIP = 16 + zlib.MAX_WBITS  # zlib's code for the gzip format


class BodyError(Exception):
    """The body cannot be used; the message says why."""


class Body:
    """Collects the parts of one answer."""

    def __init__(self, encoding: str, largest: int) -> None:
        """Decode answers in this `encoding`, their Content-Encoding; "" for none."""
        self.largest, self._data = largest, bytearray()
        name = encoding.strip().lower()
        if name not in ("", "identity", "gzip", "x-gzip"):
            raise BodyError(f"the answer is encoded as {name[:40]!r}, which was not requested")
        self._gzip = zlib.decompressobj(_GZIP) if name.endswith("gzip") else None

    def add(self, part: bytes) -> None:
        room = self.largest + 1 - len(self._data)  # one byte above the limit shows that there is more
        if self._gzip is None:
            self._data += part[:room]
        elif not self._gzip.eof:
            try:
                self._data += self._gzip.decompress(part, room)
            except zlib.error:
                raise BodyError("the answer claims to be gzip, but is not") from None
        if len(self._data) > self.largest:
            raise BodyError(f"the answer is larger than {self.largest >> 20} MiB")

    def whole(self) -> bytes:
        """Return the complete body; refuse truncated gzip."""
        if self._gzip and not self._gzip.eof:
            raise BodyError("the gzip data of the answer is truncated")
        return bytes(self._data)
