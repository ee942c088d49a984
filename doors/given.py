"""What each route is given: the caller, the one Athena, where citations are read, and the shape of errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastapi import Request
from pydantic import BaseModel, ConfigDict

from doors.citing import Addresses
from doors.keys import Caller

if TYPE_CHECKING:
    from athena import Athena


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


def here(request: Request) -> Here:
    """What a route is given."""
    app = request.app.state
    addresses = Addresses(str(request.base_url), page=app.page)
    return Here(app.athena(), request.state.caller, addresses)
