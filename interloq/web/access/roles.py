# SPDX-License-Identifier: Apache-2.0
"""Who may do what: the rights of each role, and the right that each route of administrators needs.

A route that is not listed here is refused to everybody.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

Role = Literal["annotator", "viewer", "lead", "owner"]
Right = Literal["see", "export", "change", "invite", "delete", "administer"]
ADMINISTRATORS: tuple[Role, ...] = ("viewer", "lead", "owner")
RIGHTS: Mapping[Role, frozenset[Right]] = {
    "annotator": frozenset(),
    "viewer": frozenset({"see"}),
    "lead": frozenset({"see", "export", "change", "invite"}),
    "owner": frozenset(get_args(Right)),
}
ROUTES: Mapping[str, Right] = {
    "/admin": "see",
    "/admin/tasks/{number}": "see",
    "/admin/tasks/{number}/figures": "see",
    "/admin/tasks/{number}/export": "export",
    "/admin/tasks/{number}/close": "change",
    "/admin/tasks/{number}/outsiders": "change",
    "/admin/tasks/{number}/limit": "change",
    "/admin/new": "change",
    "/admin/upload": "change",
    "/admin/tasks/{number}/invitations": "invite",
    "/admin/invitations/{number}/revoke": "invite",  # one of an administrator: "administer"
    "/admin/people/{number}/readmit": "invite",
    "/admin/people/{number}/forget": "delete",
    "/admin/administrators": "administer",
}
