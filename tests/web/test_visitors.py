# SPDX-License-Identifier: Apache-2.0
"""Roles: an administrator is not an annotator. `test_admin.py` tests the other way round on every route."""

from __future__ import annotations

from tests.web.conftest import Served
from tests.web.test_admin import Client


def test_administrators_do_not_answer(served: Served) -> None:
    admin = Client(served, served.invite(None)).with_token("/admin")
    for path in ("/consent", "/withdraw"):
        assert admin("POST", path, {})[0] == 403
    status, headers, _ = admin("GET", "/")
    assert (status, headers["location"]) == (303, "/admin")
