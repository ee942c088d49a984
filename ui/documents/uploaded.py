"""The folder of uploaded files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ui.shared import process

if TYPE_CHECKING:
    from pipeline.stores.base import DocumentInfo

UPLOADS = "uploads"  # the folder's name in the data folder


def uploads_folder() -> Path:
    """Where uploaded files are kept."""
    return Path(process.athena().settings.data_dir) / UPLOADS


def is_upload(info: DocumentInfo) -> bool:
    """Whether a document was uploaded."""
    return info.root == str(uploads_folder().resolve())
