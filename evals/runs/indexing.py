"""An index of an evaluation's documents: a BEIR corpus, or a folder of Markdown."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evals.datasets import Document
from pipeline.ingesting.batches import embedding_texts
from pipeline.models.base import Encoder
from pipeline.stores.base import DocumentStore, Manifest, NewDocument
from readers.cutting import SentenceCutter
from readers.ids import document_id, section_id
from readers.levels import Section

CHUNK = 1000  # documents whose texts are embedded together

Report = Callable[[int, int], None]  # done, total


@dataclass(frozen=True, slots=True)
class Indexed:
    """An index that is ready to be asked: how to name its sections, and what it took."""

    names: dict[str, str]  # section id → the document's id in the qrels
    documents: int
    sentences: int
    seconds: float


def index_corpus(
    documents: Sequence[Document],
    *,
    store: DocumentStore,
    cutter: SentenceCutter,
    encoder: Encoder,
    manifest: Manifest,
    report: Report | None = None,
) -> Indexed:
    """Index a BEIR corpus: every document is one section under its title; of an id given twice, the last."""
    started = time.perf_counter()
    documents = list({document.id: document for document in documents}.values())
    names: dict[str, str] = {}
    sentences = 0
    with store.writing(manifest) as writing:
        for first in range(0, len(documents), CHUNK):
            for new in _embedded(documents[first : first + CHUNK], cutter=cutter, encoder=encoder):
                writing.replace(new)
                names[new.sections[0].node_id] = new.source
                sentences += len(new.sentences)
            if report:
                report(min(first + CHUNK, len(documents)), len(documents))
    return Indexed(names, len(names), sentences, time.perf_counter() - started)


def _embedded(
    documents: Sequence[Document], *, cutter: SentenceCutter, encoder: Encoder
) -> Iterator[NewDocument]:
    parsed = []
    texts: dict[str, str] = {}
    for document in documents:
        section = section_of(document)
        leaves = cutter.cut(section)
        parsed.append((document, section, leaves))
        texts |= embedding_texts([section], leaves, encoder=encoder)
    rows = encoder.encode_passages(list(texts.values()))
    vectors = dict(zip(texts, rows, strict=True))
    for document, section, leaves in parsed:
        yield NewDocument(
            id=document_id(document.id),
            source=document.id,
            root="evaluation",
            title=document.title,
            hash=section.metadata["hash"],
            text=section.text,
            sections=[section],
            sentences=leaves,
            vectors={id_: vectors[id_] for id_ in (section.node_id, *(leaf.node_id for leaf in leaves))},
        )


def section_of(document: Document) -> Section:
    """The document as one section; one without text is found by its title."""
    text = document.text if document.text.strip() else document.title or document.id
    path = [document.title] if document.title.strip() else []
    owner = document_id(document.id)
    return Section(
        node_id=section_id(owner, path, 0),
        text=text,
        start_char_idx=0,
        end_char_idx=len(text),
        metadata={
            "source": document.id,
            "title": document.title,
            "heading_path": path,
            "level": 1,
            "start_line": 1,
            "end_line": text.count("\n") + 1,
            "hash": hashlib.sha256(f"{document.title}\n{text}".encode()).hexdigest(),
        },
        document_id=owner,
    )


def section_names(store: DocumentStore) -> dict[str, str]:
    """For an index of Markdown: section id → `SOURCE#HEADING > PATH`, as the qrels of manuals name it."""
    return {
        section.node_id: f"{info.source}#{' > '.join(section.metadata['heading_path'])}"
        for info in store.sections.documents()
        for section in store.sections.document(info.source).sections
    }


def dataset_name(folder: Path) -> str:
    """The folder's own name."""
    return folder.resolve().name
