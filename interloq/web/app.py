# SPDX-License-Identifier: Apache-2.0
"""The app, assembled from the routers of `work`, `chat`, `references` and `admin`.

`access/security.py` limits the rate and size of requests, `access/visitors.py` finds the person and checks rights, and
a route opens one transaction, `reading` or `writing`. docs/a-run.md follows a rating through the modules.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from threading import Lock
from typing import Any

from anyio import CapacityLimiter
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException  # also raised for unknown paths
from starlette.middleware.trustedhost import TrustedHostMiddleware

from interloq.errors import InputError
from interloq.web.access.security import NEWCOMERS, Buckets, Protected
from interloq.web.access.shared_limits import SharedLimits
from interloq.web.access.visitors import Study
from interloq.web.admin import admin_routes
from interloq.web.admin.study_worker import StudyWorker
from interloq.web.chat import chat_routes
from interloq.web.chat.chat_bots import ChatBots, Replies
from interloq.web.database import UnusableStudyError
from interloq.web.pages import Pages
from interloq.web.references import references_routes
from interloq.web.references.references_routes import Predictors
from interloq.web.work import work_routes

RETRY_AFTER = "30"  # seconds
_LOG = logging.getLogger("uvicorn.error")


def create_app(study: Study) -> Any:
    """Return the ASGI app, wrapped in its protection."""
    app = FastAPI(
        title="Interloq", docs_url=None, redoc_url=None, openapi_url=None, lifespan=_lifespan, redirect_slashes=False
    )
    app.state.study, app.state.pages = study, Pages(study.root)
    app.state.bots, app.state.replies = ChatBots(study.trust), Replies()
    app.state.predictors, app.state.predicting = Predictors(), CapacityLimiter(references_routes.AT_ONCE)
    newcomers = Buckets(NEWCOMERS / 3600, NEWCOMERS)  # by address, which is not stored
    app.state.may_come = lambda address, _: newcomers.take(address)
    limits: dict[str, Any] = {}
    if study.shared:
        limits["make_limiter"] = partial(SharedLimits, study)
        app.state.may_come = SharedLimits(study, "newcomer", NEWCOMERS / 3600, NEWCOMERS).take_in
    app.state.figures, app.state.computing = {}, defaultdict(Lock)  # of administrators' pages, by task
    app.state.worker = StudyWorker(study.database)
    app.state.totals = {}  # pages that one person can get, by task; a task's items never change
    app.mount("/static", StaticFiles(directory=work_routes.STATIC), name="static")
    app.get("/health")(health)
    for routes in (work_routes, chat_routes, references_routes, admin_routes):
        app.include_router(routes.router)
    for kind in (HTTPException, RequestValidationError, InputError, UnusableStudyError, Exception):
        app.exception_handler(kind)(answer_failure)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(study.hosts))
    busy_page = partial(app.state.pages.failure, "busy", "")
    return Protected(app, root=study.root, busy_page=busy_page, **limits)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    yield
    app.state.bots.close()
    app.state.worker.close()


def health() -> dict[str, str]:
    """Answer load balancers and tests."""
    return {"status": "ok"}


def answer_failure(request: Request, error: Exception) -> Response:
    """Return the response to a request that failed."""
    if isinstance(error, HTTPException):
        return _failure(request, error.status_code, str(error.detail))
    if isinstance(error, RequestValidationError):
        return _failure(request, 422, "not_valid")
    if isinstance(error, UnusableStudyError):
        _LOG.error("%s", error)
        response = _failure(request, 503, "busy")
        response.headers["Retry-After"] = RETRY_AFTER
        return response
    if isinstance(error, InputError):
        return _failure(request, 409, "not_possible", error.what)
    return _failure(request, 500, "internal")  # the server logs it


def _failure(request: Request, status: int, reason: str, detail: str = "") -> Response:
    """Return a page for people and JSON for scripts; never a traceback or anything about another person."""
    if "text/html" in request.headers.get("accept", ""):
        pages: Pages = request.app.state.pages
        return HTMLResponse(pages.failure(reason, detail, request.headers.get("accept-language", "")), status)
    return JSONResponse({"error": reason, "detail": detail}, status)
