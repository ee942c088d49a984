"""The API's app: HTTP, OpenAI's protocol and MCP on one port, with or without the pages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from importlib.metadata import version
from typing import TYPE_CHECKING

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.middleware.trustedhost import TrustedHostMiddleware

from athena.components import open_store
from athena.settings import Settings
from doors.access import require_key
from doors.errors import answer_errors
from pipeline.stores.keys import Keys

if TYPE_CHECKING:
    from athena import Athena

EVERY_ADDRESS = ("", "0.0.0.0", "::")  # noqa: S104  (only compared with)


def make_app(settings: Settings, athena: Callable[[], Athena], *, page: bool) -> FastAPI:
    """Return the app of the API; with `page`, citations link to the pages. Raises as `require_key` does."""
    with closing(open_store(settings)) as store:
        require_key(Keys(store.rows), settings)
    app = FastAPI(
        title="Athena",
        version=version("athena-docs"),
        description="Search and ask the documents, and the memory of the key's user.",
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
    )
    app.state.athena, app.state.page, app.state.mcp = athena, page, None
    app.get("/health", include_in_schema=False)(_health)
    if settings.doors in ("api", "all"):
        from doors import documents, memories, openai

        for module in (openai, documents, memories):
            for route in filter(lambda one: isinstance(one, APIRoute), module.router.routes):
                route.openapi_extra = {"security": [{}]}  # programs on this machine may need no key
            app.include_router(module.router)
    if settings.doors in ("mcp", "all"):
        from doors.mcp_server import McpEndpoint

        app.state.mcp = McpEndpoint(athena)
        app.add_route("/mcp", app.state.mcp, include_in_schema=False)
    answer_errors(app)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=allowed_hosts(settings), www_redirect=False)
    return app


def allowed_hosts(settings: Settings) -> list[str]:
    """Return the host names that the app answers to.

    If it listens on every address, all names are allowed: then each request needs a key, which a web page of
    another site does not have.
    """
    if settings.host in EVERY_ADDRESS:
        return ["*"]
    named = [name.strip().lower() for name in settings.allowed_hosts.split(",") if name.strip()]
    return ["localhost", "127.0.0.1", "[::1]", settings.host, *named]


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    if app.state.mcp is None:
        yield
        return
    async with app.state.mcp.sessions.run():
        yield


async def _health() -> dict[str, str]:
    return {"status": "ok"}
