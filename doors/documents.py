"""Routes to search, to ask, and to list, read, write and delete documents."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt

from athena.reading import MEGABYTE, UPLOADS, changing_files, kept_in
from athena.shapes import AnswerOut, SearchOut, Shape
from doors.access import Reads, Writes
from doors.answering import MODEL, answer_out, asking_of
from doors.errors import ERRORS, BadRequest
from pipeline.errors import UploadRefused
from pipeline.ingesting import uploads
from pipeline.stores.base import DocumentInfo, StoredDocument
from pipeline.words import well_formed

Text = Annotated[str, Field(min_length=1, max_length=100_000)]
Paths = Annotated[
    tuple[Text, ...], Field(max_length=100, description="globs or folders: only documents that match one")
]
Source = Annotated[str, Path(min_length=1, max_length=1_000, description="as in the list: systems/fan.md")]

router = APIRouter(prefix="/api", tags=["Documents"], responses=ERRORS)


class RequestBody(BaseModel):
    """A request's body; unknown fields are refused, since they may be misspelt."""

    model_config = ConfigDict(extra="forbid")


class SearchRequest(RequestBody):
    """A query for passages."""

    query: Text = Field(examples=["What feeds the cabin fan?"])
    limit: Annotated[StrictInt, Field(ge=1, le=50)] = 8
    paths: Paths = ()


class AskRequest(RequestBody):
    """A question; its answer is stored only if `store` is true or `conversation_id` is given."""

    question: Text = Field(examples=["What feeds the cabin fan?"])
    model: str = Field(MODEL, max_length=200, description="an id from GET /v1/models")
    conversation_id: str = Field("", max_length=100, description="a stored conversation to continue")
    store: StrictBool = Field(False, description="store the answer in a new conversation")
    paths: Paths = ()


class DocumentText(RequestBody):
    """A document's whole text."""

    text: str = Field(min_length=1, description="Markdown", examples=["# Fan\n\nBus A feeds it.\n"])


class DocumentOut(Shape):
    """An indexed document."""

    source: str
    title: str
    sections: int
    sentences: int
    characters: int
    indexed_at: datetime


class WholeDocument(Shape):
    """A document with its text; all offsets in the API count the characters of this text."""

    info: DocumentOut
    text: str


class DeletedDocument(Shape):
    """A document that was removed from the index, and whether its uploaded file was deleted."""

    deleted: str
    file_deleted: bool


@router.post("/search")
def search(request: SearchRequest, context: Reads) -> SearchOut:
    """Return the best passages for a query, and whether they answer it."""
    found = context.athena.search(request.query, paths=request.paths, limit=request.limit)
    return SearchOut.of(found)


@router.post("/ask")
def ask(request: AskRequest, context: Reads) -> AnswerOut:
    """Return one answer with its citations."""
    known, store = request.conversation_id, request.store
    asking = asking_of(context, request.model, paths=request.paths, conversation_id=known, store=store)
    return answer_out(context, asking, context.athena.ask(request.question, **asking))


@router.get("/documents", response_model=list[DocumentOut])
def documents(context: Reads) -> list[DocumentInfo]:
    """List the indexed documents."""
    return context.athena.store.documents()


@router.get("/documents/{source:path}", response_model=WholeDocument)
def document(source: Source, context: Reads) -> StoredDocument:
    """Return one document with its text."""
    return context.athena.store.document(source)


@router.put("/documents/{source:path}", response_model=DocumentOut)
def put(source: Source, body: DocumentText, context: Writes) -> DocumentInfo:
    """Add an uploaded document, or replace its text; if it cannot be indexed, the former text stays."""
    athena, name = context.athena, uploads.name_of(source)
    folder = athena.settings.data_dir / UPLOADS
    with changing_files, uploads.put_back(name, folder):
        for info in athena.store.documents():
            same = info.source.casefold() == name.casefold()
            if same and (info.source != name or kept_in(athena.settings, info) is None):
                problem = f"'{name}' would replace '{info.source}', which is not an upload of that name."
                raise BadRequest(problem, "Change that file, or use another name.", status=409)
        upload = uploads.UploadedFile(name, well_formed(body.text).encode())
        uploads.accept([upload], folder, max_bytes=int(athena.settings.max_file_mb * MEGABYTE))
        for wrong in athena.ingest([folder]).problems:
            if wrong.source == name:
                raise UploadRefused(f"'{name}' cannot be indexed: {wrong.reason}.", wrong.fix)
        return athena.store.document(name).info


@router.delete("/documents/{source:path}")
def delete(source: Source, context: Writes) -> DeletedDocument:
    """Delete a document from the index, and its file if it was uploaded.

    A file in another folder stays, and is indexed again at the next ingest of that folder.
    """
    return DeletedDocument(deleted=source, file_deleted=context.athena.delete_with_file(source))
