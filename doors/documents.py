"""The documents over HTTP: search and ask, list and read them, add and delete them."""

from __future__ import annotations

import io
import zipfile
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query
from pydantic import ConfigDict, Field, StrictBool, StrictInt
from starlette.concurrency import run_in_threadpool

from athena.components import NO_BUDGET
from athena.reading import UPLOADS, changing_files, upload_limits
from athena.shapes import AnswerOut, SearchOut
from athena.stores import require_index
from doors.asking import MODEL, Asked, answers
from doors.completions import finished
from doors.given import ERRORS, Given, Here, here
from doors.refusals import Refusal, without_paths
from memory.times import iso
from pipeline.errors import UploadRefused
from pipeline.ingesting import uploads
from pipeline.nodes import Node
from pipeline.stores.base import DocumentInfo, SearchRequest
from pipeline.stores.globs import as_globs
from pipeline.words import well_formed

LONGEST = 100_000  # characters of a question
LONGEST_GLOB = 1_000
MOST_GLOBS = 100
Shape = dict[str, Any]

router = APIRouter(prefix="/api", tags=["Documents"], responses=ERRORS)

Caller = Annotated[Here, Depends(here)]
Glob = Annotated[str, Field(min_length=1, max_length=LONGEST_GLOB)]
Globs = Annotated[
    tuple[Glob, ...], Field(max_length=MOST_GLOBS, description="globs: only sources that match one")
]
Limit = Annotated[StrictInt, Field(ge=1, le=50, description="most results")]
Source = Annotated[str, Path(min_length=1, max_length=1_000, description="as in the list: systems/fan.md")]
SectionId = Annotated[str, Path(min_length=1, max_length=100, description="as a result's section_id")]


class Search(Given):
    """What to look for."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"query": "What feeds the cabin fan?", "limit": 5}]}
    )

    query: str = Field(min_length=1, max_length=LONGEST)
    limit: Limit = 8
    paths: Globs = ()


class Ask(Given):
    """A question, to whom, and where its answer is kept."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"question": "What feeds the cabin fan?", "model": "athena"}]}
    )

    question: str = Field(min_length=1, max_length=LONGEST)
    model: str = Field(MODEL, max_length=200, description="athena, athena:quotes or athena:PERSONA")
    conversation_id: str = Field("", max_length=100, description="a stored conversation that goes on")
    store: StrictBool = Field(False, description="keep the answer in a new conversation of the key's user")
    paths: Globs = ()


