"""Streamlit's page, which says where its server is.

Without that, a page that is opened by its own address looks for the server below that address first, where
there is none: `/mission/_stcore/health` is not found.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import streamlit
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from ui.pages import PAGES

INDEX = Path(streamlit.__file__).parent / "static" / "index.html"
SERVER = "window.__streamlit = { BACKEND_BASE_URL: new URL('./', window.location.href).href };"


@cache
def html() -> str:
    """The page, with a script of ours that runs before its own."""
    return INDEX.read_text(encoding="utf-8").replace("<head>", f"<head>\n    <script>{SERVER}</script>", 1)


def routes() -> list[Route]:
    """The addresses of all pages."""
    return [Route(path, _page) for path in ("/", *(f"/{entry.key}" for entry in PAGES))]


async def _page(_: Request) -> HTMLResponse:
    return HTMLResponse(html(), headers={"Cache-Control": "no-cache"})
