# SPDX-License-Identifier: Apache-2.0
"""Roles: each has the rights of the one before it. `test_access.py` tries every route with every role."""

from __future__ import annotations

from itertools import pairwise

from fastapi.routing import APIRoute

from interloq.web.access.roles import ADMINISTRATORS, RIGHTS, ROUTES
from interloq.web.admin.admin_routes import router


def test_each_role_may_more_than_the_one_before() -> None:
    rights = [RIGHTS[role] for role in ("annotator", *ADMINISTRATORS)]
    assert all(less < more for less, more in pairwise(rights))
    assert set(ROUTES.values()) == RIGHTS["owner"]


def test_every_route_of_administrators_names_its_right() -> None:
    assert {route.path for route in router.routes if isinstance(route, APIRoute)} == set(ROUTES)