class Text(Given):
    """A document's whole text."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": "# Cabin fan\n\nIt is fed by the inverter.\n"}]}
    )

    text: str = Field(min_length=1, description="Markdown")


@router.post("/search", summary="Passages for a query, as `athena search --json` prints them")
def search(given: Search, asks: Caller) -> SearchOut:
    """The best passages, and whether they answer."""
    asks.caller.require("read")
    _words(given.query, "query")
    athena = asks.athena
    require_index(athena.settings, athena.store)
    options = athena.options.but(
        top_k=given.limit, paths=as_globs(map(well_formed, given.paths)), context_tokens=NO_BUDGET
    )
    return SearchOut.of(athena.hybrid_search.search(given.query, options=options))


@router.post("/ask", summary="An answer with its citations, as `athena ask --json` prints it")
async def ask(given: Ask, asks: Caller) -> AnswerOut:
    """One answer; a client that hangs up stops it."""
    _words(given.question, "question")
    asked = Asked(
        given.question,
        model=given.model,
        conversation_id=given.conversation_id,
        store=given.store,
        paths=as_globs(map(well_formed, given.paths)),
    )
    run = await run_in_threadpool(answers, asks.athena, asks.caller, asked)
    answer = await finished(run, asks)
    shown, recalled = await run_in_threadpool(asks.athena.with_memories, answer, user=asks.caller.user)
    return AnswerOut.of(asked.as_kept(shown), recalled)


@router.get("/documents", summary="All documents")
def documents(asks: Caller) -> Shape:
    """What is indexed, by source."""
    asks.caller.require("read")
    return {"documents": [document_shape(info) for info in asks.athena.store.sections.documents()]}


@router.get("/documents/{source:path}/outline", summary="A document's sections")
def outline(source: Source, asks: Caller) -> Shape:
    """Its headings in order, with their lines."""
    asks.caller.require("read")
    document = asks.athena.store.sections.document(source)
    sections = [section_shape(section) for section in document.sections]
    return {**document_shape(document.info), "sections": sections}


@router.get("/documents/{source:path}", summary="A document's text")
def document(source: Source, asks: Caller) -> Shape:
    """The text that all offsets count in."""
    asks.caller.require("read")
    found = asks.athena.store.sections.document(source)
    return {**document_shape(found.info), "text": found.text}


@router.put("/documents/{source:path}", summary="Add a document, or put another text in its place")
def put(source: Source, given: Text, asks: Caller) -> Shape:
    """The document as it is indexed now; what an ingest says of it beside."""
    asks.caller.require("write")
    with changing_files:
        asks.go_on()
        return _put(uploads.name_of(source), given.text, asks)


def _put(source: str, text: str, asks: Here) -> Shape:
    athena = asks.athena
    infos = {info.source: info for info in athena.store.sections.documents()}
    folder = athena.settings.data_dir / UPLOADS
    if (info := infos.get(source)) and info.root != str(folder.resolve()):
        raise Refusal(
            409, f"'{source}' is a file of a folder that was indexed.", "Change it there and index again."
        )
    other = next((known for known in infos if known.casefold() == source.casefold()), source)
    if other != source and source not in infos:
        raise Refusal(409, f"'{source}' would take the place of '{other}'.", "Use that name, or another one.")
    packed = io.BytesIO()  # a zip keeps the folders of a name, and is checked by the rules of uploads
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(source, well_formed(text))
    upload = uploads.UploadedFile("upload.zip", packed.getvalue())
    with uploads.put_back(source, folder):
        accepted = uploads.accept([upload], folder, limits=upload_limits(athena.settings), replace=True)
        report = athena.ingest([folder], should_stop=asks.stop.is_set)
        asks.go_on()
        wrong = [f"{item.reason}. {item.fix}" for item in report.problems if item.source in accepted.paths]
        if wrong:
            raise UploadRefused(f"'{source}' cannot be indexed: {wrong[0]}")
    stored = athena.store.sections.document(accepted.paths[0])
    return document_shape(stored.info) | {"warnings": [without_paths(said) for said in report.warnings]}


@router.delete("/documents/{source:path}", summary="Remove a document from the index")
def delete(source: Source, asks: Caller) -> Shape:
    """Its file goes along where it was uploaded; another comes back when its folder is indexed again."""
    asks.caller.require("write")
    return {"deleted": source, "file_deleted": asks.athena.delete_with_file(source)}


@router.get("/sections/{section_id}", summary="A section's text and place")
def section(section_id: SectionId, asks: Caller) -> Shape:
    """One section whole."""
    asks.caller.require("read")
    node = _section(asks, section_id)
    return {**section_shape(node), "text": node.text}


@router.get("/similar/{section_id}", summary="Sections like one")
def similar(section_id: SectionId, asks: Caller, limit: Annotated[int, Query(ge=1, le=50)] = 8) -> Shape:
    """The nearest by meaning, best first."""
    asks.caller.require("read")
    _section(asks, section_id)
    store = asks.athena.store
    vector = store.sentences.vectors([section_id]).get(section_id)
    if vector is None:
        raise Refusal(404, f"Section '{section_id}' has no vector.", "Index its document again.")
    found = store.sentences.search(SearchRequest(None, vector, limit + 1)).dense_sections
    near = [hit for hit in found if hit.node_id != section_id][:limit]
    nodes = store.sections.get_many([hit.node_id for hit in near])
    return {
        "similar": [
            {**section_shape(nodes[hit.node_id]), "score": round(hit.score, 6)}
            for hit in near
            if hit.node_id in nodes
        ]
    }


def document_shape(info: DocumentInfo) -> Shape:
    """A document without its text; where its folder lies is this machine's business."""
    kept = {name: value for name, value in asdict(info).items() if name not in ("root", "hash")}
    return kept | {"indexed_at": iso(info.indexed_at)}


def section_shape(node: Node) -> Shape:
    """A section without its text."""
    return {
        "section_id": node.node_id,
        "source": node.metadata["source"],
        "heading_path": list(node.metadata["heading_path"]),
        "start": node.start_char_idx,
        "end": node.end_char_idx,
        "start_line": node.metadata["start_line"],
        "end_line": node.metadata["end_line"],
        "page": node.metadata.get("page"),
    }


def _section(asks: Here, section_id: str) -> Node:
    node = asks.athena.store.sections.get_many([section_id]).get(section_id)
    if node is None:
        raise Refusal(404, f"There is no section '{section_id}'.", "POST /api/search finds them.")
    return node


def _words(text: str, name: str) -> None:
    """Nothing; raises `Refusal` where there is no word in it."""
    if not any(map(str.isalnum, text)):
        raise Refusal(400, f"`{name}` has no word in it.", "Ask in words.", param=name)
