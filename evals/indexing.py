"""An index of an evaluation's documents: a BEIR corpus, or a folder of Markdown."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.chunks import SECTIONS, ChunkCorpus
from evals.datasets import Document, load_corpus
from pipeline.given_files import DATA_BYTES
from pipeline.ingest import Progress, ingest
from pipeline.models.base import Encoder
from pipeline.stores.base import DocumentStore, Manifest
from pipeline.stores.embedded.schema import FORMAT
from readers.cutting import SentenceCutter
from readers.files import FoundFile, FoundFiles, Source
from readers.levels import Section, Sentence, document_id, section_id

if TYPE_CHECKING:
    from athena import Athena

KEPT = "evaluated"  # of the data folder
MOST_KEPT = 8  # corpora

_logger = logging.getLogger(__name__)

Report = Callable[[int, int], None]  # done, total
Bars = Callable[[str, int, int], None]  # a bar's name, done, total


@dataclass(frozen=True, slots=True)
class Indexed:
    """An index that is ready to be asked: how to name its sections, and what it took."""

    names: dict[str, str]  # section id → the document's id in the qrels
    documents: int
    sentences: int
    seconds: float


@dataclass(frozen=True, slots=True)
class BeirCorpus:
    """Reads documents that are in memory as an ingest reads files."""

    sections: Mapping[str, Section]  # by the document's id
    cutter: SentenceCutter

    def find(self, path: Path, *, known: Collection[str] = ()) -> FoundFiles:  # noqa: ARG002
        """All documents; their paths are numbers, as an id need not be a path."""
        return FoundFiles([FoundFile(path / str(n), source) for n, source in enumerate(self.sections)])

    def read(self, path: Path, *, source: str, known: str = "") -> Source:  # noqa: ARG002 - there is no file
        """The text of the document."""
        return Source(self.sections[source].text, self.sections[source].metadata["hash"])

    def cut(
        self,
        text: str,  # noqa: ARG002
        *,
        source: str,
        own_lines: Sequence[int] = (),  # noqa: ARG002
    ) -> tuple[list[Section], list[Sentence]]:
        """The document's one section and its sentences."""
        return [self.sections[source]], self.cutter.cut(self.sections[source])

    def warnings(self, sections: object) -> Sequence[str]:  # noqa: ARG002
        """None."""
        return ()


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
    sections = {document.id: section_of(document) for document in documents}

    def stored(progress: Progress) -> None:
        if report and progress.stage == "storing":
            report(progress.done, progress.total)

    reader = BeirCorpus(sections, cutter)
    done = ingest(
        ["corpus"],
        store=store,
        reader=reader,
        encoder=encoder,
        manifest=manifest,
        root="evaluation",
        on_progress=stored,
    )
    names = {section.node_id: source for source, section in sections.items()}
    return Indexed(names, len(names), store.sections.statistics().sentences, done.seconds)


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
        section.node_id: f"{info.source}#{' > '.join(_headings(section.metadata))}"
        for info in store.sections.documents()
        for section in store.sections.document(info.source).sections
    }


def _headings(metadata: Mapping[str, Any]) -> Sequence[str]:
    """The headings above a section; a path begins with the page's title even before its first heading."""
    return metadata["heading_path"] if metadata["level"] else ()


def dataset_name(folder: Path) -> str:
    """The folder's own name."""
    return folder.resolve().name


@contextmanager
def indexed_corpus(
    athena: Athena, folder: Path, corpus: Path | None, report: Bars | None, *, splitter: str = SECTIONS
) -> Iterator[tuple[Athena, Indexed]]:
    """Another Athena over an index of the corpus, in a temporary folder which is gone afterwards.

    A copy of the index is kept in the data folder and used again until the corpus or the model changes. It is
    the embedded store whatever the settings say: an evaluation never writes to a server.
    """
    from athena import open_athena

    with tempfile.TemporaryDirectory(prefix="athena-eval-") as scratch:
        here = Path(scratch) / "index"
        kept = _kept(athena, folder, corpus, splitter)
        is_new = not kept.is_dir()
        if not is_new:
            shutil.copytree(kept, here)
        settings = athena.settings.model_copy(update={"data_dir": here, "store": "embedded"})
        with closing(open_athena(settings)) as other:
            if corpus is None:
                done = _index_beir(other, folder, report)
            else:
                done = _index_markdown(other, corpus, splitter)
            if is_new:
                _keep(here, kept)
            yield other, done


def _kept(athena: Athena, folder: Path, corpus: Path | None, splitter: str) -> Path:
    """Where the index of these documents, embedded by this model, is kept in the data folder."""
    files = [folder / "corpus.jsonl"] if corpus is None else sorted(corpus.rglob("*"))
    made_with = FORMAT, corpus and corpus.resolve(), splitter, replace(athena.manifest, generation=0)
    whole = hashlib.sha256(repr(made_with).encode())
    for path in files:
        whole.update(str(path).encode() + (path.read_bytes() if path.is_file() else b""))
    return athena.settings.data_dir / KEPT / whole.hexdigest()[:32]


def _keep(index: Path, kept: Path) -> None:
    """Keep a copy, whole or not at all, and of all copies the last ones; a full disk keeps none."""
    unfinished = kept.with_name(f"{kept.name}.{os.getpid()}")
    try:
        shutil.copytree(index, unfinished)
        unfinished.rename(kept)
    except OSError as error:
        _logger.warning("The index for the evaluation is not kept: %s.", error)
        shutil.rmtree(unfinished, ignore_errors=True)
    others = sorted(kept.parent.glob("*"), key=lambda path: path.stat().st_mtime)
    for old in others[:-MOST_KEPT]:
        shutil.rmtree(old, ignore_errors=True)


def index_of(athena: Athena) -> Indexed:
    """The index of the data folder as it is."""
    documents = len(athena.store.sections.documents())
    return Indexed(section_names(athena.store), documents, athena.store.sections.statistics().sentences, 0.0)


def _index_beir(athena: Athena, folder: Path, report: Bars | None) -> Indexed:
    return index_corpus(
        load_corpus(folder),
        store=athena.store,
        cutter=athena.sentence_cutter(),
        encoder=athena.encoder,
        manifest=athena.manifest,
        report=bar(report, "Indexing"),
    )


def _index_markdown(athena: Athena, corpus: Path, splitter: str) -> Indexed:
    if splitter == SECTIONS:
        done = athena.ingest([corpus])
    else:
        reader = ChunkCorpus(splitter, athena.encoder, max_bytes=DATA_BYTES)
        done = ingest(
            [corpus], store=athena.store, reader=reader, encoder=athena.encoder, manifest=athena.manifest
        )
    documents = len(athena.store.sections.documents())
    return Indexed(
        section_names(athena.store), documents, athena.store.sections.statistics().sentences, done.seconds
    )


def bar(report: Bars | None, name: str) -> Report | None:
    """One of the bars."""
    return None if report is None else lambda done, total: report(name, done, total)
