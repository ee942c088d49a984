"""How documents are read and cut, by the settings and for an embedding model."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from athena.settings import Settings
from pipeline.models.base import Encoder
from pipeline.words import counted
from readers.formats import formats_named

if TYPE_CHECKING:
    from athena.models import Models
    from pipeline.ingesting.uploads import UploadLimits
    from pipeline.stores.base import DocumentInfo
    from readers.corpus import MarkdownCorpus
    from readers.cutting import SentenceCutter

ENGLISH = "en"
MEGABYTE = 1_000_000
MAX_UPLOAD_FILES = 2_000  # in one zip
MAX_UPLOAD_MB = 100  # that a zip may unpack to
UPLOADS = "uploads"
"""The folder of uploaded files in the data folder; all of them were chosen, so each format is read."""
changing_files = threading.RLock()
"""Held while a file of ours is put or deleted: a put that fails puts the former one back, over no other's."""


def make_cutter(encoder: Encoder) -> SentenceCutter:
    """Cuts sections into sentences no longer than the embedding model reads."""
    from readers.cutting import SentenceCutter

    return SentenceCutter(encoder.count_tokens, max_tokens=max(8, encoder.max_tokens - 2))


def make_reader(settings: Settings, cutter: Callable[[], SentenceCutter]) -> MarkdownCorpus:
    """Finds documents, reads or converts them, and cuts them; the cutter is made with the first of them."""
    from readers.corpus import MarkdownCorpus

    return MarkdownCorpus(
        cutter,
        max_bytes=int(settings.max_file_mb * MEGABYTE),
        formats=formats_named(settings.formats),
        whole_folder=settings.data_dir / UPLOADS,
    )


def kept_in(settings: Settings, info: DocumentInfo) -> Path | None:
    """The folder of uploads where a document was uploaded; None where its file is somebody else's."""
    from pipeline.ingesting.documents import UPLOAD_ROOT

    folder = settings.data_dir / UPLOADS
    return folder if info.root in (UPLOAD_ROOT, str(folder.resolve())) else None


def shared_uploads(settings: Settings) -> Path | None:
    """The folder of uploads, where other machines with the same index may have other files; else None."""
    return settings.data_dir / UPLOADS if settings.store == "server" else None


def upload_limits(settings: Settings) -> UploadLimits:
    """What an upload may not exceed, and the formats that can be read here."""
    from pipeline.ingesting.uploads import UploadLimits
    from readers.formats import FORMATS

    return UploadLimits(
        max_files=MAX_UPLOAD_FILES,
        max_total_bytes=MAX_UPLOAD_MB * MEGABYTE,
        max_file_bytes=int(settings.max_file_mb * MEGABYTE),
        suffixes=frozenset(suffix for known in FORMATS if known.installed for suffix in known.suffixes),
    )


def language_warning(languages: Mapping[str, int], models: Models) -> tuple[str, ...]:
    """A warning where documents, counted by ISO 639-1 code, are in none that the bundled model knows."""
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
