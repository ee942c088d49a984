"""Errors over HTTP: each has a status and OpenAI's JSON shape, and says what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from openai.types import ErrorObject
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.routing import Match

from pipeline import errors
from pipeline.words import well_formed

STATUS: Mapping[type[errors.AthenaError], int] = {
    errors.NotAllowed: 403,
    errors.UnknownConversation: 404,
    errors.UnknownDocument: 404,
    errors.UnknownMemory: 404,
    errors.NothingIndexed: 409,
    errors.UploadRefused: 422,
    errors.ConfigurationError: 422,
    errors.DiskFull: 507,
    errors.StoreError: 503,
    errors.ModelTimeout: 504,
    errors.ModelUnavailable: 503,
    errors.ModelError: 502,
}
BAD_REQUEST, UNAUTHORIZED, NOT_ALLOWED, SERVER_ERROR = 400, 401, 405, 500
UNEXPECTED = "The request failed for an unexpected reason. Try again; the server's log says more."


class ErrorOut(BaseModel):
    """An error in OpenAI's shape; its `param` names the wrong field of the request, or is null."""

    error: ErrorObject


ERRORS: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": ErrorOut, "description": "The request is wrong: why, and what to do"},
    "5XX": {"model": ErrorOut, "description": "The server failed: why, and what to do"},
}


class BadRequest(errors.AthenaError):
    """A request that cannot be answered; `param` names the field that is wrong."""

    def __init__(
        self, problem: str, fix: str, *, param: str | None = None, status: int = BAD_REQUEST
    ) -> None:
        super().__init__(problem, fix)
        self.param, self.status = param, status


class NoKey(BadRequest):
    """The request has no valid API key."""

    def __init__(self, problem: str) -> None:
        fix = "Send a key of `athena keys add NAME` as the header `Authorization: Bearer KEY`."
        super().__init__(problem, fix, status=UNAUTHORIZED)


def error_out(error: Exception) -> ErrorOut:
    """Return an exception in OpenAI's shape; `code` is the HTTP status as a string."""
    status, message, param = SERVER_ERROR, UNEXPECTED, getattr(error, "param", None)
    match error:
        case errors.AthenaError():
            known = (STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)
            status, message = getattr(error, "status", next(known, BAD_REQUEST)), str(error)
        case RequestValidationError():
            first = error.errors()[0]
            param = well_formed(".".join(str(part) for part in first["loc"][1:])) or None
            status, message = BAD_REQUEST, f"`{param or 'body'}`: {first['msg']}. See /api/openapi.json."
        case HTTPException():
            status, message = error.status_code, f"{error.detail}. See /api/openapi.json for the routes."
    kind = "invalid_request_error" if status < SERVER_ERROR else "server_error"
    return ErrorOut(error=ErrorObject(message=well_formed(message), type=kind, param=param, code=str(status)))


def answer_errors(app: FastAPI) -> None:
    """Turn each exception of an app into a response of the shape `ErrorOut`."""
    for kind in (errors.AthenaError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, _respond)


def _respond(request: Request, error: Exception) -> JSONResponse:
    shape = error_out(error)
    status, headers = int(shape.error.code or SERVER_ERROR), getattr(error, "headers", None)
    if status == NOT_ALLOWED:  # FastAPI omits the methods of included routers
        routers = [getattr(route, "original_router", None) for route in request.app.routes]
        routes = [route for router in routers if router for route in router.routes]
        here = [route for route in routes if route.matches(request.scope)[0] is not Match.NONE]
        methods = {method for route in here if route.path == here[0].path for method in route.methods}
        headers = {"Allow": ", ".join(sorted(methods))} if methods else headers
    if status == UNAUTHORIZED:
        headers = {"WWW-Authenticate": "Bearer"}
    return JSONResponse(shape.model_dump(), status, headers)
