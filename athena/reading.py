"""Reading documents by the settings: formats, size limits, uploads, and sentences for an embedding model."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from athena.settings import Settings
from pipeline.models.base import Encoder
from pipeline.words import counted

if TYPE_CHECKING:
    from athena.models import Models
    from pipeline.stores.base import DocumentInfo
    from readers.corpus import MarkdownCorpus
    from readers.cutting import SentenceCutter

ENGLISH = "en"
MEGABYTE = 1_000_000
MAX_UPLOAD_MB = 100  # size of one file that a browser may send
UPLOADS = "uploads"
"""The name of the uploads folder in the data folder; all its formats are read: the user chose each file."""
changing_files = threading.RLock()
"""A lock for writing and deleting uploads, so that a failed upload restores its own former file."""


def make_cutter(encoder: Encoder) -> SentenceCutter:
    """Return a cutter of sections into sentences that fit the embedding model's token limit."""
    from readers.cutting import SentenceCutter

    return SentenceCutter(encoder.count_tokens, max_tokens=max(8, encoder.max_tokens - 2))


def make_reader(settings: Settings, encoder: Callable[[], Encoder]) -> MarkdownCorpus:
    """Return the reader of documents; it calls `encoder` only when it cuts a document."""
    from readers.corpus import MarkdownCorpus

    return MarkdownCorpus(
        lambda: make_cutter(encoder()),
        max_bytes=int(settings.max_file_mb * MEGABYTE),
        all_formats=settings.formats == "all",
        whole_folder=settings.data_dir / UPLOADS,
        language=settings.language,
    )


def kept_in(settings: Settings, info: DocumentInfo) -> Path | None:
    """Return the folder of uploads if a document was uploaded, else None."""
    from pipeline.ingesting.documents import UPLOAD_ROOT

    folder = settings.data_dir / UPLOADS
    return folder if info.root in (UPLOAD_ROOT, str(folder.resolve())) else None


def language_warning(languages: Mapping[str, int], models: Models) -> tuple[str, ...]:
    """Warn of languages unknown to the bundled model, or return (); `languages` counts documents by code."""
    others = sorted(languages.keys() - {ENGLISH})
    if not others or models.encoder()[1].provider != "bundled":
        return ()
    number = counted(sum(languages[code] for code in others), "document")
    return (
        f"{number} not in English ({', '.join(others)}): the bundled embedding model knows English alone, so "
        "that they are found by their words. To find them by meaning, too, set "
        "ATHENA_EMBEDDING_MODEL=ollama/bge-m3 or a multilingual sentence-transformers model, and ingest "
        "again with --rebuild.",
    )
