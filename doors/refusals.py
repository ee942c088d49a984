"""What went wrong, as each door says it, with what to do: OpenAI's shape of an error, or JSON-RPC's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse, PlainTextResponse, Response

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
    errors.DiskFull: 507,
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
MCP = "/mcp"
HTTP = ("/api/", "/v1/")
INVALID_REQUEST, INTERNAL_ERROR = -32600, -32603  # of JSON-RPC 2.0, whose errors have no others for these
LONGEST = 1_000
"""Characters of a message that are told."""
LONGEST_NAME = 200
"""Characters of an id, a path or another name that a message repeats: a request may send any length."""

LONG = re.compile(rf"(?<!\S)'([^']{{{LONGEST_NAME}}})[^']+'?|(\S{{{LONGEST_NAME}}})\S+")
ABSOLUTE = re.compile(
    r"'(?:[A-Za-z]:)?[/\\][^']*?([^'/\\]+)[/\\]?'|(?<!\S)/(?!api/|v1/)(?:[^\s/'\"]+/)+([^\s/'\",:;]+)"
)
"""A path of this machine, quoted or between blanks, and its last part; no address of ours."""
INTERNAL_STATUS = 500
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
    kind = TYPES.get(status, "invalid_request_error" if status < INTERNAL_STATUS else "server_error")
    told = None if param is None else without_paths(param)
    return {"error": {"message": without_paths(said), "type": kind, "param": told, "code": str(status)}}


def shape_of(error: errors.AthenaError) -> dict[str, Any]:
    """The same of an error of ours."""
    param = error.param if isinstance(error, Refusal) else None
    return error_shape(status_of(error), str(error), param=param)


def refused(error: errors.AthenaError, *, at: str) -> Response:
    """The response to what failed, in the shape of the protocol that is spoken at that address."""
    status = status_of(error)
    headers = {"WWW-Authenticate": "Bearer"} if status == STATUS[NoKey] else {}
    if isinstance(error, Refusal) and error.retry_s is not None:
        headers["Retry-After"] = str(error.retry_s)
    if at == MCP:
        return JSONResponse(_rpc_shape(status, str(error)), status, headers)
    if at.startswith(HTTP):
        return JSONResponse(shape_of(error), status, headers)
    return PlainTextResponse(without_paths(str(error)), status, headers)


def without_paths(text: str) -> str:
    """A message without where things lie on this machine: their last names alone, no secrets, not endless."""
    told = LONG.sub(lambda match: f"'{match[1]}…'" if match[1] else f"{match[2]}…", text)
    told = well_formed(told[:LONGEST])
    return redacted(ABSOLUTE.sub(lambda match: f"'{match[1] or match[2]}'", told))


def _rpc_shape(status: int, said: str) -> dict[str, Any]:
    """JSON-RPC's shape of an error; whose request it was is not known before it is read."""
    code = INVALID_REQUEST if status < INTERNAL_STATUS else INTERNAL_ERROR
    return {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": without_paths(said)}}
