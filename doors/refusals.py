"""What went wrong, as the doors say it: a status and OpenAI's shape of an error, with what to do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse

from doors.keys import NoKey
from pipeline import errors
from pipeline.redaction import redacted
from pipeline.words import well_formed

STATUS: Mapping[type[errors.AthenaError], int] = {
    NoKey: 401,
    errors.NotAllowed: 403,
    errors.UnknownConversation: 404,
    errors.UnknownDocument: 404,
    errors.UnknownMemory: 404,
    errors.MemoriesChanged: 409,
    errors.TurnChanged: 409,
    errors.UploadTooLarge: 413,
    errors.UploadRefused: 422,
    errors.ConfigurationError: 422,
    errors.StoreError: 503,
    errors.ModelTimeout: 504,
    errors.ModelUnavailable: 503,
    errors.ModelError: 502,
}
TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    429: "rate_limit_error",
}
LONGEST = 1_000
"""Characters of a message that are told: one that repeats a request may have any length."""

ABSOLUTE = re.compile(r"'(?:[A-Za-z]:)?[/\\][^']*?([^'/\\]+)[/\\]?'|(?<!\S)/(?:[^\s/'\"]+/)+([^\s/'\",:;]+)")
"""A path of this machine, quoted or between blanks, and its last part."""
OTHERS = 400  # an error of ours without a status is about what was given


class Refusal(errors.AthenaError):
    """A request that is refused with a status of HTTP."""

    def __init__(
        self,
        status: int,
        problem: str,
        fix: str = "",
        *,
        param: str | None = None,
        retry_s: int | None = None,
    ) -> None:
        super().__init__(problem, fix)
        self.status = status
        self.param = param
        self.retry_s = retry_s


def status_of(error: errors.AthenaError) -> int:
    """The status that says what kind of error it is."""
    if isinstance(error, Refusal):
        return error.status
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), OTHERS)


def error_shape(status: int, said: str, *, param: str | None = None) -> dict[str, Any]:
    """OpenAI's shape of an error."""
    kind = TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    return {"error": {"message": said, "type": kind, "param": param, "code": str(status)}}


def shape_of(error: errors.AthenaError) -> dict[str, Any]:
    """The same of an error of ours."""
    param = error.param if isinstance(error, Refusal) else None
    return error_shape(status_of(error), without_paths(str(error)), param=param)


def refused(error: errors.AthenaError) -> JSONResponse:
    """The response to what failed."""
    status = status_of(error)
    headers = {"WWW-Authenticate": "Bearer"} if status == STATUS[NoKey] else {}
    if isinstance(error, Refusal) and error.retry_s is not None:
        headers["Retry-After"] = str(error.retry_s)
    return JSONResponse(shape_of(error), status_code=status, headers=headers)


def without_paths(text: str) -> str:
    """A message without where things lie on this machine: their last names alone, and no secrets."""
    told = well_formed(text[:LONGEST])
    return redacted(ABSOLUTE.sub(lambda match: f"'{match[1] or match[2]}'", told))
