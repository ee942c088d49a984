"""HTTP for programs: FastAPI's app behind the entrance, with its OpenAPI."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import compile_path

from doors import completions, documents, memories
from doors.given import ERRORS, Here, here
from doors.refusals import error_shape, refused
from pipeline.errors import AthenaError

if TYPE_CHECKING:
    from athena import Athena

ARM = re.compile(r"str|\w+\[.*\]")
"""What pydantic adds to a place for the types that a field may have: no name of anybody's."""
SHAPES = "The shapes are in /api/openapi.json."
NO_OBJECT = "The body must be a JSON object, with the header `Content-Type: application/json`."
UNEXPECTED = "Something went wrong here. Try again; the log of the program says more."


def make_api(athena: Callable[[], Athena], *, page: bool) -> FastAPI:
    """The app of `/api` and `/v1`, over the one Athena of the process; citations lead to its page if any."""
    api = FastAPI(
        title="Athena",
        version=version("athena-docs"),
        description="Search and ask the documents, and the memory of the key's user.",
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    api.state.athena, api.state.page = athena, page
    for router in (completions.router, documents.router, memories.talk, memories.router):
        api.include_router(router)
    api.get("/api/status", tags=["Documents"], responses=ERRORS, summary="What is here")(_status)
    api.add_exception_handler(AthenaError, _failed)
    api.add_exception_handler(RequestValidationError, _invalid)
    api.add_exception_handler(HTTPException, _refused)
    api.add_exception_handler(Exception, _unexpected)
    return api


def _status(asks: Annotated[Here, Depends(here)]) -> dict[str, Any]:
    """What is indexed, who answers, and whose key this is."""
    athena, caller = asks.athena, asks.caller
    choice = athena.models.language_model()[1]
    return {
        "version": version("athena-docs"),
        "documents": len(athena.store.sections.documents()),
        "sentences": athena.store.sections.statistics().sentences,
        "store": athena.settings.store,
        "embedding_model": athena.encoder.name,
        "language_model": choice.name,
        "user": caller.user,
        "rights": sorted(caller.rights),
    }


def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, AthenaError)  # noqa: S101  (registered for these, as below)
    return refused(error, at=request.url.path)


def _invalid(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:] if not ARM.fullmatch(str(part)))
    if first["type"] == "json_invalid":
        said, where = "The body is not JSON.", ""
    elif where:
        said = f"`{where}`: {first['msg']}."
    else:
        said = NO_OBJECT
    return JSONResponse(error_shape(400, f"{said} {SHAPES}", param=where or None), status_code=400)


def _refused(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # noqa: S101
    said = {
        404: f"There is nothing at {request.url.path}.",
        405: f"{request.method} is not answered here.",
        400: "The body cannot be read: it must be JSON in UTF-8.",
    }.get(error.status_code, f"{error.detail}.")
    shape = error_shape(error.status_code, f"{said} {SHAPES}")
    methods = _methods_at(request) if error.status_code == 405 else ""
    headers = {"Allow": methods} if methods else error.headers
    return JSONResponse(shape, status_code=error.status_code, headers=headers)


def _methods_at(request: Request) -> str:
    """The methods that an address is answered by: its routes have one each."""
    known = request.app.openapi()["paths"]
    at = request.url.path
    given = [known[at]] if at in known else [known[path] for path in known if compile_path(path)[0].match(at)]
    return ", ".join(sorted({method.upper() for methods in given for method in methods}))


def _unexpected(_: Request, __: Exception) -> JSONResponse:
    return JSONResponse(error_shape(500, UNEXPECTED), status_code=500)
