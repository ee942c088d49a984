"""What each route is given: the caller, the one Athena, where citations are read, and the shape of errors."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastapi import Request
from pydantic import BaseModel, ConfigDict

from athena.tools.tool import Caller
from doors.citing import Addresses
from doors.refusals import Refusal
from doors.running import stop_with

if TYPE_CHECKING:
    from athena import Athena


HUNG_UP = 499  # nobody reads it


class Given(BaseModel):
    """What a request has; a field that is not known is refused, as it may be a slip."""

    model_config = ConfigDict(extra="forbid")


class ErrorDetail(BaseModel):
    """What went wrong, and what to do."""

    message: str
    type: str
    param: str | None = None
    code: str | None = None


class Error(BaseModel):
    """OpenAI's shape of an error."""

    error: ErrorDetail


ERRORS: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": Error, "description": "What is wrong with the request, and what to do"},
    "5XX": {"model": Error, "description": "What failed here, and what to do"},
}


@dataclass(frozen=True, slots=True)
class Here:
    """One request's caller, and what they ask."""

    athena: Athena
    caller: Caller
    addresses: Addresses
    stop: threading.Event  # set as soon as the client hangs up

    def go_on(self, *_: object) -> None:
        """Nothing; raises `Refusal` where nobody waits any more for what is being done."""
        if self.stop.is_set():
            raise Refusal(HUNG_UP, "The client hung up.")


async def here(request: Request) -> AsyncIterator[Here]:
    """What a route is given."""
    app = request.app.state
    addresses = Addresses(str(request.base_url), page=app.page)
    stop = threading.Event()
    hung_up = asyncio.create_task(stop_with(request, stop))
    try:
        yield Here(app.athena(), request.state.caller, addresses, stop)
    finally:
        hung_up.cancel()
