"""The web app: Streamlit's pages and the API behind the guard."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import streamlit
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Receive, Scope, Send

from athena import load_settings
from athena.settings import Settings
from doors import PATHS, open_api
from pipeline.redaction import guard_output
from ui.guard import AllowedHosts, Guard, security_headers
from ui.shared import process

if TYPE_CHECKING:
    from fastapi import FastAPI

INDEX = Path(streamlit.__file__).parent / "static" / "index.html"
SESSION_LOG = "streamlit.runtime.scriptrunner_utils.script_run_context"
APP_FILE = Path(__file__).parent / "entry" / "app.py"


class Serving(TypedDict):
    """The arguments of `streamlit.App`, except the script."""

    middleware: list[Middleware]
    lifespan: Callable[[streamlit.App], AbstractAsyncContextManager[None]]


def serving(settings: Settings | None = None, *, ingest: bool = False) -> Serving:
    """Return the middleware and the lifespan of the app.

    Without `settings`, the environment's are used. `ingest` starts to index the corpus when the app starts.
    """
    settings = settings or load_settings()
    guard_output()
    guard = Middleware(
        Guard, hosts=AllowedHosts.of(settings), headers=security_headers(INDEX.read_text("utf-8"))
    )
    api = open_api(settings, process.opened, page=True) if settings.doors != "none" else None
    return {
        "middleware": [guard, Middleware(ApiFirst, api=api)],
        "lifespan": partial(_serving, api=api, ingest=ingest),
    }


class ApiFirst:
    """ASGI middleware that passes requests for the API to its app, and all others to the pages."""

    def __init__(self, app: ASGIApp, *, api: FastAPI | None) -> None:
        self._app = app
        self._api = api

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request to the API or to the pages."""
        is_api = self._api is not None and scope["type"] == "http" and scope["path"].startswith(PATHS)
        app = self._api if self._api is not None and is_api else self._app
        await app(scope, receive, send)


@asynccontextmanager
async def _serving(_: streamlit.App, *, api: FastAPI | None, ingest: bool) -> AsyncIterator[None]:
    logging.getLogger(SESSION_LOG).disabled = True  # it warns when work runs outside of a session
    if ingest:
        from ui.shared.jobs import index_corpus

        index_corpus()
    async with AsyncExitStack() as stack:
        if api is not None:
            await stack.enter_async_context(api.router.lifespan_context(api))
        yield
