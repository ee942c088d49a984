"""Indexing of an evaluation's documents: a BEIR corpus, or a folder of Markdown."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from athena.reading import make_cutter
from evals.chunks import SECTIONS, ChunkCorpus, make_section
from evals.datasets import Document, load_corpus
from pipeline.ingest import Progress, ingest
from readers.cutting import SentenceCutter
from readers.files import FoundFile, FoundFiles
from readers.levels import Section, Sentence
from readers.source import Source

if TYPE_CHECKING:
    from athena import Athena
    from pipeline.stores.base import DocumentStore

T = TypeVar("T")
Bars = Callable[[str, int, int], None]  # a bar's name, done, total


@dataclass(frozen=True, slots=True)
class Indexed:
    """An index that is ready to be searched."""

    names: dict[str, str]  # section id → the document's id in the qrels
    documents: int
    sentences: int
    seconds: float  # of the ingest


@dataclass(frozen=True, slots=True)
class BeirCorpus:
    """A reader that gives documents in memory to `ingest`, which expects files."""

    sections: Mapping[str, Section]  # by the document's id
    cutter: SentenceCutter

    def find(self, path: Path, *, known: Collection[str] = ()) -> FoundFiles:  # noqa: ARG002
        """Return all documents with numbers as paths, as an id may not be a valid path."""
        return FoundFiles([FoundFile(path / str(n), source) for n, source in enumerate(self.sections)])

    def read(self, path: Path, *, source: str, known: str = "") -> Source:  # noqa: ARG002 - there is no file
        """Return the text of the document."""
        return Source(self.sections[source].text, self.sections[source].metadata["hash"])

    def cut(self, text: str, *, source: str) -> tuple[list[Section], list[Sentence]]:  # noqa: ARG002
        """Return the document's one section and its sentences."""
        return [self.sections[source]], self.cutter.cut(self.sections[source])


def index_documents(
    athena: Athena,
    documents: Sequence[Document],
    *,
    store: DocumentStore | None = None,
    report: Bars | None = None,
) -> Indexed:
    """Index a BEIR corpus, each document as one section under its title; if an id repeats, the last counts.

    The index goes into `store`, or into the store of `athena` if it is None.
    """
    store = athena.store if store is None else store
    sections = {document.id: section_of(document) for document in documents}

    def stored(at: Progress) -> None:
        if report and at.stage == "storing":
            report("Indexing", at.done, at.total)

    done = ingest(
        ["corpus"],
        store=store,
        reader=BeirCorpus(sections, make_cutter(athena.encoder)),
        encoder=athena.encoder,
        manifest=athena.manifest,
        on_progress=stored,
    )
    names = {one.node_id: source for source, one in sections.items()}
    return index_of(store, names=names, seconds=done.seconds)


def section_of(document: Document) -> Section:
    """Return the document as one section; an empty text is replaced by the title, or else by the id."""
    text = document.text if document.text.strip() else document.title or document.id
    path = [document.title] if document.title.strip() else []
    return make_section(text, source=document.id, title=document.title, path=path)


def index_of(store: DocumentStore, *, names: dict[str, str] | None = None, seconds: float = 0.0) -> Indexed:
    """Describe the index of a store; without `names`, sections are named `SOURCE#HEADING > PATH`."""
    documents = store.documents()
    if names is None:
        names = {
            section.node_id: f"{info.source}#{_headings(section.metadata)}"
            for info in documents
            for section in store.document(info.source).sections
        }
    return Indexed(names, len(documents), store.statistics().sentences, seconds)


def _headings(metadata: Mapping[str, Any]) -> str:
    """Join a section's headings; text before the first heading has none, although its path has the title."""
    return " > ".join(metadata["heading_path"] if metadata["level"] else ())


@contextmanager
def indexed_corpus(
    athena: Athena, folder: Path, corpus: Path | None, report: Bars | None, *, splitter: str = SECTIONS
) -> Iterator[tuple[Athena, Indexed]]:
    """Open another Athena on a temporary index of `corpus` (Markdown), or of `folder`'s corpus.jsonl if None.

    The store is always the embedded one: an evaluation never writes to a server.
    """
    from athena import open_athena

    with tempfile.TemporaryDirectory(prefix="athena-eval-") as scratch:
        settings = athena.settings.model_copy(update={"data_dir": Path(scratch), "store": "embedded"})
        with closing(open_athena(settings)) as other:
            if corpus is None:
                done = index_documents(other, load_corpus(folder), report=report)
            else:
                done = _index_markdown(other, corpus, splitter)
            yield other, done


def _index_markdown(athena: Athena, corpus: Path, splitter: str) -> Indexed:
    if splitter == SECTIONS:
        return index_of(athena.store, seconds=athena.ingest([corpus]).seconds)
    reader = ChunkCorpus(splitter, athena.encoder, max_bytes=10**9)
    done = ingest(
        [corpus], store=athena.store, reader=reader, encoder=athena.encoder, manifest=athena.manifest
    )
    return index_of(athena.store, seconds=done.seconds)


def progress(items: Sequence[T], report: Bars | None, name: str) -> Iterator[T]:
    """Yield the items, and after each one report to the bar `name` how many are done."""
    for done, item in enumerate(items, start=1):
        yield item
        if report:
            report(name, done, len(items))
