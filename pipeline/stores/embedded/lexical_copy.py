"""A copy of a lexical index whose own folder may only be read: tantivy makes files there even to search."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from pipeline.stores.embedded.lock import WriterLock


class LexicalCopy:
    """A temporary folder with the copy, and a lock for the process that brings it up to date."""

    def __init__(self, original: Path) -> None:
        self._original = original
        self._temporary = TemporaryDirectory(prefix="athena-")
        self.folder = Path(self._temporary.name) / original.name
        self.lock = WriterLock(Path(self._temporary.name))
        self.renew()

    def renew(self) -> None:
        """Copy the index again; one that cannot be copied whole is derived from the text."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        try:
            for path in sorted(self._original.rglob("*")):  # `copytree` would protect the copy, too
                copy = self.folder / path.relative_to(self._original)
                if path.is_dir():
                    copy.mkdir()
                else:
                    shutil.copyfile(path, copy)
        except OSError:  # files that only their owner may read
            shutil.rmtree(self.folder, ignore_errors=True)

    def remove(self) -> None:
        """Delete the copy."""
        self._temporary.cleanup()
