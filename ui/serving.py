"""The app as a web server runs it: Streamlit's pages behind the guard."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TypedDict

import streamlit
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from athena import load_settings
from athena.settings import Settings
from pipeline.redaction import guard_tracebacks
from ui import index_page
from ui.guard import AllowedHosts, Guard, security_headers
from ui.ports import IDENTITY, PROGRAM

APP_FILE = Path(__file__).parent / "entry" / "app.py"


class Serving(TypedDict):
    """What `streamlit.App` takes besides the script."""

    middleware: list[Middleware]
    routes: list[Route]
    lifespan: Callable[[streamlit.App], AbstractAsyncContextManager[None]] | None


def serving(settings: Settings | None = None, *, ingest: bool = False) -> Serving:
    """The guard, by these settings or those of the environment, and the address that names the program.

    With `ingest` the corpus is indexed as soon as the app listens.
    """
    settings = settings or load_settings()
    guard_tracebacks()
    guard = Middleware(Guard, hosts=AllowedHosts.of(settings), headers=security_headers(index_page.html()))
    return {
        "middleware": [guard],
        "routes": [Route(IDENTITY, _identity), *index_page.routes()],
        "lifespan": _indexing if ingest else None,
    }


@asynccontextmanager
async def _indexing(_: streamlit.App) -> AsyncIterator[None]:
    from ui.documents.indexing import index_corpus

    index_corpus()
    yield


async def _identity(_: Request) -> JSONResponse:
    return JSONResponse(PROGRAM)
