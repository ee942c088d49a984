"""The app as a web server runs it: Streamlit's pages behind the guard."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache
from pathlib import Path
from typing import TypedDict

import streamlit
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse
from starlette.routing import Route

from athena import load_settings
from athena.settings import Settings
from pipeline.redaction import guard_tracebacks
from ui.guard import AllowedHosts, Guard, security_headers
from ui.pages import PAGES
from ui.ports import IDENTITY, PROGRAM

INDEX = Path(streamlit.__file__).parent / "static" / "index.html"
SERVER = "window.__streamlit = { BACKEND_BASE_URL: new URL('./', window.location.href).href };"
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
    guard = Middleware(Guard, hosts=AllowedHosts.of(settings), headers=security_headers(index_html()))
    return {
        "middleware": [guard],
        "routes": [Route(IDENTITY, _identity), *page_routes()],
        "lifespan": _indexing if ingest else None,
    }


@asynccontextmanager
async def _indexing(_: streamlit.App) -> AsyncIterator[None]:
    from ui.documents.indexing import index_corpus

    index_corpus()
    yield


async def _identity(_: Request) -> JSONResponse:
    return JSONResponse(PROGRAM)


@cache
def index_html() -> str:
    """Streamlit's page, with a script of ours before its own that says where its server is.

    Without it, a page that is opened by its own address looks for the server below that address first, where
    there is none: `/mission/_stcore/health` is not found.
    """
    return INDEX.read_text(encoding="utf-8").replace("<head>", f"<head>\n    <script>{SERVER}</script>", 1)


def page_routes() -> list[Route]:
    """The addresses of all pages."""
    return [Route(path, _page) for path in ("/", *(f"/{entry.key}" for entry in PAGES))]


async def _page(_: Request) -> HTMLResponse:
    return HTMLResponse(index_html(), headers={"Cache-Control": "no-cache"})
