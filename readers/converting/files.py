"""A file of another format as the text that is indexed: read, converted where it is new, and named."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from readers.converting.converted import Converted, as_document
from readers.converting.notebook import convert_notebook
from readers.converting.plain import convert_text
from readers.converting.process import ConverterProcess
from readers.errors import EmptyFile, Unconvertible
from readers.files import FileLimits, Source, decoded, read_bytes
from readers.formats import INSTALL, Format


class FileConverter:
    """Converts files; `seconds` is what each may take. `close` ends the process that it may have started."""

    def __init__(self, limits: FileLimits, *, seconds: float) -> None:
        self._limits = limits
        self._process = ConverterProcess(seconds=seconds)

    def read(self, path: Path, kind: Format, *, source: str, known: str = "") -> Source | None:
        """The text of a file as it is indexed; None where its hash is `known`.

        Raises:
            ReaderError: it cannot be read or converted.
        """
        data = read_bytes(path, max_bytes=self._limits.of(path.name), source=source)
        digest = recipe_hash(data, kind)
        if digest == known:
            return None
        return Source(self.text(data, kind, source=source), digest)

    def text(self, data: bytes, kind: Format, *, source: str, address: str = "") -> str:
        """The text of some bytes of a format; raises `Unconvertible`."""
        given = {"address": address} if address and kind.name == "html" else {}
        converted = self._converted(data, kind, source, given)
        if not any(map(str.isalnum, converted.text)):
            raise EmptyFile(source, reason="it has no text", fix="Write something into it, or remove it.")
        return as_document(converted, title=kind.title, address=address)

    def _converted(self, data: bytes, kind: Format, source: str, given: Mapping[str, str]) -> Converted:
        match kind.name:
            case "txt":
                return convert_text(decoded(data, source=source))
            case "ipynb":
                return convert_notebook(decoded(data, source=source), source=source)
        if not kind.installed:
            raise Unconvertible(source, reason=f"{kind.title} needs an extra", fix=f"{INSTALL} installs it.")
        return self._process.convert(
            data, format_name=kind.name, source=source, most=self._limits.text, given=given
        )

    def close(self) -> None:
        """End the process that converts."""
        self._process.close()


def recipe_hash(data: bytes, kind: Format) -> str:
    """The SHA-256 of a file's bytes and of how its format is converted (hexadecimal)."""
    digest = hashlib.sha256(data)
    digest.update(f"\0{kind.name} {kind.recipe}".encode())
    return digest.hexdigest()
