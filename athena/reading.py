"""How documents are read and cut, by the settings and for an embedding model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from athena.settings import Settings
from pipeline.models.base import Encoder
from readers.formats import formats_named

if TYPE_CHECKING:
    from collections.abc import Callable

    from readers.corpus import MarkdownCorpus
    from readers.cutting import SentenceCutter

MEGABYTE = 1_000_000
UPLOADS = "uploads"
"""The folder of uploaded files in the data folder; all of them were chosen, so each format is read."""


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
        max_converted_bytes=int(settings.max_converted_mb * MEGABYTE),
        convert_seconds=settings.convert_timeout_s,
        formats=formats_named(settings.formats),
        whole_folder=settings.data_dir / UPLOADS,
    )
