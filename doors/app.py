"""All doors together: their routes, which the page's app takes besides its own, and their lifespan."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from athena.settings import Settings
from athena.stores import open_store
from doors.entrance import PATIENCE_S, Entrance, Limits
from doors.keys import require_key
from doors.refusals import MCP
from pipeline.errors import ConfigurationError
from pipeline.stores.keys import Keys

if TYPE_CHECKING:
    from athena import Athena

Lifespan = Callable[[], AbstractAsyncContextManager[None]]


@dataclass(frozen=True, slots=True)
class Doors:
    """The routes of the doors that the settings open, and what is entered while they are served."""

    routes: tuple[Route, ...]
    lifespans: tuple[Lifespan, ...] = ()

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """While they are served: the host of mounted apps runs no lifespan of theirs."""
        async with AsyncExitStack() as entered:
            for lifespan in self.lifespans:
                await entered.enter_async_context(lifespan())
            yield


def open_doors(settings: Settings, athena: Callable[[], Athena], *, page: bool = True) -> Doors:
    """The doors that the settings open, over the one Athena of the process; none where they open none.

    Raises `ConfigurationError` where others could come in without a key, or the extra is not installed.
    """
    if settings.doors == "none":
        return Doors(())
    with closing(open_store(settings)) as store:
        require_key(Keys(store.records), settings)
    try:
        return _opened(settings, athena, page=page)
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"ATHENA_DOORS={settings.doors} needs the package '{error.name}', which is not installed.",
            "Install the extra: `pip install 'athena-docs[doors]'`.",
        ) from error


def _opened(settings: Settings, athena: Callable[[], Athena], *, page: bool) -> Doors:
    from doors.patience import close_silent

    close_silent(PATIENCE_S)
    limits = Limits(a_minute=60, at_once=4)
    routes = [Route("/health", _health)]
    lifespans: list[Lifespan] = []
    if settings.doors in ("api", "all"):
        from doors.api import make_api

        api = Entrance(make_api(athena, page=page), athena=athena, limits=limits)
        routes += [_below(path, api) for path in ("/api", "/v1")]
    if settings.doors in ("mcp", "all"):
        from doors.mcp.http import McpDoor

        door = McpDoor(athena, page=page)
        routes.append(Route(MCP, Entrance(door, athena=athena, limits=limits)))
        lifespans.append(door.lifespan)
    return Doors(tuple(routes), tuple(lifespans))


def _below(path: str, app: Entrance) -> Route:
    """All addresses below a path, whatever characters they have."""
    route = Route(f"{path}/{{rest:path}}", app)
    route.path_regex = re.compile(f"{path}/(?P<rest>.*)", re.DOTALL)
    return route


async def _health(_: Request) -> JSONResponse:
    return JSONResponse({"status": "ok"})
