"""How documents are read, as the settings say: limits, formats, and sentences for an embedding model."""

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
MAX_UPLOAD_MB = 100  # that a browser may send
UPLOADS = "uploads"
"""The folder of uploaded files in the data folder; every format is read there, since each file was chosen."""
changing_files = threading.RLock()
"""Held while an uploaded file is written or deleted, so that a failed upload restores its own former file."""


def make_cutter(encoder: Encoder) -> SentenceCutter:
    """Return what cuts sections into sentences no longer than the embedding model reads."""
    from readers.cutting import SentenceCutter

    return SentenceCutter(encoder.count_tokens, max_tokens=max(8, encoder.max_tokens - 2))


def make_reader(settings: Settings, encoder: Callable[[], Encoder]) -> MarkdownCorpus:
    """Return the reader of documents; `encoder` is called for the first of them."""
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
    """Warn where the bundled model does not know the documents' languages, given as numbers by code."""
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
