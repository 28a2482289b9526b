"""Bodies of HTTP answers within a limit."""

from __future__ import annotations

import gzip

import pytest

from interloq.servers.http_body import Body, BodyError


def body_of(data: bytes, encoding: str = "", *, largest: int = 2**20, step: int = 7) -> bytes:
    body = Body(encoding, largest)
    for start in range(0, len(data), step):
        body.add(data[start : start + step])
    return body.whole()


@pytest.mark.parametrize("encoding", ["", "identity", " GZIP ", "x-gzip"])
def test_parts_become_the_whole(encoding: str) -> None:
    sent = gzip.compress(b"hello" * 9) if "gzip" in encoding.lower() else b"hello" * 9
    assert body_of(sent, encoding) == b"hello" * 9


def test_the_limit_is_on_what_is_unpacked() -> None:
    assert len(body_of(b"a" * 100, largest=100)) == 100
    for sent, encoding in ((b"a" * 101, ""), (gzip.compress(b"a" * 101), "gzip")):
        with pytest.raises(BodyError, match="larger than"):
            body_of(sent, encoding, largest=100)


def test_a_second_layer_stays_packed() -> None:
    packed = gzip.compress(b"a")
    assert body_of(gzip.compress(packed), "gzip") == packed


@pytest.mark.parametrize(
    ("sent", "encoding"), [(gzip.compress(b"abc", mtime=0)[:-4], "gzip"), (b"abc", "gzip"), (b"", "br")]
)
def test_what_cannot_be_unpacked_is_refused(sent: bytes, encoding: str) -> None:
    with pytest.raises(BodyError):
        body_of(sent, encoding)
