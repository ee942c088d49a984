"""The tools that add and delete documents."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from athena.tools.document_tools import Paths, Source
from athena.tools.places import place_of
from athena.tools.tool import Call, Parameters, Refused, Tool
from pipeline.errors import AthenaError
from pipeline.words import well_formed

LONGEST_TITLE = 200
LONGEST_SLUG = 60
LEFT = "left where it is; it comes back when its folder is indexed again"


class StoreNote(Parameters):
    """What `store_note` takes."""

    title: str = Field(min_length=1, max_length=LONGEST_TITLE, description="title of the note")
    text: str = Field(min_length=1, max_length=500_000, description="the note, in Markdown")
    tags: Paths = Field((), description="words that it is about")


@dataclass(frozen=True, slots=True)
class Stored:
    """A document that was stored, or was there already."""

    source: str
    url: str
    stored: bool


def _store_note(call: Call, given: StoreNote) -> Stored:
    from athena.reading import UPLOADS, changing_files, upload_limits
    from pipeline.ingesting import uploads

    title, text = (" ".join(well_formed(given.title).split()), well_formed(given.text).strip())
    if not (any(map(str.isalnum, title)) and any(map(str.isalnum, text))):
        raise Refused("A note needs a title and a text with words in them.", STORE_NOTE.right_call)
    folder = call.athena.settings.data_dir / UPLOADS
    mark = hashlib.sha256(text.encode()).hexdigest()[:12]
    if known := next((path for path in uploads.uploaded(folder) if path.endswith(f"-{mark}.md")), ""):
        _index(call, folder, known)
        return Stored(known, call.addresses.document(known), False)
    source = f"{_slug(title)}-{mark}.md"
    content = _front_matter(title, given.tags) + f"# {title}\n\n{text}\n"
    file = uploads.UploadedFile(source, content.encode())
    with changing_files, uploads.put_back(source, folder):
        uploads.accept([file], folder, limits=upload_limits(call.athena.settings))
        _index(call, folder, source)
    return Stored(source, call.addresses.document(source), True)


def _index(call: Call, folder: Path, source: str) -> None:
    """Bring the uploads' index up to date; raises `AthenaError` where this one is not in it then."""
    report = call.athena.ingest(
        [folder],
        on_progress=lambda at: call.tell(f"{at.stage} {at.document}".strip()),
        should_stop=call.stop.is_set,
    )
    if problem := next((item for item in report.problems if item.source == source), None):
        raise AthenaError(f"The note cannot be indexed: {problem.reason}.", problem.fix)
    if report.stopped:
        raise AthenaError("Stopped before the note was indexed.", "Store it again.")


def _slug(title: str) -> str:
    """A file's name for a title."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:LONGEST_SLUG].strip("-") or "note"


def _front_matter(title: str, tags: Sequence[str]) -> str:
    """The title and tags as YAML, of which JSON is a part."""
    kept = [well_formed(tag) for tag in tags if tag.strip()]
    given = {"title": title} | ({"tags": kept} if kept else {})
    return "".join(("---\n", *(f"{name}: {json.dumps(value)}\n" for name, value in given.items()), "---\n\n"))


STORE_NOTE = Tool(
    name="store_note",
    title="Store a note",
    says="Keep a Markdown note among the documents; the same text is kept once.",
    takes=StoreNote,
    gives=Stored,
    run=_store_note,
    example={"title": "Fan swap", "text": "ECS-FAN-2 runs since Monday.", "tags": ["fan"]},
    right="write",
    effect="adds",
)


class DeleteDocument(Parameters):
    """What `delete_document` takes."""

    source: Source


@dataclass(frozen=True, slots=True)
class Deleted:
    """A document that is not indexed any more."""

    deleted: str
    file: str


def _delete_document(call: Call, given: DeleteDocument) -> Deleted:
    info = place_of(call.athena, given.source).document.info
    if given.source != info.source:
        raise Refused(f"'{given.source}' is no document's source.", DELETE_DOCUMENT.right_call)
    file_deleted = call.athena.delete_with_file(info.source)
    return Deleted(info.source, "deleted" if file_deleted else LEFT)


DELETE_DOCUMENT = Tool(
    name="delete_document",
    title="Delete a document",
    says="Remove a document from the index, and its file if it was uploaded.",
    takes=DeleteDocument,
    gives=Deleted,
    run=_delete_document,
    example={"source": "fan-swap-1a2b3c4d5e6f.md"},
    right="write",
    effect="destroys",
)

TOOLS = (STORE_NOTE, DELETE_DOCUMENT)
