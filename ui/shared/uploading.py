"""Uploaded files: store them, index them, and tell whether a document was uploaded."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from athena.reading import MEGABYTE, UPLOADS, changing_files, kept_in
from pipeline.errors import AthenaError
from pipeline.ingesting import uploads
from pipeline.ingesting.documents import paths_of
from pipeline.ingesting.uploads import Accepted, UploadedFile
from pipeline.stores.globs import literal
from readers.formats import FORMATS

if TYPE_CHECKING:
    from athena import Athena
    from pipeline.ingest import IngestReport
    from pipeline.stores.base import DocumentInfo


TYPES = [suffix.removeprefix(".") for known in FORMATS for suffix in known.suffixes]
"""The suffixes of the files that can be added, without the dot."""


def uploads_folder(athena: Athena) -> Path:
    """Return the folder where uploaded files are stored."""
    return Path(athena.settings.data_dir) / UPLOADS


def is_upload(athena: Athena, info: DocumentInfo) -> bool:
    """Return whether a document was uploaded."""
    return kept_in(athena.settings, info) is not None


def keep_files(athena: Athena, files: Sequence[UploadedFile]) -> Accepted:
    """Store files in the folder of uploads, replacing earlier ones.

    Raises `AthenaError` if none of them can be kept, or if the disk is full.
    """
    with changing_files:
        most = int(athena.settings.max_file_mb * MEGABYTE)
        return uploads.accept(files, uploads_folder(athena), max_bytes=most)


def index_kept(athena: Athena, paths: Collection[str], **watched: Any) -> IngestReport:
    """Index the folder of uploads; delete those files of `paths` that cannot be read."""
    report = athena.ingest([uploads_folder(athena)], **watched)
    with changing_files:
        for problem in report.problems:
            if problem.source in paths:
                uploads.remove(problem.source, uploads_folder(athena))
    return report


def index_files(athena: Athena, files: Sequence[UploadedFile]) -> tuple[str, ...]:
    """Store and index files; return globs of their documents. Raises `AthenaError` if no file becomes one."""
    kept = set(keep_files(athena, files).paths)
    report = index_kept(athena, kept)
    documents = (info for info in athena.store.documents() if is_upload(athena, info))
    found = [info.source for info in documents if kept & set(paths_of(info))]
    if not found:
        why = next((one.reason for one in report.problems if one.source in kept), "it has no text")
        raise AthenaError(f"{', '.join(sorted(kept))} cannot be read: {why}.", "Add another file.")
    return tuple(map(literal, found))
